/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ownership of a communicator: one owner at a time; checked builds end a process in which another
 * thread acts as the owner. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/comm/comm.h"
#include "tests/support/unit.h"

static weft_comm_state_t *comm;

static int make(void **state)
{
    (void)state;
    comm = calloc(1, sizeof *comm);
    return comm != NULL ? 0 : -1;
}

static int unmake(void **state)
{
    (void)state;
    free(comm);
    return 0;
}

static void own_for_progress(void *arg)
{
    uint32_t found;
    *(bool *)arg = weft_comm_own(comm, WEFT_OWNER_PROGRESS, &found);
}

static bool own_in_a_thread(void)
{
    weft_os_thread_t *thread;
    bool owned = false;
    assert_int_equal(weft_os_thread_start("owner", own_for_progress, &owned, &thread), WEFT_OK);
    weft_os_thread_join(thread);
    return owned;
}

static void a_communicator_has_one_owner(void **state)
{
    uint32_t found;
    (void)state;
    assert_true(weft_comm_own(comm, WEFT_OWNER_USER, &found));
    assert_false(own_in_a_thread());
    weft_assert_owner(comm);
    weft_comm_disown(comm);
    assert_true(own_in_a_thread());
    assert_false(weft_comm_own(comm, WEFT_OWNER_USER, &found));
    assert_int_equal(found, WEFT_OWNER_PROGRESS);
}

static void acting_for_another_owner_ends_a_checked_process(void **state)
{
    weft_request_t request = {.args = {.coll = WEFT_BARRIER}};
    int status;
    (void)state;
    assert_true(own_in_a_thread());
    pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(STDERR_FILENO);
        weft_submit(comm, &request);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
#ifdef WEFT_CHECKED
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
#else
    assert_true(WIFEXITED(status));
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_communicator_has_one_owner, make, unmake),
        cmocka_unit_test_setup_teardown(acting_for_another_owner_ends_a_checked_process, make,
                                        unmake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
