/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See mixed_calls.h. */
#include "tests/support/mixed_calls.h"

#include <stdbool.h>
#include <string.h>

void mixed_fill(const mixed_t *m, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        m->in[i] = mixed_number(m->seat[m->rank], m->step, i);
    }
    memset(m->out, 0, count * sizeof *m->out);
}

/* The sum of those ranks whose number modulo `of` is `which`. */
static uint64_t sum_of_some(const mixed_t *m, uint32_t which, uint32_t of, uint64_t at)
{
    uint64_t sum = 0;
    for (uint32_t r = which; r < m->size; r += of) {
        sum += mixed_number(m->seat[r], m->step, at);
    }
    return sum;
}

uint64_t mixed_sum(const mixed_t *m, uint64_t at)
{
    return sum_of_some(m, 0, 1, at);
}

static bool is_right(const mixed_t *m, const char *call, uint64_t at, uint64_t expected)
{
    bool right = m->out[at] == expected;
    if (!right) {
        m->wrong(m->arg, "%s: element %llu is %llu, not %llu", call, (unsigned long long)at,
                 (unsigned long long)m->out[at], (unsigned long long)expected);
    }
    return right;
}

static weft_status_t all_reduce(mixed_t *m, uint64_t count)
{
    mixed_fill(m, count);
    weft_status_t status =
        weft_all_reduce(m->in, m->out, count, WEFT_UINT64, WEFT_SUM, m->comm, NULL);
    for (uint64_t i = 0; status == WEFT_OK && i < count; i++) {
        if (!is_right(m, "all_reduce", i, mixed_sum(m, i))) {
            break;
        }
    }
    return status;
}

static weft_status_t all_gather(mixed_t *m, uint64_t count)
{
    uint64_t each = count / m->size + 1;
    mixed_fill(m, each);
    weft_status_t status = weft_all_gather(m->in, m->out, each, WEFT_UINT64, m->comm, NULL);
    for (uint64_t i = 0; status == WEFT_OK && i < each * m->size; i++) {
        if (!is_right(m, "all_gather", i, mixed_number(m->seat[i / each], m->step, i % each))) {
            break;
        }
    }
    return status;
}

static weft_status_t reduce_scatter(mixed_t *m, uint64_t count)
{
    uint64_t each = count / m->size + 1;
    mixed_fill(m, each * m->size);
    weft_status_t status =
        weft_reduce_scatter(m->in, m->out, each, WEFT_UINT64, WEFT_SUM, m->comm, NULL);
    for (uint64_t i = 0; status == WEFT_OK && i < each; i++) {
        if (!is_right(m, "reduce_scatter", i, mixed_sum(m, m->rank * each + i))) {
            break;
        }
    }
    return status;
}

static weft_status_t broadcast(mixed_t *m, uint64_t count)
{
    uint32_t root = m->step % m->size;
    mixed_fill(m, count);
    weft_status_t status = weft_broadcast(m->in, m->out, count, WEFT_UINT64, root, m->comm, NULL);
    for (uint64_t i = 0; status == WEFT_OK && i < count; i++) {
        if (!is_right(m, "broadcast", i, mixed_number(m->seat[root], m->step, i))) {
            break;
        }
    }
    return status;
}

/* Around the ring, as a group. */
static weft_status_t exchange(mixed_t *m, uint64_t count)
{
    uint32_t to = (m->rank + 1) % m->size, from = (m->rank + m->size - 1) % m->size;
    mixed_fill(m, count);
    weft_status_t status = weft_group_start();
    weft_status_t sent = weft_send(m->in, count, WEFT_UINT64, to, m->comm, NULL);
    weft_status_t received = weft_recv(m->out, count, WEFT_UINT64, from, m->comm, NULL);
    weft_status_t ended = weft_group_end();
    status = status != WEFT_OK ? status : sent != WEFT_OK ? sent : received;
    status = status == WEFT_OK ? ended : status;
    for (uint64_t i = 0; status == WEFT_OK && i < count; i++) {
        if (!is_right(m, "recv", i, mixed_number(m->seat[from], m->step, i))) {
            break;
        }
    }
    return status;
}

/* Two requests at once, of halves. */
static weft_status_t start_two(mixed_t *m, uint64_t count)
{
    weft_request_t *requests[2] = {NULL, NULL};
    uint64_t half = count / 2 + 1;
    weft_status_t status = WEFT_OK;
    mixed_fill(m, 2 * half);
    for (int i = 0; status == WEFT_OK && i < 2; i++) {
        weft_call_t call = {.size = sizeof call, .request_p = &requests[i]};
        status = weft_all_reduce(m->in + (uint64_t)i * half, m->out + (uint64_t)i * half, half,
                                 WEFT_UINT64, WEFT_SUM, m->comm, &call);
    }
    for (int i = 0; i < 2; i++) {
        weft_status_t ended = requests[i] != NULL ? weft_request_wait(&requests[i]) : WEFT_OK;
        status = status == WEFT_OK ? ended : status;
    }
    for (uint64_t i = 0; status == WEFT_OK && i < 2 * half; i++) {
        if (!is_right(m, "asynchronous all_reduce", i, mixed_sum(m, i))) {
            break;
        }
    }
    return status;
}

static weft_status_t split(mixed_t *m, uint64_t count)
{
    weft_comm_t *half = NULL;
    mixed_fill(m, count);
    weft_status_t status = weft_comm_split(m->comm, (int32_t)(m->rank % 2), 0, &half);
    if (status != WEFT_OK) {
        return status;
    }
    status = weft_all_reduce(m->in, m->out, count, WEFT_UINT64, WEFT_SUM, half, NULL);
    for (uint64_t i = 0; status == WEFT_OK && i < count; i++) {
        if (!is_right(m, "all_reduce of a half", i, sum_of_some(m, m->rank % 2, 2, i))) {
            break;
        }
    }
    if (weft_comm_destroy(half) != WEFT_OK) {
        m->wrong(m->arg, "weft_comm_destroy of a half");
    }
    return status;
}

weft_status_t mixed_call(mixed_t *m, uint32_t number, uint64_t count)
{
    static weft_status_t (*const calls[MIXED_CALLS])(mixed_t *, uint64_t) = {
        all_reduce, all_gather, reduce_scatter, broadcast, exchange, start_two, split};
    return calls[number % MIXED_CALLS](m, count > 0 ? count : 1);
}
