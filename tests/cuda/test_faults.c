/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a run on the device does when it cannot go on: another operation's message, a peer that
 * never comes, an abort; and what its program and its call are refused for. */
#include <stdlib.h>
#include <string.h>

#include "core/os/os.h"
#include "tests/cuda/mesh.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"

static mesh_kernels_t kernels;
static plan_fixture_t ring;

static int open_all(void **state)
{
    (void)state;
    mesh_kernels_open(&kernels);
    plan_fixture_open(&ring, WEFT_PLUGIN_DIR, "algo-ring");
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    plan_fixture_close(&ring);
    mesh_kernels_close(&kernels);
    return 0;
}

static mesh_call_t call_of(uint64_t count)
{
    return (mesh_call_t){.coll = WEFT_ALL_REDUCE,
                         .dtype = WEFT_FP32,
                         .count = count,
                         .slots = 4,
                         .slices = 2,
                         .slot_bytes = 256};
}

/* Steps until rank `rank` has ended, other ranks too. */
static void wait_for(mesh_t *mesh, uint32_t rank)
{
    uint64_t end = weft_os_clock_ns() + UINT64_C(30000000000);
    while (mesh->rank[rank].status == WEFT_IN_PROGRESS) {
        mesh_step(mesh);
        assert_true(weft_os_clock_ns() < end);
        weft_os_yield();
    }
}

/* Steps until the lanes of the rank say that they wait for a port. */
static void wait_until_blocked(mesh_t *mesh, uint32_t rank)
{
    uint64_t end = weft_os_clock_ns() + UINT64_C(30000000000);
    do {
        mesh_step(mesh);
        assert_int_equal(mesh->rank[rank].status, WEFT_IN_PROGRESS);
        assert_true(weft_os_clock_ns() < end);
        weft_os_yield();
    } while (mesh->rank[rank].state.blocked < 0);
}

/* The record of rank 1, which ran operation 1 while rank 0 ran operation 6. */
static void check_mismatch(uint64_t count, uint32_t devices)
{
    weft_signature_t mine, theirs;
    mesh_call_t call = call_of(count);
    weft_plan_t **plans = plan_fixture_emit(&ring, WEFT_ALL_REDUCE, 2, 0);
    mesh_t *mesh = mesh_open(&kernels, plans, 2, &call);
    mesh->rank[0].sequence = 5;
    mesh_start(mesh, devices, 1);
    wait_for(mesh, 1);
    mesh_rank_t *r = &mesh->rank[1];
    assert_int_equal(r->status, WEFT_ERR_MISMATCH);
    assert_int_equal(r->program.plan->ports[r->state.mismatch].peer, 0);
    assert_int_equal(r->program.plan->ports[r->state.mismatch].sends, 0);
    memcpy(&mine, r->state.mine, sizeof mine);
    memcpy(&theirs, r->state.theirs, sizeof theirs);
    assert_int_equal(mine.sequence, 1);
    assert_int_equal(theirs.sequence, 6);
    theirs.sequence = mine.sequence;
    assert_true(weft_signature_equal(&mine, &theirs));
    mesh_close(mesh);
    plan_fixture_free(plans, 2);
}

static void a_message_of_another_operation_ends_the_run_and_is_told(void **state)
{
    (void)state;
    check_mismatch(3, 3);
    check_mismatch(500, 3);
    check_mismatch(500, 2);
}

/* Puts a first message with the signature of operation 9 into the FIFO of the port. */
static void forge(mesh_rank_t *r, uint32_t port)
{
    weft_slot_header_t *head = r->ports[port].headers;
    head->signature = r->program.signature;
    head->signature.sequence = 9;
    atomic_store_explicit(&head->sequence, 1, memory_order_release);
}

/* Two ranks, two lanes: each exchanges a chunk. */
static void write_two_lanes(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 2, 0);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t lane = b->lane(b);
        uint32_t to = b->port(b, lane, 1 - call->rank, i, 1);
        uint32_t from = b->port(b, lane, 1 - call->rank, i, 0);
        weft_move_t send = {.dst = {weft_port(to)}, .src = {weft_in(i, 0)}, .ndst = 1, .nsrc = 1};
        weft_move_t sum = {.dst = {weft_out(i, 0)},
                           .src = {weft_port(from), weft_in(i, 0)},
                           .ndst = 1,
                           .nsrc = 2,
                           .flags = WEFT_MOVE_FINAL};
        b->par(b, lane, 2);
        b->move(b, lane, &send);
        b->move(b, lane, &sum);
    }
}

/* One lane sees the message; the other would wait for ever for a rank that stays away. */
static void a_mismatch_seen_by_one_lane_stops_the_others(void **state)
{
    (void)state;
    mesh_call_t call = call_of(400);
    weft_plan_t **plans = plan_fixture_write(write_two_lanes, WEFT_ALL_REDUCE, 2);
    assert_non_null(plans);
    for (uint32_t lane = 0; lane < 2; lane++) {
        mesh_t *mesh = mesh_open(&kernels, plans, 2, &call);
        mesh_rank_t *r = &mesh->rank[0];
        uint32_t port = 2 * lane + 1;
        mesh->rank[1].stays_away = true;
        forge(r, port);
        mesh_start(mesh, 3, 1);
        wait_for(mesh, 0);
        assert_int_equal(r->status, WEFT_ERR_MISMATCH);
        assert_int_equal(r->state.mismatch, port);
        mesh_close(mesh);
    }
    plan_fixture_free(plans, 2);
}

static void a_rank_that_waits_says_for_which_port(void **state)
{
    (void)state;
    mesh_call_t call = call_of(500);
    weft_plan_t **plans = plan_fixture_emit(&ring, WEFT_ALL_REDUCE, 3, 0);
    mesh_t *mesh = mesh_open(&kernels, plans, 3, &call);
    mesh->rank[2].stays_away = true;
    mesh_start(mesh, 7, 1);
    wait_until_blocked(mesh, 0);
    mesh_rank_t *r = &mesh->rank[0];
    assert_int_equal(r->program.plan->ports[r->state.blocked].peer, 2);
    mesh_close(mesh);
    plan_fixture_free(plans, 3);
}

/* One of several links may be broken: the core must come to see the port that waits for it. */
static void every_lane_that_waits_is_told(void **state)
{
    (void)state;
    mesh_call_t call = call_of(400);
    weft_plan_t **plans = plan_fixture_write(write_two_lanes, WEFT_ALL_REDUCE, 2);
    assert_non_null(plans);
    mesh_t *mesh = mesh_open(&kernels, plans, 2, &call);
    uint64_t end = weft_os_clock_ns() + UINT64_C(30000000000);
    int32_t last = -1;
    mesh->rank[1].stays_away = true;
    mesh_start(mesh, 3, 1);
    for (int changes = 0; changes < 10;) {
        wait_until_blocked(mesh, 0);
        changes += mesh->rank[0].state.blocked != last;
        last = mesh->rank[0].state.blocked;
        assert_true(weft_os_clock_ns() < end);
    }
    mesh_close(mesh);
    plan_fixture_free(plans, 2);
}

/* How long a run that waits for a peer took to end. */
static uint64_t abort_once(void)
{
    mesh_call_t call = call_of(500);
    weft_plan_t **plans = plan_fixture_emit(&ring, WEFT_ALL_REDUCE, 2, 0);
    mesh_t *mesh = mesh_open(&kernels, plans, 2, &call);
    mesh->rank[1].stays_away = true;
    mesh_start(mesh, 3, 1);
    wait_until_blocked(mesh, 0);
    uint64_t start = weft_os_clock_ns();
    kernels.lanes->abort(mesh->rank[0].handle);
    wait_for(mesh, 0);
    uint64_t took = weft_os_clock_ns() - start;
    assert_int_equal(mesh->rank[0].status, WEFT_ERR_ABORTED);
    mesh_close(mesh);
    plan_fixture_free(plans, 2);
    return took;
}

/* On a machine that is busy with other things one of several tries shows it. */
static void an_abort_ends_a_run_that_waits_within_100_ms(void **state)
{
    uint64_t took = UINT64_MAX;
    (void)state;
    for (int i = 0; i < 10 && took > UINT64_C(100000000); i++) {
        took = abort_once();
    }
    assert_true(took <= UINT64_C(100000000));
}

/* The peer is gone, the memory of the slots is not: it is set back as after a new start of the
 * job. */
static void after_an_abort_the_handle_runs_again(void **state)
{
    (void)state;
    mesh_call_t call = call_of(300);
    weft_plan_t **plans = plan_fixture_emit(&ring, WEFT_ALL_REDUCE, 2, 0);
    mesh_t *mesh = mesh_open(&kernels, plans, 2, &call);
    mesh->rank[1].stays_away = true;
    mesh_start(mesh, 3, 1);
    wait_until_blocked(mesh, 0);
    kernels.lanes->abort(mesh->rank[0].handle);
    wait_for(mesh, 0);
    mesh->rank[1].stays_away = false;
    for (uint32_t rank = 0; rank < 2; rank++) {
        for (uint32_t p = 0; p < mesh->rank[rank].program.plan->nports; p++) {
            kernels.lanes->endpoint_seek(mesh->rank[rank].ends[p], 0);
            memset(mesh->rank[rank].ports[p].control, 0, weft_fifo_bytes(4, 256));
        }
    }
    mesh_start(mesh, 3, 2);
    mesh_finish(mesh, 60);
    mesh_check(mesh);
    mesh_close(mesh);
    plan_fixture_free(plans, 2);
}

static void a_run_under_way_may_be_released(void **state)
{
    (void)state;
    mesh_call_t call = call_of(500);
    weft_plan_t **plans = plan_fixture_emit(&ring, WEFT_ALL_REDUCE, 2, 0);
    mesh_t *mesh = mesh_open(&kernels, plans, 2, &call);
    mesh->rank[1].stays_away = true;
    mesh_start(mesh, 3, 1);
    mesh_close(mesh);
    plan_fixture_free(plans, 2);
}

/* prepare() with one number of a good program changed. */
static void expect_refused(void (*damage)(flat_t *flat), const char *words)
{
    weft_plan_t **plans = plan_fixture_emit(&ring, WEFT_ALL_REDUCE, 3, 0);
    weft_program_t program = {.plan = plans[0], .elem = 4, .dtype = WEFT_FP32};
    weft_lanes_handle_t *handle = NULL;
    char text[512];
    flat_t flat;
    flat_init(&flat, &program, WEFT_SUM);
    damage(&flat);
    assert_int_equal(kernels.lanes->prepare(kernels.kernel[0], &flat.program, &handle),
                     WEFT_ERR_UNSUPPORTED);
    fake_host_take_error(&kernels.host, text, sizeof text);
    assert_says(text, words);
    flat_fini(&flat);
    plan_fixture_free(plans, 3);
}

static void no_end(flat_t *flat)
{
    ((weft_lanes_code_t *)flat->memory[1])[flat->program.ncode - 1].opcode = WEFT_LANES_BAR;
}

static void wrong_port(flat_t *flat)
{
    flat->program.nports = 1;
}

static void wrong_move(flat_t *flat)
{
    flat->program.nmoves--;
}

static void wrong_operand(flat_t *flat)
{
    flat->program.noperands--;
}

static void wrong_loop(flat_t *flat)
{
    weft_lanes_code_t *code = flat->memory[1];
    for (uint32_t i = 0; i < flat->program.ncode; i++) {
        code[i].mate_or_mask += code[i].opcode == WEFT_LANES_END ? 1000 : 0;
    }
}

static void programs_that_reach_beyond_their_arrays_are_refused(void **state)
{
    (void)state;
    expect_refused(no_end, "a lane has no end");
    expect_refused(wrong_port, "a port that does not exist");
    expect_refused(wrong_move, "a MOVE does not exist");
    expect_refused(wrong_operand, "reaches beyond the program");
    expect_refused(wrong_loop, "a LOOP reaches beyond its lane");
}

static void slices_that_do_not_fit_the_slots_are_refused(void **state)
{
    (void)state;
    mesh_call_t call = call_of(64);
    char text[512];
    weft_plan_t **plans = plan_fixture_emit(&ring, WEFT_ALL_REDUCE, 2, 0);
    mesh_t *mesh = mesh_open(&kernels, plans, 2, &call);
    mesh_rank_t *r = &mesh->rank[0];
    weft_lanes_call_t bad = {.size = sizeof bad,
                             .in = r->in,
                             .out = r->out,
                             .segmentation = {64, 65, 65, 65, 1, 1, 1},
                             .ends = r->ends};
    weft_lanes_job_t job = {.handle = r->handle, .call = &bad};
    assert_int_equal(kernels.lanes->start(r->queue, NULL, &job, 1), WEFT_ERR_ARG);
    fake_host_take_error(&kernels.host, text, sizeof text);
    assert_non_null(strstr(text, "slices have 260 bytes"));
    mesh_close(mesh);
    plan_fixture_free(plans, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_of_another_operation_ends_the_run_and_is_told),
        cmocka_unit_test(a_mismatch_seen_by_one_lane_stops_the_others),
        cmocka_unit_test(a_rank_that_waits_says_for_which_port),
        cmocka_unit_test(every_lane_that_waits_is_told),
        cmocka_unit_test(an_abort_ends_a_run_that_waits_within_100_ms),
        cmocka_unit_test(after_an_abort_the_handle_runs_again),
        cmocka_unit_test(a_run_under_way_may_be_released),
        cmocka_unit_test(programs_that_reach_beyond_their_arrays_are_refused),
        cmocka_unit_test(slices_that_do_not_fit_the_slots_are_refused),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
