/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transports with several devices: which are opened, how their addresses travel, and which serves a
 * link. The plugins are tables of this file. */
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/exec/transports.h"
#include "tests/support/unit.h"

enum { RANKS = 3, PLUGINS = 2 };

/* Of the plugin at each place; `broken` cannot be opened. */
typedef struct plan {
    uint32_t devices;
    uint32_t broken;  /* bit mask */
    uint32_t reaches; /* bit mask: devices that reach their like */
} plan_t;

struct weft_net {
    uint32_t place;
};

struct weft_net_device {
    uint32_t place, index;
};

static plan_t plans[PLUGINS];
static uint32_t open_devices, open_listeners, open_nets;
static weft_net_t nets[PLUGINS];
static weft_net_device_t devices[PLUGINS][8];

static weft_status_t fake_create(const weft_host_t *host, const void *config, weft_net_t **net_p)
{
    (void)host;
    *net_p = &nets[*(const uint32_t *)config];
    open_nets++;
    return WEFT_OK;
}

static void fake_destroy(weft_net_t *net)
{
    (void)net;
    assert_int_equal(open_listeners, open_devices);
    open_nets--;
}

static weft_status_t fake_count(weft_net_t *net, uint32_t *count_p)
{
    *count_p = plans[net->place].devices;
    return WEFT_OK;
}

static weft_status_t fake_props(weft_net_t *net, uint32_t index, weft_net_props_t *props)
{
    (void)net;
    *props = (weft_net_props_t){.size = props->size,
                                .name = {'d', 'e', 'v', (char)('0' + index)},
                                .rail = index,
                                .memory_kinds = WEFT_MEMORY_HOST,
                                .latency_ns = 1,
                                .bandwidth = 1,
                                .max_outstanding = 1,
                                .max_message = 1 << 20,
                                .slot_bytes = 64,
                                .slots = 2};
    return WEFT_OK;
}

static weft_status_t fake_open(weft_net_t *net, uint32_t index, weft_net_device_t **device_p)
{
    if ((plans[net->place].broken >> index & 1) != 0) {
        return WEFT_ERR_RESOURCE;
    }
    *device_p = &devices[net->place][index];
    open_devices++;
    return WEFT_OK;
}

static void fake_close(weft_net_device_t *device)
{
    (void)device;
    open_devices--;
}

static weft_status_t fake_listen(weft_net_device_t *device, weft_net_address_t *address_p,
                                 weft_net_listener_t **listener_p)
{
    *address_p = (weft_net_address_t){.bytes = 2 + device->index, .data = {(uint8_t)device->place}};
    address_p->data[1] = (uint8_t)device->index;
    *listener_p = (weft_net_listener_t *)device;
    open_listeners++;
    return WEFT_OK;
}

static void fake_listener_close(weft_net_listener_t *listener)
{
    (void)listener;
    open_listeners--;
}

static weft_status_t fake_reachable(weft_net_device_t *device, const weft_net_address_t *address)
{
    assert_int_equal(address->bytes, 2 + device->index);
    assert_int_equal(address->data[0], device->place);
    assert_int_equal(address->data[1], device->index);
    return (plans[device->place].reaches >> device->index & 1) != 0 ? WEFT_OK
                                                                    : WEFT_ERR_UNSUPPORTED;
}

static uint32_t waiting; /* connections that are complete, at each listener */
static uint32_t open_conns;

static weft_status_t fake_accept(weft_net_listener_t *listener, weft_net_conn_t **conn_p)
{
    if (waiting == 0) {
        return WEFT_AGAIN;
    }
    waiting--;
    open_conns++;
    *conn_p = (weft_net_conn_t *)listener;
    return WEFT_OK;
}

static weft_status_t fake_conn_info(weft_net_conn_t *conn, weft_net_conn_info_t *info)
{
    const weft_conn_label_t label = {.comm_id = 7, .from = waiting};
    (void)conn;
    memcpy(info->label, &label, sizeof label);
    return WEFT_OK;
}

static void fake_conn_close(weft_net_conn_t *conn)
{
    (void)conn;
    open_conns--;
}

static weft_status_t fake_reg(weft_net_device_t *device, void *memory, uint64_t bytes,
                              uint32_t memory_kind, weft_net_region_t **region_p)
{
    (void)device, (void)memory, (void)bytes, (void)memory_kind, (void)region_p;
    return WEFT_ERR_UNSUPPORTED;
}

static const weft_net_ops_t ops = {.size = sizeof ops,
                                   .caps = WEFT_NET_CAP_MESSAGES,
                                   .create = fake_create,
                                   .destroy = fake_destroy,
                                   .device_count = fake_count,
                                   .device_props = fake_props,
                                   .device_open = fake_open,
                                   .device_close = fake_close,
                                   .listen = fake_listen,
                                   .listener_close = fake_listener_close,
                                   .reachable = fake_reachable,
                                   .accept = fake_accept,
                                   .conn_info = fake_conn_info,
                                   .conn_close = fake_conn_close,
                                   .reg = fake_reg};

/* A table that ends before get_extension. */
static weft_net_ops_t short_ops(void)
{
    weft_net_ops_t table = ops;
    table.size = offsetof(weft_net_ops_t, get_extension);
    return table;
}

static weft_net_ops_t table;
static const weft_plugin_t plugin = {.name = "net-fake", .ops = &table};
static uint32_t places[PLUGINS] = {0, 1};
static weft_loaded_t loaded[PLUGINS];
static uint32_t listed = PLUGINS;

const weft_loaded_t *weft_registry_get(const weft_registry_t *registry, weft_plugin_kind_t kind,
                                       uint32_t index)
{
    (void)registry, (void)kind;
    return index < listed ? &loaded[index] : NULL;
}

static void lay_out_plugins(void)
{
    for (uint32_t p = 0; p < PLUGINS; p++) {
        nets[p].place = p;
        loaded[p] = (weft_loaded_t){.plugin = &plugin, .config = &places[p], .path = "net-fake.so"};
        for (uint32_t d = 0; d < 8; d++) {
            devices[p][d] = (weft_net_device_t){.place = p, .index = d};
        }
    }
}

/* All ranks have the same devices, but for those of `peer_lacks` at place 0, a bit mask. */
static weft_transports_t *prepare_at(uint32_t rank, uint32_t peer_lacks, uint8_t **infos_p)
{
    weft_transports_t *transports = NULL;
    table = short_ops();
    lay_out_plugins();
    assert_int_equal(weft_transports_create(NULL, RANKS, rank, &transports), WEFT_OK);
    weft_connect_layout_t layout = weft_transports_own_layout(transports);
    size_t bytes;
    assert_int_equal(weft_transports_set_layout(transports, &layout, &bytes), WEFT_OK);
    uint8_t *infos = weft_os_alloc(RANKS * bytes, 0);
    for (uint32_t r = 0; r < RANKS; r++) {
        weft_transports_connect_info(transports, infos + r * bytes);
    }
    /* The addresses of place 0 begin where those of lower indices end. */
    size_t at = 0;
    for (uint32_t i = 0; i < WEFT_TRANSPORTS_MAX; i++) {
        bool lacks =
            i % WEFT_TRANSPORT_PLUGINS == 0 && (peer_lacks >> i / WEFT_TRANSPORT_PLUGINS & 1) != 0;
        if (lacks && layout.bytes[i] > 0) {
            infos[bytes + at] = 0;
        }
        at += layout.bytes[i] > 0 ? 1 + (size_t)layout.bytes[i] : 0;
    }
    assert_int_equal(at > 0 ? at : 1, bytes); /* an exchange has a byte at least */
    *infos_p = infos;
    return transports;
}

static weft_transports_t *make_at(uint32_t rank, uint32_t peer_lacks, uint32_t *used_p)
{
    uint8_t *infos;
    weft_transports_t *transports = prepare_at(rank, peer_lacks, &infos);
    assert_int_equal(weft_transports_choose(transports, infos, used_p), WEFT_OK);
    return transports;
}

static weft_transports_t *make(uint32_t peer_lacks, uint32_t *used_p)
{
    return make_at(0, peer_lacks, used_p);
}

static void finish(weft_transports_t *transports)
{
    weft_transports_destroy(transports);
    assert_int_equal(open_nets + open_devices + open_listeners, 0);
}

static uint32_t device_of(const weft_transports_t *transports, uint32_t peer, uint32_t number)
{
    uint32_t index = weft_transports_spread(transports, peer, number, 0, NULL);
    weft_net_address_t address;
    weft_transports_address(transports, peer, index, &address);
    assert_int_equal(address.data[1], index / WEFT_TRANSPORT_PLUGINS);
    return weft_transports_get(transports, index)->device;
}

static void numbers_take_turns_on_devices(void **state)
{
    (void)state;
    uint32_t used;
    uint32_t count;
    plans[0] = (plan_t){.devices = 3, .reaches = 7};
    plans[1] = (plan_t){.devices = 1, .reaches = 1};
    weft_transports_t *transports = make(0, &used);
    for (uint32_t number = 0; number < 7; number++) {
        assert_int_equal(device_of(transports, 1, number), number % 3);
    }
    weft_transports_spread(transports, 1, 0, 0, &count);
    assert_int_equal(count, 3);
    assert_int_equal(weft_transports_index(transports, 1), 0);
    finish(transports);
}

/* Links of one port in several copies of a plan, as weft_program numbers them. */
static void copies_of_a_plan_take_turns_on_devices(void **state)
{
    (void)state;
    uint32_t used;
    plans[0] = (plan_t){.devices = 4, .reaches = 15};
    plans[1] = (plan_t){.devices = 1, .reaches = 1};
    weft_transports_t *transports = make(0, &used);
    for (uint32_t copy = 0; copy < 9; copy++) {
        assert_int_equal(device_of(transports, 1, copy << 17), copy % 4);
        assert_int_equal(device_of(transports, 1, copy << 17 | 3), (copy + 3) % 4);
    }
    finish(transports);
}

/* Of rank 0: the ring comes in by device 1 and leaves by device 2, the chain uses what no device
 * is. */
static void ways_choose_the_device(void **state)
{
    (void)state;
    static const uint32_t host[RANKS] = {0, 1, 0};
    const weft_link_ways_t ways = {
        .host = host, .ring = {{"net7 dev1", "dev2"}}, .chain = {"dev", "dev22 dev3 eth0"}};
    const uint32_t ring = 1u << WEFT_LINK_WAY_SHIFT, chain = (1u | WEFT_PLAN_WAY_CHAIN)
                                                             << WEFT_LINK_WAY_SHIFT;
    uint32_t used;
    plans[0] = (plan_t){.devices = 4, .reaches = 15};
    plans[1] = (plan_t){.devices = 1, .reaches = 1};
    weft_transports_t *transports = make(0, &used);
    assert_int_equal(weft_transports_number(transports, 1, ring | 5), 5); /* no ways yet */
    weft_transports_set_ways(transports, &ways);
    assert_int_equal(weft_transports_number(transports, 1, 5), 5);
    assert_int_equal(weft_transports_number(transports, 2, ring | 5), 5); /* on one host */
    uint32_t out = weft_transports_number(transports, 1, ring | WEFT_LINK_WAY_OUT | 5);
    uint32_t in = weft_transports_number(transports, 1, ring | 5);
    assert_int_not_equal(in, out);
    assert_int_equal(device_of(transports, 1, out), 2);
    assert_int_equal(device_of(transports, 1, in), 1);
    assert_int_equal(device_of(transports, 1, in | 3u << WEFT_LINK_COPY_SHIFT), 1);
    /* Names are compared as a whole; a NIC that is no device leaves the choice to the number. */
    assert_int_equal(device_of(transports, 1, chain | 3), 3);
    assert_int_equal(device_of(transports, 1, chain | 2), 2);
    assert_int_equal(device_of(transports, 1, chain + (1u << WEFT_LINK_WAY_SHIFT)), 3);
    /* Where that cannot be had, the others follow. */
    uint32_t next = weft_transports_spread(transports, 1, in, 1, NULL);
    assert_int_equal(weft_transports_get(transports, next)->device, 2);
    finish(transports);
}

/* Both ends of a link number it alike: rank 0 is the lower one, and 2 the higher. */
static void both_ends_of_a_ring_have_one_number(void **state)
{
    (void)state;
    static const uint32_t host[RANKS] = {0, 1, 2};
    const weft_link_ways_t ways = {.host = host};
    const uint32_t number = 3u << WEFT_LINK_WAY_SHIFT | 4;
    uint32_t used;
    plans[0] = (plan_t){.devices = 2, .reaches = 3};
    plans[1] = (plan_t){.devices = 0};
    weft_transports_t *ends[2] = {make_at(0, 0, &used), make_at(2, 0, &used)};
    for (uint32_t i = 0; i < 2; i++) {
        weft_transports_set_ways(ends[i], &ways);
    }
    assert_int_equal(weft_transports_number(ends[0], 2, number | WEFT_LINK_WAY_OUT),
                     weft_transports_number(ends[1], 0, number));
    assert_int_equal(weft_transports_number(ends[0], 2, number),
                     weft_transports_number(ends[1], 0, number | WEFT_LINK_WAY_OUT));
    weft_transports_destroy(ends[0]);
    finish(ends[1]);
}

static void one_device_is_as_ever(void **state)
{
    (void)state;
    uint32_t used;
    uint32_t count;
    plans[0] = (plan_t){.devices = 1, .reaches = 1};
    plans[1] = (plan_t){.devices = 1, .reaches = 1};
    weft_transports_t *transports = make(0, &used);
    assert_int_equal(weft_transports_count(transports), PLUGINS);
    assert_int_equal(weft_transports_spread(transports, 2, 5, 0, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(used, 1);
    finish(transports);
}

static void devices_that_do_not_work_are_passed_over(void **state)
{
    (void)state;
    uint32_t used;
    plans[0] = (plan_t){.devices = 4, .broken = 1 << 1, .reaches = 0xb};
    plans[1] = (plan_t){.devices = 0};
    weft_transports_t *transports = make(0, &used);
    /* 1 is broken, 2 does not reach. */
    for (uint32_t number = 0; number < 4; number++) {
        assert_int_equal(device_of(transports, 1, number), number % 2 == 0 ? 0 : 3);
    }
    finish(transports);
}

/* Where all have failed they take turns again. */
static void links_begin_at_devices_that_have_not_failed(void **state)
{
    (void)state;
    uint32_t used;
    plans[0] = (plan_t){.devices = 3, .reaches = 7};
    plans[1] = (plan_t){.devices = 1, .reaches = 1};
    weft_transports_t *transports = make(0, &used);
    weft_transports_avoid(transports, WEFT_TRANSPORT_PLUGINS, "it is a test");
    for (uint32_t number = 0; number < 6; number++) {
        assert_int_equal(device_of(transports, 1, number), number % 3 == 0 ? 0 : 2);
        /* A link that has tried them all may be wrong about the cause. */
        assert_int_equal(weft_transports_spread(transports, 1, number, 1, NULL),
                         (number + 1) % 3 * WEFT_TRANSPORT_PLUGINS);
    }
    weft_transports_avoid(transports, 0, "it is a test");
    weft_transports_avoid(transports, 2 * WEFT_TRANSPORT_PLUGINS, "it is a test");
    for (uint32_t number = 0; number < 6; number++) {
        assert_int_equal(device_of(transports, 1, number), number % 3);
    }
    finish(transports);
}

static void a_peer_may_have_fewer(void **state)
{
    (void)state;
    uint32_t used;
    plans[0] = (plan_t){.devices = 3, .reaches = 7};
    plans[1] = (plan_t){.devices = 1, .reaches = 1};
    weft_transports_t *transports = make(1 << 0 | 1 << 2, &used);
    for (uint32_t number = 0; number < 4; number++) {
        assert_int_equal(device_of(transports, 1, number), 1);
        assert_int_equal(device_of(transports, 2, number), number % 3);
    }
    finish(transports);
}

static void refused(uint32_t peer_lacks, const char *tried)
{
    uint32_t used;
    uint8_t *infos;
    weft_transports_t *transports = prepare_at(0, peer_lacks, &infos);
    assert_int_equal(weft_transports_choose(transports, infos, &used), WEFT_ERR_LINK);
    assert_non_null(strstr(weft_error_record()->text, tried));
    assert_int_equal(weft_error_record()->peer, 1);
    finish(transports);
}

static void who_reaches_a_peer_by_nothing_hears_why(void **state)
{
    (void)state;
    plans[0] = (plan_t){.devices = 1, .reaches = 1};
    plans[1] = (plan_t){.devices = 1, .reaches = 0};
    refused(1 << 0, "tried: net-fake (does not reach it), net-fake (does not reach it);");
    plans[0] = (plan_t){.devices = 0};
    refused(0, "tried: net-fake (no device here), net-fake (does not reach it);");
    listed = 0;
    refused(0, "no transport from rank 0 to rank 1; none is loaded; add one to [core] net");
    listed = PLUGINS;
}

static void the_second_plugin_serves_whom_the_first_does_not_reach(void **state)
{
    (void)state;
    uint32_t used;
    plans[0] = (plan_t){.devices = 2, .reaches = 0};
    plans[1] = (plan_t){.devices = 2, .reaches = 3};
    weft_transports_t *transports = make(0, &used);
    assert_int_equal(weft_transports_index(transports, 1), 1);
    assert_int_equal(weft_transports_spread(transports, 1, 1, 0, NULL), 1 + WEFT_TRANSPORT_PLUGINS);
    finish(transports);
}

static const void *no_extension(weft_net_t *net, const char *name)
{
    (void)net, (void)name;
    return NULL;
}

static void who_promises_to_map_and_cannot_is_refused(void **state)
{
    (void)state;
    weft_transports_t *transports = NULL;
    table = ops;
    table.caps = WEFT_NET_CAP_MAP;
    table.get_extension = no_extension;
    lay_out_plugins();
    assert_int_equal(weft_transports_create(NULL, RANKS, 0, &transports), WEFT_ERR_PLUGIN);
    assert_non_null(strstr(weft_error_record()->text, "net-fake"));
    assert_non_null(strstr(weft_error_record()->text, WEFT_NET_MAP));
    assert_int_equal(open_nets, 0);
}

static void no_more_than_the_limit_are_opened(void **state)
{
    (void)state;
    uint32_t used;
    plans[0] = (plan_t){.devices = 8, .reaches = 0xff};
    plans[1] = (plan_t){.devices = 8, .reaches = 0xff};
    weft_transports_t *transports = make(0, &used);
    assert_int_equal(open_devices, PLUGINS * WEFT_TRANSPORT_DEVICES);
    finish(transports);
}

/* Lengths that another rank got wrong: this rank's address would not fit. */
static void lengths_that_no_address_has_are_refused(void **state)
{
    (void)state;
    uint8_t *infos;
    size_t bytes = 0;
    weft_transports_t *transports = prepare_at(0, 0, &infos);
    weft_connect_layout_t layout = weft_transports_own_layout(transports);
    layout.bytes[0]--;
    assert_int_equal(weft_transports_set_layout(transports, &layout, &bytes), WEFT_ERR_PROTO);
    layout.bytes[0] = WEFT_NET_ADDRESS_MAX + 1;
    assert_int_equal(weft_transports_set_layout(transports, &layout, &bytes), WEFT_ERR_PROTO);
    layout.bytes[0] = WEFT_NET_ADDRESS_MAX;
    assert_int_equal(weft_transports_set_layout(transports, &layout, &bytes), WEFT_OK);
    weft_os_free(infos);
    finish(transports);
}

/* Those of another communicator: nothing says a second time that they are there. */
static void all_connections_that_came_are_taken_in(void **state)
{
    (void)state;
    uint32_t used;
    plans[0] = (plan_t){.devices = 1, .reaches = 1};
    plans[1] = (plan_t){.devices = 0};
    weft_transports_t *transports = make(0, &used);
    waiting = 3;
    assert_int_equal(weft_transports_take_in(transports, true), WEFT_OK);
    assert_int_equal(waiting, 0);
    assert_int_equal(open_conns, 3);
    finish(transports);
    assert_int_equal(open_conns, 0);
}

/* However many: who made one waits until this rank says where its slots are. */
static void each_connection_that_needs_slots_is_told_of_once(void **state)
{
    enum { MANY = 300 };
    (void)state;
    uint32_t used, told[MANY] = {0};
    weft_early_note_t note;
    plans[0] = (plan_t){.devices = 1, .reaches = 1};
    plans[1] = (plan_t){.devices = 0};
    weft_transports_t *transports = make(0, &used);
    waiting = MANY;
    assert_int_equal(weft_transports_take_in(transports, true), WEFT_OK);
    while (weft_transports_take_note(transports, &note)) {
        assert_int_equal(note.comm_id, 7);
        assert_in_range(note.from, 0, MANY - 1);
        told[note.from]++;
    }
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(told[i], 1);
    }
    finish(transports);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_take_turns_on_devices),
        cmocka_unit_test(copies_of_a_plan_take_turns_on_devices),
        cmocka_unit_test(ways_choose_the_device),
        cmocka_unit_test(both_ends_of_a_ring_have_one_number),
        cmocka_unit_test(one_device_is_as_ever),
        cmocka_unit_test(devices_that_do_not_work_are_passed_over),
        cmocka_unit_test(links_begin_at_devices_that_have_not_failed),
        cmocka_unit_test(a_peer_may_have_fewer),
        cmocka_unit_test(who_reaches_a_peer_by_nothing_hears_why),
        cmocka_unit_test(the_second_plugin_serves_whom_the_first_does_not_reach),
        cmocka_unit_test(who_promises_to_map_and_cannot_is_refused),
        cmocka_unit_test(no_more_than_the_limit_are_opened),
        cmocka_unit_test(lengths_that_no_address_has_are_refused),
        cmocka_unit_test(all_connections_that_came_are_taken_in),
        cmocka_unit_test(each_connection_that_needs_slots_is_told_of_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
