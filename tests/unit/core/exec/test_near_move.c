/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The MOVEs of the smallest calls: from the second run on they go without a member, and must do
 * what a member does. */
#include <pthread.h>
#include <stdlib.h>

#include "core/exec/interpreter.h"
#include "core/exec/nt_tuner.h"
#include "core/os/os.h"
#include "tests/support/lanes_job.h"
#include "tests/support/unit.h"

#define NEAR_COUNT (WEFT_SLOT_INLINE / sizeof(int32_t))

/* What algo-flat does for two ranks: a copy into a port, and a sum with what has come. */
static weft_status_t emit_exchange(weft_algo_t *algo, const weft_algo_call_t *call,
                                   const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    uint32_t peer = 1 - call->rank;
    (void)algo;
    (void)view;
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    uint32_t to = b->port(b, lane, peer, 0, 1), from = b->port(b, lane, peer, 0, 0);
    weft_move_t send = {.dst = {weft_port(to)}, .ndst = 1, .nsrc = 1};
    send.src[0] = weft_in(0, 0);
    b->move(b, lane, &send);
    weft_move_t sum = {.dst = {weft_out(0, 0)}, .ndst = 1, .nsrc = 2, .flags = WEFT_MOVE_FINAL};
    sum.src[0] = weft_in(0, 0);
    sum.src[1] = weft_port(from);
    b->move(b, lane, &sum);
    return WEFT_OK;
}

static void runs_of_one_slice_in_a_header_take_the_near_way(void **state)
{
    (void)state;
    for (uint64_t count = 0; count <= NEAR_COUNT + 1; count++) {
        for (uint32_t slices = 1; slices <= 2; slices++) {
            lanes_job_t job;
            lanes_job_init(&job, emit_exchange, 2, count, slices, 1);
            for (uint32_t sequence = 1; sequence <= 3 * LANES_SLOTS; sequence++) {
                lanes_job_run(&job, sequence);
                assert_true(lanes_job_is_right(&job));
            }
            const weft_aim_t *aims = job.rank[0].program.aims.aims;
            bool one = job.rank[0].program.segmentation.slices == 1;
            assert_int_equal(aims[0].is_near, one && count <= NEAR_COUNT);
            assert_int_equal(aims[1].is_near, one && count <= NEAR_COUNT);
            lanes_job_fini(&job);
        }
    }
}

#define SMALL 128u /* bytes of a small payload */

/* Memory for small payloads, which the sender has to ask for. */
typedef struct small_area {
    uint8_t payloads[LANES_SLOTS * SMALL];
    weft_status_t answer;
    uint32_t asked;
} small_area_t;

static small_area_t areas[2]; /* by sender */

static weft_status_t commit_small(weft_mapped_port_t *mapped, uint64_t bytes)
{
    small_area_t *area = &areas[mapped->small != areas[0].payloads];
    assert_in_range(bytes, WEFT_SLOT_INLINE + 1, SMALL);
    area->asked++;
    mapped->ready = area->answer == WEFT_OK ? SMALL : mapped->ready;
    return area->answer;
}

static void add_small_areas(lanes_job_t *job)
{
    static const weft_slot_store_ops_t ops = {.commit = commit_small};
    for (uint32_t i = 0; i < 2; i++) {
        areas[i] = (small_area_t){.answer = WEFT_OK};
    }
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t p = 0; p < 2; p++) {
            weft_mapped_port_t *port = &job->rank[i].ports[p];
            port->small_bytes = SMALL;
            port->small = areas[port->port.sends ? i : 1 - i].payloads;
            port->ready = WEFT_SLOT_INLINE;
            port->store.ops = &ops;
        }
    }
}

static void small_payloads_take_the_near_way_too(void **state)
{
    static const uint64_t counts[] = {NEAR_COUNT, NEAR_COUNT + 1, SMALL / 4, SMALL / 4 + 1};
    (void)state;
    for (uint32_t c = 0; c < 4; c++) {
        lanes_job_t job;
        lanes_job_init(&job, emit_exchange, 2, counts[c], 1, 1);
        add_small_areas(&job);
        const bool is_near = counts[c] * 4 <= SMALL;
        for (uint32_t i = 0; i < 2 && !is_near; i++) {
            job.rank[i].ports[0].ready = UINT64_MAX; /* in a slot */
        }
        for (uint32_t sequence = 1; sequence <= 3 * LANES_SLOTS; sequence++) {
            job.rank[0].run.nt = sequence % 2 != 0 ? WEFT_NT_SLOTS : 0;
            lanes_job_run(&job, sequence);
            assert_true(lanes_job_is_right(&job));
        }
        assert_int_equal(job.rank[0].program.aims.aims[0].is_near, is_near);
        assert_int_equal(job.rank[0].program.aims.aims[1].is_near, is_near);
        assert_int_equal(areas[0].asked, is_near && counts[c] > NEAR_COUNT);
        lanes_job_fini(&job);
    }
}

static void small_payloads_without_memory_are_told(void **state)
{
    lanes_job_t job;
    bool moved = false;
    (void)state;
    lanes_job_init(&job, emit_exchange, 2, SMALL / 4, 1, 1);
    add_small_areas(&job);
    lanes_job_run(&job, 1);
    lanes_job_run(&job, 2);
    assert_true(job.rank[0].program.aims.aims[0].is_near);
    lanes_rank_t *r = &job.rank[0];
    r->ports[0].ready = WEFT_SLOT_INLINE;
    areas[0].answer = WEFT_ERR_RESOURCE;
    lanes_job_start(r, 3);
    assert_int_equal(weft_interpreter_step(&r->run, &moved), WEFT_ERR_RESOURCE);
    assert_ptr_equal(r->run.blocked, &r->ports[0].port);
    assert_int_equal(r->ports[0].port.next, 2); /* nothing was sent */
    lanes_job_fini(&job);
}

/* A run of two elements. */
static void start(lanes_rank_t *r, uint32_t sequence)
{
    r->in[0] = r->in[1] = 1;
    lanes_job_start(r, sequence);
}

/* Two ranks whose second run begins, each with its sequence number; rank 0 has sent. */
static void start_near(lanes_job_t *job, uint32_t first, uint32_t second)
{
    bool moved = false;
    lanes_job_init(job, emit_exchange, 2, 2, 1, 1);
    lanes_job_run(job, 1);
    start(&job->rank[0], first);
    start(&job->rank[1], second);
    assert_int_equal(weft_interpreter_step(&job->rank[0].run, &moved), WEFT_IN_PROGRESS);
    assert_true(moved);
}

static void a_message_that_has_not_come_is_waited_for(void **state)
{
    lanes_job_t job;
    bool moved = false;
    (void)state;
    lanes_job_init(&job, emit_exchange, 2, 2, 1, 1);
    lanes_job_run(&job, 1);
    lanes_rank_t *r = &job.rank[0];
    start(r, 2);
    assert_int_equal(weft_interpreter_step(&r->run, &moved), WEFT_IN_PROGRESS);
    assert_true(moved); /* it has sent */
    moved = false;
    r->run.looks = 5;
    assert_int_equal(weft_interpreter_step(&r->run, &moved), WEFT_IN_PROGRESS);
    assert_false(moved);
    assert_int_equal(r->run.looks, 0); /* a run has them once */
    assert_ptr_equal(r->run.blocked, r->program.ports[1]);
    start(&job.rank[1], 2);
    assert_int_equal(weft_interpreter_step(&job.rank[1].run, &moved), WEFT_OK);
    assert_int_equal(weft_interpreter_step(&r->run, &moved), WEFT_OK);
    lanes_job_fini(&job);
}

static void *step_later(void *arg)
{
    lanes_rank_t *r = arg;
    bool moved = false;
    weft_os_sleep_ns(5 * WEFT_NS_PER_MS);
    weft_status_t status = weft_interpreter_step(&r->run, &moved);
    return status == WEFT_OK ? NULL : arg;
}

static void a_message_that_comes_meanwhile_is_taken_in_the_same_step(void **state)
{
    lanes_job_t job;
    pthread_t thread;
    void *failed;
    bool moved = false;
    (void)state;
    start_near(&job, 2, 2);
    lanes_rank_t *r = &job.rank[0];
    r->run.looks = UINT32_MAX;
    assert_int_equal(pthread_create(&thread, NULL, step_later, &job.rank[1]), 0);
    assert_int_equal(weft_interpreter_step(&r->run, &moved), WEFT_OK);
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    assert_in_range(r->run.looks, 1, UINT32_MAX - 1);
    assert_true(lanes_job_is_right(&job));
    lanes_job_fini(&job);
}

static void a_slice_of_another_operation_is_a_mismatch(void **state)
{
    lanes_job_t job;
    bool moved = false;
    (void)state;
    start_near(&job, 2, 3);
    assert_int_equal(weft_interpreter_step(&job.rank[1].run, &moved), WEFT_ERR_MISMATCH);
    assert_int_equal(job.rank[1].run.mismatched->peer, 0);
    assert_int_equal(job.rank[1].run.theirs.sequence, 2);
    lanes_job_fini(&job);
}

static weft_status_t refuse(weft_kernel_t *kernel)
{
    (void)kernel;
    return WEFT_ERR_SYSTEM;
}

/* The message stays where it is: the peer of a run that failed must not take it for consumed. */
static void a_combination_that_fails_releases_nothing(void **state)
{
    lanes_job_t job;
    bool moved = true;
    (void)state;
    start_near(&job, 2, 2);
    job.rank[1].program.combiner.status = refuse;
    uint64_t taken = job.rank[1].program.ports[1]->next;
    while (moved) {
        moved = false;
        if (weft_interpreter_step(&job.rank[1].run, &moved) != WEFT_IN_PROGRESS) {
            break;
        }
    }
    assert_int_equal(weft_interpreter_step(&job.rank[1].run, &moved), WEFT_ERR_SYSTEM);
    assert_int_equal(job.rank[1].program.ports[1]->next, taken);
    lanes_job_fini(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_one_slice_in_a_header_take_the_near_way),
        cmocka_unit_test(small_payloads_take_the_near_way_too),
        cmocka_unit_test(small_payloads_without_memory_are_told),
        cmocka_unit_test(a_message_that_has_not_come_is_waited_for),
        cmocka_unit_test(a_message_that_comes_meanwhile_is_taken_in_the_same_step),
        cmocka_unit_test(a_slice_of_another_operation_is_a_mismatch),
        cmocka_unit_test(a_combination_that_fails_releases_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
