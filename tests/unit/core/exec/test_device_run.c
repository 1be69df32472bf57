/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs on a device, with a device that notes what it is told and answers as the test says: what
 * is flattened and exported, when the host runs in its place, how answers become those of a
 * step. */
#include <string.h>

#include "core/base/error.h"
#include "core/exec/interpreter.h"
#include "core/exec/device_run.h"
#include "core/exec/port_export.h"
#include "core/exec/proxy.h"
#include "core/os/os.h"
#include "tests/support/loaded_net.h"
#include "tests/support/recording_lanes.h"
#include "tests/support/unit.h"

enum { SLOTS = 4, SLOT_BYTES = 256, COUNT = 100 };

static void copy_int32(const weft_combine_t *c)
{
    memcpy(c->dst[0], c->src[0], c->count * 4);
}

/* Two lanes: the first loops over sends and meets the second at a barrier; the second moves two
 * chunks at once, and waits for the first. */
static weft_status_t emit(weft_algo_t *algo, const weft_algo_call_t *call,
                          const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    (void)algo;
    (void)call;
    (void)view;
    b->grid(b, 2, 1);
    uint32_t first = b->lane(b), second = b->lane(b);
    uint32_t to = b->port(b, first, 1, 0, 1);
    uint32_t from = b->port(b, second, 1, 0, 0);
    weft_move_t send = {.dst = {weft_port(to)}, .src = {weft_in(0, 1)}, .ndst = 1, .nsrc = 1};
    weft_move_t take = {.dst = {weft_tmp(0, 0)},
                        .src = {weft_port(from)},
                        .ndst = 1,
                        .nsrc = 1,
                        .like = weft_in(1, 0),
                        .after = {{first, 1}},
                        .nafter = 1};
    weft_move_t keep = {.dst = {weft_out(1, 0)},
                        .src = {weft_in(1, 0)},
                        .ndst = 1,
                        .nsrc = 1,
                        .flags = WEFT_MOVE_FINAL};
    b->loop(b, first, 2);
    b->move(b, first, &send);
    b->end(b, first);
    b->par(b, second, 2);
    b->move(b, second, &take);
    b->move(b, second, &keep);
    return WEFT_OK;
}

typedef union any_port {
    weft_port_t head;
    weft_mapped_port_t mapped;
    weft_message_port_t message;
} any_port_t;

typedef struct job {
    weft_plan_t *plan;
    weft_program_t program;
    weft_workspace_t workspace;
    weft_interpreter_t run;
    any_port_t ports[2];
    weft_poll_list_t list;
    weft_windows_t windows;
    weft_peer_windows_t reach[2];
    void *fifo[2];
    int32_t in[COUNT], out[COUNT];
} job_t;

static int setup(void **state)
{
    static job_t job;
    static const uint32_t hosts[2];
    weft_algo_ops_t ops = {.size = sizeof ops, .emit = emit};
    weft_algo_topo_t view = {.size = sizeof view, .nhosts = 1, .host = hosts};
    weft_algo_call_t call = {.size = sizeof call, .coll = WEFT_ALL_REDUCE, .nranks = 2};
    recording_lanes_reset();
    job = (job_t){.plan = NULL};
    if (weft_plan_emit(&ops, NULL, &call, &view, NULL, &job.plan) != WEFT_OK) {
        return -1;
    }
    job.program = (weft_program_t){.plan = job.plan,
                                   .channels = 1,
                                   .combiner.fn = copy_int32,
                                   .offload.ops = &recording_lanes,
                                   .offload.queue = (weft_lanes_queue_t *)&recording,
                                   .dtype = WEFT_INT32,
                                   .op = WEFT_MAX,
                                   .elem = 4,
                                   .in_chunks = 2,
                                   .out_chunks = 2};
    weft_segmentation_params_t cut = {
        .k = 2, .slices = 2, .slice_bytes = SLOT_BYTES, .channels = 1};
    weft_segmentation_set(&job.program.segmentation, COUNT, 4, &cut);
    if (weft_program_allocate(&job.program) != WEFT_OK) {
        return -1;
    }
    for (uint32_t p = 0; p < 2; p++) {
        job.fifo[p] = weft_os_pages(weft_fifo_bytes(SLOTS, SLOT_BYTES));
        weft_mapped_port_init(&job.ports[p].mapped, 1, p == 0, job.fifo[p], SLOTS, SLOT_BYTES);
        job.ports[p].head.next = 10 + p;
        atomic_store(&job.ports[p].mapped.control->released, job.ports[p].head.next);
        job.program.ports[p] = &job.ports[p].head;
        job.ports[p].mapped.windows = &job.windows;
    }
    *state = &job;
    return 0;
}

static int teardown(void **state)
{
    job_t *job = *state;
    weft_interpreter_fini(&job->run);
    weft_workspace_fini(&job->workspace);
    weft_program_release(&job->program);
    weft_plan_destroy(job->plan);
    for (uint32_t p = 0; p < 2; p++) {
        weft_port_unexport(&job->ports[p].head);
        assert_null(job->ports[p].head.export.end);
        weft_port_fini(&job->ports[p].head);
        weft_os_pages_free(job->fifo[p], weft_fifo_bytes(SLOTS, SLOT_BYTES));
    }
    return 0;
}

static void begin(job_t *job)
{
    assert_int_equal(weft_interpreter_init(&job->run, &job->program, &job->workspace), WEFT_OK);
    weft_interpreter_start(&job->run,
                           &(weft_binding_t){.in = job->in, .out = job->out, .sequence = 7});
}

static void a_plan_is_flattened(void **state)
{
    begin(*state);
    assert_int_equal(recording.program.nlanes, 2);
    assert_int_equal(recording.program.ncode, 8);
    assert_int_equal(recording.program.dtype, WEFT_INT32);
    assert_int_equal(recording.program.op, WEFT_MAX);
    assert_int_equal(recording.program.largest_par, 2);
    assert_int_equal(recording.program.tmp_chunks, 1);
    assert_int_equal(recording.code[0].opcode, WEFT_LANES_LOOP);
    assert_int_equal(recording.code[0].n, 2);
    assert_int_equal(recording.code[0].mate_or_mask, 2);
    assert_int_equal(recording.code[3].opcode, WEFT_LANES_STOP);
    assert_int_equal(recording.code[4].opcode, WEFT_LANES_PAR);
    /* Nothing changes what it sends, in place neither. */
    assert_int_equal(recording.moves[recording.code[1].n].flags,
                     WEFT_LANES_STABLE | WEFT_LANES_STABLE_IN_PLACE);
    const weft_lanes_move_t *take = &recording.moves[recording.code[5].n];
    assert_int_equal(take->flags, WEFT_LANES_LIKE);
    assert_int_equal(recording.operands[take->operand + 2].kind, WEFT_OPERAND_IN);
    assert_int_equal(recording.operands[take->operand + 2].chunks, 2);
    assert_int_equal(recording.operands[take->operand].kind, WEFT_OPERAND_TMP);
    assert_int_equal(recording.operands[take->operand].chunks, 1);
    assert_int_equal(recording.afters[take->after].pc, 1);
    assert_int_equal(recording.moves[recording.code[6].n].flags, WEFT_MOVE_FINAL);
}

static void a_run_is_lent_the_ports_and_gives_them_back(void **state)
{
    job_t *job = *state;
    bool moved = false;
    begin(job);
    assert_ptr_equal(recording.call.in, job->in);
    assert_int_equal(recording.call.segmentation.count, COUNT);
    assert_int_equal(recording.call.segmentation.slices, 2);
    assert_ptr_equal(recording.call.ends[0], &recording.ends[0]);
    assert_int_equal(recording.ends[0].next, 10);
    assert_int_equal(recording.ends[0].port.sends, 1);
    assert_ptr_equal(recording.ends[1].port.fifo, job->fifo[1]);
    assert_ptr_equal(recording.ends[1].port.payloads, job->ports[1].head.payloads);
    assert_int_equal(recording.ends[1].port.stride, SLOT_BYTES);
    recording.state.blocked = 1;
    assert_int_equal(weft_interpreter_step(&job->run, &moved), WEFT_IN_PROGRESS);
    assert_int_equal(recording.run, 41);
    assert_false(moved);
    assert_ptr_equal(job->run.blocked, &job->ports[1].head);
    recording.state.moved = 5;
    assert_int_equal(weft_interpreter_step(&job->run, &moved), WEFT_IN_PROGRESS);
    assert_true(moved);
    recording.poll = WEFT_OK;
    assert_int_equal(weft_interpreter_step(&job->run, &moved), WEFT_OK);
    assert_int_equal(job->run.stopped, 2);
    assert_int_equal(recording.ends[0].next, 13);
    assert_int_equal(weft_interpreter_step(&job->run, &moved), WEFT_OK);
    assert_int_equal(recording.ends[0].next, 13);
}

/* Puts message n into the FIFO of the port that receives. */
static void arrive(job_t *job, uint64_t n)
{
    weft_slot_header_t *head = &job->ports[1].mapped.headers[n % SLOTS];
    head->signature = job->run.signature;
    atomic_store(&head->sequence, n + 1);
}

static void the_host_goes_on_where_the_device_has_ended(void **state)
{
    job_t *job = *state;
    bool moved = false;
    begin(job);
    recording.poll = WEFT_OK;
    assert_int_equal(weft_interpreter_step(&job->run, &moved), WEFT_OK);
    recording.start = WEFT_ERR_UNSUPPORTED;
    weft_interpreter_start(&job->run,
                           &(weft_binding_t){.in = job->in, .out = job->out, .sequence = 8});
    assert_int_equal(recording.nends, 2);
    assert_int_equal(job->ports[0].head.next, 13);
    assert_int_equal(job->ports[1].head.next, 14);
    atomic_store(&job->ports[0].mapped.control->released, 13);
    arrive(job, 14);
    arrive(job, 15);
    assert_int_equal(weft_interpreter_step(&job->run, &moved), WEFT_OK);
    assert_int_equal(recording.ends[0].next, 17);
    assert_int_equal(recording.ends[1].next, 16);
}

static void what_the_device_does_not_support_the_host_runs(void **state)
{
    job_t *job = *state;
    bool moved = false;
    recording.prepare = WEFT_ERR_UNSUPPORTED;
    begin(job);
    assert_int_equal(weft_interpreter_step(&job->run, &moved), WEFT_IN_PROGRESS);
    assert_true(moved);
    assert_int_equal(recording.starts, 0);
}

static void plans_that_pack_stay_on_the_host(void **state)
{
    job_t *job = *state;
    bool moved = false;
    job->plan->moves[0].flags |= WEFT_MOVE_PACKED;
    begin(job);
    assert_int_equal(weft_interpreter_step(&job->run, &moved), WEFT_IN_PROGRESS);
    assert_true(moved);
    assert_int_equal(recording.starts, 0);
}

/* A transport that takes every post. */
static weft_status_t fake_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                               uint32_t *posted_p)
{
    (void)conn;
    (void)ops;
    *posted_p = count;
    return WEFT_OK;
}

static void carry_messages(job_t *job)
{
    static const weft_net_ops_t net = {.size = sizeof net, .post = fake_post};
    for (uint32_t p = 0; p < 2; p++) {
        weft_message_port_params_t params = {.loaded = &loaded_net,
                                             .net = &net,
                                             .list = &job->list,
                                             .slot_bytes = SLOT_BYTES,
                                             .slots = SLOTS,
                                             .peer = 1,
                                             .sends = p == 0};
        assert_int_equal(weft_message_port_init(&job->ports[p].message, &params), WEFT_OK);
        assert_int_equal(weft_message_port_open(&job->ports[p].message, NULL), WEFT_OK);
    }
}

static const weft_message_header_t *header_of(const job_t *job, uint32_t at)
{
    const weft_message_port_t *message = &job->ports[0].message;
    return (const weft_message_header_t *)(message->memory + at * message->port.stride);
}

/* What a device does that sends message 0 of the first port. */
static void device_sends(job_t *job)
{
    weft_proxy_t *proxy = job->ports[0].message.proxy;
    proxy->lengths[0] = 4;
    atomic_store(&proxy->headers[0].sequence, 1);
}

static void a_port_of_messages_is_exported_with_the_slots_of_the_transport(void **state)
{
    job_t *job = *state;
    carry_messages(job);
    begin(job);
    assert_int_equal(recording.starts, 1);
    for (uint32_t p = 0; p < 2; p++) {
        const weft_lanes_port_t *exported = &recording.ends[p].port;
        const uint8_t *slots = job->ports[p].message.memory;
        assert_int_equal(exported->sends, p == 0);
        assert_int_equal(exported->slot_bytes, SLOT_BYTES);
        assert_ptr_equal(exported->payloads, slots + sizeof(weft_message_header_t));
        assert_ptr_equal(exported->payloads + exported->stride,
                         slots + exported->stride + sizeof(weft_message_header_t));
        assert_int_equal(exported->on_device, 0);
        assert_true(exported->fifo_bytes >= weft_fifo_bytes(SLOTS, 0) + SLOTS * sizeof(uint32_t));
        assert_in_range(
            (uintptr_t)exported->lengths, (uintptr_t)exported->fifo + weft_fifo_bytes(SLOTS, 0),
            (uintptr_t)exported->fifo + exported->fifo_bytes - SLOTS * sizeof(uint32_t));
    }
}

static void what_a_run_has_sent_is_drained_before_it_is_done(void **state)
{
    job_t *job = *state;
    bool moved = false;
    carry_messages(job);
    begin(job);
    assert_null(weft_interpreter_undrained(&job->run));
    device_sends(job);
    recording.poll = WEFT_OK;
    assert_int_equal(weft_interpreter_step(&job->run, &moved), WEFT_OK);
    assert_ptr_equal(weft_interpreter_undrained(&job->run), &job->ports[0].head);
    assert_int_equal(job->ports[0].head.next, 1);
    weft_message_port_complete(&(weft_net_completion_t){.context = &job->ports[0].message.slot[0]});
    assert_null(weft_interpreter_undrained(&job->run));
}

static void a_link_that_broke_ends_the_step_of_a_device_that_waits_for_it(void **state)
{
    job_t *job = *state;
    bool moved = false;
    carry_messages(job);
    begin(job);
    job->ports[1].head.broken = WEFT_ERR_LINK;
    recording.state.blocked = 0;
    assert_int_equal(weft_interpreter_step(&job->run, &moved), WEFT_IN_PROGRESS);
    recording.state.blocked = 1;
    assert_int_equal(weft_interpreter_step(&job->run, &moved), WEFT_ERR_LINK);
    assert_ptr_equal(job->run.blocked, &job->ports[1].head);
    assert_false(moved);
    /* It has the buffers until it has ended. */
    weft_interpreter_stop(&job->run);
    assert_int_equal(recording.aborts, 1);
    assert_false(job->run.device_run.under_way);
}

static void a_run_of_the_host_goes_on_behind_the_messages_of_the_device(void **state)
{
    job_t *job = *state;
    bool moved = false;
    carry_messages(job);
    begin(job);
    device_sends(job);
    recording.poll = WEFT_OK;
    recording.advance = 0;
    assert_int_equal(weft_interpreter_step(&job->run, &moved), WEFT_OK);
    recording.start = WEFT_ERR_UNSUPPORTED;
    weft_interpreter_start(&job->run,
                           &(weft_binding_t){.in = job->in, .out = job->out, .sequence = 8});
    assert_int_equal(weft_interpreter_step(&job->run, &moved), WEFT_IN_PROGRESS);
    assert_int_equal(job->ports[0].head.next, SLOTS);
    assert_int_equal(header_of(job, 0)->bytes, 4);
    assert_int_equal(header_of(job, 1)->signature.sequence, 8);
}

static void a_function_of_the_caller_keeps_the_run_on_the_host(void **state)
{
    job_t *job = *state;
    job->program.user.fn = (weft_op_fn_t)(uintptr_t)1;
    begin(job);
    assert_int_equal(recording.starts, 0);
}

static void a_start_that_fails_fails_the_step(void **state)
{
    job_t *job = *state;
    bool moved = false;
    recording.start = WEFT_ERR_ARG;
    begin(job);
    assert_int_equal(weft_interpreter_step(&job->run, &moved), WEFT_ERR_ARG);
    assert_int_equal(weft_interpreter_step(&job->run, &moved), WEFT_ERR_ARG);
}

static void what_the_device_does_not_reach_the_host_runs(void **state)
{
    job_t *job = *state;
    bool moved = false;
    recording.start = WEFT_ERR_UNSUPPORTED;
    begin(job);
    assert_int_equal(recording.starts, 1);
    assert_int_equal(weft_interpreter_step(&job->run, &moved), WEFT_IN_PROGRESS);
    assert_true(moved);
}

static void a_mismatch_names_the_port_and_both_signatures(void **state)
{
    job_t *job = *state;
    bool moved = false;
    begin(job);
    weft_signature_t mine = {.coll = WEFT_ALL_REDUCE, .count = 8}, theirs = mine;
    theirs.count = 16;
    memcpy(recording.state.mine, &mine, sizeof mine);
    memcpy(recording.state.theirs, &theirs, sizeof theirs);
    recording.state.mismatch = 1;
    recording.poll = WEFT_ERR_MISMATCH;
    assert_int_equal(weft_interpreter_step(&job->run, &moved), WEFT_ERR_MISMATCH);
    assert_ptr_equal(job->run.mismatched, &job->ports[1].head);
    assert_int_equal(job->run.theirs.count, 16);
    assert_int_equal(job->run.signature.count, 8);
}

static void a_mismatch_at_a_port_that_is_none_is_a_fault_of_the_device(void **state)
{
    job_t *job = *state;
    bool moved = false;
    begin(job);
    recording.state.mismatch = 2;
    recording.poll = WEFT_ERR_MISMATCH;
    assert_int_equal(weft_interpreter_step(&job->run, &moved), WEFT_ERR_INTERNAL);
}

static void a_run_is_stopped_before_its_buffers_go_back(void **state)
{
    job_t *job = *state;
    begin(job);
    weft_interpreter_stop(&job->run);
    assert_int_equal(recording.aborts, 1);
    weft_interpreter_stop(&job->run);
    assert_int_equal(recording.aborts, 1);
    weft_interpreter_fini(&job->run);
    assert_int_equal(recording.releases, 1);
    weft_port_unexport(&job->ports[0].head);
    assert_int_equal(recording.closed, 1);
}

static void ends_know_the_windows(void **state)
{
    job_t *job = *state;
    job->reach[1].mine[2] = (weft_lanes_window_t){(uint8_t *)job->in, sizeof job->in};
    job->reach[1].theirs[3] = (weft_lanes_window_t){(uint8_t *)job->out, sizeof job->out};
    job->windows.reach = job->reach;
    begin(job);
    assert_ptr_equal(recording.ends[0].windows[2].base, job->in); /* it sends */
    assert_int_equal(recording.ends[0].windows[3].bytes, 0);
    assert_ptr_equal(recording.ends[1].windows[3].base, job->out);
    assert_int_equal(recording.ends[1].windows[2].bytes, 0);
    assert_int_equal(recording.call.stable, WEFT_LANES_STABLE);
    job->reach[1].mine[2].bytes = 0;
    assert_int_equal(weft_port_announce_windows(&job->ports[0].head), WEFT_OK);
    assert_int_equal(recording.ends[0].windows[2].bytes, 0);
}

static void calls_in_place_have_a_flag_of_their_own(void **state)
{
    job_t *job = *state;
    weft_vectors_t vectors = {.in_counts = NULL};
    weft_binding_t binding = {.in = job->out, .out = job->out, .in_place = true};
    assert_int_equal(weft_binding_stable(&binding), WEFT_STABLE_IN_PLACE);
    assert_int_equal(weft_interpreter_init(&job->run, &job->program, &job->workspace), WEFT_OK);
    weft_interpreter_start(&job->run, &binding);
    assert_int_equal(recording.call.stable, WEFT_LANES_STABLE_IN_PLACE);
    binding.vectors = &vectors;
    assert_int_equal(weft_binding_stable(&binding), 0);
}

static void a_lie_about_a_window_is_the_peers(void **state)
{
    job_t *job = *state;
    bool moved = false;
    begin(job);
    recording.state.zero_copied = 5;
    recording.state.mismatch = 1;
    recording.poll = WEFT_ERR_PROTO;
    assert_int_equal(weft_interpreter_step(&job->run, &moved), WEFT_ERR_PROTO);
    assert_int_equal(weft_error_record()->peer, 1);
    assert_non_null(strstr(weft_error_record()->text, "window"));
    assert_int_equal(job->windows.sent, 5);
    recording.state.mismatch = 2;
    weft_lanes_state_t seen;
    assert_int_equal(weft_device_run_look(&job->run, 1, &seen), WEFT_ERR_INTERNAL);
    assert_int_equal(job->windows.sent, 5); /* of all runs, counted once */
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_plan_is_flattened),
        CASE(a_run_is_lent_the_ports_and_gives_them_back),
        CASE(the_host_goes_on_where_the_device_has_ended),
        CASE(what_the_device_does_not_support_the_host_runs),
        CASE(plans_that_pack_stay_on_the_host),
        CASE(a_port_of_messages_is_exported_with_the_slots_of_the_transport),
        CASE(what_a_run_has_sent_is_drained_before_it_is_done),
        CASE(a_link_that_broke_ends_the_step_of_a_device_that_waits_for_it),
        CASE(a_run_of_the_host_goes_on_behind_the_messages_of_the_device),
        CASE(a_function_of_the_caller_keeps_the_run_on_the_host),
        CASE(a_start_that_fails_fails_the_step),
        CASE(what_the_device_does_not_reach_the_host_runs),
        CASE(a_mismatch_names_the_port_and_both_signatures),
        CASE(a_mismatch_at_a_port_that_is_none_is_a_fault_of_the_device),
        CASE(a_run_is_stopped_before_its_buffers_go_back),
        CASE(ends_know_the_windows),
        CASE(calls_in_place_have_a_flag_of_their_own),
        CASE(a_lie_about_a_window_is_the_peers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
