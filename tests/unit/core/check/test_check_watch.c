/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The watch of core.check: its lives do not wait for each other. */
#include <stdlib.h>

#include "core/check/check_watch.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

#define PATIENCE 60.0 /* no call here lasts */

typedef struct leaver {
    _Atomic bool leaves, gone;
} leaver_t;

static void leave(void *arg)
{
    leaver_t *leaver = arg;
    atomic_store(&leaver->leaves, true);
    weft_check_watch_stop();
    atomic_store(&leaver->gone, true);
}

/* Waits for ten seconds at most. */
static bool comes(const _Atomic bool *flag)
{
    uint64_t until = weft_os_clock_ns() + 10 * WEFT_NS_PER_S;
    while (!atomic_load(flag) && weft_os_clock_ns() < until) {
        weft_os_yield();
    }
    return atomic_load(flag);
}

/* The next user comes while the last one waits for the thread to end. */
static void a_watch_ends_although_another_begins(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        leaver_t leaver = {.leaves = false};
        weft_os_thread_t *thread;
        weft_check_watch_start(PATIENCE);
        assert_int_equal(weft_os_thread_start("leaver", leave, &leaver, &thread), WEFT_OK);
        assert_true(comes(&leaver.leaves));
        weft_os_sleep_ns(WEFT_NS_PER_MS * 5);
        weft_check_watch_start(PATIENCE);
        bool gone = comes(&leaver.gone);
        weft_check_watch_stop();
        weft_os_thread_join(thread);
        assert_true(gone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watch_ends_although_another_begins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
