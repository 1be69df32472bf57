/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls of every kind: sends and receives, groups, requests and completion queues. */
#include "tests/support/mixed_parts.h"

/* The first failure of the three that make a group. */
static weft_status_t first_of(weft_status_t a, weft_status_t b, weft_status_t c)
{
    return a != WEFT_OK ? a : b != WEFT_OK ? b : c;
}

/* What `seat` sent is in m->out[from …]. */
static void compare_message(const mixed_t *m, weft_status_t status, const char *call, uint32_t seat,
                            uint64_t from, uint64_t count)
{
    for (uint64_t i = 0; status == WEFT_OK && i < count; i++) {
        if (!mixed_is_right(m, call, from + i, mixed_number(seat, m->step, i))) {
            break;
        }
    }
}

/* Around the ring, as a group. */
weft_status_t mixed_do_ring(mixed_t *m, uint64_t count)
{
    uint32_t to = (m->rank + 1) % m->size, from = (m->rank + m->size - 1) % m->size;
    mixed_fill(m, count);
    weft_status_t status = weft_group_start();
    weft_status_t sent = weft_send(m->in, count, WEFT_UINT64, to, m->comm, NULL);
    weft_status_t received = weft_recv(m->out, count, WEFT_UINT64, from, m->comm, NULL);
    weft_status_t ended = weft_group_end();
    status = first_of(status, sent, received);
    status = status == WEFT_OK ? ended : status;
    compare_message(m, status, "recv", m->seat[from], 0, count);
    return status;
}

static weft_status_t receive_from_all(mixed_t *m, uint64_t count)
{
    uint64_t heard = UINT64_C(1) << m->rank;
    for (uint32_t n = 1; n < m->size; n++) {
        uint32_t source = m->size;
        weft_call_t call = {.size = sizeof call, .source_p = &source};
        weft_status_t status = weft_recv(m->out, count, WEFT_UINT64, WEFT_ANY_RANK, m->comm, &call);
        if (status != WEFT_OK) {
            return status;
        }
        if (source >= m->size || (heard >> source & 1) != 0) {
            m->wrong(m->arg, "recv from anyone: rank %u of %u", source, m->size);
            return status;
        }
        heard |= UINT64_C(1) << source;
        compare_message(m, status, "recv from anyone", m->seat[source], 0, count);
    }
    return WEFT_OK;
}

/* All send to one, which receives from anyone. The barrier holds back what they send next. */
weft_status_t mixed_do_anyone(mixed_t *m, uint64_t count)
{
    uint32_t root = m->step % m->size;
    mixed_fill(m, count);
    weft_status_t status = m->rank == root
                               ? receive_from_all(m, count)
                               : weft_send(m->in, count, WEFT_UINT64, root, m->comm, NULL);
    return status == WEFT_OK ? weft_barrier(m->comm, NULL) : status;
}

/* Each to each and a collective beside it, in one group. */
weft_status_t mixed_do_group(mixed_t *m, uint64_t count)
{
    uint64_t each = count / 2 / m->size + 1, begin = each * m->size, sums = count / 2;
    weft_status_t status = WEFT_OK, started;
    mixed_fill(m, begin + sums);
    started = weft_group_start();
    for (uint32_t r = 0; status == WEFT_OK && r < m->size; r++) {
        weft_status_t sent = weft_send(m->in, each, WEFT_UINT64, r, m->comm, NULL);
        status = first_of(started, sent,
                          weft_recv(m->out + r * each, each, WEFT_UINT64, r, m->comm, NULL));
    }
    if (status == WEFT_OK && sums > 0) {
        status = weft_all_reduce(m->in, m->out + begin, sums, WEFT_UINT64, WEFT_SUM, m->comm, NULL);
    }
    weft_status_t ended = weft_group_end();
    status = status == WEFT_OK ? ended : status;
    for (uint32_t r = 0; r < m->size; r++) {
        compare_message(m, status, "recv in a group", m->seat[r], r * each, each);
    }
    for (uint64_t i = 0; status == WEFT_OK && i < sums; i++) {
        if (!mixed_is_right(m, "all_reduce in a group", begin + i, mixed_sum(m, i))) {
            break;
        }
    }
    return status;
}

/* Each to each, in one group with the waits. Nobody puts into the window after its signal. */
weft_status_t mixed_do_puts(mixed_t *m, uint64_t count)
{
    uint64_t each = count / m->size + 1;
    weft_window_t *window = NULL;
    mixed_fill(m, each * m->size);
    weft_status_t status =
        weft_window_register_local(m->comm, m->out, each * m->size * sizeof *m->out, &window);
    weft_status_t started = weft_group_start();
    for (uint32_t r = 0; status == WEFT_OK && r < m->size; r++) {
        weft_status_t put = weft_put_signal(m->in, each, WEFT_UINT64, r, window,
                                            m->rank * each * sizeof *m->out, m->comm, NULL);
        status = first_of(started, put, weft_wait_signal(r, 1, m->comm, NULL));
    }
    weft_status_t ended = weft_group_end();
    status = status == WEFT_OK ? ended : status;
    for (uint32_t r = 0; r < m->size; r++) {
        compare_message(m, status, "put", m->seat[r], r * each, each);
    }
    if (window != NULL && weft_window_deregister(m->comm, window) != WEFT_OK) {
        m->wrong(m->arg, "weft_window_deregister of a window for puts");
    }
    return status;
}

/* Two all-reduces at once, of a half each. */
static weft_status_t start_halves(mixed_t *m, uint64_t half, weft_request_t **requests,
                                  weft_completion_queue_t *queue, uint32_t *started)
{
    weft_status_t status = WEFT_OK;
    mixed_fill(m, 2 * half);
    for (*started = 0; *started < 2; (*started)++) {
        weft_call_t call = {.size = sizeof call,
                            .request_p = requests != NULL ? &requests[*started] : NULL,
                            .queue = queue};
        status = weft_all_reduce(m->in + *started * half, m->out + *started * half, half,
                                 WEFT_UINT64, WEFT_SUM, m->comm, &call);
        if (status != WEFT_OK) {
            break;
        }
    }
    return status;
}

weft_status_t mixed_do_requests(mixed_t *m, uint64_t count)
{
    weft_request_t *requests[2] = {NULL, NULL};
    uint32_t started;
    uint64_t half = count / 2 + 1;
    weft_status_t status = start_halves(m, half, requests, NULL, &started);
    for (int i = 0; i < 2; i++) {
        weft_status_t ended = requests[i] != NULL ? weft_request_wait(&requests[i]) : WEFT_OK;
        status = status == WEFT_OK ? ended : status;
    }
    mixed_compare_sums(m, status, "asynchronous all_reduce", 0, 1, 2 * half);
    return status;
}

weft_status_t mixed_do_queue(mixed_t *m, uint64_t count)
{
    weft_completion_queue_t *queue = NULL;
    uint32_t started, taken = 0;
    uint64_t half = count / 2 + 1;
    weft_status_t status = weft_completion_queue_create(&queue);
    if (status != WEFT_OK) {
        return status;
    }
    status = start_halves(m, half, NULL, queue, &started);
    while (taken < started) {
        weft_completion_t entry;
        uint32_t entries = 0;
        weft_status_t waited = weft_completion_queue_wait(queue, &entry, 1, &entries, 60.0);
        if (waited != WEFT_OK || entries == 0) {
            m->wrong(m->arg, "a completion queue has %u entries of %u", taken, started);
            break;
        }
        status = status == WEFT_OK ? entry.status : status;
        taken++;
    }
    mixed_compare_sums(m, status, "all_reduce with a queue", 0, 1, 2 * half);
    if (weft_completion_queue_destroy(queue) != WEFT_OK) {
        m->wrong(m->arg, "weft_completion_queue_destroy");
    }
    return status;
}
