/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See mixed_calls.h. */
#include "tests/support/mixed_parts.h"

#include <string.h>

void mixed_fill(const mixed_t *m, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        m->in[i] = mixed_number(m->seat[m->rank], m->step, i);
    }
    memset(m->out, 0, count * sizeof *m->out);
}

uint64_t mixed_sum_of_some(const mixed_t *m, uint32_t which, uint32_t of, uint64_t at)
{
    uint64_t sum = 0;
    for (uint32_t r = which; r < m->size; r += of) {
        sum += mixed_number(m->seat[r], m->step, at);
    }
    return sum;
}

uint64_t mixed_sum(const mixed_t *m, uint64_t at)
{
    return mixed_sum_of_some(m, 0, 1, at);
}

bool mixed_is_right(const mixed_t *m, const char *call, uint64_t at, uint64_t expected)
{
    bool right = m->out[at] == expected;
    if (!right) {
        m->wrong(m->arg, "%s: element %llu is %llu, not %llu", call, (unsigned long long)at,
                 (unsigned long long)m->out[at], (unsigned long long)expected);
    }
    return right;
}

void mixed_compare_sums(const mixed_t *m, weft_status_t status, const char *call, uint32_t which,
                        uint32_t of, uint64_t count)
{
    for (uint64_t i = 0; status == WEFT_OK && i < count; i++) {
        if (!mixed_is_right(m, call, i, mixed_sum_of_some(m, which, of, i))) {
            break;
        }
    }
}

weft_status_t mixed_all_reduce(const mixed_t *m, uint64_t count, weft_op_t op, weft_comm_t *comm,
                               const weft_call_t *call)
{
    return weft_all_reduce(m->in, m->out, count, WEFT_UINT64, op, comm, call);
}

static weft_status_t all_reduce(mixed_t *m, uint64_t count)
{
    mixed_fill(m, count);
    weft_status_t status = mixed_all_reduce(m, count, WEFT_SUM, m->comm, NULL);
    mixed_compare_sums(m, status, "all_reduce", 0, 1, count);
    return status;
}

static weft_status_t all_gather(mixed_t *m, uint64_t count)
{
    uint64_t each = count / m->size + 1;
    mixed_fill(m, each);
    weft_status_t status = weft_all_gather(m->in, m->out, each, WEFT_UINT64, m->comm, NULL);
    for (uint64_t i = 0; status == WEFT_OK && i < each * m->size; i++) {
        if (!mixed_is_right(m, "all_gather", i,
                            mixed_number(m->seat[i / each], m->step, i % each))) {
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
        if (!mixed_is_right(m, "reduce_scatter", i, mixed_sum(m, m->rank * each + i))) {
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
        if (!mixed_is_right(m, "broadcast", i, mixed_number(m->seat[root], m->step, i))) {
            break;
        }
    }
    return status;
}

static weft_status_t all_to_all(mixed_t *m, uint64_t count)
{
    uint64_t each = count / m->size + 1;
    mixed_fill(m, each * m->size);
    weft_status_t status = weft_all_to_all(m->in, m->out, each, WEFT_UINT64, m->comm, NULL);
    for (uint64_t i = 0; status == WEFT_OK && i < each * m->size; i++) {
        uint64_t at = m->rank * each + i % each;
        if (!mixed_is_right(m, "all_to_all", i, mixed_number(m->seat[i / each], m->step, at))) {
            break;
        }
    }
    return status;
}

/* Every third rank has nothing. */
weft_status_t mixed_do_vectors(mixed_t *m, uint64_t count)
{
    uint64_t counts[MIXED_RANKS], at = 0;
    for (uint32_t r = 0; r < m->size; r++) {
        counts[r] = (m->seat[r] + m->step) % 3 == 0 ? 0 : count / m->size + r % 2;
    }
    mixed_fill(m, count + m->size);
    weft_status_t status =
        weft_all_gather_v(m->in, m->out, counts, NULL, WEFT_UINT64, m->comm, NULL);
    for (uint32_t r = 0; r < m->size; r++) {
        for (uint64_t i = 0; status == WEFT_OK && i < counts[r]; i++, at++) {
            if (!mixed_is_right(m, "all_gather_v", at, mixed_number(m->seat[r], m->step, i))) {
                return status;
            }
        }
    }
    return status;
}

/* To a root, and back. */
weft_status_t mixed_do_root(mixed_t *m, uint64_t count)
{
    uint32_t root = m->step % m->size;
    uint64_t each = count / m->size + 1;
    mixed_fill(m, each * m->size);
    weft_status_t status = weft_gather(m->in, m->out, each, WEFT_UINT64, root, m->comm, NULL);
    for (uint64_t i = 0; status == WEFT_OK && m->rank == root && i < each * m->size; i++) {
        if (!mixed_is_right(m, "gather", i, mixed_number(m->seat[i / each], m->step, i % each))) {
            break;
        }
    }
    if (status != WEFT_OK) {
        return status;
    }
    status = weft_scatter(m->in, m->out, each, WEFT_UINT64, root, m->comm, NULL);
    for (uint64_t i = 0; status == WEFT_OK && i < each; i++) {
        if (!mixed_is_right(m, "scatter", i,
                            mixed_number(m->seat[root], m->step, m->rank * each + i))) {
            break;
        }
    }
    return status;
}

static weft_status_t reduce(mixed_t *m, uint64_t count)
{
    uint32_t root = m->step % m->size;
    mixed_fill(m, count);
    weft_status_t status =
        weft_reduce(m->in, m->out, count, WEFT_UINT64, WEFT_SUM, root, m->comm, NULL);
    mixed_compare_sums(m, status, "reduce", 0, 1, m->rank == root ? count : 0);
    return status;
}

static weft_status_t barrier(mixed_t *m, uint64_t count)
{
    (void)count;
    return weft_barrier(m->comm, NULL);
}

static weft_status_t (*const mixed_list[MIXED_CALLS])(mixed_t *, uint64_t) = {
    all_reduce,        all_gather,        reduce_scatter,   broadcast,       mixed_do_ring,
    mixed_do_requests, mixed_do_split,    all_to_all,       mixed_do_anyone, mixed_do_create_group,
    mixed_do_group,    mixed_do_queue,    mixed_do_vectors, mixed_do_root,   mixed_do_window,
    mixed_do_memory,   mixed_do_operator, reduce,           barrier,         mixed_do_puts};

weft_status_t mixed_call(mixed_t *m, uint32_t number, uint64_t count)
{
    return mixed_list[number % MIXED_CALLS](m, count > 0 ? count : 1);
}

bool mixed_sends(uint32_t number)
{
    weft_status_t (*call)(mixed_t *, uint64_t) = mixed_list[number % MIXED_CALLS];
    return call == mixed_do_ring || call == mixed_do_anyone || call == mixed_do_group;
}
