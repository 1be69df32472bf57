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
/* Most bytes of a value that is combined. */
#define WEFT_BOOT_REDUCE_MOST 1024u
/* Combines `from` into `into`; associative, and the order of ranks does not matter. */
typedef void (*weft_boot_combine_fn_t)(void *into, const void *from);
/* Replaces the `bytes` bytes of `data`, 1 to WEFT_BOOT_REDUCE_MOST and the same number on all
 * ranks, by what the values of all ranks combine to. A rank sends and receives O(bytes). */
weft_status_t weft_boot_all_reduce(weft_boot_t *boot, const char *what, void *data, size_t bytes,
                                   weft_boot_combine_fn_t combine);
/* All ranks receive rank 0's bytes, at most `max`. *bytes_p is read on rank 0 and set on the
 * others. */
weft_status_t weft_boot_broadcast(weft_boot_t *boot, const char *what, void *data, size_t max,
                                  size_t *bytes_p);

#endif
