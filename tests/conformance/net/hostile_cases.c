/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases about strangers: bytes that are no address, peers with another secret, and garbage on whatever
 * sockets the plugin listens on. */
#include <dirent.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "kit.h"

#define DOORS 16

static void refuses_bytes_that_are_no_address(const kit_t *kit)
{
    kit_side_t side;
    side_open(kit, &side);
    uint64_t state = 42;
    weft_net_conn_params_t params = {.size = sizeof params, .map_bytes = 4096};
    for (int i = 0; i < 200; i++) {
        weft_net_address_t address = side.address;
        weft_net_conn_t *conn = NULL;
        if (i % 2 == 0) {
            kit_fill(address.data, sizeof address.data, kit_random(&state));
        }
        /* Odd rounds: a true address of the wrong length. */
        address.bytes = (uint32_t)(kit_random(&state) % (i % 4 == 0 ? UINT32_MAX : 252));
        if (i % 2 == 1 && address.bytes == side.address.bytes) {
            continue;
        }
        kit_note("round %d, %u bytes", i, address.bytes);
        weft_status_t status = kit->ops->reachable(side.device, &address);
        /* Bytes of the right length may look like the address of a stranger. */
        REQUIRE(status == WEFT_ERR_PROTO ||
                (address.bytes == side.address.bytes && status == WEFT_ERR_UNSUPPORTED));
        REQUIRE(kit->ops->connect_begin(side.device, &address, &params, &conn) < 0);
    }
    side_close(&side);
}

static void refuses_a_peer_with_another_key(const kit_t *kit)
{
    kit_side_t one, other;
    kit_end_t a, b;
    side_open(kit, &one);
    side_open(kit, &other);
    if (kit->ops->reachable(one.device, &other.address) == WEFT_ERR_UNSUPPORTED) {
        kit_skip("connections between instances (reachable says ERR_UNSUPPORTED)");
    }
    one.fake.key[31] ^= 1;
    weft_status_t status = pair_try_connect(&one, &other, 4096, &a, &b);
    kit_note("status %d", (int)status);
    REQUIRE(status == WEFT_ERR_AUTH || status == WEFT_ERR_LINK);
    weft_net_conn_t *conn = NULL;
    REQUIRE(kit->ops->accept(other.listener, &conn) == WEFT_AGAIN);
    one.fake.key[31] ^= 1;
    pair_connect(&one, &other, &a, &b);
    pair_close(&a, &b);
    side_close(&one);
    side_close(&other);
}

/* Names of the listening sockets of this process. */
static int doors_find(struct sockaddr_storage *names, socklen_t *bytes)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    REQUIRE(dir != NULL);
    for (struct dirent *item = readdir(dir); item != NULL; item = readdir(dir)) {
        int fd = atoi(item->d_name), listening = 0;
        socklen_t size = sizeof listening;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening &&
            count < DOORS) {
            bytes[count] = sizeof names[count];
            REQUIRE(getsockname(fd, (struct sockaddr *)&names[count], &bytes[count]) == 0);
            count++;
        }
    }
    closedir(dir);
    return count;
}

static int door_knock(const struct sockaddr_storage *name, socklen_t bytes)
{
    int fd = socket(name->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    REQUIRE(fd >= 0);
    /* A full backlog or a connection under way is fine for a stranger. */
    int ignored = connect(fd, (const struct sockaddr *)name, bytes);
    (void)ignored;
    return fd;
}

static int doors_of(kit_side_t *side, struct sockaddr_storage *names, socklen_t *bytes)
{
    int count = doors_find(names, bytes);
    if (count == 0) {
        side_close(side);
        kit_skip("a listening socket to be hostile to");
    }
    return count;
}

static void gives_nothing_to_garbage(const kit_t *kit)
{
    kit_side_t side;
    kit_end_t a, b;
    struct sockaddr_storage names[DOORS];
    socklen_t bytes[DOORS];
    uint8_t garbage[300];
    weft_net_conn_t *conn = NULL;
    uint64_t state = 7;
    side_open(kit, &side);
    int doors = doors_of(&side, names, bytes);
    for (int i = 0; i < 300; i++) {
        int door = i % doors;
        int fd = door_knock(&names[door], bytes[door]);
        kit_fill(garbage, sizeof garbage, kit_random(&state));
        ssize_t sent = send(fd, garbage, kit_random(&state) % sizeof garbage, MSG_NOSIGNAL);
        (void)sent;
        REQUIRE(kit->ops->accept(side.listener, &conn) == WEFT_AGAIN);
        close(fd);
    }
    pair_connect(&side, &side, &a, &b);
    REQUIRE(kit->ops->accept(side.listener, &conn) == WEFT_AGAIN);
    pair_close(&a, &b);
    side_close(&side);
}

static void lets_peers_in_past_idle_strangers(const kit_t *kit)
{
    enum { CROWD = 200 };
    kit_side_t side;
    kit_end_t a, b;
    struct sockaddr_storage names[DOORS];
    socklen_t bytes[DOORS];
    int fds[CROWD];
    side_open(kit, &side);
    int doors = doors_of(&side, names, bytes);
    uint64_t live = atomic_load(&side.fake.live);
    for (int i = 0; i < CROWD; i++) {
        fds[i] = door_knock(&names[i % doors], bytes[i % doors]);
        ssize_t sent = send(fds[i], "weft", 4, MSG_NOSIGNAL);
        (void)sent;
    }
    uint32_t before = kit_fd_count();
    weft_net_conn_t *conn = NULL;
    for (int i = 0; i < 20; i++) {
        REQUIRE(kit->ops->accept(side.listener, &conn) == WEFT_AGAIN);
    }
    kit_note("%u descriptors held for strangers", kit_fd_count() - before);
    REQUIRE(kit_fd_count() - before <= 64);
    REQUIRE(atomic_load(&side.fake.live) == live);
    uint64_t start = kit_now_ns();
    pair_connect(&side, &side, &a, &b);
    REQUIRE(kit_now_ns() - start < UINT64_C(2000000000));
    for (int i = 0; i < CROWD; i++) {
        close(fds[i]);
    }
    pair_close(&a, &b);
    side_close(&side);
}

static void drops_a_slow_stranger(const kit_t *kit)
{
    kit_side_t side;
    struct sockaddr_storage names[DOORS];
    socklen_t bytes[DOORS];
    weft_net_conn_t *conn = NULL;
    char byte;
    side_open(kit, &side);
    doors_of(&side, names, bytes);
    int fd = door_knock(&names[0], bytes[0]);
    uint64_t start = kit_now_ns();
    ssize_t got = -1;
    while (got != 0) {
        REQUIRE(kit->ops->accept(side.listener, &conn) == WEFT_AGAIN);
        got = recv(fd, &byte, 1, MSG_DONTWAIT);
        REQUIRE(got <= 0);
        kit_note("%llu ms", (unsigned long long)((kit_now_ns() - start) / 1000000));
        REQUIRE(kit_now_ns() - start < UINT64_C(4000000000));
        usleep(1000);
    }
    REQUIRE(kit_now_ns() - start > UINT64_C(500000000));
    close(fd);
    side_close(&side);
}

const kit_case_t hostile_cases[] = {
    {"refuses bytes that are no address", 0, refuses_bytes_that_are_no_address},
    {"refuses a peer with another key", 0, refuses_a_peer_with_another_key},
    {"gives nothing to garbage", 0, gives_nothing_to_garbage},
    {"lets peers in past idle strangers", 0, lets_peers_in_past_idle_strangers},
    {"drops a slow stranger in time", 0, drops_a_slow_stranger},
    {NULL, 0, NULL},
};
