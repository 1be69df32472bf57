/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of net-ib's side channel, over a pair of sockets. */
#include <endian.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ib_side.h"
#include "tests/support/fake_host.h"
#include "tests/support/unit.h"

static struct {
    fake_host_t fake;
    weft_net_device_t device;
    weft_net_conn_t conn;
    int peer;
} bed;

static int bed_init(void **state)
{
    int pair[2];
    (void)state;
    memset(&bed, 0, sizeof bed);
    fake_host_init(&bed.fake, "test");
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    bed.device = (weft_net_device_t){.host = &bed.fake.host, .epoll = epoll_create1(0)};
    bed.conn.host = &bed.fake.host;
    bed.conn.device = &bed.device;
    bed.conn.side.fd = pair[0];
    bed.peer = pair[1];
    ib_side_watch(&bed.conn);
    assert_true(bed.conn.side.watched);
    return 0;
}

static int bed_fini(void **state)
{
    (void)state;
    close(bed.conn.side.fd);
    close(bed.peer);
    close(bed.device.epoll);
    fake_host_fini(&bed.fake);
    return 0;
}

static void peer_sends(uint32_t magic, uint32_t kind, uint32_t status)
{
    ib_control_t control = {
        .magic = htole32(magic), .kind = htole32(kind), .status = htole32(status)};
    assert_int_equal(send(bed.peer, &control, sizeof control, 0), sizeof control);
}

static void steps_arrive_one_by_one(void **state)
{
    (void)state;
    assert_false(ib_side_receive(&bed.conn));
    peer_sends(IB_CONTROL_MAGIC, IB_CONTROL_STOP, 0);
    peer_sends(IB_CONTROL_MAGIC, IB_CONTROL_MOVE, 0);
    assert_true(ib_side_receive(&bed.conn));
    assert_int_equal(le32toh(bed.conn.side.control.kind), IB_CONTROL_STOP);
    assert_true(ib_side_receive(&bed.conn));
    assert_int_equal(le32toh(bed.conn.side.control.kind), IB_CONTROL_MOVE);
    assert_false(ib_side_receive(&bed.conn));
    assert_int_equal(bed.conn.side.ended_ns, 0);
}

static void a_message_in_pieces_is_put_together(void **state)
{
    const ib_control_t control = {.magic = htole32(IB_CONTROL_MAGIC),
                                  .kind = htole32(IB_CONTROL_GO)};
    const char *bytes = (const char *)&control;
    (void)state;
    for (size_t i = 0; i + 1 < sizeof control; i++) {
        assert_int_equal(send(bed.peer, bytes + i, 1, 0), 1);
        assert_false(ib_side_receive(&bed.conn));
    }
    assert_int_equal(send(bed.peer, bytes + sizeof control - 1, 1, 0), 1);
    assert_true(ib_side_receive(&bed.conn));
    assert_int_equal(le32toh(bed.conn.side.control.kind), IB_CONTROL_GO);
}

static void leaving_tells_the_reason_and_ends_the_channel(void **state)
{
    (void)state;
    peer_sends(IB_CONTROL_MAGIC, IB_CONTROL_LEAVE, (uint32_t)WEFT_ERR_RESOURCE);
    assert_false(ib_side_receive(&bed.conn));
    assert_int_equal(bed.conn.side.peer_reason, WEFT_ERR_RESOURCE);
    assert_int_not_equal(bed.conn.side.ended_ns, 0);
    assert_false(bed.conn.side.watched);
    peer_sends(IB_CONTROL_MAGIC, IB_CONTROL_STOP, 0);
    assert_false(ib_side_receive(&bed.conn));
}

static void foreign_bytes_end_the_channel(void **state)
{
    (void)state;
    peer_sends(IB_CONTROL_MAGIC + 1, IB_CONTROL_STOP, 0);
    assert_false(ib_side_receive(&bed.conn));
    assert_int_not_equal(bed.conn.side.ended_ns, 0);
    assert_true(bed.conn.side.wrong);
    assert_int_equal(bed.conn.side.peer_reason, 0);
}

static void the_end_of_a_silent_peer_is_noticed(void **state)
{
    (void)state;
    shutdown(bed.peer, SHUT_RDWR);
    assert_false(ib_side_receive(&bed.conn));
    assert_int_not_equal(bed.conn.side.ended_ns, 0);
    assert_int_equal(bed.conn.side.peer_reason, 0);
    ib_control_t control = {.kind = htole32(IB_CONTROL_STOP)};
    assert_int_equal(ib_side_send(&bed.conn, &control), WEFT_OK);
}

static void what_one_end_says_the_other_receives(void **state)
{
    ib_control_t control = {.kind = htole32(IB_CONTROL_STOP), .lost = htole32(5)}, got;
    (void)state;
    assert_int_equal(ib_side_send(&bed.conn, &control), WEFT_OK);
    ib_side_leave(&bed.conn, WEFT_ERR_LINK);
    assert_false(bed.conn.side.watched);
    assert_int_equal(recv(bed.peer, &got, sizeof got, 0), sizeof got);
    assert_int_equal(le32toh(got.magic), IB_CONTROL_MAGIC);
    assert_int_equal(le32toh(got.lost), 5);
    assert_int_equal(recv(bed.peer, &got, sizeof got, 0), sizeof got);
    assert_int_equal(le32toh(got.kind), IB_CONTROL_LEAVE);
    assert_int_equal((int32_t)le32toh(got.status), WEFT_ERR_LINK);
    assert_int_equal(recv(bed.peer, &got, sizeof got, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(steps_arrive_one_by_one, bed_init, bed_fini),
        cmocka_unit_test_setup_teardown(a_message_in_pieces_is_put_together, bed_init, bed_fini),
        cmocka_unit_test_setup_teardown(leaving_tells_the_reason_and_ends_the_channel, bed_init,
                                        bed_fini),
        cmocka_unit_test_setup_teardown(foreign_bytes_end_the_channel, bed_init, bed_fini),
        cmocka_unit_test_setup_teardown(the_end_of_a_silent_peer_is_noticed, bed_init, bed_fini),
        cmocka_unit_test_setup_teardown(what_one_end_says_the_other_receives, bed_init, bed_fini),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
