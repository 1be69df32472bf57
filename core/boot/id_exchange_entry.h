/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One way in which a unique id goes from rank 0 to all ranks of a launcher's job. */
#ifndef WEFT_BOOT_ID_EXCHANGE_ENTRY_H
#define WEFT_BOOT_ID_EXCHANGE_ENTRY_H

#include <stdbool.h>

#include <weft/weft.h>

#include "core/config/settings.h"

typedef struct weft_id_exchange_job {
    const weft_launcher_t *launcher;
    const weft_boot_settings_t *settings;
    uint64_t until; /* init_timeout has passed; not read by applies() */
} weft_id_exchange_job_t;

typedef struct weft_id_exchange {
    const char *name; /* value of the option boot.exchange */
    /* Tells from the environment alone whether this way is open, so that all ranks of a job come to
     * one answer, and writes the reason: by what, or what is missing. Does not block. */
    bool (*applies)(const weft_id_exchange_job_t *job, char *why, size_t bytes);
    /* Rank 0 gives *id, the others receive it. Returns on all ranks when all have it, so that the
     * next exchange of the job starts afresh. Blocks until `until` at most. ERR_TIMEOUT names whom
     * it waited for. */
    weft_status_t (*exchange)(const weft_id_exchange_job_t *job, weft_unique_id_t *id);
} weft_id_exchange_t;

#endif
