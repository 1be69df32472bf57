/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Completion queues: order, waiting, wakes, the descriptor, handles that are no longer valid. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/comm/completion_queue.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

enum { ENTRIES = 20000, THREADS = 4 };

static weft_completion_queue_t *make_queue(void)
{
    weft_completion_queue_t *queue = NULL;
    assert_int_equal(weft_completion_create(&queue), WEFT_OK);
    return queue;
}

static void end_queue(weft_completion_queue_t *queue)
{
    weft_completion_entry_t *left = NULL;
    assert_int_equal(weft_completion_end(queue, &left), WEFT_OK);
    assert_null(left);
}

static void enter(weft_completion_queue_t *queue, weft_completion_entry_t *entry,
                  weft_status_t status)
{
    *entry = (weft_completion_entry_t){.told = {.status = status}};
    assert_int_equal(weft_completion_expect(queue, "weft_send", entry), WEFT_OK);
    weft_completion_push(entry);
}

static weft_completion_entry_t *take(weft_completion_queue_t *queue, uint32_t max,
                                     uint64_t deadline)
{
    weft_completion_entry_t *first = NULL;
    assert_int_equal(weft_completion_take(queue, max, deadline, &first), WEFT_OK);
    return first;
}

static void entries_come_out_in_order(void **state)
{
    weft_completion_queue_t *queue = make_queue();
    weft_completion_entry_t e[3];
    (void)state;
    assert_null(take(queue, 8, 0));
    for (int i = 0; i < 3; i++) {
        enter(queue, &e[i], WEFT_OK);
    }
    assert_ptr_equal(take(queue, 2, 0), &e[0]);
    assert_ptr_equal(e[0].next, &e[1]);
    assert_null(e[1].next);
    assert_ptr_equal(take(queue, 2, 0), &e[2]);
    assert_null(take(queue, 2, 0));
    end_queue(queue);
}

static void a_failure_is_the_last_of_a_batch(void **state)
{
    weft_completion_queue_t *queue = make_queue();
    weft_completion_entry_t e[3];
    (void)state;
    enter(queue, &e[0], WEFT_OK);
    enter(queue, &e[1], WEFT_ERR_TIMEOUT);
    enter(queue, &e[2], WEFT_OK);
    assert_ptr_equal(take(queue, 8, 0), &e[0]);
    assert_ptr_equal(e[0].next, &e[1]);
    assert_null(e[1].next);
    assert_ptr_equal(take(queue, 8, 0), &e[2]);
    end_queue(queue);
}

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void the_descriptor_is_readable_while_there_are_entries(void **state)
{
    weft_completion_queue_t *queue = make_queue();
    weft_completion_entry_t e[2];
    int fd = -1, again = -1;
    (void)state;
    enter(queue, &e[0], WEFT_OK);
    assert_int_equal(weft_completion_descriptor(queue, &fd), WEFT_OK);
    assert_int_equal(weft_completion_descriptor(queue, &again), WEFT_OK);
    assert_int_equal(fd, again);
    assert_true(is_readable(fd));
    enter(queue, &e[1], WEFT_OK);
    assert_non_null(take(queue, 1, 0));
    assert_true(is_readable(fd));
    assert_non_null(take(queue, 1, 0));
    assert_false(is_readable(fd));
    enter(queue, &e[0], WEFT_OK);
    assert_true(is_readable(fd));
    assert_non_null(take(queue, 1, 0));
    end_queue(queue);
}

static void a_queue_ends_when_nothing_is_expected_any_more(void **state)
{
    weft_completion_queue_t *queue = make_queue();
    weft_completion_entry_t e = {.next = NULL}, *left = NULL;
    (void)state;
    assert_int_equal(weft_completion_expect(queue, "weft_send", &e), WEFT_OK);
    assert_int_equal(weft_completion_end(queue, &left), WEFT_ERR_STATE);
    assert_non_null(strstr(weft_error_record()->text, "not complete: 1;"));
    weft_completion_forgo(&e);
    enter(queue, &e, WEFT_OK);
    assert_int_equal(weft_completion_end(queue, &left), WEFT_OK);
    assert_ptr_equal(left, &e);
    assert_int_equal(weft_completion_end(queue, &left), WEFT_ERR_STATE);
    assert_int_equal(weft_completion_expect(queue, "weft_send", &e), WEFT_ERR_STATE);
    assert_int_equal(weft_completion_take(queue, 1, 0, &left), WEFT_ERR_STATE);
    assert_int_equal(weft_completion_take(NULL, 1, 0, &left), WEFT_ERR_ARG);
}

static void handles_are_not_used_again(void **state)
{
    weft_completion_queue_t *first = make_queue();
    (void)state;
    end_queue(first);
    weft_completion_queue_t *second = make_queue();
    assert_ptr_not_equal(first, second);
    assert_int_equal(weft_completion_wake(first), WEFT_ERR_STATE);
    end_queue(second);
}

static void there_is_an_end_to_queues(void **state)
{
    weft_completion_queue_t *queues[300], *one_more = NULL;
    int made = 0;
    (void)state;
    while (made < 300 && weft_completion_create(&queues[made]) == WEFT_OK) {
        made++;
    }
    assert_int_equal(made, 256);
    assert_int_equal(weft_completion_create(&one_more), WEFT_ERR_RESOURCE);
    while (made > 0) {
        end_queue(queues[--made]);
    }
}

static void waiting_ends_at_its_deadline(void **state)
{
    weft_completion_queue_t *queue = make_queue();
    (void)state;
    uint64_t before = weft_os_clock_ns();
    assert_null(take(queue, 1, before + 20 * WEFT_NS_PER_MS));
    assert_true(weft_os_clock_ns() - before >= 20 * WEFT_NS_PER_MS);
    end_queue(queue);
}

static void a_wake_ends_the_next_wait_once(void **state)
{
    weft_completion_queue_t *queue = make_queue();
    (void)state;
    assert_int_equal(weft_completion_wake(queue), WEFT_OK);
    assert_int_equal(weft_completion_wake(queue), WEFT_OK);
    assert_null(take(queue, 1, 0));
    assert_null(take(queue, 1, WEFT_NEVER));
    uint64_t before = weft_os_clock_ns();
    assert_null(take(queue, 1, before + 5 * WEFT_NS_PER_MS));
    assert_true(weft_os_clock_ns() - before >= 5 * WEFT_NS_PER_MS);
    end_queue(queue);
}

typedef struct waiters {
    weft_completion_queue_t *queue;
    _Atomic int begun, over;
} waiters_t;

static void wait_for_one(void *arg)
{
    waiters_t *all = arg;
    weft_completion_entry_t *first = NULL;
    atomic_fetch_add(&all->begun, 1);
    (void)weft_completion_take(all->queue, 1, WEFT_NEVER, &first);
    atomic_fetch_add(&all->over, 1);
}

/* Naps until the count is THREADS, for two seconds at most. */
static bool all_are(_Atomic int *count)
{
    const uint64_t until = weft_os_clock_ns() + 2 * WEFT_NS_PER_S;
    while (atomic_load(count) < THREADS && weft_os_clock_ns() < until) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    return atomic_load(count) == THREADS;
}

/* One wake, once all threads should wait. */
static bool one_wake_ends_all(void)
{
    waiters_t all = {.queue = make_queue()};
    weft_os_thread_t *threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(weft_os_thread_start("waiter", wait_for_one, &all, &threads[i]), WEFT_OK);
    }
    (void)all_are(&all.begun);
    weft_os_sleep_ns(20 * WEFT_NS_PER_MS);
    assert_int_equal(weft_completion_wake(all.queue), WEFT_OK);
    bool ended = all_are(&all.over);
    while (atomic_load(&all.over) < THREADS) {
        assert_int_equal(weft_completion_wake(all.queue), WEFT_OK);
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    for (int i = 0; i < THREADS; i++) {
        weft_os_thread_join(threads[i]);
    }
    end_queue(all.queue);
    return ended;
}

/* On a busy machine a thread may not wait yet when the others are woken: then it is tried again. */
static void a_wake_ends_all_waits(void **state)
{
    int tries = 20;
    (void)state;
    while (tries > 0 && !one_wake_ends_all()) {
        tries--;
    }
    assert_true(tries > 0);
}

typedef struct crowd {
    weft_completion_queue_t *queue;
    weft_completion_entry_t *entries;
    _Atomic uint32_t taken;
} crowd_t;

static void enter_many(void *arg)
{
    crowd_t *crowd = arg;
    for (uint32_t i = 0; i < ENTRIES; i++) {
        weft_completion_push(&crowd->entries[i]);
    }
}

static void take_many(void *arg)
{
    crowd_t *crowd = arg;
    weft_completion_entry_t *entry = NULL;
    while (atomic_load(&crowd->taken) < 2 * ENTRIES) {
        if (weft_completion_take(crowd->queue, 7, WEFT_NEVER, &entry) != WEFT_OK) {
            return;
        }
        for (; entry != NULL; entry = entry->next) {
            entry->told.reserved++;
            if (atomic_fetch_add(&crowd->taken, 1) + 1 == 2 * ENTRIES) {
                (void)weft_completion_wake(crowd->queue);
            }
        }
    }
}

static void threads_lose_no_entry(void **state)
{
    crowd_t crowd = {.queue = make_queue()}, half[2];
    weft_os_thread_t *threads[THREADS];
    (void)state;
    crowd.entries = calloc(2 * ENTRIES, sizeof *crowd.entries);
    assert_non_null(crowd.entries);
    for (uint32_t i = 0; i < 2 * ENTRIES; i++) {
        assert_int_equal(weft_completion_expect(crowd.queue, "weft_send", &crowd.entries[i]),
                         WEFT_OK);
    }
    for (int i = 0; i < 2; i++) {
        half[i] = (crowd_t){.entries = crowd.entries + i * ENTRIES};
        assert_int_equal(weft_os_thread_start("taker", take_many, &crowd, &threads[i]), WEFT_OK);
        assert_int_equal(weft_os_thread_start("enterer", enter_many, &half[i], &threads[2 + i]),
                         WEFT_OK);
    }
    for (int i = 0; i < THREADS; i++) {
        weft_os_thread_join(threads[i]);
    }
    for (uint32_t i = 0; i < 2 * ENTRIES; i++) {
        assert_int_equal(crowd.entries[i].told.reserved, 1);
    }
    end_queue(crowd.queue);
    free(crowd.entries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_come_out_in_order),
        cmocka_unit_test(a_failure_is_the_last_of_a_batch),
        cmocka_unit_test(the_descriptor_is_readable_while_there_are_entries),
        cmocka_unit_test(a_queue_ends_when_nothing_is_expected_any_more),
        cmocka_unit_test(handles_are_not_used_again),
        cmocka_unit_test(there_is_an_end_to_queues),
        cmocka_unit_test(waiting_ends_at_its_deadline),
        cmocka_unit_test(a_wake_ends_the_next_wait_once),
        cmocka_unit_test(a_wake_ends_all_waits),
        cmocka_unit_test(threads_lose_no_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
