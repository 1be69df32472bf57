/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interpreter: all ranks of a job in one thread, ports as FIFOs in memory, lanes of every kind
 * (LOOP, PAR, BAR, waits, cnt) against plain sums. */
#include <stdlib.h>
#include <string.h>

#include "core/exec/interpreter.h"
#include "core/exec/message_port.h"
#include "tests/support/loaded_net.h"
#include "tests/support/lanes_job.h"
#include "tests/support/unit.h"

static void all_reduce_once(lanes_emit_t emit, uint32_t nranks, uint64_t count, uint32_t slices,
                            uint32_t channels)
{
    for (int windows = 0; windows < 2; windows++) {
        lanes_job_t job;
        lanes_job_init(&job, emit, nranks, count, slices, channels);
        if (windows) {
            lanes_job_show_windows(&job);
        }
        lanes_job_run(&job, 1);
        assert_true(lanes_job_is_right(&job));
        lanes_job_run(&job, 2); /* the same ports again, sequence numbers run on */
        assert_true(lanes_job_is_right(&job));
        assert_int_equal(lanes_job_references(&job) > 0, windows && count >= 64);
        lanes_job_fini(&job);
    }
}

static void all_reduce_by(lanes_emit_t emit, uint32_t nranks)
{
    static const uint64_t counts[] = {0, 1, 5, 64, 1000, 5003};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (uint32_t slices = 1; slices < LANES_SLOTS; slices++) {
            for (uint32_t channels = 1; channels <= LANES_CHANNELS_MAX; channels++) {
                all_reduce_once(emit, nranks, counts[c], slices, channels);
            }
        }
    }
}

/* Two ranks exchange both chunks in one MOVE of cnt 2 under PAR; a second lane then copies what the
 * first has put in TMP, after it, and both meet at a BAR. */
static weft_status_t emit_lanes(weft_algo_t *algo, const weft_algo_call_t *call,
                                const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    uint32_t peer = 1 - call->rank;
    (void)algo;
    (void)view;
    b->grid(b, 2, 2);
    uint32_t first = b->lane(b);
    uint32_t second = b->lane(b);
    uint32_t to = b->port(b, first, peer, 3, 1);
    uint32_t from = b->port(b, first, peer, 3, 0);
    weft_move_t send = {
        .dst = {weft_port(to)}, .src = {weft_in(0, 0)}, .ndst = 1, .nsrc = 1, .cnt = 2};
    weft_move_t receive = {.dst = {weft_tmp(0, 0)},
                           .ndst = 1,
                           .nsrc = 2,
                           .cnt = 2,
                           .src = {weft_port(from), weft_in(0, 0)},
                           .flags = WEFT_MOVE_FINAL};
    b->par(b, first, 2);
    b->move(b, first, &send);
    uint32_t pc = b->move(b, first, &receive);
    weft_move_t copy = {.dst = {weft_out(0, 1)},
                        .src = {weft_tmp(0, 1)},
                        .ndst = 1,
                        .nsrc = 1,
                        .nafter = 1,
                        .after = {{first, pc}}};
    b->loop(b, second, 2);
    b->move(b, second, &copy);
    b->end(b, second);
    b->bar(b, first, 3);
    b->bar(b, second, 3);
    return WEFT_OK;
}

/* Two ranks sum in three lanes: one sends and takes, the next adds, the last copies the sum of the
 * previous lane to OUT. The middle lane meets its neighbours at different barriers, and the last
 * lane comes to its first one long before. */
static weft_status_t emit_chain(weft_algo_t *algo, const weft_algo_call_t *call,
                                const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    uint32_t peer = 1 - call->rank;
    (void)algo;
    (void)view;
    b->grid(b, 1, 3);
    uint32_t first = b->lane(b), second = b->lane(b), third = b->lane(b);
    weft_operand_t to = weft_port(b->port(b, first, peer, 0, 1));
    weft_operand_t from = weft_port(b->port(b, first, peer, 0, 0));
    weft_move_t send = {.dst = {to}, .src = {weft_in(0, 0)}, .ndst = 1, .nsrc = 1};
    weft_move_t take = {
        .dst = {weft_tmp(0, 0)}, .src = {from}, .ndst = 1, .nsrc = 1, .like = weft_in(0, 0)};
    weft_move_t add = {.dst = {weft_tmp(1, 0)},
                       .src = {weft_tmp(0, 0), weft_in(0, 0)},
                       .ndst = 1,
                       .nsrc = 2,
                       .flags = WEFT_MOVE_FINAL};
    weft_move_t copy = {.dst = {weft_out(0, 0)}, .src = {weft_tmp(1, 0)}, .ndst = 1, .nsrc = 1};
    b->move(b, first, &send);
    b->move(b, first, &take);
    b->bar(b, first, 1u << first | 1u << second);
    b->bar(b, second, 1u << first | 1u << second);
    b->move(b, second, &add);
    uint32_t pc = b->bar(b, second, 1u << second | 1u << third);
    b->bar(b, third, 1u << second | 1u << third);
    copy.nafter = 1;
    copy.after[0] = (weft_after_t){second, pc};
    b->move(b, third, &copy);
    b->bar(b, first, 7);
    b->bar(b, second, 7);
    b->bar(b, third, 7);
    return WEFT_OK;
}

static void lanes_meet_different_lanes_at_different_barriers(void **state)
{
    (void)state;
    all_reduce_by(emit_chain, 2);
}

/* Lane 2 exchanges and meets lane 1, which then meets lane 0, which copies: lane 0 may not take the
 * first meeting of lane 1 for its own. */
static weft_status_t emit_bars(weft_algo_t *algo, const weft_algo_call_t *call,
                               const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    uint32_t peer = 1 - call->rank;
    (void)algo;
    (void)view;
    b->grid(b, 2, 2);
    uint32_t last = b->lane(b);
    uint32_t middle = b->lane(b);
    uint32_t first = b->lane(b);
    uint32_t to = b->port(b, first, peer, 0, 1);
    uint32_t from = b->port(b, first, peer, 0, 0);
    weft_move_t send = {.dst = {weft_port(to)}, .src = {weft_in(0, 1)}, .ndst = 1, .nsrc = 1};
    weft_move_t receive = {.dst = {weft_tmp(0, 1)},
                           .ndst = 1,
                           .nsrc = 2,
                           .src = {weft_port(from), weft_in(0, 1)},
                           .flags = WEFT_MOVE_FINAL};
    weft_move_t copy = {
        .dst = {weft_out(0, 0)}, .src = {weft_tmp(0, 0)}, .ndst = 1, .nsrc = 1, .cnt = 2};
    b->loop(b, first, 2);
    b->par(b, first, 2);
    b->move(b, first, &send);
    b->move(b, first, &receive);
    b->bar(b, first, 6);
    b->end(b, first);
    b->loop(b, middle, 2);
    b->bar(b, middle, 6);
    b->end(b, middle);
    b->bar(b, middle, 3);
    b->bar(b, last, 3);
    b->move(b, last, &copy);
    b->bar(b, first, 7);
    b->bar(b, middle, 7);
    b->bar(b, last, 7);
    return WEFT_OK;
}

static void a_ring_with_loops_sums(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= LANES_RANKS_MAX; n++) {
        all_reduce_by(lanes_emit_ring, n);
    }
}

static void lanes_wait_for_each_other(void **state)
{
    (void)state;
    all_reduce_by(emit_lanes, 2);
}

static void a_barrier_in_a_loop_waits_for_its_own_lanes(void **state)
{
    (void)state;
    all_reduce_by(emit_bars, 2);
}

static uint32_t packed; /* chunks of a message in emit_packed() */

/* All inputs go to all ranks, into TMP, by the rounds of algo-pat: first the far hop, in each round
 * every second distance, `packed` of them in a message and the rest in another. Then they are
 * summed. */
static weft_status_t emit_packed(weft_algo_t *algo, const weft_algo_call_t *call,
                                 const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    uint32_t n = call->nranks, r = call->rank, d = 1;
    (void)algo;
    (void)view;
    b->grid(b, 1, n);
    uint32_t lane = b->lane(b);
    weft_move_t own = {.dst = {weft_tmp(r, 0)}, .src = {weft_in(0, 0)}, .ndst = 1, .nsrc = 1};
    b->move(b, lane, &own);
    while (2 * d < n) {
        d *= 2;
    }
    for (uint32_t channel = 0; d > 0; d /= 2, channel++) {
        uint32_t blocks = 1 + (n - 1 - d) / d / 2, pack = blocks < packed ? blocks : packed;
        weft_operand_t to = weft_port(b->port(b, lane, (r + d) % n, channel, 1));
        weft_operand_t from = weft_port(b->port(b, lane, (r + n - d) % n, channel, 0));
        for (uint32_t done = 0; done < blocks; done += done == 0 ? blocks / pack * pack : blocks) {
            uint32_t at = (r + 2 * n * d - 2 * d * done) % n, rest = blocks - done;
            int32_t stride = blocks > 1 ? -2 * (int32_t)d : 0;
            weft_move_t send = {.dst = {to},
                                .src = {weft_tmp(at, stride)},
                                .ndst = 1,
                                .nsrc = 1,
                                .cnt = done == 0 ? pack : rest,
                                .flags = WEFT_MOVE_PACKED,
                                .like = weft_in(0, 0)};
            weft_move_t take = send;
            take.dst[0] = weft_tmp((at + n - d) % n, stride);
            take.src[0] = from;
            b->loop(b, lane, done == 0 ? blocks / pack : 1);
            b->par(b, lane, 2);
            b->move(b, lane, &send);
            b->move(b, lane, &take);
            b->end(b, lane);
        }
    }
    for (uint32_t i = 1; i < n; i++) {
        weft_operand_t first = i == 1 ? weft_tmp(0, 0) : weft_out(0, 0);
        weft_move_t sum = {.dst = {weft_out(0, 0)},
                           .src = {first, weft_tmp(i, 0)},
                           .ndst = 1,
                           .nsrc = 2,
                           .flags = i + 1 == n ? WEFT_MOVE_FINAL : 0};
        b->move(b, lane, &sum);
    }
    return WEFT_OK;
}

static void packed_moves_send_a_message_for_several_chunks(void **state)
{
    static const uint64_t counts[] = {0, 1, 5, 16, 64, 300};
    (void)state;
    for (uint32_t n = 2; n <= LANES_RANKS_MAX; n++) {
        for (packed = 1; packed <= 4; packed++) {
            for (uint32_t i = 0; i < 6 * (LANES_SLOTS - 1); i++) {
                lanes_job_t job;
                lanes_job_init(&job, emit_packed, n, counts[i / (LANES_SLOTS - 1)],
                               1 + i % (LANES_SLOTS - 1), 1 + i % 2);
                lanes_job_run(&job, 1);
                assert_true(lanes_job_is_right(&job));
                lanes_job_run(&job, 2);
                assert_true(lanes_job_is_right(&job));
                lanes_job_fini(&job);
            }
        }
    }
}

/* Eight ranks have rounds of one, two and four chunks. */
static void packed_moves_use_a_slot_for_a_message(void **state)
{
    static const uint32_t messages[] = {0, 1 + 2 + 4, 1 + 1 + 2, 1 + 1 + 2, 1 + 1 + 1};
    (void)state;
    for (packed = 1; packed <= 4; packed++) {
        lanes_job_t job;
        uint64_t sent = 0;
        lanes_job_init(&job, emit_packed, 8, 10, 1, 1);
        lanes_job_run(&job, 1);
        for (uint32_t p = 0; p < job.rank[3].program.nports; p++) {
            weft_port_t *port = job.rank[3].program.ports[p];
            sent += port->sends ? port->next : 0;
        }
        assert_int_equal(sent, messages[packed]);
        lanes_job_fini(&job);
    }
}

static void a_slice_of_another_operation_is_a_mismatch(void **state)
{
    lanes_job_t job;
    bool moved = false;
    (void)state;
    lanes_job_init(&job, lanes_emit_ring, 2, 100, 1, 1);
    weft_interpreter_start(
        &job.rank[0].run,
        &(weft_binding_t){.in = job.rank[0].in, .out = job.rank[0].out, .sequence = 1});
    weft_interpreter_start(
        &job.rank[1].run,
        &(weft_binding_t){.in = job.rank[1].in, .out = job.rank[1].out, .sequence = 2});
    assert_int_equal(weft_interpreter_step(&job.rank[0].run, &moved), WEFT_IN_PROGRESS);
    assert_int_equal(weft_interpreter_step(&job.rank[1].run, &moved), WEFT_ERR_MISMATCH);
    assert_int_equal(job.rank[1].run.mismatched->peer, 0);
    assert_int_equal(job.rank[1].run.theirs.sequence, 1);
    lanes_job_fini(&job);
}

static uint32_t combinations_left; /* until one fails */

static weft_status_t fail_in_time(weft_kernel_t *kernel)
{
    (void)kernel;
    return combinations_left-- > 0 ? WEFT_OK : WEFT_ERR_SYSTEM;
}

/* Rank 1 fails at a combination, after `well` that went well. */
static void sum_until_one_fails(lanes_emit_t emit, uint32_t well)
{
    lanes_job_t job;
    weft_status_t status[2] = {WEFT_IN_PROGRESS, WEFT_IN_PROGRESS};
    bool moved = true;
    combinations_left = well;
    lanes_job_init(&job, emit, 2, 300, 2, 1);
    job.rank[1].program.combiner.status = fail_in_time;
    for (uint32_t i = 0; i < 2; i++) {
        lanes_rank_t *r = &job.rank[i];
        weft_interpreter_start(&r->run,
                               &(weft_binding_t){.in = r->in, .out = r->out, .sequence = 1});
    }
    while (moved && status[1] == WEFT_IN_PROGRESS) {
        moved = false;
        for (uint32_t i = 0; i < 2; i++) {
            status[i] = weft_interpreter_step(&job.rank[i].run, &moved);
        }
    }
    assert_int_equal(status[1], WEFT_ERR_SYSTEM);
    assert_int_equal(status[0], WEFT_IN_PROGRESS);
    lanes_job_fini(&job);
}

/* Nothing of it is sent: the peer waits, and never takes it for right. */
static void a_combination_that_fails_ends_the_run(void **state)
{
    (void)state;
    for (uint32_t well = 0; well < 3; well++) {
        packed = 1;
        sum_until_one_fails(lanes_emit_ring, well);
        sum_until_one_fails(emit_packed, well);
    }
}

/* Rank 0 sums what two peers sent. */
static weft_status_t emit_gather(weft_algo_t *algo, const weft_algo_call_t *call,
                                 const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    (void)algo;
    (void)view;
    (void)call;
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    weft_move_t sum = {.dst = {weft_out(0, 0)}, .ndst = 1, .nsrc = 3, .flags = WEFT_MOVE_FINAL};
    sum.src[0] = weft_port(b->port(b, lane, 1, 0, 0));
    sum.src[1] = weft_port(b->port(b, lane, 2, 0, 0));
    sum.src[2] = weft_in(0, 0);
    b->move(b, lane, &sum);
    return WEFT_OK;
}

/* A transport of the test: takes posts until it breaks. */
typedef struct fake_conn {
    weft_status_t status;
} fake_conn_t;

static weft_status_t fake_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                               uint32_t *posted_p)
{
    weft_status_t status = ((fake_conn_t *)conn)->status;
    (void)ops;
    *posted_p = status == WEFT_OK ? count : 0;
    return status;
}

/* Message ports of the one rank of a job over that transport; what is posted is complete. */
static void open_ports(lanes_rank_t *r, weft_message_port_t ports[2], fake_conn_t conn[2],
                       bool sends)
{
    static const weft_net_ops_t net = {.size = sizeof net, .post = fake_post};
    static weft_poll_list_t list;
    list.first = NULL;
    for (uint32_t i = 0; i < 2; i++) {
        weft_message_port_params_t params = {.loaded = &loaded_net,
                                             .net = &net,
                                             .conn = (weft_net_conn_t *)&conn[i],
                                             .list = &list,
                                             .slot_bytes = LANES_SLOT_BYTES,
                                             .slots = LANES_SLOTS,
                                             .peer = i + 1,
                                             .sends = sends};
        assert_int_equal(weft_message_port_init(&ports[i], &params), WEFT_OK);
        assert_int_equal(weft_message_port_open(&ports[i], NULL), WEFT_OK);
        r->program.ports[i] = &ports[i].port;
    }
}

static void a_link_that_breaks_at_the_last_moment_leaves_the_other_ports_in_step(void **state)
{
    fake_conn_t conn[2] = {{WEFT_OK}, {WEFT_OK}};
    weft_message_port_t ports[2];
    lanes_job_t job;
    bool moved = false;
    (void)state;
    lanes_job_init(&job, emit_gather, 1, 0, 1, 1);
    lanes_rank_t *r = &job.rank[0];
    lanes_job_start(r, 7);
    open_ports(r, ports, conn, false);
    for (uint32_t i = 0; i < 2; i++) {
        weft_message_header_t *header = (weft_message_header_t *)ports[i].memory;
        header->signature = r->run.signature;
        weft_message_port_complete(
            &(weft_net_completion_t){.context = &ports[i].slot[0], .bytes = sizeof *header});
    }
    conn[0].status = WEFT_ERR_LINK;
    /* The data is there: that no further message can be taken is the next receive's failure. */
    assert_int_equal(weft_interpreter_step(&r->run, &moved), WEFT_OK);
    assert_int_equal(ports[0].port.broken, WEFT_ERR_LINK);
    assert_int_equal(ports[0].port.next, 1);
    assert_int_equal(ports[1].port.next, 1);
    weft_port_fini(&ports[0].port);
    weft_port_fini(&ports[1].port);
    lanes_job_fini(&job);
}

/* Rank 0 sends to two peers. */
static weft_status_t emit_spread(weft_algo_t *algo, const weft_algo_call_t *call,
                                 const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    (void)algo;
    (void)view;
    (void)call;
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    weft_move_t send = {.ndst = 2, .nsrc = 1};
    send.dst[0] = weft_port(b->port(b, lane, 1, 0, 1));
    send.dst[1] = weft_port(b->port(b, lane, 2, 0, 1));
    send.src[0] = weft_in(0, 0);
    b->move(b, lane, &send);
    return WEFT_OK;
}

/* The cause of a broken link may be that the peer has done its part, and the run goes on: what it
 * has sent to others is not sent again. In the second run the MOVE is one of near_move.h. */
static void a_run_that_goes_on_behind_a_broken_link_sends_nothing_twice(void **state)
{
    (void)state;
    for (uint32_t before = 0; before < 2; before++) {
        fake_conn_t conn[2] = {{WEFT_OK}, {WEFT_OK}};
        weft_message_port_t ports[2];
        lanes_job_t job;
        bool moved = false;
        lanes_job_init(&job, emit_spread, 1, 1, 1, 1);
        lanes_rank_t *r = &job.rank[0];
        open_ports(r, ports, conn, true);
        for (uint32_t i = 0; i < before; i++) {
            lanes_job_start(r, 1 + i);
            assert_int_equal(weft_interpreter_step(&r->run, &moved), WEFT_OK);
        }
        conn[1].status = WEFT_ERR_LINK;
        lanes_job_start(r, 1 + before);
        assert_int_equal(weft_interpreter_step(&r->run, &moved), WEFT_ERR_LINK);
        assert_int_equal(weft_interpreter_step(&r->run, &moved), WEFT_OK);
        assert_int_equal(ports[0].port.next, before + 1);
        weft_port_fini(&ports[0].port);
        weft_port_fini(&ports[1].port);
        lanes_job_fini(&job);
    }
}

/* Two ranks send each other everything and fold it: one MOVE with memory and ports on either
 * side. */
static weft_status_t emit_flat(weft_algo_t *algo, const weft_algo_call_t *call,
                               const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    uint32_t peer = 1 - call->rank;
    (void)algo;
    (void)view;
    b->grid(b, 2, 1);
    uint32_t lane = b->lane(b);
    uint32_t to = b->port(b, lane, peer, 0, 1), from = b->port(b, lane, peer, 0, 0);
    for (uint32_t chunk = 0; chunk < 2; chunk++) {
        weft_move_t send = {.dst = {weft_port(to), weft_tmp(0, 0)}, .ndst = 2, .nsrc = 1};
        send.src[0] = weft_in(chunk, 0);
        b->move(b, lane, &send);
        weft_move_t fold = {.dst = {weft_out(chunk, 0)}, .ndst = 1, .nsrc = 2};
        fold.src[0] = weft_tmp(0, 0);
        fold.src[1] = weft_port(from);
        fold.flags = WEFT_MOVE_FINAL;
        b->move(b, lane, &fold);
    }
    return WEFT_OK;
}

/* A call into a stream is prepared while a run of the host waits for a peer. */
static void a_larger_program_is_made_while_a_run_is_under_way(void **state)
{
    lanes_job_t small, large;
    weft_interpreter_t other;
    bool moved = false;
    (void)state;
    lanes_job_init(&small, emit_lanes, 2, 8, 1, 1);
    lanes_job_init(&large, emit_lanes, 2, 5003, 3, LANES_CHANNELS_MAX);
    lanes_rank_t *first = &small.rank[0], *second = &small.rank[1];
    for (uint32_t i = 0; i < 2; i++) {
        lanes_rank_t *r = &small.rank[i];
        for (uint64_t e = 0; e < small.count; e++) {
            r->in[e] = lanes_job_input(i, e);
        }
        assert_int_equal(weft_interpreter_start(
                             &r->run, &(weft_binding_t){.in = r->in, .out = r->out, .sequence = 1}),
                         WEFT_OK);
    }
    assert_int_equal(weft_interpreter_step(&first->run, &moved), WEFT_IN_PROGRESS);
    assert_int_equal(weft_interpreter_init(&other, &large.rank[0].program, &first->workspace),
                     WEFT_OK);
    assert_ptr_equal(first->run.lanes, first->workspace.lanes);
    assert_int_equal(first->run.buffers[WEFT_OPERAND_TMP], (uintptr_t)first->workspace.scratch);
    while (weft_interpreter_step(&second->run, &moved) == WEFT_IN_PROGRESS) {
        (void)weft_interpreter_step(&first->run, &moved);
    }
    assert_int_equal(weft_interpreter_step(&first->run, &moved), WEFT_OK);
    for (uint64_t e = 0; e < small.count; e++) {
        assert_int_equal(first->out[e], lanes_job_input(0, e) + lanes_job_input(1, e));
    }
    weft_interpreter_fini(&other);
    lanes_job_fini(&large);
    lanes_job_fini(&small);
}

/* The buffers that the first run had are gone when the second begins. */
static void take_other_buffers(lanes_job_t *job)
{
    for (uint32_t i = 0; i < job->nranks; i++) {
        lanes_rank_t *r = &job->rank[i];
        int32_t *in = calloc(job->count + 1, 4), *out = calloc(job->count + 1, 4);
        free(r->in);
        free(r->out);
        r->in = in;
        r->out = out;
    }
}

static void a_run_keeps_addresses_for_runs_on_other_buffers(void **state)
{
    (void)state;
    for (uint32_t slices = 1; slices < LANES_SLOTS; slices++) {
        for (uint32_t channels = 1; channels <= 2; channels++) {
            lanes_job_t job;
            lanes_job_init(&job, emit_flat, 2, 100, slices, channels);
            const weft_aim_t *aims = job.rank[0].program.aims.aims;
            assert_int_equal(aims[0].operands, 0);
            lanes_job_run(&job, 1);
            assert_true(lanes_job_is_right(&job));
            bool one_pass = job.rank[0].program.segmentation.passes <= channels;
            assert_int_equal(aims[0].operands, one_pass ? 3 : 0);
            take_other_buffers(&job);
            lanes_job_run(&job, 2);
            assert_true(lanes_job_is_right(&job));
            lanes_job_fini(&job);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_with_loops_sums),
        cmocka_unit_test(a_larger_program_is_made_while_a_run_is_under_way),
        cmocka_unit_test(a_run_keeps_addresses_for_runs_on_other_buffers),
        cmocka_unit_test(packed_moves_send_a_message_for_several_chunks),
        cmocka_unit_test(packed_moves_use_a_slot_for_a_message),
        cmocka_unit_test(lanes_wait_for_each_other),
        cmocka_unit_test(lanes_meet_different_lanes_at_different_barriers),
        cmocka_unit_test(a_barrier_in_a_loop_waits_for_its_own_lanes),
        cmocka_unit_test(a_slice_of_another_operation_is_a_mismatch),
        cmocka_unit_test(a_combination_that_fails_ends_the_run),
        cmocka_unit_test(a_link_that_breaks_at_the_last_moment_leaves_the_other_ports_in_step),
        cmocka_unit_test(a_run_that_goes_on_behind_a_broken_link_sends_nothing_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
