/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls of every kind with numbers that differ by rank, step and place, each result compared. The
 * ranks of a communicator may be any of a job: a number tells whose it is. */
#ifndef WEFT_TEST_MIXED_CALLS_H
#define WEFT_TEST_MIXED_CALLS_H

#include <stdbool.h>

#include <weft/weft.h>

enum { MIXED_RANKS = 64, MIXED_CALLS = 20 };

typedef struct mixed {
    weft_comm_t *comm;
    uint32_t rank, size;
    uint32_t seat[MIXED_RANKS]; /* who rank r of the communicator is in the job */
    uint32_t step;
    bool nobody_dies;
    bool on_device;     /* the kernel computes on a device, and takes no operator of the host */
    bool arena;         /* weft_mem_alloc() was called: its segment stays with the process */
    uint64_t *in, *out; /* of mixed_elements(most, MIXED_RANKS) each */
    void *arg;
    /* A number is wrong; may return. */
    __attribute__((format(printf, 2, 3))) void (*wrong)(void *arg, const char *format, ...);
} mixed_t;

/* What a rank brings into a step. */
static inline uint64_t mixed_number(uint32_t seat, uint32_t step, uint64_t at)
{
    return (uint64_t)(seat + 1) * 1000003u + step * 31u + at % 97;
}

/* Elements that calls of `count` elements need in `in` and `out`. */
static inline uint64_t mixed_elements(uint64_t count, uint32_t ranks)
{
    return count + ranks + 2;
}

/* Does call `number` modulo MIXED_CALLS with about `count` elements; returns the first failure. */
weft_status_t mixed_call(mixed_t *m, uint32_t number, uint64_t count);
/* True if that call sends messages, which another one may take that receives from any rank. */
bool mixed_sends(uint32_t number);
/* Fills m->in with this rank's numbers. */
void mixed_fill(const mixed_t *m, uint64_t count);
/* The sum of all ranks' numbers at that place. */
uint64_t mixed_sum(const mixed_t *m, uint64_t at);

#endif
