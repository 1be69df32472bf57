/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The job of one rank: joins, walks over data types, operators, roots and sizes, leaves. */
#include "tools/perf_run.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/coll.h"
#include "core/base/error.h"
#include "core/os/os.h"
#include "tools/perf_case.h"
#include "tools/perf_job.h"
#include "tools/perf_layout.h"
#include "tools/perf_memory.h"
#include "tools/perf_place.h"
#include "tools/perf_report.h"
#include "tools/perf_stream.h"
#include "tools/perf_support.h"
#include "tools/perf_sync.h"
#include "tools/perf_user.h"
#include "tools/tool.h"
#include "tools/values.h"

/* Lays out the call that serves `bytes` best: counts are rounded down as nccl-tests does. */
static weft_status_t perf_run_set_size(const perf_rank_t *rank, perf_case_t *test, uint64_t bytes,
                                       perf_layout_t *layout)
{
    uint64_t element = weft_dtype_size(test->dtype);
    uint64_t n = rank->nranks;
    perf_shape_t shape = {.coll = test->coll,
                          .root = test->root,
                          .rank = rank->rank,
                          .nranks = rank->nranks,
                          .pattern = rank->options->pattern,
                          .count = bytes / element,
                          .room = bytes / element};
    if (weft_coll_has_any_blocks(test->coll)) {
        uint64_t unit = 16 / element;
        shape.count = bytes / element / n / unit * unit;
        shape.room = shape.pattern.kind == PERF_EVEN ? shape.count * n : shape.room;
    }
    weft_status_t status = perf_layout_make(layout, &shape);
    test->layout = layout;
    test->count = layout->largest;
    test->size = layout->most * element;
    test->stride = test->size;
    return status;
}

static uint64_t perf_run_next_size(const perf_options_t *o, uint64_t size)
{
    if (o->sizes.step_factor <= 1) {
        return size + (o->sizes.step_bytes > 0 ? o->sizes.step_bytes : 1);
    }
    uint64_t next = (uint64_t)((double)size * o->sizes.step_factor);
    return next > size ? next : size + 1;
}

static weft_status_t perf_run_warm_up(perf_rank_t *rank, perf_case_t test)
{
    weft_status_t status = WEFT_OK;
    uint64_t size = rank->options->sizes.min_bytes;
    while (size <= rank->max_bytes && status == WEFT_OK && test.coll != WEFT_BARRIER) {
        perf_layout_t layout;
        status = perf_run_set_size(rank, &test, size, &layout);
        status = status != WEFT_OK ? status : perf_case_warm_up(rank, &test);
        perf_layout_free(&layout);
        size = size > 0 ? size * 2 : weft_dtype_size(test.dtype);
    }
    return status;
}

/* What the model says of a call, if it can. */
static double perf_run_predict(const perf_rank_t *rank, const perf_case_t *test)
{
    double seconds = -1;
    uint32_t root = test->coll == WEFT_SEND_RECV ? (rank->rank + 1) % rank->nranks : test->root;
    if (!rank->options->output.model || test->op == WEFT_OP_USER) {
        return -1;
    }
    weft_status_t status = weft_comm_predict(rank->comm, test->coll, test->count, test->dtype,
                                             test->op, root, &seconds);
    return status == WEFT_OK ? seconds : -1;
}

static weft_status_t perf_run_measure_row(perf_rank_t *rank, perf_case_t test, uint64_t seed)
{
    perf_sample_t out;
    perf_sample_t in = {.absent = true, .wrong = -1};
    test.model = -1;
    if (rank->report != NULL) {
        test.model = perf_run_predict(rank, &test);
        perf_report_progress(rank->report, &test);
    }
    weft_status_t status = perf_case_run(rank, &test, seed, &out);
    test.in_place = true;
    if (status == WEFT_OK && test.layout->has_in_place) {
        status = perf_case_run(rank, &test, seed, &in);
    }
    if (status == WEFT_OK && rank->report != NULL) {
        perf_report_row(rank->report, &test, &out, &in);
    }
    return status;
}

static weft_status_t run_row(perf_rank_t *rank, perf_case_t test, uint64_t size, uint64_t seed)
{
    perf_layout_t layout;
    weft_status_t status = perf_run_set_size(rank, &test, size, &layout);
    status = status != WEFT_OK ? status : perf_run_measure_row(rank, test, seed);
    perf_layout_free(&layout);
    return status;
}

static weft_status_t run_sizes(perf_rank_t *rank, perf_case_t test, uint64_t seed)
{
    weft_status_t status = perf_barrier(rank);
    status = status != WEFT_OK ? status : perf_run_warm_up(rank, test);
    if (test.coll == WEFT_BARRIER) {
        return status != WEFT_OK ? status : run_row(rank, test, 0, seed);
    }
    uint64_t size = rank->options->sizes.min_bytes;
    while (size <= rank->max_bytes && status == WEFT_OK) {
        status = run_row(rank, test, size, seed);
        size = perf_run_next_size(rank->options, size);
    }
    return status;
}

static weft_status_t run_roots(perf_rank_t *rank, perf_case_t test, uint64_t seed)
{
    const perf_options_t *o = rank->options;
    bool rooted = weft_coll_is_rooted(test.coll);
    uint32_t first = rooted && o->root >= 0 ? (uint32_t)o->root : 0;
    uint32_t last = rooted && o->root < 0 ? rank->nranks - 1 : first;
    weft_status_t status = WEFT_OK;
    for (test.root = first; test.root <= last && status == WEFT_OK; test.root++) {
        status = run_sizes(rank, test, seed);
    }
    return status;
}

static weft_status_t run_ops(perf_rank_t *rank, perf_case_t test, uint64_t seed)
{
    const perf_options_t *o = rank->options;
    bool all = o->op < 0 && weft_coll_reduces(test.coll);
    int first = all || o->op < 0 || !weft_coll_reduces(test.coll) ? 0 : o->op;
    int last = all ? WEFT_OP_COUNT - 1 : first;
    bool sweeps = all || o->dtype < 0; /* what does not go together is left out */
    weft_status_t status = WEFT_OK;
    for (int op = first; op <= last && status == WEFT_OK; op++) {
        test.op = (weft_op_t)op;
        if (!sweeps || op >= WEFT_OP_COUNT || weft_op_has_dtype(test.op, test.dtype)) {
            status = run_roots(rank, test, seed);
        }
    }
    return status;
}

static weft_status_t run_dtypes(perf_rank_t *rank, weft_coll_t coll, uint64_t seed)
{
    const perf_options_t *o = rank->options;
    bool all = o->dtype < 0 && coll != WEFT_BARRIER;
    int first = o->dtype < 0 ? 0 : o->dtype;
    int last = all ? WEFT_DTYPE_COUNT - 1 : first;
    weft_status_t status = WEFT_OK;
    for (int dtype = first; dtype <= last && status == WEFT_OK; dtype++) {
        perf_case_t test = {.coll = coll, .dtype = (weft_dtype_t)dtype};
        status = run_ops(rank, test, seed);
    }
    return status;
}

static weft_status_t run_cycle(perf_rank_t *rank, uint64_t seed)
{
    const perf_options_t *o = rank->options;
    weft_status_t status = WEFT_OK;
    for (int c = 0; c < WEFT_COLL_COUNT && o->every && status == WEFT_OK; c++) {
        weft_coll_t coll = (weft_coll_t)c;
        if (rank->report != NULL) {
            perf_report_next(rank->report, coll);
        }
        status = rank->support.unserved[c][0] != '\0' ? WEFT_OK : run_dtypes(rank, coll, seed);
    }
    return o->every ? status : run_dtypes(rank, o->coll, seed);
}

static weft_status_t perf_run_begin(perf_rank_t *rank)
{
    uint64_t reduced = 0;
    perf_identity_t *all = calloc(rank->nranks, sizeof *all);
    if (all == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a list of %u ranks", rank->nranks);
    }
    weft_status_t status = perf_place_find(rank, all, &reduced);
    if (status == WEFT_OK && rank->options->loop.graphs > 0 && rank->device.streams == NULL) {
        rank->exit_code = TOOL_UNIMPLEMENTED;
        if (rank->report != NULL) {
            fprintf(stderr,
                    "weft: --cudagraph needs a kernel whose device has streams; %s has none\n",
                    all[rank->rank].name);
        }
    } else if (status == WEFT_OK && rank->report != NULL) {
        rank->exit_code = perf_report_begin(rank->report, rank, all, reduced);
    }
    free(all);
    return status;
}

static weft_status_t run_all(perf_rank_t *rank)
{
    const perf_options_t *o = rank->options;
    weft_status_t status = WEFT_OK;
    for (int64_t c = 0; (o->loop.cycles == 0 || c < o->loop.cycles) && status == WEFT_OK; c++) {
        status = run_cycle(rank, (uint64_t)(c * (o->check + 1)));
    }
    return status;
}

static weft_status_t perf_run_allocate(perf_rank_t *rank)
{
    const uint8_t small_float = 0x3c; /* repeated it is 0.0115 as float: no slow denormals */
    if (rank->options->loop.per_iter != 0 || rank->options->loop.stats) {
        rank->samples = calloc(2 * (size_t)rank->options->loop.iters + 1, sizeof *rank->samples);
        if (rank->samples == NULL) {
            return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for the times of all iterations");
        }
    }
    weft_status_t status = perf_memory_alloc(rank);
    status = status != WEFT_OK ? status : perf_stream_open(rank);
    if (status == WEFT_OK && rank->options->op == WEFT_OP_USER) {
        status = weft_op_create(rank->comm, perf_user_combine, NULL, &rank->user_op);
    }
    if (status == WEFT_OK) {
        status = perf_memory_set(rank, rank->send, small_float, rank->buffer_bytes);
    }
    return status != WEFT_OK ? status
                             : perf_memory_set(rank, rank->recv, small_float, rank->buffer_bytes);
}

/* Returns the bytes by which the process has grown, for each of its ranks. */
static uint64_t perf_run_grown(const perf_rank_t *rank, uint64_t *before)
{
    uint64_t now = perf_memory_resident();
    uint64_t more = now > *before ? now - *before : 0;
    *before = now;
    return more / (uint64_t)(rank->options->threads * rank->options->gpus);
}

/* Ranks of a host go round its devices, unless the user has chosen one. */
static weft_status_t perf_run_join(perf_rank_t *rank, const weft_unique_id_t *id)
{
    char device[sizeof rank->options->device_key + 32];
    tool_settings_t settings = rank->options->settings;
    uint64_t resident = perf_memory_resident();
    snprintf(device, sizeof device, "%s=modulo:%u", rank->options->device_key, rank->local);
    if (rank->options->device_key[0] != '\0' &&
        !tool_settings_take(&settings, TOOL_OPT_SET, device)) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "no room for one more --set: %s", device);
    }
    weft_comm_options_t options = tool_settings_options(&settings);
    weft_status_t status = weft_comm_init_rank(&rank->comm, rank->nranks, id, rank->rank, &options);
    rank->memory[0] = perf_run_grown(rank, &resident);
    return status;
}

static weft_status_t perf_run_sum_holdings(perf_rank_t *rank)
{
    holdings_summary_t *held = &rank->held;
    weft_status_t status = holdings_summary_take(rank->comm, rank->nranks, held);
    if (status == WEFT_OK) {
        status = perf_reduce(rank, held->sum, HOLDINGS_NUMBERS, WEFT_SUM);
    }
    return status == WEFT_OK ? perf_reduce(rank, held->most, HOLDINGS_NUMBERS, WEFT_MAX) : status;
}

static weft_status_t run_joined(perf_rank_t *rank)
{
    const perf_options_t *o = rank->options;
    uint64_t resident = perf_memory_resident();
    weft_status_t status = perf_support_refine(rank);
    status = status != WEFT_OK ? status : perf_run_begin(rank);
    if (status != WEFT_OK || rank->exit_code != TOOL_OK) {
        return status;
    }
    status = perf_run_allocate(rank);
    rank->memory[1] = perf_run_grown(rank, &resident);
    status = status != WEFT_OK ? status : run_all(rank);
    rank->memory[2] = perf_run_grown(rank, &resident);
    return status == WEFT_OK && o->memory != 0 ? perf_run_sum_holdings(rank) : status;
}

static void perf_run_print_failure(const perf_rank_t *rank, weft_status_t status)
{
    const weft_error_t *error = weft_error_record();
    char host[64];
    if (status == WEFT_ERR_PLAN && rank->comm != NULL) {
        return; /* the same on all ranks, and the library has logged it on the first */
    }
    weft_os_host_name(host, sizeof host);
    fprintf(stderr, "weft: rank %u (%s, pid %d): %s: %s\n", rank->rank, host, weft_os_pid(),
            weft_status_name(status),
            error->text[0] != '\0' ? error->text : weft_status_text(status));
}

/* What other ranks must be told of: they do not see it themselves. */
static bool perf_run_fails_alone(int exit_code)
{
    return exit_code != TOOL_OK && exit_code != TOOL_WRONG && exit_code != TOOL_UNIMPLEMENTED;
}

static void perf_run_finish(perf_rank_t *rank, weft_status_t status)
{
    bool began = rank->report != NULL && rank->report->options != NULL;
    if (status != WEFT_OK) {
        char text[512];
        snprintf(text, sizeof text, "%s", weft_error_record()->text);
        perf_run_print_failure(rank, status);
        rank->exit_code = tool_exit_code(status);
        if (began) {
            perf_report_end(rank->report, rank, text);
        }
    } else if (began && rank->exit_code == TOOL_OK) {
        rank->exit_code = perf_report_end(rank->report, rank, NULL);
    }
    if (rank->exit_code == TOOL_OK && rank->wrong > 0) {
        rank->exit_code = TOOL_WRONG;
    }
}

void perf_rank_run(perf_rank_t *rank, const weft_unique_id_t *id)
{
    weft_status_t status = perf_run_join(rank, id);
    status = status != WEFT_OK ? status : run_joined(rank);
    perf_run_finish(rank, status);
    if (rank->comm != NULL) {
        if (status != WEFT_ERR_PLAN && perf_run_fails_alone(rank->exit_code)) {
            weft_comm_abort(rank->comm);
        }
        perf_stream_close(rank);
        perf_memory_free(rank);
        weft_comm_destroy(rank->comm);
    }
    free(rank->samples);
}
