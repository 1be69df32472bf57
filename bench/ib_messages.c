/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of 8 bytes between two instances of net-ib in this process, on fake adapters that move
 * them at once. bench/ib_instructions counts the instructions of the four functions below. Usage:
 * bench_ib_messages PLUGIN.so MESSAGES WINDOW [key=value…] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/plugin/net.h>

#include "fake.h"
#include "fake_host.h"

#define BYTES 8u
#define WINDOW_MAX 64u

typedef struct end {
    const weft_net_ops_t *ops;
    fake_host_t fake;
    weft_net_t *net;
    weft_net_device_t *device;
    weft_net_listener_t *listener;
    weft_net_address_t address;
    weft_net_conn_t *conn;
    weft_net_region_t *region;
    uint64_t memory[WINDOW_MAX];
} end_t;

static void check(weft_status_t status, const end_t *end, const char *what)
{
    if (status < 0) {
        fprintf(stderr, "bench_ib_messages: %s: status %d: %s\n", what, (int)status,
                end->fake.error);
        exit(1);
    }
}

static void end_open(end_t *end, const weft_plugin_t *plugin, const char *const *settings)
{
    char why[300];
    end->ops = plugin->ops;
    fake_host_init(&end->fake, plugin->name);
    end->fake.host.log_level = WEFT_LOG_WARN;
    void *config = fake_config_create(plugin, settings, why, sizeof why);
    if (config == NULL) {
        fprintf(stderr, "bench_ib_messages: %s\n", why);
        exit(2);
    }
    check(end->ops->create(&end->fake.host, config, &end->net), end, "create");
    check(end->ops->device_open(end->net, 0, &end->device), end, "device_open");
    check(end->ops->listen(end->device, &end->address, &end->listener), end, "listen");
    check(
        end->ops->reg(end->device, end->memory, sizeof end->memory, WEFT_MEMORY_HOST, &end->region),
        end, "reg");
}

static void connect_ends(end_t *from, end_t *to)
{
    weft_net_conn_params_t params = {.size = sizeof params};
    check(from->ops->connect_begin(from->device, &to->address, &params, &from->conn), from,
          "connect");
    weft_status_t mine = WEFT_IN_PROGRESS, theirs = WEFT_AGAIN;
    while (mine == WEFT_IN_PROGRESS || theirs == WEFT_AGAIN) {
        mine = mine == WEFT_IN_PROGRESS ? from->ops->connect_poll(from->conn) : mine;
        theirs = theirs == WEFT_AGAIN ? to->ops->accept(to->listener, &to->conn) : theirs;
        check(mine, from, "connect");
        check(theirs, to, "accept");
    }
}

static void post(end_t *end, uint32_t kind, uint32_t slot)
{
    weft_net_op_t op = {.kind = kind,
                        .buffer = &end->memory[slot],
                        .bytes = BYTES,
                        .region = end->region,
                        .context = end};
    uint32_t posted = 0;
    check(end->ops->post(end->conn, &op, 1, &posted), end, "post");
    if (posted != 1) {
        fprintf(stderr, "bench_ib_messages: not posted\n");
        exit(1);
    }
}

static uint32_t poll(end_t *end)
{
    weft_net_completion_t list[16];
    uint32_t count = 0;
    check(end->ops->poll(end->device, list, 16, &count), end, "poll");
    for (uint32_t i = 0; i < count; i++) {
        check(list[i].status, end, "completion");
    }
    return count;
}

/* Functions of their own, so that the counting can be switched on in them. */
__attribute__((noinline)) void path_send_post(end_t *end, uint32_t slot);
__attribute__((noinline)) uint32_t path_send_poll(end_t *end);
__attribute__((noinline)) void path_recv_post(end_t *end, uint32_t slot);
__attribute__((noinline)) uint32_t path_recv_poll(end_t *end);

void path_send_post(end_t *end, uint32_t slot)
{
    post(end, WEFT_NET_SEND, slot);
}

uint32_t path_send_poll(end_t *end)
{
    return poll(end);
}

void path_recv_post(end_t *end, uint32_t slot)
{
    post(end, WEFT_NET_RECV, slot);
}

uint32_t path_recv_poll(end_t *end)
{
    return poll(end);
}

static void window_move(end_t *from, end_t *to, uint32_t window)
{
    uint32_t sent = 0, received = 0;
    for (uint32_t i = 0; i < window; i++) {
        path_recv_post(to, i);
    }
    for (uint32_t i = 0; i < window; i++) {
        from->memory[i]++;
        path_send_post(from, i);
    }
    while (sent < window || received < window) {
        sent += path_send_poll(from);
        received += path_recv_poll(to);
    }
    for (uint32_t i = 0; i < window; i++) {
        if (to->memory[i] != from->memory[i]) {
            fprintf(stderr, "bench_ib_messages: wrong bytes\n");
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    static end_t from, to;
    char why[400];
    uint32_t messages = argc > 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    uint32_t window = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0;
    if (messages == 0 || window == 0 || window > WINDOW_MAX) {
        fprintf(stderr, "usage: bench_ib_messages PLUGIN.so MESSAGES WINDOW [key=value...]\n");
        return 2;
    }
    const weft_plugin_t *plugin = fake_plugin_open(argv[1], WEFT_KIND_NET, why, sizeof why);
    if (plugin == NULL) {
        fprintf(stderr, "bench_ib_messages: %s\n", why);
        return 2;
    }
    fake_setup(1);
    end_open(&from, plugin, (const char *const *)argv + 4);
    end_open(&to, plugin, (const char *const *)argv + 4);
    connect_ends(&from, &to);
    for (uint32_t done = 0; done < messages; done += window) {
        window_move(&from, &to, window);
    }
    return 0;
}
