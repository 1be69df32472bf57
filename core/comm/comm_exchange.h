/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the ranks of a communicator tell each other over its links: colors, windows, newcomers. */
#ifndef WEFT_COMM_COMM_EXCHANGE_H
#define WEFT_COMM_COMM_EXCHANGE_H

#include "core/comm/comm.h"

/* Gathers `bytes` bytes of every rank in all[], by rank: an operation like any other, which fails
 * the communicator as any would. `root` says which exchange it is, from WEFT_ROOT_CORE on. Blocks,
 * at most [boot] init_timeout. Thread: the owner. */
weft_status_t weft_comm_exchange(weft_comm_state_t *state, uint32_t root, const void *mine,
                                 uint64_t bytes, void *all);

#endif
