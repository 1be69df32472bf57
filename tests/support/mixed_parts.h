/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls of mixed_calls.h, and what they share. Each makes its calls with about `count`
 * elements, compares the numbers, gives back what it took, also after a failure, and returns the
 * first failure. */
#ifndef WEFT_TEST_MIXED_PARTS_H
#define WEFT_TEST_MIXED_PARTS_H

#include <stdbool.h>

#include "tests/support/mixed_calls.h"

/* The sum over the ranks of the communicator whose number modulo `of` is `which`. */
uint64_t mixed_sum_of_some(const mixed_t *m, uint32_t which, uint32_t of, uint64_t at);
/* Compares an element of m->out; says so if it is wrong. */
bool mixed_is_right(const mixed_t *m, const char *call, uint64_t at, uint64_t expected);
/* Compares m->out[0 … count-1] with the sums over those ranks; nothing after a failure. */
void mixed_compare_sums(const mixed_t *m, weft_status_t status, const char *call, uint32_t which,
                        uint32_t of, uint64_t count);
/* An all-reduce from m->in to m->out. */
weft_status_t mixed_all_reduce(const mixed_t *m, uint64_t count, weft_op_t op, weft_comm_t *comm,
                               const weft_call_t *call);

/* Collectives: mixed_calls.c */
weft_status_t mixed_do_vectors(mixed_t *m, uint64_t count);
weft_status_t mixed_do_root(mixed_t *m, uint64_t count);
/* Sends, receives, groups and what is asynchronous: mixed_messages.c */
weft_status_t mixed_do_ring(mixed_t *m, uint64_t count);
weft_status_t mixed_do_anyone(mixed_t *m, uint64_t count);
weft_status_t mixed_do_group(mixed_t *m, uint64_t count);
weft_status_t mixed_do_puts(mixed_t *m, uint64_t count);
weft_status_t mixed_do_requests(mixed_t *m, uint64_t count);
weft_status_t mixed_do_queue(mixed_t *m, uint64_t count);
/* Communicators and what belongs to one: mixed_comms.c */
weft_status_t mixed_do_split(mixed_t *m, uint64_t count);
weft_status_t mixed_do_create_group(mixed_t *m, uint64_t count);
weft_status_t mixed_do_window(mixed_t *m, uint64_t count);
weft_status_t mixed_do_memory(mixed_t *m, uint64_t count);
weft_status_t mixed_do_operator(mixed_t *m, uint64_t count);

#endif
