/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What tests of operations in streams share. */
#ifndef WEFT_TESTS_STREAMS_H
#define WEFT_TESTS_STREAMS_H

#include <stdbool.h>

#include <weft/weft.h>

enum { STREAMS_COUNT = 300 };

/* A stream of handle 0, and a call into it. */
extern void *const streams_handle;
extern const weft_call_t streams_call;

/* STREAMS_COUNT elements that tell the rank; whether these are their sum over n ranks. */
void streams_fill(int32_t *buffer, uint32_t rank, int32_t base);
bool streams_is_sum(const int32_t *buffer, uint32_t n, int32_t base);
/* Whether the thread's last call failed like this; else it says what it found. */
bool streams_told(weft_status_t status, weft_status_t wanted, const char *words);
/* Waits until the communicator has failed, at most ten seconds: whether like this. */
bool streams_failed(weft_comm_t *comm, weft_status_t wanted, const char *words);
/* Two ranks meet: neither fails while the other is still getting there. */
void streams_meet(void);

#endif
