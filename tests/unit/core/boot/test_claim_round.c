/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A round of claims whose root ends before it has answered. */
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/boot/claim_round.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

static void the_end_of_the_root_is_the_death_of_rank_0(void **state)
{
    int ends[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    weft_claim_t claim = {.fd = ends[0], .comm_id = 7, .rank = 2, .nranks = 3};
    close(ends[1]);
    assert_int_equal(weft_claim_round_end(&claim, WEFT_NEVER), WEFT_ERR_PEER_DEAD);
    assert_says(weft_error_record()->text, "rank 0, which made the unique id, ended");
    assert_int_equal(weft_error_record()->rank, 2);
    assert_int_equal(weft_error_record()->peer, 0);
    assert_int_equal(claim.fd, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_the_root_is_the_death_of_rank_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
