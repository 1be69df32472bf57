/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waits that a descriptor ends. */
#include <string.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/os/os_cancel.h"
#include "core/os/os_socket.h"
#include "tests/support/unit.h"

static int cancel[2], other[2];

static int open_pipes(void **state)
{
    (void)state;
    return pipe(cancel) != 0 || pipe(other) != 0;
}

static int close_pipes(void **state)
{
    (void)state;
    weft_os_cancel_by(0);
    for (int i = 0; i < 2; i++) {
        close(cancel[i]);
        close(other[i]);
    }
    return 0;
}

static uint64_t soon(void)
{
    return weft_os_clock_ns() + 20 * WEFT_NS_PER_MS;
}

static void a_wait_ends_once(void **state)
{
    (void)state;
    struct pollfd entry = {.fd = other[0], .events = POLLIN};
    weft_os_cancel_by(cancel[0]);
    assert_int_equal(weft_os_poll(&entry, 1, soon()), 0);
    assert_int_equal(write(cancel[1], "x", 1), 1);
    assert_int_equal(weft_os_poll(&entry, 1, WEFT_NEVER), -1);
    assert_int_equal(weft_error_record()->status, WEFT_ERR_ABORTED);
    assert_non_null(strstr(weft_error_record()->text, "cancelled"));
    assert_int_equal(weft_os_poll(&entry, 1, soon()), 0);
    assert_int_equal(weft_os_cancelled(), WEFT_OK);
}

/* Its caller would take that for nothing that is ready, and the next wait for one that nobody
 * ends. */
static void a_look_takes_no_end_of_a_wait(void **state)
{
    (void)state;
    struct pollfd entry = {.fd = other[0], .events = POLLIN};
    weft_os_cancel_by(cancel[0]);
    assert_int_equal(write(cancel[1], "x", 1), 1);
    assert_int_equal(weft_os_poll(&entry, 1, 0), 0);
    assert_int_equal(weft_os_poll(&entry, 1, WEFT_NEVER), -1);
    assert_int_equal(weft_error_record()->status, WEFT_ERR_ABORTED);
}

static void what_is_ready_is_told_as_before(void **state)
{
    (void)state;
    struct pollfd entries[2] = {{.fd = -1}, {.fd = other[0], .events = POLLIN}};
    weft_os_cancel_by(cancel[0]);
    assert_int_equal(write(other[1], "x", 1), 1);
    assert_int_equal(weft_os_poll(entries, 2, WEFT_NEVER), 1);
    assert_int_equal(entries[1].revents, POLLIN);
    assert_int_equal(weft_os_poll(entries, 0, soon()), 0);
}

static void the_end_of_the_other_side_counts(void **state)
{
    (void)state;
    weft_os_cancel_by(cancel[0]);
    assert_int_equal(weft_os_cancelled(), WEFT_OK);
    close(cancel[1]);
    cancel[1] = dup(cancel[0]);
    assert_int_equal(weft_os_cancelled(), WEFT_ERR_ABORTED);
    assert_int_equal(weft_os_cancelled(), WEFT_OK);
}

static void no_descriptor_is_an_error(void **state)
{
    (void)state;
    weft_os_cancel_by(1 << 20);
    assert_int_equal(weft_os_cancelled(), WEFT_ERR_ARG);
    assert_non_null(strstr(weft_error_record()->text, "cancel_fd = 1048576 is no open descriptor"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_wait_ends_once, open_pipes, close_pipes),
        cmocka_unit_test_setup_teardown(a_look_takes_no_end_of_a_wait, open_pipes, close_pipes),
        cmocka_unit_test_setup_teardown(what_is_ready_is_told_as_before, open_pipes, close_pipes),
        cmocka_unit_test_setup_teardown(the_end_of_the_other_side_counts, open_pipes, close_pipes),
        cmocka_unit_test_setup_teardown(no_descriptor_is_an_error, open_pipes, close_pipes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
