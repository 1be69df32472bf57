/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases behind the checking layer of core.check, with the host services of the core: what is
 * against the contract is found by the call that did it. They come first; after a breach the
 * others, which would say the same in other words, are not run. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/check/check.h"
#include "core/plugin/host.h"
#include "kit.h"

#define PATIENCE_S 5.0 /* for a call that does not return */
#define WINDOW 4u
#define ROOM 20000u

/* The plugin as the core sees it under core.check. */
typedef struct checked {
    weft_host_key_t key;
    weft_host_core_t core;
    weft_host_t host;
    weft_check_t *check;
    kit_t kit;
} checked_t;

static void checked_open(checked_t *checked, const kit_t *kit)
{
    static const uint8_t key[32] = {0x5a, 0x17};
    memset(checked, 0, sizeof *checked);
    weft_log_set_level(WEFT_LOG_ERROR);
    weft_host_key_set(&checked->key, key);
    checked->core = (weft_host_core_t){.name = kit->plugin->name, .key = &checked->key};
    weft_host_fill(&checked->host, &checked->core);
    REQUIRE(weft_check_create(kit->plugin, kit->path, &checked->host, PATIENCE_S,
                              &checked->check) == WEFT_OK);
    checked->kit = *kit;
    checked->kit.plugin = weft_check_plugin(checked->check);
    checked->kit.ops = checked->kit.plugin->ops;
    checked->kit.host = weft_check_host(checked->check);
}

static void checked_close(checked_t *checked)
{
    REQUIRE(weft_check_breaches() == 0);
    weft_check_destroy(checked->check);
}

static void instances_devices_and_listeners_keep_the_contract(const kit_t *kit)
{
    checked_t checked;
    checked_open(&checked, kit);
    const weft_net_ops_t *ops = checked.kit.ops;
    for (int i = 0; i < 3; i++) {
        kit_side_t side;
        uint32_t devices = 0;
        side_open(&checked.kit, &side);
        REQUIRE(ops->reachable(side.device, &side.address) == WEFT_OK);
        REQUIRE(ops->device_count(side.net, &devices) == WEFT_OK);
        for (uint32_t d = 1; d < devices; d++) { /* the first is open */
            weft_net_device_t *device = NULL;
            weft_net_props_t props = {.size = sizeof props};
            REQUIRE(ops->device_props(side.net, d, &props) == WEFT_OK);
            REQUIRE(ops->device_open(side.net, d, &device) == WEFT_OK);
            ops->device_close(device);
        }
        side_close(&side);
    }
    checked_close(&checked);
}

static void checked_exchange(kit_end_t *a, kit_end_t *b, uint64_t *seed)
{
    static uint8_t out[WINDOW][ROOM], in[WINDOW][ROOM];
    kit_done_t sent[WINDOW], received[WINDOW];
    uint64_t bytes[WINDOW], pattern = *seed;
    uint32_t most = a->side->props.max_outstanding, window = most < WINDOW ? most : WINDOW;
    for (uint32_t i = 0; i < window; i++) {
        uint64_t kind = kit_random(seed) % 4;
        bytes[i] = kind == 0 ? 0 : kit_random(seed) % (kind == 1 ? ROOM : 300);
        kit_fill(out[i], bytes[i], pattern + i);
        end_receive(b, in[i], ROOM, &received[i]);
    }
    for (uint32_t i = 0; i < window; i++) {
        end_send(a, out[i], bytes[i], &sent[i]);
    }
    for (uint32_t i = 0; i < window; i++) {
        sides_wait(a->side, b->side, &received[i]);
        sides_wait(a->side, b->side, &sent[i]);
        REQUIRE(received[i].status == WEFT_OK && sent[i].status == WEFT_OK);
        REQUIRE(received[i].bytes == bytes[i] && kit_matches(in[i], bytes[i], pattern + i));
    }
}

static void connections_and_messages_keep_the_contract(const kit_t *kit)
{
    checked_t checked;
    kit_side_t one, other;
    kit_end_t a, b;
    uint64_t seed = kit->seed;
    checked_open(&checked, kit);
    bool messages = (checked.kit.ops->caps & WEFT_NET_CAP_MESSAGES) != 0;
    side_open(&checked.kit, &one);
    memset(&other, 0, sizeof other);
    side_open(&checked.kit, &other);
    /* Addresses may be good inside an instance only. */
    kit_side_t *to = one.ops->reachable(one.device, &other.address) == WEFT_OK ? &other : &one;
    for (int i = 0; i < 4; i++) {
        weft_net_conn_info_t info = {.size = sizeof info};
        pair_connect(&one, to, &a, &b);
        REQUIRE(one.ops->conn_info(a.conn, &info) == WEFT_OK);
        REQUIRE(to->ops->conn_info(b.conn, &info) == WEFT_OK);
        for (int round = 0; messages && round < 20; round++) {
            checked_exchange(&a, &b, &seed);
            checked_exchange(&b, &a, &seed);
        }
        REQUIRE(one.ops->conn_check(a.conn) == WEFT_OK && to->ops->conn_check(b.conn) == WEFT_OK);
        pair_close(&a, &b);
    }
    side_close(&other);
    side_close(&one);
    checked_close(&checked);
}

/* The second device is driven apart from the first. */
static void moved_connections_keep_the_contract(const kit_t *kit)
{
    checked_t checked;
    kit_side_t side, moved;
    kit_end_t a, b;
    uint64_t seed = kit->seed;
    checked_open(&checked, kit);
    side_open(&checked.kit, &side);
    const weft_net_attach_t *attach =
        WEFT_HAS(checked.kit.ops, weft_net_ops_t, get_extension)
            ? checked.kit.ops->get_extension(side.net, WEFT_NET_ATTACH)
            : NULL;
    if (attach == NULL) {
        REQUIRE(weft_check_breaches() == 0);
        kit_skip("extension " WEFT_NET_ATTACH);
        return;
    }
    moved = side;
    REQUIRE(side.ops->device_open(side.net, 0, &moved.device) == WEFT_OK);
    pair_connect(&side, &side, &a, &b);
    REQUIRE(attach->attach(b.conn, moved.device) == WEFT_OK);
    b.side = &moved;
    for (int round = 0; round < 10; round++) {
        checked_exchange(&a, &b, &seed);
        checked_exchange(&b, &a, &seed);
    }
    pair_close(&a, &b);
    side.ops->device_close(moved.device);
    side_close(&side);
    checked_close(&checked);
}

const kit_case_t checked_cases[KIT_CHECKED + 1] = {
    {"instances, devices and listeners keep the contract", 0,
     instances_devices_and_listeners_keep_the_contract},
    {"connections and messages keep the contract", 0, connections_and_messages_keep_the_contract},
    {"moved connections keep the contract", WEFT_NET_CAP_MESSAGES,
     moved_connections_keep_the_contract},
    {NULL, 0, NULL},
};
