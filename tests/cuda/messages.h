/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends and receives in streams, for tests that look at what a device does with them. A buffer of
 * the desk is a row of elements for each rank. */
#ifndef WEFT_TEST_CUDA_MESSAGES_H
#define WEFT_TEST_CUDA_MESSAGES_H

#include "tests/cuda/desk.h"

/* Elements that a buffer of the desk has room for. */
enum { MESSAGES_ROOM = 1 << 14 };

/* How the communicator is made. */
typedef enum messages_how {
    PLAIN,
    SMALL_SLOTS,
    ONE_LANE,
    SOCKET,
    STRIPES,       /* of 1 KiB and more, up to eight */
    STRIPES_SOCKET /* the same over a network, up to four */
} messages_how_t;

/* Runs the work as n ranks, as threads. */
void messages_run(uint32_t n, messages_how_t how, desk_work_t work);
/* The same as a job that the caller changes and runs; `job` lives as long, and has the work. */
ranks_job_t messages_job(uint32_t n, messages_how_t how, desk_job_t *job);

/* The i-th element that a rank sends to another. */
int32_t messages_element(uint32_t from, uint32_t to, uint32_t i);
/* Fills `in` with `count` elements for each rank, and begins to clear `out` in the first stream. */
bool messages_put(const desk_t *desk, uint32_t count);
/* Whether the row of the device at `at` is what `from` sent. */
bool messages_has(const desk_t *desk, const int32_t *at, uint32_t from, uint32_t count);

/* Row `to` of `in` to that rank, and row `from` of `out` from that one, in the first stream. */
weft_status_t messages_send(const desk_t *desk, uint32_t to, uint32_t count);
weft_status_t messages_receive(const desk_t *desk, uint32_t from, uint32_t count);
/* All ranks send to all, also to themselves, in a group. Returns how much was wrong. */
int messages_exchange(const desk_t *desk, uint32_t count);
/* How many rows of `out` are not what was sent. */
int messages_check(const desk_t *desk, uint32_t count);

/* All ranks send to all, messages of each length for which the buffers have room, and no stream
 * waits for the host. Returns how much was wrong. */
int messages_exchange_lengths(const desk_t *desk, const uint32_t *lengths, uint32_t n);
/* Runs that work on ranks of even number, whose lengths these are. The others have no device. */
void messages_run_beside_hosts(uint32_t n, messages_how_t how, desk_work_t work,
                               const uint32_t *lengths, uint32_t nlengths);

#endif
