/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers of `weft perf`, and what the machine says about memory. */
#ifndef WEFT_TOOLS_PERF_MEMORY_H
#define WEFT_TOOLS_PERF_MEMORY_H

#include "tools/perf_job.h"

#define PERF_PIECE (UINT64_C(4) << 20) /* most bytes that the host looks at in one step */

/* Buffers as -R says, on the device if the kernel has one. */
weft_status_t perf_memory_alloc(perf_rank_t *rank);
void perf_memory_free(perf_rank_t *rank);
weft_status_t perf_memory_set(perf_rank_t *rank, uint8_t *at, uint8_t value, uint64_t bytes);
uint64_t perf_memory_room(const perf_rank_t *rank, uint64_t bytes);
uint8_t *perf_memory_piece(const perf_rank_t *rank, uint8_t *at);
weft_status_t perf_memory_load(perf_rank_t *rank, const uint8_t *at, uint64_t bytes);
weft_status_t perf_memory_store(perf_rank_t *rank, uint8_t *at, uint64_t bytes);
uint64_t perf_memory_resident(void);

#endif
