/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exchanges among all ranks over the control tree, in O(log n) rounds. All ranks make the same
 * calls in the same order, before weft_health_start(). They block until the deadline of the
 * initialisation. On failure all neighbours are told, and no exchange is possible any more. `what`
 * names the step in errors. ERR_PEER_DEAD, ERR_TIMEOUT (names who is missing), ERR_PROTO,
 * ERR_RESOURCE, ERR_STATE. */
#ifndef WEFT_BOOT_EXCHANGE_H
#define WEFT_BOOT_EXCHANGE_H

#include "core/boot/boot_types.h"

/* Collects `bytes`, the same number on all ranks, from every rank on every rank, in rank order. */
weft_status_t weft_boot_all_gather(weft_boot_t *boot, const char *what, const void *mine,
                                   size_t bytes, void *all);
/* All ranks receive rank 0's bytes, at most `max`. *bytes_p is read on rank 0 and set on the
 * others. */
weft_status_t weft_boot_broadcast(weft_boot_t *boot, const char *what, void *data, size_t max,
                                  size_t *bytes_p);

#endif
