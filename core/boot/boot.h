/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a joined rank can be asked. join.h makes a family, exchange.h and agreement.h work on it
 * until health.h takes its connections over. Any thread, after the join. */
#ifndef WEFT_BOOT_BOOT_H
#define WEFT_BOOT_BOOT_H

#include "core/boot/boot_types.h"
#include "core/boot/join_request.h"

const weft_boot_peer_t *weft_boot_peers(const weft_boot_t *boot); /* nranks of them */
uint32_t weft_boot_hosts(const weft_boot_t *boot);
uint64_t weft_boot_comm_id(const weft_boot_t *boot);
/* The key of data connections, derived from the secret of the unique id. */
const uint8_t *weft_boot_key(const weft_boot_t *boot);

/* What is known of a rank from then on: its process, and where it listens. For the thread that
 * joins. */
void weft_boot_learn(weft_boot_t *boot, const weft_join_request_t *request);

/* Writes "rank 3 of host a, pid 71", or "rank 3" while no more is known. */
void weft_boot_rank_text(const weft_boot_t *boot, uint32_t rank, char *text, size_t bytes);

/* Completes the calling thread's error record with culprit `rank`, and returns its status. */
weft_status_t weft_boot_set_culprit(const weft_boot_t *boot, uint32_t rank);

#endif
