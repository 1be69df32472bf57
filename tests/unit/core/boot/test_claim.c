/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 0's end of its claim: what the root says between "all have claimed" and the release is
 * heard. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/boot/claim.h"
#include "core/boot/root_table.h"
#include "core/os/os.h"
#include "core/os/os_cancel.h"
#include "tests/support/unit.h"

#define COMM UINT64_C(7)

static weft_claim_t claim;
static weft_root_table_t root;
static int far;

static int set_up(void **state)
{
    int ends[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    claim = (weft_claim_t){.fd = ends[0], .comm_id = COMM, .nranks = 3};
    far = ends[1];
    weft_root_table_init(&root, -1, COMM);
    weft_root_send(&root, far, WEFT_FRAME_CLAIMED, NULL, 0);
    assert_int_equal(weft_claim_wait(&claim, WEFT_NEVER), WEFT_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    weft_claim_close(&claim);
    close(far);
    return 0;
}

static void the_release_ends_with_the_claim(void **state)
{
    char frame[WEFT_WIRE_HEADER];
    (void)state;
    shutdown(far, SHUT_WR);
    assert_int_equal(weft_claim_release(&claim, WEFT_NEVER), WEFT_OK);
    assert_int_equal(recv(far, frame, sizeof frame, 0), sizeof frame);
}

static void a_failure_before_the_release_is_heard(void **state)
{
    weft_error_t error;
    (void)state;
    weft_error_clear(&error);
    error.status = WEFT_ERR_PEER_DEAD;
    error.peer = 2;
    strcpy(error.text, "rank 2 died while the ranks were joining");
    weft_root_send_error(&root, far, &error);
    shutdown(far, SHUT_WR);
    assert_int_equal(weft_claim_release(&claim, WEFT_NEVER), WEFT_ERR_PEER_DEAD);
    assert_int_equal(weft_error_record()->peer, 2);
}

static void a_root_that_says_nothing_is_named(void **state)
{
    (void)state;
    uint64_t until = weft_os_clock_ns() + WEFT_NS_PER_MS;
    assert_int_equal(weft_claim_release(&claim, until), WEFT_ERR_TIMEOUT);
    assert_non_null(strstr(weft_error_record()->text, "the root of the unique id"));
}

/* The connection is reset, and at the root's port somebody accepts and says nothing. Returns the
 * listener. */
static int lose_the_root(void)
{
    int listener, error;
    uint16_t port = 0;
    assert_int_equal(weft_os_listen(8, &listener, &port), WEFT_OK);
    claim.got = 0;
    claim.id.count = 1;
    claim.id.addrs[0] = (weft_os_addr_t){.family = 4, .port = port, .bytes = {127, 0, 0, 1}};
    assert_true(weft_os_send_all(claim.fd, "x", 1, &error));
    close(far); /* with a byte that it has not read */
    far = -1;
    return listener;
}

static void a_claim_that_is_reset_can_be_cancelled(void **state)
{
    int cancel[2], listener = lose_the_root();
    (void)state;
    assert_int_equal(pipe(cancel), 0);
    close(cancel[1]);
    weft_os_cancel_by(cancel[0]);
    assert_int_equal(weft_claim_wait(&claim, WEFT_NEVER), WEFT_ERR_ABORTED);
    weft_os_cancel_by(0);
    close(cancel[0]);
    close(listener);
}

static void a_claim_that_is_reset_has_a_little_more_time(void **state)
{
    int listener = lose_the_root();
    (void)state;
    uint64_t before = weft_os_clock_ns();
    assert_int_equal(weft_claim_wait(&claim, before + WEFT_NS_PER_MS), WEFT_ERR_LINK);
    assert_true(weft_os_clock_ns() - before < 4 * WEFT_NS_PER_S);
    close(listener);
}

/* What the far end says instead of a release, in bytes. */
static void say(uint16_t type, uint32_t length, const uint8_t *payload, size_t bytes)
{
    uint8_t frame[WEFT_WIRE_MOST];
    weft_frame_encode(&(weft_frame_t){.type = type, .bytes = length, .comm_id = COMM}, frame);
    if (bytes > 0) {
        memcpy(frame + WEFT_WIRE_HEADER, payload, bytes);
    }
    assert_int_equal(send(far, frame, WEFT_WIRE_HEADER + bytes, 0), WEFT_WIRE_HEADER + bytes);
}

static void expect_refused(const char *what)
{
    assert_int_equal(weft_claim_release(&claim, weft_os_clock_ns() + WEFT_NS_PER_S),
                     WEFT_ERR_PROTO);
    assert_says(weft_error_record()->text, what);
}

static void a_frame_of_a_type_that_there_is_not_is_refused(void **state)
{
    (void)state;
    say(0xffff, 0, NULL, 0);
    expect_refused("a frame with a bad type");
}

static void a_frame_that_no_claim_gets_is_refused(void **state)
{
    (void)state;
    say(WEFT_FRAME_AGAIN, 0, NULL, 0);
    expect_refused("a frame with a bad type");
}

/* The record is as long as the buffer for it. */
static void a_failure_of_another_length_is_refused(void **state)
{
    (void)state;
    say(WEFT_FRAME_FAIL, WEFT_WIRE_ERROR + 1, NULL, 0);
    expect_refused("a frame with a bad length");
}

static void a_failure_that_is_none_is_refused(void **state)
{
    const uint8_t zeros[WEFT_WIRE_ERROR] = {0}; /* WEFT_OK */
    (void)state;
    say(WEFT_FRAME_FAIL, sizeof zeros, zeros, sizeof zeros);
    expect_refused("a frame with a bad status");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_release_ends_with_the_claim, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failure_before_the_release_is_heard, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_root_that_says_nothing_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_claim_that_is_reset_can_be_cancelled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_claim_that_is_reset_has_a_little_more_time, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_frame_of_a_type_that_there_is_not_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_frame_that_no_claim_gets_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failure_of_another_length_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failure_that_is_none_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
