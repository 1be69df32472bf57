/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The progress thread begins with its first communicator and ends with its last one, at whatever
 * point it is when it is told. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/comm/progress.h"
#include "tests/support/unit.h"

/* A thread that does not end is found by the alarm. A run takes a second or two. */
enum { LIVES = 5000, KICKS = 20000, PATIENCE_S = 240 };

/* What the thread looks at of a communicator that its user keeps. */
static weft_comm_state_t *make_kept(weft_family_t *family)
{
    weft_comm_state_t *state = calloc(1, sizeof *state);
    uint32_t owner;
    assert_non_null(state);
    state->self.family = family;
    assert_true(weft_comm_own(state, WEFT_OWNER_USER, &owner));
    return state;
}

/* While others kick, the thread looks again and again. It is told to end at another point of its
 * way in each life. */
static void the_thread_ends_wherever_it_is(void **unused)
{
    weft_family_t family = {.here = {.ranks = 1}};
    weft_comm_state_t *state = make_kept(&family);
    (void)unused;
    alarm(PATIENCE_S);
    for (uint32_t life = 0; life < LIVES; life++) {
        assert_int_equal(weft_progress_attach(state), WEFT_OK);
        for (uint32_t i = 0; i < life % KICKS; i++) {
            weft_progress_kick(WEFT_PROGRESS_NOW);
        }
        weft_progress_detach(state);
        assert_false(state->has_progress);
    }
    alarm(0);
    weft_comm_disown(state);
    free(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_thread_ends_wherever_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
