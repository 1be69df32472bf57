/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of connecting: networks on which every answer takes long. The clock is the test's. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weft/sdk/acceptor.h>

#include "ends.h"
#include "sock_accept.h"
#include "sock_connect.h"
#include "tests/support/unit.h"

#define MS UINT64_C(1000000)

enum { STREAMS = 2, ROUNDS = 60, POLLS = 2000 };

static uint64_t now_ns;
static int refusal; /* errno of every connect(); 0: it is the system's */

int __real_connect(int fd, const struct sockaddr *to, socklen_t bytes);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t bytes);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t bytes)
{
    errno = refusal;
    return refusal != 0 ? -1 : __real_connect(fd, to, bytes);
}

static uint64_t clock_of_the_test(const weft_host_t *host)
{
    (void)host;
    return now_ns;
}

typedef struct fixture {
    instance_t instance;
    weft_net_device_t device;
    weft_net_listener_t *listener;
    weft_net_address_t address;
    weft_acceptor_t acceptor; /* a peer in the hands of the test */
    int silent;               /* listens, and nobody accepts */
} fixture_t;

/* Two addresses of this host, so that there is another one to go to. */
static void put_addresses(weft_endpoint_list_t *list)
{
    *list = (weft_endpoint_list_t){.host = {1}, .count = 2};
    for (uint32_t i = 0; i < list->count; i++) {
        list->entries[i].loopback = true;
        list->entries[i].point.v4 = (struct sockaddr_in){
            .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + i)};
    }
}

/* The addresses are those of two networks. */
static void put_networks(weft_endpoint_list_t *list)
{
    put_addresses(list);
    for (uint32_t i = 0; i < list->count; i++) {
        list->entries[i].loopback = false;
        list->entries[i].prefix = 32;
    }
}

static int set_up(void **state)
{
    fixture_t *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->silent = -1;
    now_ns = 1000000 * MS;
    instance_begin(&f->instance);
    f->instance.fake.host.clock_ns = clock_of_the_test;
    f->instance.net.config.sockets = STREAMS;
    f->instance.net.config.connect_timeout = 2;
    device_begin(&f->instance, &f->device);
    put_addresses(&f->device.local);
    weft_acceptor_init(&f->acceptor, &f->instance.fake.host, -1);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture_t *f = *state;
    weft_acceptor_fini(&f->acceptor);
    sock_listener_close(f->listener);
    if (f->silent >= 0) {
        close(f->silent);
    }
    device_end(&f->device);
    instance_end(&f->instance);
    free(f);
    return 0;
}

static weft_net_conn_t *begin(fixture_t *f)
{
    const weft_net_conn_params_t params = {.size = sizeof params};
    weft_net_conn_t *conn = NULL;
    assert_int_equal(sock_connect_begin(&f->device, &f->address, &params, &conn), WEFT_OK);
    return conn;
}

/* Three answers for each of two streams and one for both, of 0.6 s each: longer than the patience
 * with an address, and than the acceptor's with a peer. */
static void an_address_that_answers_late_is_kept(void **state)
{
    fixture_t *f = *state;
    assert_int_equal(sock_listen(&f->device, &f->address, &f->listener), WEFT_OK);
    weft_net_conn_t *conn = begin(f), *there = NULL;
    weft_status_t status = WEFT_IN_PROGRESS;
    for (uint32_t i = 0; i < ROUNDS && status == WEFT_IN_PROGRESS; i++) {
        status = sock_connect_poll(conn);
        usleep(1000);
        weft_status_t accepted = there == NULL ? sock_accept(f->listener, &there) : WEFT_AGAIN;
        assert_true(accepted == WEFT_OK || accepted == WEFT_AGAIN);
        now_ns += 600 * MS;
    }
    assert_int_equal(status, WEFT_OK);
    assert_non_null(there);
    assert_int_equal(strncmp(conn->info.peer, "127.0.0.1:", 10), 0);
    assert_int_equal(sock_conn_check(there), WEFT_OK);
    sock_conn_close(conn);
    sock_conn_close(there);
}

/* `silent`: nobody accepts who comes to the first address. */
static void listen_by_hand(fixture_t *f, bool silent)
{
    weft_endpoint_list_t list = f->device.local;
    for (uint32_t i = 0; i < list.count; i++) {
        weft_endpoint_t *point = &list.entries[i].point;
        socklen_t bytes = weft_endpoint_bytes(point);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(fd, &point->any, bytes), 0);
        assert_int_equal(listen(fd, 8), 0);
        assert_int_equal(getsockname(fd, &point->any, &bytes), 0);
        if (silent && i == 0) {
            f->silent = fd;
        } else {
            weft_acceptor_add(&f->acceptor, fd);
        }
    }
    weft_endpoint_list_encode(&list, &f->address);
}

/* Takes the first streams and what they say of themselves. */
static void take_streams(fixture_t *f, weft_net_conn_t *conn, int *fds, uint32_t count)
{
    for (uint32_t taken = 0, i = 0; taken < count; i++) {
        uint8_t label[WEFT_AUTH_LABEL];
        sock_join_t join;
        uint32_t done = 0;
        int fd = -1;
        assert_true(i < POLLS);
        assert_int_equal(sock_connect_poll(conn), WEFT_IN_PROGRESS);
        if (weft_acceptor_poll(&f->acceptor, &fd, label) != WEFT_OK) {
            usleep(1000);
            continue;
        }
        weft_status_t status = WEFT_IN_PROGRESS;
        for (uint32_t k = 0; k < POLLS && status == WEFT_IN_PROGRESS; k++) {
            assert_int_equal(sock_connect_poll(conn), WEFT_IN_PROGRESS);
            status = weft_record_receive(fd, &join, sizeof join, &done);
            usleep(1000);
        }
        assert_int_equal(status, WEFT_OK);
        fds[le16toh(join.index)] = fd;
        taken++;
    }
}

/* The peer has all that it waits for and may have taken the connection. Who closed it now would
 * break what the peer takes for whole. */
static void who_has_joined_waits_for_the_answer(void **state)
{
    fixture_t *f = *state;
    int fds[STREAMS], fd = -1;
    uint8_t label[WEFT_AUTH_LABEL], byte;
    listen_by_hand(f, false);
    weft_net_conn_t *conn = begin(f);
    take_streams(f, conn, fds, STREAMS);
    now_ns += 5000 * MS;
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(sock_connect_poll(conn), WEFT_IN_PROGRESS);
        assert_int_equal(weft_acceptor_poll(&f->acceptor, &fd, label), WEFT_AGAIN);
    }
    for (uint32_t i = 0; i < STREAMS; i++) {
        assert_int_equal(recv(fds[i], &byte, 1, MSG_DONTWAIT | MSG_PEEK), -1);
    }
    const uint32_t ack = htole32(SOCK_JOIN_ACK);
    assert_int_equal(send(fds[0], &ack, sizeof ack, MSG_NOSIGNAL), sizeof ack);
    weft_status_t status = WEFT_IN_PROGRESS;
    for (uint32_t i = 0; i < POLLS && status == WEFT_IN_PROGRESS; i++) {
        status = sock_connect_poll(conn);
        usleep(1000);
    }
    assert_int_equal(status, WEFT_OK);
    sock_conn_close(conn);
    for (uint32_t i = 0; i < STREAMS; i++) {
        close(fds[i]);
    }
}

/* The peer has closed the first stream, and says nothing on the second one. Nothing but that end
 * says so. */
static void an_end_is_seen_while_other_streams_are_under_way(void **state)
{
    fixture_t *f = *state;
    int fds[STREAMS] = {-1, -1};
    listen_by_hand(f, false);
    weft_net_conn_t *conn = begin(f);
    take_streams(f, conn, fds, 1);
    assert_true(fds[0] >= 0);
    assert_int_equal(sock_connect_poll(conn), WEFT_IN_PROGRESS);
    close(fds[0]);
    for (uint32_t i = 0; i < POLLS && strncmp(conn->info.peer, "127.0.0.1:", 10) == 0; i++) {
        assert_int_equal(sock_connect_poll(conn), WEFT_IN_PROGRESS);
        usleep(1000);
    }
    assert_int_equal(strncmp(conn->info.peer, "127.0.0.2:", 10), 0);
    sock_conn_close(conn);
}

/* The next address is begun with before anybody sleeps. */
static void an_address_that_refuses_holds_up_nobody(void **state)
{
    enum { CLOSED = 1 }; /* tcpmux */
    fixture_t *f = *state;
    weft_endpoint_list_t list;
    listen_by_hand(f, false);
    assert_int_equal(weft_endpoint_list_decode(&f->address, &list), WEFT_OK);
    weft_endpoint_set_port(&list.entries[0].point, CLOSED);
    weft_endpoint_list_encode(&list, &f->address);
    weft_net_conn_t *conn = begin(f);
    struct pollfd asked = {.fd = f->acceptor.listening[1], .events = POLLIN};
    for (uint32_t i = 0; i < POLLS && strncmp(conn->info.peer, "127.0.0.1:", 10) == 0; i++) {
        assert_int_equal(sock_connect_poll(conn), WEFT_IN_PROGRESS);
    }
    assert_int_equal(poll(&asked, 1, 5000), 1);
    sock_conn_close(conn);
}

/* An address from which nothing comes is left for the next one. */
static void an_address_that_does_not_answer_is_left(void **state)
{
    fixture_t *f = *state;
    listen_by_hand(f, false);
    weft_net_conn_t *conn = begin(f);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(sock_connect_poll(conn), WEFT_IN_PROGRESS);
        usleep(1000);
    }
    now_ns += 2500 * MS;
    assert_int_equal(sock_connect_poll(conn), WEFT_IN_PROGRESS);
    assert_int_equal(strncmp(conn->info.peer, "127.0.0.2:", 10), 0);
    sock_conn_close(conn);
}

/* Of two networks the first one is silent. Who has heard from the other one goes on there at
 * once. */
static void the_network_that_answers_is_taken(void **state)
{
    fixture_t *f = *state;
    int fds[2 * STREAMS];
    put_networks(&f->device.local);
    listen_by_hand(f, true);
    weft_net_conn_t *conn = begin(f);
    assert_int_equal(conn->nstreams, 2 * STREAMS);
    take_streams(f, conn, fds, STREAMS);
    now_ns += 2500 * MS;
    assert_int_equal(sock_connect_poll(conn), WEFT_IN_PROGRESS);
    assert_int_equal(conn->nstreams, STREAMS);
    assert_int_equal(strncmp(conn->info.peer, "127.0.0.2:", 10), 0);
    sock_conn_close(conn);
    for (uint32_t i = 0; i < STREAMS; i++) {
        close(fds[STREAMS + i]);
    }
}

static weft_status_t end_of(weft_net_conn_t *conn)
{
    weft_status_t status = WEFT_IN_PROGRESS;
    for (uint32_t i = 0; i < POLLS && status == WEFT_IN_PROGRESS; i++) {
        status = sock_connect_poll(conn);
        usleep(1000);
    }
    return status;
}

static void one_address(fixture_t *f)
{
    weft_endpoint_list_t list;
    assert_int_equal(weft_endpoint_list_decode(&f->address, &list), WEFT_OK);
    list.count = 1;
    weft_endpoint_list_encode(&list, &f->address);
}

/* Each connection that was made and closed keeps its port for a minute. */
static void a_host_without_free_ports_says_so(void **state)
{
    fixture_t *f = *state;
    listen_by_hand(f, false);
    refusal = EADDRNOTAVAIL;
    weft_net_conn_t *conn = begin(f);
    assert_int_equal(end_of(conn), WEFT_ERR_LINK);
    refusal = 0;
    assert_says(f->instance.fake.error, "this host has no free port for it, by sysctl net.ipv4");
    sock_conn_close(conn);
}

static void an_acceptor_of_another_version_is_named(void **state)
{
    fixture_t *f = *state;
    int fds[STREAMS];
    listen_by_hand(f, false);
    one_address(f);
    weft_net_conn_t *conn = begin(f);
    take_streams(f, conn, fds, STREAMS);
    const uint32_t ack = htole32(SOCK_JOIN_ACK + 1);
    assert_int_equal(send(fds[0], &ack, sizeof ack, MSG_NOSIGNAL), sizeof ack);
    assert_int_equal(end_of(conn), WEFT_ERR_PROTO);
    assert_non_null(strstr(f->instance.fake.error, "peer 127.0.0.1:"));
    assert_non_null(strstr(f->instance.fake.error, "another word (0x6b617378)"));
    sock_conn_close(conn);
    conn = begin(f);
    for (uint32_t i = 0; i < STREAMS; i++) {
        close(fds[i]);
    }
    take_streams(f, conn, fds, STREAMS);
    for (uint32_t i = 0; i < STREAMS; i++) {
        close(fds[i]);
    }
    assert_int_equal(end_of(conn), WEFT_ERR_LINK);
    assert_non_null(strstr(f->instance.fake.error, "it closed the connection; look at its log"));
    sock_conn_close(conn);
}

/* A peer that holds the secret says this of its stream, or `bytes` bytes of it. */
static int join_by_hand(fixture_t *f, const sock_join_t *join, size_t bytes)
{
    static const uint8_t label[WEFT_AUTH_LABEL];
    const weft_host_t *host = &f->instance.fake.host;
    weft_handshake_t handshake;
    weft_endpoint_list_t list;
    weft_net_conn_t *none = NULL;
    weft_status_t status = WEFT_IN_PROGRESS;
    assert_int_equal(weft_endpoint_list_decode(&f->address, &list), WEFT_OK);
    const weft_endpoint_t *point = &list.entries[0].point;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, &point->any, weft_endpoint_bytes(point)), 0);
    assert_int_equal(weft_handshake_begin(host, &handshake, label), WEFT_OK);
    for (uint32_t i = 0; i < POLLS && status == WEFT_IN_PROGRESS; i++) {
        assert_int_equal(sock_accept(f->listener, &none), WEFT_AGAIN);
        status = weft_handshake_connect(host, &handshake, fd);
        usleep(1000);
    }
    assert_int_equal(status, WEFT_OK);
    assert_int_equal(send(fd, join, bytes, MSG_NOSIGNAL), bytes);
    return fd;
}

static void check_log(fixture_t *f, const char *words)
{
    weft_net_conn_t *none = NULL;
    for (uint32_t i = 0; i < POLLS && strstr(f->instance.fake.log, words) == NULL; i++) {
        assert_int_equal(sock_accept(f->listener, &none), WEFT_AGAIN);
        usleep(1000);
    }
    assert_non_null(strstr(f->instance.fake.log, words));
    assert_non_null(strstr(f->instance.fake.log, "connection from peer 127.0.0.1:"));
    f->instance.fake.log[0] = '\0';
}

static void a_peer_that_does_not_join_is_named(void **state)
{
    fixture_t *f = *state;
    const sock_join_t good = {.magic = htole32(SOCK_JOIN_MAGIC),
                              .count = htole16(STREAMS),
                              .rails = htole16(1),
                              .id = {1}};
    sock_join_t wrong = good;
    wrong.count = htole16(SOCK_STREAMS_MAX + 1);
    assert_int_equal(sock_listen(&f->device, &f->address, &f->listener), WEFT_OK);
    int fd = join_by_hand(f, &wrong, sizeof wrong);
    check_log(f, "stream 0 of 17, 1 rails); check that all ranks run the same version");
    close(fd);
    close(join_by_hand(f, &good, sizeof good - 1));
    check_log(f, "the peer closed it");
    fd = join_by_hand(f, &good, sizeof good - 1);
    weft_net_conn_t *none = NULL;
    assert_int_equal(sock_accept(f->listener, &none), WEFT_AGAIN);
    now_ns += 2 * WEFT_ACCEPTOR_PATIENCE_NS;
    check_log(f, "it did not say of which connection it is");
    close(fd);
    fd = join_by_hand(f, &good, sizeof good);
    assert_int_equal(sock_accept(f->listener, &none), WEFT_AGAIN);
    now_ns += 20000 * MS;
    check_log(f, "1 of its 2 streams came");
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_address_that_answers_late_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_has_joined_waits_for_the_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_end_is_seen_while_other_streams_are_under_way, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_address_that_refuses_holds_up_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_address_that_does_not_answer_is_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_network_that_answers_is_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_host_without_free_ports_says_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_acceptor_of_another_version_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_peer_that_does_not_join_is_named, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
