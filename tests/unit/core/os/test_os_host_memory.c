/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Locks in memory of several processes: how long they wait. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/os/os.h"
#include "core/os/os_host_memory.h"
#include "tests/support/unit.h"

#define WAIT (WEFT_NS_PER_S / 10)

/* The time of day of this program, in seconds beside that of the machine: as if it was set between
 * a look and a wait. */
static time_t shift;

int clock_gettime(clockid_t clock, struct timespec *t)
{
    int error = (int)syscall(SYS_clock_gettime, clock, t);
    t->tv_sec += error == 0 && clock == CLOCK_REALTIME ? shift : 0;
    return error;
}

typedef struct waiting {
    weft_os_host_lock_t *lock;
    weft_os_locked_t found;
    uint64_t lasted;
} waiting_t;

static void wait_for_lock(void *arg)
{
    waiting_t *w = arg;
    uint64_t begun = weft_os_clock_ns();
    w->found = weft_os_host_lock(w->lock, begun + WAIT);
    w->lasted = weft_os_clock_ns() - begun;
}

static void a_wait_for_a_lock_does_not_follow_the_time_of_day(void **state)
{
    static weft_os_host_lock_t lock;
    (void)state;
    assert_int_equal(weft_os_host_lock_init(&lock), WEFT_OK);
    assert_int_equal(weft_os_host_lock(&lock, 0), WEFT_OS_LOCKED);
    for (shift = -3600; shift <= 0; shift += 3600) {
        waiting_t waiting = {.lock = &lock};
        weft_os_thread_t *thread;
        assert_int_equal(weft_os_thread_start("waiter", wait_for_lock, &waiting, &thread), WEFT_OK);
        weft_os_thread_join(thread);
        assert_int_equal(waiting.found, WEFT_OS_LOCK_TIMEOUT);
        assert_true(waiting.lasted >= WAIT);
    }
    weft_os_host_unlock(&lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_for_a_lock_does_not_follow_the_time_of_day),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
