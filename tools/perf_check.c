/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The check of one operation: fresh data goes in and what comes out is looked at, in pieces that
 * the host can touch. */
#include "tools/perf_check.h"

#include "tools/perf_call.h"
#include "tools/perf_data.h"
#include "tools/perf_job.h"
#include "tools/perf_memory.h"
#include "tools/perf_stream.h"

/* The n-th piece of a buffer of `count` elements. */
static perf_range_t perf_check_range_from(const perf_rank_t *rank, uint64_t first, uint64_t count,
                                          size_t element)
{
    uint64_t most = perf_memory_room(rank, (count - first) * element) / element;
    return (perf_range_t){first, most};
}

static weft_status_t perf_check_fill(perf_rank_t *rank, const perf_data_t *data, uint8_t *send)
{
    const uint64_t count = data->test.layout->send_count;
    const size_t element = weft_dtype_size(data->test.dtype);
    weft_status_t status = WEFT_OK;
    for (uint64_t first = 0; first < count && status == WEFT_OK;) {
        perf_range_t range = perf_check_range_from(rank, first, count, element);
        uint8_t *at = send + first * element;
        perf_data_fill_send(data, range, perf_memory_piece(rank, at));
        status = perf_memory_store(rank, at, range.count * element);
        first += range.count;
    }
    return status;
}

typedef uint64_t (*look_t)(const perf_data_t *data, perf_range_t range, const void *piece);

static weft_status_t perf_check_look_at(perf_rank_t *rank, const perf_data_t *data, uint8_t *buffer,
                                        uint64_t count, look_t look)
{
    const size_t element = weft_dtype_size(data->test.dtype);
    weft_status_t status = WEFT_OK;
    for (uint64_t first = 0; first < count && status == WEFT_OK;) {
        perf_range_t range = perf_check_range_from(rank, first, count, element);
        uint8_t *at = buffer + first * element;
        status = perf_memory_load(rank, at, range.count * element);
        if (status == WEFT_OK) {
            rank->wrong += look(data, range, perf_memory_piece(rank, at));
        }
        first += range.count;
    }
    return status;
}

weft_status_t perf_check(perf_rank_t *rank, const perf_case_t *test, uint64_t seed, double *wrong_p)
{
    const perf_data_t data = {
        .test = *test, .rank = rank->rank, .nranks = rank->nranks, .seed = seed};
    const perf_buffers_t b = perf_call_buffers(rank, test, 0);
    const perf_layout_t *layout = test->layout;
    const uint8_t nobodys = 0xa5;
    const uint64_t before = rank->wrong;
    weft_status_t status =
        perf_memory_set(rank, b.recv, nobodys, layout->recv_count * weft_dtype_size(test->dtype));
    status = status != WEFT_OK ? status : perf_check_fill(rank, &data, b.send);
    status = status != WEFT_OK ? status : perf_stream_once(rank, test);
    if (status == WEFT_OK) {
        status = perf_check_look_at(rank, &data, b.recv, layout->recv_count, perf_data_check_recv);
    }
    if (status == WEFT_OK && !test->in_place) {
        status = perf_check_look_at(rank, &data, b.send, layout->send_count, perf_data_check_send);
    }
    *wrong_p += (double)(rank->wrong - before);
    return status;
}
