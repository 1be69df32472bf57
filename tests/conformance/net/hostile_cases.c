/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases about strangers: bytes that are no address, peers with another secret, and garbage on
 * whatever sockets the plugin listens on. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

/* A listening socket of this process, and what a stranger needs to knock at it. */
typedef struct door {
    struct sockaddr_storage name;
    socklen_t bytes;
    int type, protocol;
} door_t;

static int fd_option(int fd, int option)
{
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : 0;
}

static int doors_find(door_t *doors)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    REQUIRE(dir != NULL);
    for (struct dirent *item = readdir(dir); item != NULL; item = readdir(dir)) {
        int fd = atoi(item->d_name);
        if (fd_option(fd, SO_ACCEPTCONN) != 0 && count < DOORS) {
            door_t *door = &doors[count++];
            *door = (door_t){.bytes = sizeof door->name,
                             .type = fd_option(fd, SO_TYPE),
                             .protocol = fd_option(fd, SO_PROTOCOL)};
            REQUIRE(getsockname(fd, (struct sockaddr *)&door->name, &door->bytes) == 0);
        }
    }
    closedir(dir);
    return count;
}

/* A case that nobody heard does not hold. */
static int door_knock(const door_t *door)
{
    int fd =
        socket(door->name.ss_family, door->type | SOCK_CLOEXEC | SOCK_NONBLOCK, door->protocol);
    /* A full backlog or a connection under way is fine for a stranger. */
    bool heard = fd >= 0 && (connect(fd, (const struct sockaddr *)&door->name, door->bytes) == 0 ||
                             errno == EINPROGRESS || errno == EAGAIN);
    if (!heard) {
        char missing[160];
        snprintf(missing, sizeof missing,
                 "a way to knock at a listening socket of family %d, type %d, protocol %d: %s",
                 (int)door->name.ss_family, door->type, door->protocol, strerror(errno));
        kit_skip(missing);
    }
    return fd;
}

static int doors_of(kit_side_t *side, door_t *doors)
{
    int count = doors_find(doors);
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
    door_t doors[DOORS];
    uint8_t garbage[300];
    weft_net_conn_t *conn = NULL;
    uint64_t state = 7;
    side_open(kit, &side);
    int count = doors_of(&side, doors);
    for (int i = 0; i < 300; i++) {
        int fd = door_knock(&doors[i % count]);
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
    door_t doors[DOORS];
    int fds[CROWD];
    side_open(kit, &side);
    int count = doors_of(&side, doors);
    uint64_t live = atomic_load(&side.fake.live);
    for (int i = 0; i < CROWD; i++) {
        fds[i] = door_knock(&doors[i % count]);
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
    door_t doors[DOORS];
    weft_net_conn_t *conn = NULL;
    char byte;
    side_open(kit, &side);
    doors_of(&side, doors);
    int fd = door_knock(&doors[0]);
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
