/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Joining and leaving: from a unique id to a tree of authenticated control connections over all
 * ranks. */
#ifndef WEFT_BOOT_JOIN_H
#define WEFT_BOOT_JOIN_H

#include "core/boot/boot_types.h"
#include "core/config/settings.h"

/* As the joining part of weft_comm_init_rank(). Opens no socket if nranks is 1. Blocks at most
 * until init_timeout. */
weft_status_t weft_boot_join(const weft_boot_settings_t *settings, uint32_t nranks,
                             const weft_unique_id_t *id, uint32_t rank, weft_boot_t **boot_p);
/* Closes all connections, ends the health thread and frees. NULL is allowed. */
void weft_boot_leave(weft_boot_t *boot);

#endif
