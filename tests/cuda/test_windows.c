/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages by reference on a device, with this program as the peer: what they say, what is believed
 * of them, and how long a run lasts that has sent some. */
#include <sched.h>

#include "tests/cuda/bench.h"

static _Alignas(4096) uint8_t fifo[FIFO_BYTES];
static plan_t plan;

static uint8_t *head_of(uint64_t n)
{
    return fifo + WEFT_FIFO_HEADERS + n % SLOTS * WEFT_FIFO_HEADER_BYTES;
}

/* Words of message n: the window, plus one, and the offset. */
static uint64_t *reference(uint64_t n)
{
    return (uint64_t *)(void *)(head_of(n) + WEFT_FIFO_ZERO_COPY_WINDOW);
}

/* Waits for message n as a peer does. */
static void take(uint64_t n)
{
    const uint64_t *sequence = (const uint64_t *)(const void *)head_of(n);
    while (__atomic_load_n(sequence, __ATOMIC_ACQUIRE) != n + 1) {
        sched_yield();
    }
}

static void show(uint32_t number, void *base, uint64_t bytes)
{
    weft_lanes_window_t windows[WEFT_LANES_WINDOWS] = {{NULL, 0}};
    windows[number] = (weft_lanes_window_t){.base = base, .bytes = bytes};
    assert_int_equal(bench.lanes->endpoint_windows(plan.end, windows), WEFT_OK);
}

static void fill(float *to)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        to[i] = (float)i;
    }
}

static void a_message_says_where_its_payload_is(void **state)
{
    weft_lanes_state_t at;
    uint64_t run = 0;
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifo);
    fill(plan.in);
    show(5, (uint8_t *)plan.out - 64, sizeof plan.out + 64);
    plan.call.stable = WEFT_LANES_STABLE;
    assert_int_equal(plan_start(&plan, &run), WEFT_OK);
    take(0);
    plan_wait_blocked(&plan, run); /* all is sent, but the peer may still read it */
    assert_int_equal(reference(0)[0], 6);
    assert_int_equal(reference(0)[1], 64);
    assert_memory_equal(plan.out, plan.in, sizeof plan.in);
    assert_int_equal(fifo_payload(fifo, 0)[3], 0);
    fifo_release(fifo, 1);
    assert_int_equal(plan_finish(&plan, run), WEFT_OK);
    assert_int_equal(plan_look(&plan, run, &at), WEFT_OK);
    assert_int_equal(at.zero_copied, 1);
    plan_close(&plan);
}

/* Each: the call, the place of the window, its length. */
static void everything_else_is_copied(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        plan_open(&plan, PLAN_SENDS, fifo);
        fill(plan.in);
        reference(0)[0] = 77;
        uint8_t *out = (uint8_t *)plan.out;
        plan.call.stable = i == 0 ? WEFT_LANES_STABLE_IN_PLACE : WEFT_LANES_STABLE;
        show(0, i == 1 ? out + 4 : out, i == 2 ? sizeof plan.out - 1 : sizeof plan.out);
        if (i == 3) {
            show(0, NULL, 0); /* it has ended */
        }
        assert_int_equal(plan_run(&plan), WEFT_OK);
        assert_int_equal(reference(0)[0], 0);
        assert_memory_equal(fifo_payload(fifo, 0), plan.in, sizeof plan.in);
        plan_close(&plan);
    }
}

static void a_run_that_waits_for_a_reader_can_be_aborted(void **state)
{
    uint64_t run = 0;
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifo);
    show(0, plan.out, sizeof plan.out);
    plan.call.stable = WEFT_LANES_STABLE;
    assert_int_equal(plan_start(&plan, &run), WEFT_OK);
    plan_wait_blocked(&plan, run);
    bench.lanes->abort(plan.handle);
    assert_int_equal(plan_finish(&plan, run), WEFT_ERR_ABORTED);
    plan_close(&plan);
}

static void a_payload_is_read_where_the_message_says(void **state)
{
    static float memory[COUNT + 16];
    (void)state;
    plan_open(&plan, PLAN_RECEIVES, fifo);
    fill(memory + 16);
    show(2, memory, sizeof memory);
    reference(0)[0] = 3;
    reference(0)[1] = 64;
    fifo_send(fifo, 0, 0);
    assert_int_equal(plan_run(&plan), WEFT_OK);
    assert_memory_equal(plan.out, memory + 16, sizeof plan.out);
    plan_close(&plan);
}

static void lies_about_windows_are_told(void **state)
{
    static float memory[COUNT + 16];
    static const uint64_t lies[][2] = {{1, 0},  {4, 0},          {17, 0}, {UINT64_MAX, 0},
                                       {3, 68}, {3, UINT64_MAX}, {3, 2}};
    weft_lanes_state_t at;
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        uint64_t run = 0;
        plan_open(&plan, PLAN_RECEIVES, fifo);
        show(2, memory, sizeof memory);
        memcpy(reference(0), lies[i], sizeof lies[i]);
        fifo_send(fifo, 0, 0);
        assert_int_equal(plan_start(&plan, &run), WEFT_OK);
        assert_int_equal(plan_finish(&plan, run), WEFT_ERR_PROTO);
        assert_int_equal(plan_look(&plan, run, &at), WEFT_ERR_PROTO);
        assert_int_equal(at.mismatch, 0);
        plan_close(&plan);
    }
}

/* What a port knows of windows is not what a program was told. */
static void windows_come_and_go_between_runs(void **state)
{
    uint64_t run = 0;
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifo);
    plan.call.stable = WEFT_LANES_STABLE;
    for (uint64_t n = 0; n < 6; n++) {
        show(0, plan.out, n % 2 * sizeof plan.out);
        assert_int_equal(plan_start(&plan, &run), WEFT_OK);
        if (n % 2 != 0) {
            plan_wait_blocked(&plan, run);
        }
        fifo_release(fifo, n % 2 != 0 ? n + 1 : n);
        assert_int_equal(plan_finish(&plan, run), WEFT_OK);
        assert_int_equal(reference(n)[0], n % 2);
    }
    plan_close(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH(a_message_says_where_its_payload_is),
        BENCH(everything_else_is_copied),
        BENCH(a_run_that_waits_for_a_reader_can_be_aborted),
        BENCH(a_payload_is_read_where_the_message_says),
        BENCH(lies_about_windows_are_told),
        BENCH(windows_come_and_go_between_runs),
    };
    return bench_main(tests);
}
