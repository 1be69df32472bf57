/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A run of all gpus with queues that never fill, on sets of contributions in place of data. It
 * finds what the format leaves out: which step completes a reduction, which piece of the message a
 * chunk of scratch holds, and whether a chunk of the input was overwritten when it is read. Streams
 * without "receive from any" are confluent, so one run shows what every run does, unless there is a
 * race; that, and queues that do fill, are for the core's verifier. */
#include "msccl_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "msccl_sets.h"
#include "msccl.h"
#include "msccl_place.h"
#include "msccl_result.h"
#include "msccl_share.h"

typedef struct value {
    uint32_t set, name;
} value_t;

/* Progress of one tb. */
typedef struct stream {
    uint32_t step, chunk; /* next */
    uint32_t queue;       /* its first value in run.values */
    uint32_t pushed, popped;
    uint32_t waiters, next; /* lists of tbs that wait for this one's progress, as index + 1 */
    bool queued, waits;     /* in run.ready; in such a list */
} stream_t;

typedef struct run {
    msccl_program_t *program;
    stream_t *streams;
    value_t *values;
    uint32_t *ready; /* ring of tbs that may go on */
    uint32_t first, nready;
    msccl_sets_t sets;
    uint32_t *order; /* tb of each chunk or nop, as executed */
    uint32_t norder;
    weft_status_t status;
} run_t;

static void run_fini(run_t *run)
{
    const weft_host_t *host = run->program->host;
    host->free(host, run->streams);
    host->free(host, run->values);
    host->free(host, run->ready);
    host->free(host, run->order);
    msccl_sets_fini(&run->sets);
}

static uint32_t msccl_run_cells_init(msccl_program_t *program)
{
    uint32_t cells = 0;
    for (uint32_t g = 0; g < program->n; g++) {
        program->gpus[g].cells = cells;
        uint32_t places = msccl_places(program, g);
        if (places > MSCCL_CELLS_MAX - cells) {
            return 0;
        }
        cells += places;
    }
    return cells;
}

static weft_status_t run_init(run_t *run)
{
    msccl_program_t *program = run->program;
    const weft_host_t *host = program->host;
    program->ncells = msccl_run_cells_init(program);
    if (program->ncells == 0) {
        return msccl_fail(program, 1, "the buffers have more than %u chunks", MSCCL_CELLS_MAX);
    }
    program->cells = host->alloc(host, program->ncells * sizeof *program->cells, 0);
    program->marks = host->alloc(host, (program->nmarks + 1) * sizeof *program->marks, 0);
    run->streams = host->alloc(host, (program->ntbs + 1) * sizeof *run->streams, 0);
    run->ready = host->alloc(host, (program->ntbs + 1) * sizeof *run->ready, 0);
    run->values = host->alloc(host, (program->nmarks + 1) * sizeof *run->values, 0);
    run->order =
        host->alloc(host, ((size_t)program->nmarks + program->nsteps + 1) * sizeof *run->order, 0);
    if (run->order == NULL || program->cells == NULL || program->marks == NULL ||
        run->streams == NULL || run->ready == NULL || run->values == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    return msccl_sets_init(&run->sets, host, program->n);
}

/* What a chunk of the input is a part of: see msccl_cell_t.name. */
static uint32_t msccl_run_input_name(const msccl_program_t *program, uint32_t gpu, uint32_t chunk)
{
    return program->coll == WEFT_ALL_GATHER ? gpu * program->k + chunk : chunk;
}

static void msccl_run_reset(run_t *run)
{
    msccl_program_t *program = run->program;
    uint32_t queue = 0;
    for (uint32_t g = 0; g < program->n; g++) {
        program->gpus[g].nshadows = 0;
        msccl_cell_t *cells = &program->cells[program->gpus[g].cells];
        for (uint32_t place = 0; place < msccl_places(program, g); place++) {
            uint32_t chunk = msccl_in_chunk(program, g, place);
            cells[place] = (msccl_cell_t){0};
            if (chunk != MSCCL_NONE) {
                cells[place].set = g + 1;
                cells[place].name = msccl_run_input_name(program, g, chunk);
            }
        }
    }
    msccl_sets_reset(&run->sets);
    run->norder = 0;
    run->nready = 0;
    run->first = 0;
    for (uint32_t tb = 0; tb < program->ntbs; tb++) {
        run->streams[tb] = (stream_t){.queue = queue, .queued = true};
        queue += program->tbs[tb].nsends;
        run->ready[run->nready++] = tb;
    }
}

static void msccl_run_wake(run_t *run, uint32_t tb)
{
    if (tb != MSCCL_NONE && !run->streams[tb].queued) {
        run->streams[tb].queued = true;
        run->ready[(run->first + run->nready++) % run->program->ntbs] = tb;
    }
}

static msccl_cell_t *msccl_run_cell_at(const run_t *run, uint32_t tb, uint32_t buffer,
                                       int32_t offset, uint32_t *place_p)
{
    const msccl_program_t *program = run->program;
    uint32_t gpu = program->tbs[tb].gpu;
    *place_p = msccl_place(program, gpu, buffer, (uint32_t)offset + run->streams[tb].chunk);
    return &program->cells[program->gpus[gpu].cells + *place_p];
}

static weft_status_t msccl_run_fail_here(const run_t *run, uint32_t tb, const char *format, ...)
    WEFT_PRINTF(3, 4);

static weft_status_t msccl_run_fail_here(const run_t *run, uint32_t tb, const char *format, ...)
{
    char why[200];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return msccl_fail_step(run->program, tb, run->streams[tb].step, "%s", why);
}

static value_t msccl_run_read_cell(run_t *run, uint32_t tb, uint32_t buffer, int32_t offset,
                                   bool *written_p)
{
    uint32_t place;
    const msccl_cell_t *cell = msccl_run_cell_at(run, tb, buffer, offset, &place);
    if (cell->set == 0) {
        run->status = msccl_run_fail_here(run, tb, "reads %s[%u], which nothing has written",
                                          msccl_buffer_name(buffer),
                                          (uint32_t)offset + run->streams[tb].chunk);
    }
    *written_p = cell->written;
    return (value_t){cell->set, cell->name};
}

/* The union, which must be disjoint: a contribution may count once only. */
static uint32_t msccl_run_sum(run_t *run, uint32_t tb, uint32_t x, uint32_t y)
{
    uint32_t set = 0, common = MSCCL_NONE;
    if (msccl_sets_full(&run->sets)) {
        run->status = msccl_run_fail_here(run, tb,
                                          "too many partial sums: it cannot be decided which steps "
                                          "complete a reduction");
        return 0;
    }
    run->status = msccl_sets_unite(&run->sets, x, y, &set, &common);
    if (run->status == WEFT_OK && common != MSCCL_NONE) {
        run->status =
            msccl_run_fail_here(run, tb, "adds the contribution of gpu %u a second time", common);
    }
    return set;
}

static value_t msccl_run_combine(run_t *run, uint32_t tb, value_t x, value_t y)
{
    if (run->status != WEFT_OK) {
        return x;
    }
    if (!(run->program->coll == WEFT_ALL_REDUCE || run->program->coll == WEFT_REDUCE ||
          run->program->coll == WEFT_REDUCE_SCATTER)) {
        run->status = msccl_run_fail_here(run, tb, "reduces, but the collective only moves data");
    } else if (x.name != y.name) {
        run->status =
            msccl_run_fail_here(run, tb, "combines chunk %u with chunk %u", x.name, y.name);
    } else {
        x.set = msccl_run_sum(run, tb, x.set, y.set);
    }
    return x;
}

/* A chunk of OUT has the length of its piece, so it can only hold that piece. */
static void msccl_run_write_cell(run_t *run, uint32_t tb, const msccl_step_t *step, value_t value)
{
    msccl_program_t *program = run->program;
    uint32_t place, gpu = program->tbs[tb].gpu;
    msccl_cell_t *cell = msccl_run_cell_at(run, tb, step->dst_buf, step->dst, &place);
    uint32_t out = msccl_out_chunk(program, gpu, place);
    if (out != MSCCL_NONE && out % program->k != value.name % program->k) {
        run->status =
            msccl_run_fail_here(run, tb, "stores piece %u of a block in %s[%u], which is piece %u",
                                value.name % program->k, msccl_buffer_name(step->dst_buf),
                                (uint32_t)step->dst + run->streams[tb].chunk, out % program->k);
        return;
    }
    if (out == MSCCL_NONE && msccl_tmp_chunk(program, place) == MSCCL_NONE && cell->shadow == 0) {
        cell->shadow = ++program->gpus[gpu].nshadows;
    }
    cell->set = value.set;
    cell->name = value.name;
    cell->written = true;
}

static void run_chunk(run_t *run, uint32_t tb, const msccl_step_t *step)
{
    const msccl_act_t *act = &msccl_acts[step->type];
    msccl_program_t *program = run->program;
    stream_t *stream = &run->streams[tb];
    msccl_mark_t *mark = &program->marks[step->mark + stream->chunk];
    value_t value = {0, 0};
    uint32_t operands = 0;
    *mark = (msccl_mark_t){0};
    if (act->receives) {
        value = run->values[run->streams[program->tbs[tb].from].queue + stream->popped++];
        operands++;
    }
    if (act->accumulates) {
        value = msccl_run_read_cell(run, tb, step->dst_buf, step->dst, &mark->dst_written);
        operands++;
    }
    if (act->reads) {
        value_t local = msccl_run_read_cell(run, tb, step->src_buf, step->src, &mark->src_written);
        value = operands++ == 0 ? local : msccl_run_combine(run, tb, value, local);
    }
    mark->name = value.name;
    mark->final = operands > 1 && value.set == program->n + 1;
    if (act->writes && run->status == WEFT_OK) {
        msccl_run_write_cell(run, tb, step, value);
    }
    if (act->sends) {
        run->values[stream->queue + stream->pushed++] = value;
    }
}

static bool msccl_run_blocked(run_t *run, uint32_t tb, const msccl_step_t *step)
{
    const msccl_program_t *program = run->program;
    stream_t *stream = &run->streams[tb];
    if (stream->chunk == 0 && step->dep_tb >= 0) {
        uint32_t other = program->gpus[program->tbs[tb].gpu].first + (uint32_t)step->dep_tb;
        if (run->streams[other].step <= (uint32_t)step->dep_step) {
            if (!stream->waits) {
                stream->waits = true;
                stream->next = run->streams[other].waiters;
                run->streams[other].waiters = tb + 1;
            }
            return true;
        }
    }
    return msccl_acts[step->type].receives &&
           stream->popped == run->streams[program->tbs[tb].from].pushed;
}

/* Returns whether it got any further. */
static bool run_stream(run_t *run, uint32_t tb)
{
    const msccl_tb_t *at = &run->program->tbs[tb];
    stream_t *stream = &run->streams[tb];
    uint32_t step_before = stream->step, chunk_before = stream->chunk;
    while (stream->step < at->nsteps && run->status == WEFT_OK) {
        const msccl_step_t *step = &run->program->steps[at->first + stream->step];
        if (msccl_run_blocked(run, tb, step)) {
            break;
        }
        run->order[run->norder++] = tb;
        if (step->type != MSCCL_NOP) {
            run_chunk(run, tb, step);
            stream->chunk++;
        }
        if (step->type == MSCCL_NOP || stream->chunk == (uint32_t)step->cnt) {
            stream->step++;
            stream->chunk = 0;
        }
    }
    return stream->step != step_before || stream->chunk != chunk_before;
}

static void msccl_run_wake_waiters(run_t *run, uint32_t tb)
{
    uint32_t waiter = run->streams[tb].waiters;
    run->streams[tb].waiters = 0;
    while (waiter != 0) {
        uint32_t next = run->streams[waiter - 1].next;
        run->streams[waiter - 1].waits = false;
        msccl_run_wake(run, waiter - 1);
        waiter = next;
    }
}

static weft_status_t msccl_run_fail_stuck(run_t *run, uint32_t tb)
{
    const msccl_program_t *program = run->program;
    const msccl_tb_t *at = &program->tbs[tb];
    const msccl_step_t *step = &program->steps[at->first + run->streams[tb].step];
    uint32_t other = program->gpus[at->gpu].first + (uint32_t)step->dep_tb;
    if (step->dep_tb >= 0 && run->streams[tb].chunk == 0 &&
        run->streams[other].step <= (uint32_t)step->dep_step) {
        return msccl_run_fail_here(run, tb,
                                   "hangs at any queue depth: waits for step %d of tb %d, which "
                                   "stands at step %u",
                                   step->dep_step, step->dep_tb, run->streams[other].step);
    }
    return msccl_run_fail_here(
        run, tb,
        "hangs at any queue depth: waits for gpu %d on channel %u, whose tb %u "
        "stands at step %u",
        at->recv, at->channel, at->from - program->gpus[at->recv].first,
        run->streams[at->from].step);
}

static weft_status_t run_all(run_t *run)
{
    const msccl_program_t *program = run->program;
    msccl_run_reset(run);
    while (run->nready != 0 && run->status == WEFT_OK) {
        uint32_t tb = run->ready[run->first];
        run->first = (run->first + 1) % program->ntbs;
        run->nready--;
        run->streams[tb].queued = false;
        if (run_stream(run, tb)) {
            msccl_run_wake(run, program->tbs[tb].to);
            msccl_run_wake_waiters(run, tb);
        }
    }
    for (uint32_t tb = 0; tb < program->ntbs && run->status == WEFT_OK; tb++) {
        if (run->streams[tb].step < program->tbs[tb].nsteps) {
            run->status = msccl_run_fail_stuck(run, tb);
        }
    }
    return run->status;
}

/* The format does not name a root, so the first run of a rooted collective takes every gpu for one
 * and shows whose data goes everywhere, or where all data comes together. */
weft_status_t msccl_run(msccl_program_t *program)
{
    run_t run = {.program = program};
    bool rooted = program->coll == WEFT_BROADCAST || program->coll == WEFT_REDUCE;
    program->root = rooted ? MSCCL_NONE : 0;
    weft_status_t status = run_init(&run);
    status = status != WEFT_OK ? status : run_all(&run);
    if (status == WEFT_OK && rooted) {
        status = msccl_result_root(program);
        status = status != WEFT_OK ? status : run_all(&run);
    }
    if (status == WEFT_OK) {
        status = msccl_result_check(program, &run.sets);
    }
    if (status == WEFT_OK) {
        status = msccl_share(program, run.order, run.norder);
    }
    run_fini(&run);
    return status;
}
