/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting: how soon a step sleeps, and how long. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/exec/link_state.h"
#include "core/exec/waiter.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

/* In place of the sleeps themselves: how long they would last. */
static uint64_t slept_on_port, slept_on_links;
static uint32_t ports_slept_on;
static bool system_cannot; /* sleep on several ports */

bool weft_mapped_ports_sleep(weft_port_t *const *ports, uint32_t count, uint64_t timeout_ns)
{
    (void)ports;
    ports_slept_on = count;
    slept_on_port = count > 1 && system_cannot ? 0 : timeout_ns;
    return count == 1 || !system_cannot;
}

bool weft_links_ask_transports(const weft_links_t *links)
{
    return links->messages > 0;
}

bool weft_links_are_mixed(const weft_links_t *links)
{
    return links->messages > 0 && links->mapped > 0;
}

bool weft_links_sleep(weft_links_t *links, uint64_t timeout_ns)
{
    slept_on_links = timeout_ns;
    return links->messages > 0;
}

/* An idle step that waits for these ports. */
static void step_on(weft_waiter_t *waiter, weft_links_t *links, weft_port_t *const *ports,
                    uint32_t count)
{
    weft_blocked_t blocked;
    if (weft_waiter_stays_awake(waiter, weft_links_ask_transports(links))) {
        return;
    }
    weft_blocked_init(&blocked);
    for (uint32_t i = 0; i < count; i++) {
        weft_blocked_add(&blocked, ports[i]);
    }
    weft_waiter_sleep(waiter, links, &blocked);
}

/* Steps until one of them sleeps, at most `limit`. */
static uint32_t steps_before_sleep(weft_waiter_t *waiter, uint32_t limit)
{
    uint32_t steps = 0;
    while (steps < limit && waiter->naps == 0) {
        weft_waiter_nap(waiter);
        steps++;
    }
    return steps;
}

static void ranks_that_outnumber_cores_sleep_soon(void **state)
{
    weft_exec_settings_t settings = {.spin = 1e-6};
    weft_waiter_t waiter, alone;
    (void)state;
    weft_waiter_init(&waiter, &settings, 8, 2);
    weft_waiter_init(&alone, &settings, 1, 2);
    assert_true(waiter.oversubscribed);
    assert_false(alone.oversubscribed);
    assert_true(steps_before_sleep(&waiter, 100000) < 1000);
    assert_true(alone.spins > waiter.spins);
}

static void naps_grow_to_a_millisecond(void **state)
{
    weft_exec_settings_t settings = {.spin = 1e-6};
    weft_waiter_t waiter;
    uint32_t naps = 0;
    (void)state;
    weft_waiter_init(&waiter, &settings, 8, 2);
    (void)steps_before_sleep(&waiter, 100000);
    for (uint64_t began = weft_os_clock_ns(); weft_os_clock_ns() - began < 200 * WEFT_NS_PER_MS;) {
        weft_waiter_nap(&waiter);
        naps++;
    }
    /* Naps of 20 µs alone were 2,000 and more. */
    assert_true(naps < 400);
    for (int i = 0; i < 1000; i++) {
        weft_waiter_reset(&waiter);
        weft_waiter_nap(&waiter); /* a step that spins: this takes no second */
    }
    assert_int_equal(waiter.naps, 0);
}

static void a_rank_that_is_to_spin_never_sleeps(void **state)
{
    weft_exec_settings_t settings = {.wait = WEFT_WAIT_SPIN, .spin = 1e-6};
    weft_waiter_t waiter;
    (void)state;
    weft_waiter_init(&waiter, &settings, 8, 2);
    assert_int_equal(steps_before_sleep(&waiter, 10000), 10000);
    settings.wait = WEFT_WAIT_YIELD;
    weft_waiter_init(&waiter, &settings, 8, 2);
    assert_int_equal(steps_before_sleep(&waiter, 10000), 10000);
}

/* Steps that spin, when each takes 50 µs. */
static uint32_t slow_steps_that_spin(weft_waiter_t *waiter)
{
    uint32_t steps = 0;
    weft_waiter_reset(waiter);
    for (; weft_waiter_spins(waiter); steps++) {
        weft_os_sleep_ns(UINT64_C(50) * 1000);
        weft_waiter_nap(waiter);
    }
    return steps;
}

/* A step may ask a transport: then it takes longer than a pause, and the clock ends the
 * spinning. */
static void who_tests_gives_way_where_ranks_outnumber_cores(void **state)
{
    static const struct {
        weft_wait_mode_t wait;
        uint32_t ranks;
        bool gives_way;
    } cases[] = {{WEFT_WAIT_AUTO, 8, true},  {WEFT_WAIT_AUTO, 2, false},
                 {WEFT_WAIT_SPIN, 8, false}, {WEFT_WAIT_YIELD, 2, true},
                 {WEFT_WAIT_SLEEP, 8, true}, {WEFT_WAIT_SLEEP, 2, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_waiter_t waiter;
        const weft_exec_settings_t settings = {.wait = cases[i].wait, .spin = 1e-6};
        weft_waiter_init(&waiter, &settings, cases[i].ranks, 2);
        assert_int_equal(weft_waiter_gives_way(&waiter), cases[i].gives_way);
    }
}

static void slow_steps_spin_no_longer_than_fast_ones(void **state)
{
    weft_exec_settings_t settings = {.spin = 1e-6};
    weft_waiter_t waiter, alone;
    (void)state;
    weft_waiter_init(&waiter, &settings, 8, 2);
    assert_int_equal(slow_steps_that_spin(&waiter), 2);
    assert_int_equal(slow_steps_that_spin(&waiter), 2); /* each wait has its own time */
    settings = (weft_exec_settings_t){.wait = WEFT_WAIT_SLEEP, .spin = 1e-3};
    weft_waiter_init(&waiter, &settings, 1, 2);
    assert_in_range(slow_steps_that_spin(&waiter), 2, 22);
    /* With a core for each rank too: two may be on one core for a while. */
    settings = (weft_exec_settings_t){.spin = 1e-6};
    weft_waiter_init(&alone, &settings, 1, 2);
    assert_in_range(slow_steps_that_spin(&alone), 2, 6);
}

/* Lets a waiter that has waited long enough take `sleeps` of them, on the port or on the links. */
static void sleep_some(weft_waiter_t *waiter, weft_links_t *links, weft_port_t *blocked, int sleeps)
{
    weft_waiter_reset(waiter);
    waiter->idle = waiter->spins + waiter->yields;
    slept_on_port = slept_on_links = 0;
    for (int i = 0; i < sleeps; i++) {
        step_on(waiter, links, &blocked, 1);
    }
}

static void a_sleep_beside_another_transport_is_as_short_as_a_nap(void **state)
{
    weft_exec_settings_t settings = {.wait = WEFT_WAIT_SLEEP, .spin = 1e-6};
    weft_links_t memory = {.mapped = 1}, messages = {.messages = 1},
                 both = {.mapped = 1, .messages = 1};
    weft_port_t port = {.kind = WEFT_PORT_MAPPED}, other = {.kind = WEFT_PORT_MESSAGE};
    weft_waiter_t waiter;
    (void)state;
    weft_waiter_init(&waiter, &settings, 1, 2);
    sleep_some(&waiter, &both, &port, 1);
    assert_in_range(slept_on_port, 1, WEFT_NS_PER_MS / 10);
    sleep_some(&waiter, &both, &port, 100);
    assert_int_equal(slept_on_port, WEFT_NS_PER_MS);
    sleep_some(&waiter, &both, &other, 1);
    assert_in_range(slept_on_links, 1, WEFT_NS_PER_MS / 10);
    sleep_some(&waiter, &both, NULL, 100);
    assert_int_equal(slept_on_links, WEFT_NS_PER_MS);
    /* What a sleep waits for is all that can come. */
    sleep_some(&waiter, &memory, &port, 1);
    assert_int_equal(slept_on_port, WEFT_NS_PER_MS);
    sleep_some(&waiter, &messages, &other, 1);
    assert_int_equal(slept_on_links, WEFT_NS_PER_MS);
}

/* A sleep of somebody who waits for two ports; true: it was on them. */
static bool sleeps_on_two(weft_waiter_t *waiter, weft_links_t *links, weft_port_t *one,
                          weft_port_t *other)
{
    weft_waiter_reset(waiter);
    waiter->idle = waiter->spins + waiter->yields;
    slept_on_port = slept_on_links = ports_slept_on = 0;
    step_on(waiter, links, (weft_port_t *const[]){one, other}, 2);
    assert_true(slept_on_port == 0 || ports_slept_on == 2);
    return slept_on_port != 0;
}

static void several_ports_of_memory_are_slept_on_together(void **state)
{
    weft_exec_settings_t settings = {.wait = WEFT_WAIT_SLEEP, .spin = 1e-6};
    weft_links_t memory = {.mapped = 2}, both = {.mapped = 1, .messages = 1};
    weft_port_t one = {.kind = WEFT_PORT_MAPPED}, two = {.kind = WEFT_PORT_MAPPED},
                message = {.kind = WEFT_PORT_MESSAGE};
    weft_waiter_t waiter;
    (void)state;
    weft_waiter_init(&waiter, &settings, 1, 2);
    assert_true(sleeps_on_two(&waiter, &memory, &one, &two));
    assert_int_equal(waiter.naps, 0);
    /* A message, a link that is to be made, or more ports than a sleep can be on: something would
     * be missed. */
    assert_false(sleeps_on_two(&waiter, &both, &one, &message));
    assert_in_range(slept_on_links, 1, WEFT_NS_PER_MS / 10);
    assert_false(sleeps_on_two(&waiter, &memory, &one, NULL));
    assert_int_equal(waiter.naps, 1);
    weft_port_t *many[WEFT_BLOCKED_PORTS + 1];
    for (uint32_t i = 0; i <= WEFT_BLOCKED_PORTS; i++) {
        many[i] = &one;
    }
    waiter.idle = waiter.spins + waiter.yields;
    step_on(&waiter, &memory, many, WEFT_BLOCKED_PORTS);
    assert_int_equal(ports_slept_on, WEFT_BLOCKED_PORTS);
    ports_slept_on = 0;
    step_on(&waiter, &memory, many, WEFT_BLOCKED_PORTS + 1);
    assert_int_equal(ports_slept_on, 0);
    system_cannot = true;
    assert_false(sleeps_on_two(&waiter, &memory, &one, &two));
    assert_int_equal(waiter.naps, 1);
    system_cannot = false;
}

static void *compute(void *arg)
{
    _Atomic bool *over = arg;
    while (!atomic_load_explicit(over, memory_order_relaxed)) {
    }
    return NULL;
}

/* Returns how many steps yield before one sleeps; at most `limit`. */
static uint32_t yields_before_sleep(weft_waiter_t *waiter, uint32_t limit)
{
    weft_links_t memory = {.mapped = 1};
    weft_port_t port = {.kind = WEFT_PORT_MAPPED};
    uint32_t steps = 0;
    slept_on_port = 0;
    waiter->idle = waiter->spins;
    while (slept_on_port == 0 && steps < limit) {
        step_on(waiter, &memory, &(weft_port_t *){&port}, 1);
        steps++;
    }
    return steps;
}

/* Another thread that computes on the core of this one, which nothing but a sleep takes to another
 * core. */
typedef struct other_thread {
    pthread_t thread;
    _Atomic bool over;
    cpu_set_t before; /* where this one may run without it */
} other_thread_t;

static void other_thread_start(other_thread_t *other)
{
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET((size_t)sched_getcpu(), &here);
    atomic_init(&other->over, false);
    assert_int_equal(sched_getaffinity(0, sizeof other->before, &other->before), 0);
    assert_int_equal(sched_setaffinity(0, sizeof here, &here), 0);
    assert_int_equal(pthread_create(&other->thread, NULL, compute, &other->over), 0);
}

static void other_thread_end(other_thread_t *other)
{
    atomic_store(&other->over, true);
    assert_int_equal(pthread_join(other->thread, NULL), 0);
}

/* Returns whether a new wait spins at first. */
static bool begins_to_spin(weft_waiter_t *waiter)
{
    weft_waiter_reset(waiter);
    weft_waiter_nap(waiter);
    return weft_waiter_spins(waiter);
}

static void who_loses_turns_sleeps_once(void **state)
{
    const weft_exec_settings_t settings = {.spin = 1e-6};
    weft_waiter_t waiter, many;
    other_thread_t other;
    (void)state;
    other_thread_start(&other);
    weft_waiter_init(&waiter, &settings, 1, 2);
    weft_waiter_init(&many, &settings, 8, 2);
    assert_in_range(yields_before_sleep(&waiter, waiter.yields), 2, waiter.yields - 1);
    assert_false(waiter.moves);
    waiter.crowded = weft_os_clock_ns() + 60 * WEFT_NS_PER_S;
    assert_false(begins_to_spin(&waiter));                /* it has yielded at once */
    assert_int_equal(yields_before_sleep(&many, 20), 20); /* where all cores have several */
    other_thread_end(&other);
    assert_int_equal(sched_setaffinity(0, sizeof other.before, &other.before), 0);
}

static void who_shares_a_core_yields_at_once_until_it_has_it_alone(void **state)
{
    const weft_exec_settings_t settings = {.spin = 1e-6};
    weft_waiter_t waiter;
    other_thread_t other;
    (void)state;
    weft_waiter_init(&waiter, &settings, 8, 2);
    assert_true(begins_to_spin(&waiter));
    other_thread_start(&other);
    /* Linux may give a yield back at once: whoever computes has had more than its share by then. */
    for (int i = 0; i < 10000 && waiter.crowded == 0; i++) {
        (void)yields_before_sleep(&waiter, 1);
    }
    assert_false(begins_to_spin(&waiter));
    other_thread_end(&other);
    /* Other programs may want the core for a while. */
    for (int i = 0; i < 1000000 && waiter.crowded != 0; i++) {
        (void)yields_before_sleep(&waiter, 1);
    }
    assert_true(begins_to_spin(&waiter));
    assert_int_equal(sched_setaffinity(0, sizeof other.before, &other.before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_that_outnumber_cores_sleep_soon),
        cmocka_unit_test(naps_grow_to_a_millisecond),
        cmocka_unit_test(a_rank_that_is_to_spin_never_sleeps),
        cmocka_unit_test(who_tests_gives_way_where_ranks_outnumber_cores),
        cmocka_unit_test(slow_steps_spin_no_longer_than_fast_ones),
        cmocka_unit_test(several_ports_of_memory_are_slept_on_together),
        cmocka_unit_test(a_sleep_beside_another_transport_is_as_short_as_a_nap),
        cmocka_unit_test(who_loses_turns_sleeps_once),
        cmocka_unit_test(who_shares_a_core_yields_at_once_until_it_has_it_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
