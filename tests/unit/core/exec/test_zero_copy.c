/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages by reference in the interpreter: which memory is referred to, how long it is waited for,
 * and what a peer may not say. That results are right is in test_lanes.c. */
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/exec/zero_copy.h"
#include "core/os/os.h"
#include "tests/support/lanes_job.h"
#include "tests/support/unit.h"

/* Two ranks copy IN to OUT, send that, and add to it what the other has sent: OUT does not stay. */
static weft_status_t emit_twice(weft_algo_t *algo, const weft_algo_call_t *call,
                                const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    (void)algo;
    (void)view;
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    weft_operand_t to = weft_port(b->port(b, lane, 1 - call->rank, 0, 1));
    weft_operand_t from = weft_port(b->port(b, lane, 1 - call->rank, 0, 0));
    weft_move_t copy = {.dst = {weft_out(0, 0), to}, .src = {weft_in(0, 0)}, .ndst = 2, .nsrc = 1};
    weft_move_t add = {.dst = {weft_out(0, 0)},
                       .src = {from, weft_out(0, 0)},
                       .ndst = 1,
                       .nsrc = 2,
                       .flags = WEFT_MOVE_FINAL};
    b->move(b, lane, &copy);
    b->move(b, lane, &add);
    return WEFT_OK;
}

static void memory_that_is_written_again_is_copied(void **state)
{
    (void)state;
    for (int careless = 0; careless < 2; careless++) {
        lanes_job_t job;
        lanes_job_init(&job, emit_twice, 2, 1000, 1, 1);
        lanes_job_show_windows(&job);
        for (uint32_t i = 0; careless && i < 2; i++) {
            memset(job.rank[i].program.stable, WEFT_STABLE_APART, job.rank[i].plan->nmoves);
        }
        lanes_job_run(&job, 1);
        /* What the rule is for: without it, this plan reads sums where it sent inputs. */
        assert_int_equal(lanes_job_is_right(&job), !careless);
        assert_int_equal(lanes_job_references(&job) > 0, careless);
        lanes_job_fini(&job);
    }
}

enum { ROUNDS = 50 };

typedef struct actor {
    lanes_job_t *job;
    uint32_t rank;
    bool right;
} actor_t;

/* A rank of its own thread, which uses its buffers as soon as a run is over. */
static void act(void *arg)
{
    actor_t *a = arg;
    lanes_rank_t *r = &a->job->rank[a->rank];
    a->right = true;
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        bool moved = false;
        for (uint64_t e = 0; e < a->job->count; e++) {
            r->in[e] = lanes_job_input(a->rank, e) * (int32_t)round;
        }
        weft_interpreter_start(&r->run,
                               &(weft_binding_t){.in = r->in, .out = r->out, .sequence = round});
        while (weft_interpreter_step(&r->run, &moved) == WEFT_IN_PROGRESS) {
            weft_os_yield();
        }
        for (uint64_t e = 0; e < a->job->count; e++) {
            int32_t sum = 0;
            for (uint32_t i = 0; i < a->job->nranks; i++) {
                sum += lanes_job_input(i, e) * (int32_t)round;
            }
            a->right = a->right && r->out[e] == sum;
        }
        lanes_job_use_again(a->job, r);
    }
}

/* TSan sees whether what is read is there, and whether it is written too early. */
static void threads_read_each_others_memory(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 3; n++) {
        lanes_job_t job;
        actor_t actor[3];
        weft_os_thread_t *thread[3];
        lanes_job_init(&job, lanes_emit_ring, n, 1000, 2, 1);
        lanes_job_show_windows(&job);
        for (uint32_t i = 0; i < n; i++) {
            actor[i] = (actor_t){.job = &job, .rank = i};
            assert_int_equal(weft_os_thread_start("rank", act, &actor[i], &thread[i]), WEFT_OK);
        }
        for (uint32_t i = 0; i < n; i++) {
            weft_os_thread_join(thread[i]);
            assert_true(actor[i].right);
        }
        assert_true(lanes_job_references(&job) > ROUNDS);
        lanes_job_fini(&job);
    }
}

static void a_run_waits_until_nobody_reads_its_memory(void **state)
{
    lanes_job_t job;
    bool moved = false;
    (void)state;
    lanes_job_init(&job, lanes_emit_ring, 2, 64, 1, 1);
    lanes_job_show_windows(&job);
    for (uint32_t i = 0; i < 2; i++) {
        lanes_rank_t *r = &job.rank[i];
        weft_interpreter_start(&r->run,
                               &(weft_binding_t){.in = r->in, .out = r->out, .sequence = 1});
    }
    for (int round = 0; round < 3; round++) {
        assert_int_equal(weft_interpreter_step(&job.rank[0].run, &moved), WEFT_IN_PROGRESS);
        assert_int_equal(job.rank[0].run.blocked->peer, 1);
        if (round < 1) {
            assert_int_equal(weft_interpreter_step(&job.rank[1].run, &moved), WEFT_IN_PROGRESS);
        }
    }
    /* All it had to send and to receive is done; the other has not taken the last message. */
    assert_true(job.rank[0].run.blocked->sends);
    (void)weft_interpreter_step(&job.rank[1].run, &moved);
    assert_int_equal(weft_interpreter_step(&job.rank[0].run, &moved), WEFT_OK);
    assert_int_equal(weft_interpreter_step(&job.rank[1].run, &moved), WEFT_OK);
    lanes_job_fini(&job);
}

static void a_message_about_no_open_window_is_refused(void **state)
{
    static const weft_zero_copy_t lies[] = {{.window = WEFT_LANES_WINDOWS + 1},
                                            {.window = WEFT_ARENA_WINDOW + 1},
                                            {.window = UINT64_MAX},
                                            {.window = 2},
                                            {.window = 4, .offset = 4000},
                                            {.window = 4, .offset = UINT64_MAX},
                                            {.window = 4, .offset = 2}};
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        lanes_job_t job;
        bool moved = false;
        lanes_job_init(&job, lanes_emit_ring, 2, 1000, 1, 1);
        lanes_job_show_windows(&job);
        for (uint32_t k = 0; k < 2; k++) {
            lanes_rank_t *r = &job.rank[k];
            weft_interpreter_start(&r->run,
                                   &(weft_binding_t){.in = r->in, .out = r->out, .sequence = 1});
        }
        assert_int_equal(weft_interpreter_step(&job.rank[0].run, &moved), WEFT_IN_PROGRESS);
        for (uint32_t p = 0; p < job.rank[1].program.nports; p++) {
            weft_mapped_port_t *port = &job.rank[1].ports[p];
            if (!port->port.sends) {
                memcpy(weft_mapped_port_near(&port->port), &lies[i], sizeof lies[i]);
            }
        }
        assert_int_equal(weft_interpreter_step(&job.rank[1].run, &moved), WEFT_ERR_PROTO);
        assert_int_equal(weft_error_record()->peer, 0);
        lanes_job_fini(&job);
    }
}

/* Both ends of a FIFO, and a block of the arena. */
typedef struct arena_pair {
    weft_windows_t windows;
    void *fifo;
    weft_mapped_port_t send, receive;
    int32_t *block;
} arena_pair_t;

enum { BLOCK = 4096 };

static void pair_open(arena_pair_t *p)
{
    void *block = NULL;
    *p = (arena_pair_t){.fifo = weft_os_pages(weft_fifo_bytes(4, 256))};
    weft_mapped_port_init(&p->send, 1, true, p->fifo, 4, 256);
    weft_mapped_port_init(&p->receive, 0, false, p->fifo, 4, 256);
    p->send.windows = p->receive.windows = &p->windows;
    assert_true(weft_arena_alloc(BLOCK, &block));
    p->block = block;
}

static void pair_close(arena_pair_t *p)
{
    weft_port_fini(&p->send.port);
    weft_port_fini(&p->receive.port);
    weft_os_pages_free(p->fifo, weft_fifo_bytes(4, 256));
    assert_true(weft_arena_free(p->block));
}

static weft_zero_copy_t pair_send(arena_pair_t *p, const void *payload)
{
    weft_signature_t signature = {.coll = WEFT_ALL_GATHER};
    weft_zero_copy_t where = weft_zero_copy_describe(&p->send.port, payload, 200);
    assert_int_equal(weft_port_send(&p->send.port, &signature, 200, &where), WEFT_OK);
    assert_true(weft_port_can_receive(&p->receive.port));
    return where;
}

static weft_status_t pair_receive(arena_pair_t *p, const uint8_t **payload_p)
{
    weft_status_t status = weft_zero_copy_resolve(&p->receive.port, 200, 4, payload_p);
    if (status == WEFT_OK) {
        assert_int_equal(weft_port_release(&p->receive.port), WEFT_OK);
    }
    return status;
}

static void the_arena_is_offered_once_and_then_read_in_place(void **state)
{
    arena_pair_t p;
    const uint8_t *payload;
    int32_t plain[50];
    (void)state;
    pair_open(&p);
    weft_zero_copy_t first = pair_send(&p, p.block + 10);
    assert_int_equal(first.window, 0);
    assert_int_not_equal(first.offer.token, 0);
    assert_int_equal(pair_receive(&p, &payload), WEFT_OK);
    assert_null(payload);
    p.block[10] = 4711;
    weft_zero_copy_t second = pair_send(&p, p.block + 10);
    assert_int_equal(second.window, WEFT_ARENA_WINDOW + 1);
    assert_false(weft_port_is_returned(&p.send.port));
    assert_int_equal(pair_receive(&p, &payload), WEFT_OK);
    assert_ptr_not_equal(payload, p.block + 10);
    assert_int_equal(*(const int32_t *)(const void *)payload, 4711);
    assert_true(weft_port_is_returned(&p.send.port));
    /* What the header holds goes there. */
    assert_int_equal(weft_zero_copy_describe(&p.send.port, p.block, WEFT_SLOT_INLINE).window, 0);
    /* Other memory goes through slots as ever, and is not offered. */
    weft_zero_copy_t other = pair_send(&p, plain);
    assert_int_equal(other.window, 0);
    assert_int_equal(other.offer.token, 0);
    pair_close(&p);
}

static void a_refused_arena_is_not_offered_again(void **state)
{
    arena_pair_t p;
    const uint8_t *payload;
    (void)state;
    pair_open(&p);
    weft_zero_copy_t where = weft_zero_copy_describe(&p.send.port, p.block, 200);
    where.offer.fd = 1 << 20; /* the peer cannot open it */
    weft_signature_t signature = {.coll = WEFT_ALL_GATHER};
    assert_int_equal(weft_port_send(&p.send.port, &signature, 200, &where), WEFT_OK);
    assert_int_equal(pair_receive(&p, &payload), WEFT_OK);
    for (int i = 0; i < 3; i++) {
        where = pair_send(&p, p.block);
        assert_int_equal(where.window, 0);
        assert_int_equal(where.offer.token, 0);
        assert_int_equal(pair_receive(&p, &payload), WEFT_OK);
        assert_null(payload);
    }
    pair_close(&p);
}

static void memory_that_was_withdrawn_is_not_used(void **state)
{
    arena_pair_t p;
    const uint8_t *payload;
    (void)state;
    pair_open(&p);
    pair_send(&p, p.block);
    assert_int_equal(pair_receive(&p, &payload), WEFT_OK);
    pair_send(&p, p.block);
    assert_int_equal(weft_zero_copy_resolve(&p.receive.port, 200, 4, &payload), WEFT_OK);
    assert_non_null(payload);
    assert_false(weft_zero_copy_is_withdrawn(&p.receive.port));
    weft_zero_copy_withdraw(&p.send.port);
    assert_true(weft_zero_copy_is_withdrawn(&p.receive.port));
    assert_int_equal(weft_zero_copy_resolve(&p.receive.port, 200, 4, &payload), WEFT_AGAIN);
    pair_close(&p);
}

/* A transport may serve the first port of a program, and shared memory the next. */
static void messages_of_a_device_are_counted_where_there_are_windows(void **state)
{
    weft_port_t message = {.kind = WEFT_PORT_MESSAGE};
    weft_windows_t windows = {.sent = 1};
    weft_mapped_port_t alone = {.port.kind = WEFT_PORT_MAPPED};
    weft_mapped_port_t mapped = {.port.kind = WEFT_PORT_MAPPED, .windows = &windows};
    weft_port_t *ports[] = {&message, &alone.port, &mapped.port};
    (void)state;
    weft_zero_copy_count(ports, 2, 5, 2);
    assert_int_equal(windows.sent, 1);
    weft_zero_copy_count(ports, 3, 5, 2);
    assert_int_equal(windows.sent, 6);
    assert_int_equal(windows.whole, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_is_written_again_is_copied),
        cmocka_unit_test(threads_read_each_others_memory),
        cmocka_unit_test(a_run_waits_until_nobody_reads_its_memory),
        cmocka_unit_test(a_message_about_no_open_window_is_refused),
        cmocka_unit_test(the_arena_is_offered_once_and_then_read_in_place),
        cmocka_unit_test(a_refused_arena_is_not_offered_again),
        cmocka_unit_test(memory_that_was_withdrawn_is_not_used),
        cmocka_unit_test(messages_of_a_device_are_counted_where_there_are_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
