/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases about mapped memory. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"

static const weft_net_map_t *map_of(const kit_side_t *side)
{
    const weft_net_map_t *map = side->ops->get_extension(side->net, WEFT_NET_MAP);
    REQUIRE(map != NULL && WEFT_HAS(map, weft_net_map_t, region));
    REQUIRE(side->ops->get_extension(side->net, "weft.net.no-such/1") == NULL);
    return map;
}

static uint8_t *region_of(kit_end_t *end, uint64_t least)
{
    void *base = NULL;
    uint64_t bytes = 0;
    REQUIRE(map_of(end->side)->region(end->conn, &base, &bytes) == WEFT_OK);
    REQUIRE(base != NULL && bytes >= least);
    REQUIRE((uintptr_t)base % (uintptr_t)sysconf(_SC_PAGESIZE) == 0);
    return base;
}

static void both_sides_see_the_same_bytes(const kit_t *kit)
{
    static const uint64_t sizes[] = {1, 4096, 4097, 1000000, UINT64_C(5) << 20};
    kit_side_t side;
    side_open(kit, &side);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        kit_end_t a, b;
        REQUIRE(pair_try_connect(&side, &side, sizes[i], &a, &b) == WEFT_OK);
        uint8_t *here = region_of(&a, sizes[i]), *there = region_of(&b, sizes[i]);
        REQUIRE(here != there);
        for (uint64_t at = 0; at < sizes[i]; at++) {
            REQUIRE(there[at] == 0);
        }
        kit_fill(here, sizes[i], i);
        REQUIRE(kit_matches(there, sizes[i], i));
        there[sizes[i] - 1] = 0xa5;
        REQUIRE(here[sizes[i] - 1] == 0xa5);
        pair_close(&a, &b);
    }
    side_close(&side);
}

static void region_needs_a_ready_connection(const kit_t *kit)
{
    kit_side_t side;
    side_open(kit, &side);
    weft_net_conn_params_t params = {.size = sizeof params, .map_bytes = 4096};
    weft_net_conn_t *conn = NULL;
    void *base = NULL;
    uint64_t bytes = 0;
    REQUIRE(kit->ops->connect_begin(side.device, &side.address, &params, &conn) == WEFT_OK);
    REQUIRE(map_of(&side)->region(conn, &base, &bytes) == WEFT_ERR_STATE);
    kit->ops->conn_close(conn);
    side_close(&side);
}

static void too_much_memory_is_a_typed_error(const kit_t *kit)
{
    kit_side_t side;
    kit_end_t a, b;
    side_open(kit, &side);
    REQUIRE(pair_try_connect(&side, &side, UINT64_MAX - 4096, &a, &b) == WEFT_ERR_RESOURCE);
    REQUIRE(pair_try_connect(&side, &side, UINT64_C(1) << 45, &a, &b) == WEFT_ERR_RESOURCE);
    REQUIRE(side.fake.error[0] != '\0');
    pair_connect(&side, &side, &a, &b);
    pair_close(&a, &b);
    side_close(&side);
}

/* Descriptor of the file behind a mapping; −1 where the system does not give it out. */
static int mapping_open(const void *base)
{
    char line[400], path[120];
    unsigned long long from, to;
    int fd = -1;
    FILE *maps = fopen("/proc/self/maps", "re");
    REQUIRE(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%llx-%llx", &from, &to) == 2 && from == (uintptr_t)base) {
            snprintf(path, sizeof path, "/proc/self/map_files/%llx-%llx", from, to);
            fd = open(path, O_RDWR | O_CLOEXEC);
        }
    }
    fclose(maps);
    return fd;
}

static void memory_cannot_shrink(const kit_t *kit)
{
    kit_side_t side;
    kit_end_t a, b;
    side_open(kit, &side);
    pair_connect(&side, &side, &a, &b);
    int fd = mapping_open(region_of(&a, 1));
    if (fd < 0) {
        pair_close(&a, &b);
        side_close(&side);
        kit_skip("permission to look at /proc/self/map_files");
    }
    REQUIRE(ftruncate(fd, 0) != 0);
    close(fd);
    pair_close(&a, &b);
    side_close(&side);
}

static void child_answers(kit_side_t *side, const weft_net_address_t *address, void *arg)
{
    (void)arg;
    kit_end_t end;
    REQUIRE(end_connect(side, address, 8192, &end) == WEFT_OK);
    _Atomic uint32_t *flag = (_Atomic uint32_t *)(void *)region_of(&end, 8192);
    uint8_t *bytes = region_of(&end, 8192) + 64;
    while (atomic_load_explicit(&flag[0], memory_order_acquire) == 0) {
    }
    REQUIRE(kit_matches(bytes, 8000, 21));
    kit_fill(bytes, 8000, 22);
    atomic_store_explicit(&flag[1], 1, memory_order_release);
    while (side->ops->conn_check(end.conn) == WEFT_OK) {
    }
    end_close(&end);
    side_close(side);
}

static void processes_share_memory(const kit_t *kit)
{
    kit_side_t side;
    kit_end_t end;
    int child = kit_spawn(kit, &side, child_answers, NULL);
    end_accept(&side, &end);
    _Atomic uint32_t *flag = (_Atomic uint32_t *)(void *)region_of(&end, 8192);
    uint8_t *bytes = region_of(&end, 8192) + 64;
    kit_fill(bytes, 8000, 21);
    atomic_store_explicit(&flag[0], 1, memory_order_release);
    while (atomic_load_explicit(&flag[1], memory_order_acquire) == 0) {
        REQUIRE(kit->ops->conn_check(end.conn) == WEFT_OK);
    }
    REQUIRE(kit_matches(bytes, 8000, 22));
    end_close(&end);
    kit_reap(child);
    side_close(&side);
}

const kit_case_t map_cases[] = {
    {"both sides see the same zeroed bytes", WEFT_NET_CAP_MAP, both_sides_see_the_same_bytes},
    {"region needs a ready connection", WEFT_NET_CAP_MAP, region_needs_a_ready_connection},
    {"too much memory is a typed error", WEFT_NET_CAP_MAP, too_much_memory_is_a_typed_error},
    {"memory cannot shrink", WEFT_NET_CAP_MAP, memory_cannot_shrink},
    {"processes share memory", WEFT_NET_CAP_MAP, processes_share_memory},
    {NULL, 0, NULL},
};
