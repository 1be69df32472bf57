/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The queue of the health thread: order, wake-up, the bound on questions, and several threads. */
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "core/boot/health_queue.h"
#include "tests/support/unit.h"

static bool is_awake(const weft_health_queue_t *queue)
{
    struct pollfd entry = {.fd = queue->wake, .events = POLLIN};
    return poll(&entry, 1, 0) == 1;
}

static uint32_t take_all(weft_health_queue_t *queue, bool *stop)
{
    uint32_t count = 0;
    weft_health_event_t *first = weft_health_queue_take(queue, stop);
    for (const weft_health_event_t *event = first; event != NULL; event = event->next) {
        count++;
    }
    weft_health_queue_free(queue, first);
    return count;
}

static void events_come_in_order_and_wake_the_thread(void **unused)
{
    (void)unused;
    weft_health_queue_t queue;
    bool stop;
    assert_int_equal(weft_health_queue_init(&queue), WEFT_OK);
    assert_false(is_awake(&queue));
    for (uint64_t i = 0; i < 3; i++) {
        weft_health_queue_post(&queue,
                               &(weft_health_event_t){.type = WEFT_HEALTH_OPEN, .comm_id = i});
    }
    assert_true(is_awake(&queue));
    weft_health_event_t *first = weft_health_queue_take(&queue, &stop);
    assert_false(stop);
    assert_false(is_awake(&queue));
    uint64_t expected = 0;
    for (const weft_health_event_t *event = first; event != NULL; event = event->next) {
        assert_true(event->comm_id == expected++);
    }
    assert_true(expected == 3);
    weft_health_queue_free(&queue, first);
    weft_health_queue_stop(&queue);
    assert_true(is_awake(&queue));
    assert_int_equal(take_all(&queue, &stop), 0);
    assert_true(stop);
    weft_health_queue_fini(&queue);
}

static void questions_are_bounded_and_the_rest_is_not(void **unused)
{
    (void)unused;
    weft_health_queue_t queue;
    bool stop;
    assert_int_equal(weft_health_queue_init(&queue), WEFT_OK);
    for (uint32_t i = 0; i < 200; i++) {
        weft_health_queue_post(&queue, &(weft_health_event_t){.type = WEFT_HEALTH_ASK});
        weft_health_queue_post(&queue, &(weft_health_event_t){.type = WEFT_HEALTH_LEAVE_COMM});
    }
    assert_int_equal(take_all(&queue, &stop), 200 + 64);
    weft_health_queue_post(&queue, &(weft_health_event_t){.type = WEFT_HEALTH_ANSWER});
    assert_int_equal(take_all(&queue, &stop), 1);
    weft_health_queue_fini(&queue);
}

static void *post_many(void *arg)
{
    for (uint32_t i = 0; i < 1000; i++) {
        weft_health_queue_post(arg, &(weft_health_event_t){.type = WEFT_HEALTH_OPEN});
    }
    return NULL;
}

static void no_event_of_several_threads_is_lost(void **unused)
{
    (void)unused;
    weft_health_queue_t queue;
    pthread_t threads[4];
    uint32_t count = 0;
    bool stop;
    assert_int_equal(weft_health_queue_init(&queue), WEFT_OK);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, post_many, &queue), 0);
    }
    while (count < 4000) {
        struct pollfd entry = {.fd = queue.wake, .events = POLLIN};
        assert_int_equal(poll(&entry, 1, 10000), 1);
        count += take_all(&queue, &stop);
    }
    for (uint32_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(count + take_all(&queue, &stop), 4000);
    weft_health_queue_fini(&queue);
}

/* Takes and serves what is there, once somebody waits for it. */
static void *serve_awaited(void *arg)
{
    weft_health_queue_t *queue = arg;
    bool stop;
    while (atomic_load(&queue->awaiting) == 0) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    take_all(queue, &stop);
    weft_health_queue_served(queue);
    return NULL;
}

static void who_awaits_returns_when_what_was_posted_is_served(void **unused)
{
    (void)unused;
    weft_health_queue_t queue;
    pthread_t thread;
    assert_int_equal(weft_health_queue_init(&queue), WEFT_OK);
    weft_health_queue_await(&queue, UINT64_MAX / 2); /* nothing was posted */
    for (uint32_t i = 1; i <= 3; i++) {
        weft_health_queue_post(&queue, &(weft_health_event_t){.type = WEFT_HEALTH_FAILED});
        assert_int_equal(pthread_create(&thread, NULL, serve_awaited, &queue), 0);
        weft_health_queue_await(&queue, 40 * WEFT_NS_PER_S);
        assert_int_equal(atomic_load(&queue.served), i);
        pthread_join(thread, NULL);
    }
    weft_health_queue_fini(&queue);
}

static void nobody_awaits_a_thread_that_stands_still_for_longer_than_it_says(void **unused)
{
    (void)unused;
    weft_health_queue_t queue;
    bool stop;
    assert_int_equal(weft_health_queue_init(&queue), WEFT_OK);
    weft_health_queue_post(&queue, &(weft_health_event_t){.type = WEFT_HEALTH_FAILED});
    assert_int_equal(take_all(&queue, &stop), 1); /* taken is not served */
    uint64_t start = weft_os_clock_ns();
    weft_health_queue_await(&queue, 20 * WEFT_NS_PER_MS);
    assert_true(weft_os_clock_ns() - start >= 20 * WEFT_NS_PER_MS);
    weft_health_queue_fini(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_in_order_and_wake_the_thread),
        cmocka_unit_test(questions_are_bounded_and_the_rest_is_not),
        cmocka_unit_test(no_event_of_several_threads_is_lost),
        cmocka_unit_test(who_awaits_returns_when_what_was_posted_is_served),
        cmocka_unit_test(nobody_awaits_a_thread_that_stands_still_for_longer_than_it_says),
    };
    alarm(50);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
