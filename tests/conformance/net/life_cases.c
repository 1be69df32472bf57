/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases about instances: side by side, in threads, repeated, short of memory and descriptors. */
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kit.h"

static void instances_with_other_options_live_side_by_side(const kit_t *kit)
{
    static const char *const none[] = {NULL};
    kit_side_t one, other;
    kit_end_t a, b, c, d;
    side_open(kit, &one);
    memset(&other, 0, sizeof other);
    weft_status_t status = side_try_open(kit, &other, none);
    if (status == WEFT_ERR_CONFIG) {
        fake_host_fini(&other.fake);
        side_close(&one);
        kit_skip("an instance without settings");
        return;
    }
    REQUIRE(status == WEFT_OK);
    pair_connect(&one, &one, &a, &b);
    pair_connect(&other, &other, &c, &d);
    pair_close(&a, &b);
    side_close(&one);
    REQUIRE(kit->ops->conn_check(c.conn) == WEFT_OK);
    pair_close(&c, &d);
    side_close(&other);
}

static void exchange(kit_end_t *a, kit_end_t *b)
{
    uint8_t out[3000], in[3000];
    kit_done_t s, r;
    kit_fill(out, sizeof out, 4);
    end_receive(b, in, sizeof in, &r);
    end_send(a, out, sizeof out, &s);
    sides_wait(a->side, b->side, &r);
    sides_wait(a->side, b->side, &s);
    REQUIRE(r.status == WEFT_OK && s.status == WEFT_OK && kit_matches(in, sizeof in, 4));
}

/* Connects a to b, of which b was accepted; *moved is the side of another device, which is driven
 * apart. NULL: the plugin has no such extension, and nothing is open. */
static const weft_net_attach_t *open_to_move(const kit_t *kit, kit_side_t *side, kit_side_t *moved,
                                             kit_end_t *a, kit_end_t *b)
{
    side_open(kit, side);
    const weft_net_attach_t *attach = WEFT_HAS(kit->ops, weft_net_ops_t, get_extension)
                                          ? kit->ops->get_extension(side->net, WEFT_NET_ATTACH)
                                          : NULL;
    if (attach == NULL) {
        side_close(side);
        kit_skip("extension " WEFT_NET_ATTACH);
        return NULL;
    }
    *moved = *side;
    REQUIRE(kit->ops->device_open(side->net, 0, &moved->device) == WEFT_OK);
    pair_connect(side, side, a, b);
    return attach;
}

/* poll() of the first device gives out nothing of the second. */
static void an_accepted_connection_moves_to_another_device(const kit_t *kit)
{
    kit_side_t side, moved;
    kit_end_t a, b;
    const weft_net_attach_t *attach = open_to_move(kit, &side, &moved, &a, &b);
    if (attach == NULL) {
        return;
    }
    REQUIRE(attach->attach(b.conn, moved.device) == WEFT_OK);
    b.side = &moved;
    exchange(&a, &b);
    exchange(&b, &a);
    REQUIRE(kit->ops->conn_check(b.conn) == WEFT_OK);
    /* In use: it stays where it is. */
    REQUIRE(attach->attach(b.conn, side.device) == WEFT_ERR_STATE);
    pair_close(&a, &b);
    kit->ops->device_close(moved.device);
    side_close(&side);
}

/* A peer may have nothing to say and be gone before its connection is taken. */
static void a_connection_that_the_peer_closed_moves_too(const kit_t *kit)
{
    kit_side_t side, moved;
    kit_end_t a, b;
    const weft_net_attach_t *attach = open_to_move(kit, &side, &moved, &a, &b);
    if (attach == NULL) {
        return;
    }
    end_close(&a);
    for (int i = 0; i < 10000 && kit->ops->conn_check(b.conn) == WEFT_OK; i++) {
        usleep(1000);
    }
    REQUIRE(attach->attach(b.conn, moved.device) == WEFT_OK);
    REQUIRE(kit->ops->conn_check(b.conn) != WEFT_OK);
    b.side = &moved;
    end_close(&b);
    kit->ops->device_close(moved.device);
    side_close(&side);
}

static void *thread_main(void *arg)
{
    const kit_t *kit = arg;
    for (int i = 0; i < 5; i++) {
        kit_side_t side;
        kit_end_t a, b;
        side_open(kit, &side);
        pair_connect(&side, &side, &a, &b);
        REQUIRE(kit->ops->conn_check(a.conn) == WEFT_OK);
        if ((kit->ops->caps & WEFT_NET_CAP_MESSAGES) != 0) {
            exchange(&a, &b);
        }
        pair_close(&a, &b);
        side_close(&side);
    }
    return NULL;
}

static void threads_have_instances_of_their_own(const kit_t *kit)
{
    pthread_t threads[4];
    kit_t mine[4];
    for (int i = 0; i < 4; i++) {
        mine[i] = *kit;
        REQUIRE(pthread_create(&threads[i], NULL, thread_main, &mine[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    }
}

/* Opens, connects, uses and closes; returns the first failure, after closing all. */
static weft_status_t life(const kit_t *kit, kit_side_t *side)
{
    kit_end_t a, b;
    weft_status_t status = side_try_open(kit, side, kit->settings);
    if (status != WEFT_OK) {
        return status;
    }
    status = pair_try_connect(side, side, 4096, &a, &b);
    if (status == WEFT_OK) {
        if ((kit->ops->caps & WEFT_NET_CAP_MESSAGES) != 0) {
            exchange(&a, &b);
        }
        pair_close(&a, &b);
    }
    kit->ops->listener_close(side->listener);
    kit->ops->device_close(side->device);
    kit->ops->destroy(side->net);
    fake_config_destroy(side->config);
    return status;
}

static void every_failed_allocation_is_a_typed_error(const kit_t *kit)
{
    kit_side_t side;
    bool reached = true;
    uint32_t fds = kit_fd_count();
    for (uint64_t n = 1; reached; n++) {
        memset(&side, 0, sizeof side);
        atomic_store(&side.fake.fail_at, n);
        weft_status_t status = life(kit, &side);
        kit_note("allocation %llu failed: status %d, %llu left, %u descriptors more: %s",
                 (unsigned long long)n, (int)status,
                 (unsigned long long)atomic_load(&side.fake.live), kit_fd_count() - fds,
                 side.fake.error);
        REQUIRE(atomic_load(&side.fake.live) == 0);
        REQUIRE(kit_fd_count() == fds);
        /* The acceptor's failure may reach the connector as a lost connection. */
        REQUIRE(status == WEFT_OK || status == WEFT_ERR_RESOURCE || status == WEFT_ERR_LINK);
        /* A post that said AGAIN may have overcome it. */
        reached = atomic_load(&side.fake.allocs) >= n;
        REQUIRE(reached || status == WEFT_OK);
        REQUIRE(n < 1000);
        fake_host_fini(&side.fake);
    }
}

static void running_out_of_descriptors_is_a_typed_error(const kit_t *kit)
{
    kit_side_t side;
    struct rlimit full, tight;
    REQUIRE(getrlimit(RLIMIT_NOFILE, &full) == 0);
    uint32_t fds = kit_fd_count();
    weft_status_t status = WEFT_ERR_RESOURCE;
    for (rlim_t n = 3; status != WEFT_OK && n < 200; n++) {
        tight = (struct rlimit){n, full.rlim_max};
        REQUIRE(setrlimit(RLIMIT_NOFILE, &tight) == 0);
        memset(&side, 0, sizeof side);
        status = life(kit, &side);
        REQUIRE(setrlimit(RLIMIT_NOFILE, &full) == 0);
        kit_note("limit %llu: status %d, %llu left, %u descriptors: %s", (unsigned long long)n,
                 (int)status, (unsigned long long)atomic_load(&side.fake.live), kit_fd_count(),
                 side.fake.error);
        REQUIRE(status == WEFT_OK || status == WEFT_ERR_RESOURCE || status == WEFT_ERR_SYSTEM ||
                status == WEFT_ERR_LINK);
        REQUIRE(atomic_load(&side.fake.live) == 0);
        REQUIRE(kit_fd_count() == fds);
        fake_host_fini(&side.fake);
    }
    REQUIRE(status == WEFT_OK);
}

static void some_lives(const kit_t *kit, int count)
{
    kit_side_t side;
    uint32_t fds = kit_fd_count();
    for (int i = 0; i < count; i++) {
        memset(&side, 0, sizeof side);
        REQUIRE(life(kit, &side) == WEFT_OK);
        REQUIRE(atomic_load(&side.fake.live) == 0 && kit_fd_count() == fds);
        fake_host_fini(&side.fake);
    }
}

/* Bytes that malloc() has given out; 0 where the C library does not say. */
static uint64_t memory_in_use(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}

/* What every life leaves is a leak, past host->alloc. Libraries keep memory of their first lives,
 * and malloc() counts what it caches as given out, so one group of lives that leaves nothing
 * acquits the plugin. */
static void repeated_lives_leave_nothing(const kit_t *kit)
{
    enum { LIVES = 20, LEAST = 16, GROUPS = 6 };
    int64_t left = LIVES * LEAST;
    for (int group = 0; left >= LIVES * LEAST; group++) {
        uint64_t before = memory_in_use();
        some_lives(kit, LIVES);
        left = (int64_t)(memory_in_use() - before);
        kit_note(
            "%d lives leave %lld bytes of malloc(), after %d lives; take memory from host->alloc",
            LIVES, (long long)left, group * LIVES);
        REQUIRE(left < LIVES * LEAST || group < GROUPS);
    }
}

static void destroy_takes_null(const kit_t *kit)
{
    kit->ops->destroy(NULL);
}

const kit_case_t life_cases[] = {
    {"instances with other options live side by side", 0,
     instances_with_other_options_live_side_by_side},
    {"threads have instances of their own", 0, threads_have_instances_of_their_own},
    {"every failed allocation is a typed error", 0, every_failed_allocation_is_a_typed_error},
    {"running out of descriptors is a typed error", 0, running_out_of_descriptors_is_a_typed_error},
    {"repeated lives leave nothing", 0, repeated_lives_leave_nothing},
    {"an accepted connection moves to another device", WEFT_NET_CAP_MESSAGES,
     an_accepted_connection_moves_to_another_device},
    {"a connection that the peer closed moves too", WEFT_NET_CAP_MESSAGES,
     a_connection_that_the_peer_closed_moves_too},
    {"destroy takes NULL", 0, destroy_takes_null},
    {NULL, 0, NULL},
};
