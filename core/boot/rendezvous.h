/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rendezvous: carries a unique id between the processes of one job through a private folder. */
#ifndef WEFT_BOOT_RENDEZVOUS_H
#define WEFT_BOOT_RENDEZVOUS_H

#include "core/config/settings.h"

typedef struct weft_rendezvous {
    const char *job; /* text that is equal for the ranks of one job, and for no others */
    uint32_t rank, nranks;
    const weft_boot_settings_t *settings;
} weft_rendezvous_t;

/* Rank 0 gives *id, the others receive it. Returns on all ranks when all have it and nothing is
 * left in the folder, so that the next exchange of the job starts afresh. Blocks at most until
 * init_timeout. ERR_TIMEOUT (names who is missing), ERR_CONFIG, ERR_SYSTEM. */
weft_status_t weft_rendezvous_exchange(const weft_rendezvous_t *rendezvous, weft_unique_id_t *id);

#endif
