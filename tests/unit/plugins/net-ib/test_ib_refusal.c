/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of net-ib's refusals, over a pair of sockets. */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ib_refusal.h"
#include "tests/support/fake_host.h"
#include "tests/support/unit.h"

static struct {
    fake_host_t fake;
    weft_net_conn_t acceptor, connector;
} bed;

static int bed_init(void **state)
{
    int pair[2];
    (void)state;
    memset(&bed, 0, sizeof bed);
    fake_host_init(&bed.fake, "test");
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    bed.acceptor = (weft_net_conn_t){.host = &bed.fake.host, .side = {.fd = pair[0]}};
    bed.connector = (weft_net_conn_t){
        .host = &bed.fake.host, .side = {.fd = pair[1]}, .info = {.peer = "10.0.0.7:1"}};
    return 0;
}

static int bed_fini(void **state)
{
    (void)state;
    close(bed.acceptor.side.fd);
    close(bed.connector.side.fd);
    fake_host_fini(&bed.fake);
    return 0;
}

static void the_reason_travels(void **state)
{
    ib_refusal_t record;
    (void)state;
    assert_int_equal(ib_blame(&bed.acceptor, WEFT_ERR_PROTO, ENODEV, "%s of %d", "two", 7),
                     WEFT_ERR_PROTO);
    assert_int_equal(bed.fake.error_status, WEFT_ERR_PROTO);
    ib_refusal_send(&bed.acceptor, WEFT_ERR_PROTO);
    assert_int_equal(recv(bed.connector.side.fd, &record, sizeof record, 0), sizeof record);
    assert_int_equal(le32toh(record.magic), IB_HELLO_REFUSED);
    assert_int_equal(ib_refusal_take(&bed.connector, &record), WEFT_ERR_LINK);
    assert_non_null(strstr(bed.fake.error, "peer 10.0.0.7:1 refused"));
    assert_non_null(strstr(bed.fake.error, "two of 7: No such device"));
}

static void an_unknown_reason_is_no_riddle(void **state)
{
    ib_refusal_t record;
    (void)state;
    ib_refusal_send(&bed.acceptor, WEFT_ERR_RESOURCE);
    assert_int_equal(recv(bed.connector.side.fd, &record, sizeof record, 0), sizeof record);
    assert_int_equal(ib_refusal_take(&bed.connector, &record), WEFT_ERR_LINK);
    assert_non_null(strstr(bed.fake.error, "look at its own error"));
}

/* A long reason is cut, and a peer that is gone is no fault. */
static void a_long_reason_is_cut(void **state)
{
    char text[2 * sizeof(ib_refusal_t)];
    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ib_blame(&bed.acceptor, WEFT_ERR_LINK, 0, "%s", text);
    assert_true(strlen(bed.acceptor.reason) == sizeof bed.acceptor.reason - 1);
    close(bed.connector.side.fd);
    bed.connector.side.fd = -1;
    ib_refusal_send(&bed.acceptor, WEFT_ERR_LINK);
}

/* What a peer writes to a terminal or a log is text, and ends. */
static void what_the_peer_says_is_made_printable(void **state)
{
    ib_refusal_t refusal = {.magic = htole32(IB_HELLO_REFUSED)};
    (void)state;
    memset(refusal.text, 'y', sizeof refusal.text);
    memcpy(refusal.text, "a\033[2J\nb\377", 8);
    assert_int_equal(ib_refusal_take(&bed.connector, &refusal), WEFT_ERR_LINK);
    assert_non_null(strstr(bed.fake.error, ": a?[2J?b?yyy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_reason_travels, bed_init, bed_fini),
        cmocka_unit_test_setup_teardown(an_unknown_reason_is_no_riddle, bed_init, bed_fini),
        cmocka_unit_test_setup_teardown(a_long_reason_is_cut, bed_init, bed_fini),
        cmocka_unit_test_setup_teardown(what_the_peer_says_is_made_printable, bed_init, bed_fini),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
