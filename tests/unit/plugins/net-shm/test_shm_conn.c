/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The acceptor's end of a connection: a record in pieces, a peer without a descriptor or with two,
 * one that leaves, memory that cannot be used, and whose the processes are. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shm_conn.h"
#include "tests/support/fake_host.h"
#include "tests/support/unit.h"

enum { BYTES = 4096 };

typedef struct fixture {
    fake_host_t fake;
    weft_net_t net;
    weft_net_device_t device;
    weft_net_conn_t *conn;
    shm_memory_t memory; /* the connector's */
    int far;
} fixture_t;

/* Sends `bytes` of the record that says `size`, `count` times with the descriptor `fd`. */
static void hand_over_several(fixture_t *f, uint64_t size, size_t from, size_t bytes, int fd,
                              size_t count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control = {.bytes = {0}};
    const int fds[2] = {fd, fd};
    struct iovec vec = {.iov_base = (uint8_t *)&size + from, .iov_len = bytes};
    struct msghdr message = {.msg_iov = &vec, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof fd);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof fd);
        memcpy(CMSG_DATA(header), fds, count * sizeof fd);
    }
    assert_int_equal(sendmsg(f->far, &message, 0), (ssize_t)bytes);
}

/* With the descriptor if it is not negative. */
static void hand_over(fixture_t *f, uint64_t size, size_t from, size_t bytes, int fd)
{
    hand_over_several(f, size, from, bytes, fd, fd >= 0 ? 1 : 0);
}

static void a_record_may_come_in_pieces(void **state)
{
    fixture_t *f = *state;
    assert_int_equal(shm_conn_join(f->conn), WEFT_IN_PROGRESS);
    hand_over(f, BYTES, 0, 3, f->memory.fd);
    assert_int_equal(shm_conn_join(f->conn), WEFT_IN_PROGRESS);
    hand_over(f, BYTES, 3, 5, -1);
    assert_int_equal(shm_conn_join(f->conn), WEFT_OK);
    uint32_t answer = 0;
    assert_int_equal(recv(f->far, &answer, sizeof answer, MSG_DONTWAIT), sizeof answer);
    void *base = NULL;
    uint64_t bytes = 0;
    assert_int_equal(shm_conn_region(f->conn, &base, &bytes), WEFT_OK);
    assert_int_equal(bytes, BYTES);
    memcpy(f->memory.base, "here", 5);
    assert_string_equal(base, "here");
}

static void a_record_without_memory_is_refused(void **state)
{
    fixture_t *f = *state;
    hand_over(f, BYTES, 0, sizeof(uint64_t), -1);
    assert_int_equal(shm_conn_join(f->conn), WEFT_ERR_PROTO);
    assert_non_null(strstr(f->fake.error, "sent no shared memory"));
}

static void of_two_descriptors_none_stays(void **state)
{
    fixture_t *f = *state;
    int before = dup(0), after;
    close(before);
    hand_over_several(f, BYTES, 0, sizeof(uint64_t), f->memory.fd, 2);
    assert_int_equal(shm_conn_join(f->conn), WEFT_ERR_PROTO);
    assert_non_null(strstr(f->fake.error, "sent no shared memory"));
    after = dup(0); /* the lowest that is free */
    close(after);
    assert_int_equal(before, after);
}

static void memory_of_another_size_is_refused(void **state)
{
    fixture_t *f = *state;
    hand_over(f, 2 * BYTES, 0, sizeof(uint64_t), f->memory.fd);
    assert_int_equal(shm_conn_join(f->conn), WEFT_ERR_PROTO);
    assert_non_null(strstr(f->fake.error, "not 8192 bytes long"));
}

static void a_peer_may_leave_inside_its_record(void **state)
{
    fixture_t *f = *state;
    hand_over(f, BYTES, 0, 3, f->memory.fd);
    close(f->far);
    f->far = -1;
    assert_int_equal(shm_conn_join(f->conn), WEFT_ERR_PROTO);
}

/* The address is one of this host, as those of clones are, and its process is elsewhere. */
static void who_listens_nowhere_may_be_on_a_clone_of_this_host(void **state)
{
    fixture_t *f = *state;
    shm_address_t there;
    weft_net_conn_t *conn = NULL;
    const weft_net_conn_params_t params = {.size = sizeof params, .map_bytes = BYTES};
    char text[512];
    if (!shm_address_local("", &there)) {
        skip();
    }
    memset(there.token, 0x5a, sizeof there.token);
    weft_net_address_t address = {.bytes = sizeof there};
    memcpy(address.data, &there, sizeof there);
    assert_int_equal(shm_connect_begin(&f->device, &address, &params, &conn), WEFT_OK);
    assert_int_equal(shm_connect_poll(conn), WEFT_ERR_LINK);
    fake_host_take_error(&f->fake, text, sizeof text);
    assert_non_null(strstr(text, "net-shm.domain"));
    shm_conn_close(conn);
}

/* What comes of a connection with a process of root, after this process, which joined as `joined`,
 * has become nobody's. */
static weft_status_t join_as_nobody(fixture_t *f, uint32_t joined)
{
    const uint8_t label[WEFT_AUTH_LABEL] = {0};
    weft_net_conn_t *conn = NULL;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    f->net.own.uid = joined;
    assert_int_equal(seteuid(65534), 0);
    weft_status_t status = shm_conn_adopt(&f->device, pair[1], label, &conn);
    assert_int_equal(seteuid(0), 0);
    close(pair[0]);
    if (conn != NULL) {
        shm_conn_close(conn);
    }
    return status;
}

static void who_gives_up_its_user_keeps_the_peers_of_the_old_one(void **state)
{
    fixture_t *f = *state;
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(join_as_nobody(f, 0), WEFT_OK);
    assert_int_equal(join_as_nobody(f, 65533), WEFT_ERR_AUTH);
    assert_non_null(strstr(f->fake.error, "belongs to user 0, this process to user 65534"));
}

static int setup(void **state)
{
    fixture_t *f = calloc(1, sizeof *f);
    const uint8_t label[WEFT_AUTH_LABEL] = {0};
    int pair[2];
    fake_host_init(&f->fake, "net-shm");
    f->net.own.uid = geteuid();
    f->device.host = &f->fake.host;
    f->device.net = &f->net;
    assert_int_equal(shm_watch_open(&f->device), WEFT_OK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    f->far = pair[0];
    assert_int_equal(shm_conn_adopt(&f->device, pair[1], label, &f->conn), WEFT_OK);
    assert_int_equal(shm_memory_create(&f->fake.host, BYTES, BYTES, &f->memory), WEFT_OK);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture_t *f = *state;
    shm_conn_close(f->conn);
    shm_memory_release(&f->memory);
    close(f->far);
    shm_watch_close(&f->device);
    assert_int_equal(f->fake.live, 0);
    fake_host_fini(&f->fake);
    free(f);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_record_may_come_in_pieces, setup, teardown),
        cmocka_unit_test_setup_teardown(a_record_without_memory_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(of_two_descriptors_none_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_of_another_size_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(who_gives_up_its_user_keeps_the_peers_of_the_old_one, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_peer_may_leave_inside_its_record, setup, teardown),
        cmocka_unit_test_setup_teardown(who_listens_nowhere_may_be_on_a_clone_of_this_host, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
