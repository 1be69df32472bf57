/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Speed of a net plugin by itself, between two processes of this host: one-way latency of small
 * messages (half of a round trip, median) and bandwidth of a stream with a window of messages.
 * Usage: bench_net_message PLUGIN.so [key=value…] */
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weft/plugin/net.h>

#include "fake_host.h"

#define ROUNDS 2000
#define WARM 200
#define WINDOW 16
#define IDLE_POLLS 20u
#define STREAM_BYTES (UINT64_C(32) << 20)
#define LARGEST (UINT64_C(1) << 20)

typedef struct end {
    const weft_net_ops_t *ops;
    fake_host_t fake;
    weft_net_t *net;
    weft_net_device_t *device;
    weft_net_conn_t *conn;
    weft_net_region_t *region;
    uint8_t *memory; /* WINDOW buffers to send, WINDOW to receive */
    uint64_t sent, received;
} end_t;

static void check(weft_status_t status, const end_t *end, const char *what)
{
    if (status < 0) {
        fprintf(stderr, "bench_net_message: %s: status %d: %s\n", what, (int)status,
                end->fake.error);
        exit(1);
    }
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void pump(end_t *end)
{
    weft_net_completion_t list[WINDOW];
    uint32_t count = 0;
    check(end->ops->poll(end->device, list, WINDOW, &count), end, "poll");
    for (uint32_t i = 0; i < count; i++) {
        check(list[i].status, end, "completion");
        *(list[i].kind == WEFT_NET_SEND ? &end->sent : &end->received) += 1;
    }
}

static void post(end_t *end, uint32_t kind, uint64_t slot, uint64_t bytes)
{
    uint64_t index = slot % WINDOW + (kind == WEFT_NET_SEND ? 0 : WINDOW);
    weft_net_op_t op = {.kind = kind,
                        .buffer = end->memory + index * LARGEST,
                        .bytes = bytes,
                        .region = end->region};
    uint32_t posted = 0;
    while (posted == 0) {
        check(end->ops->post(end->conn, &op, 1, &posted), end, "post");
        if (posted == 0) {
            pump(end);
        }
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* `ahead`: receives that are posted before they are needed, as the core's FIFO does. */
static double latency(end_t *end, bool first, uint64_t bytes, uint32_t ahead)
{
    static double samples[ROUNDS + WARM];
    end->sent = end->received = 0;
    for (uint32_t i = 0; i < ahead; i++) {
        post(end, WEFT_NET_RECV, i, bytes);
    }
    double start = now_us();
    for (uint64_t i = 0; i < ROUNDS + WARM; i++) {
        if (first) {
            post(end, WEFT_NET_SEND, i, bytes);
        }
        while (end->received <= i) {
            pump(end);
        }
        if (!first) {
            post(end, WEFT_NET_SEND, i, bytes);
        }
        if (i + ahead < ROUNDS + WARM) {
            post(end, WEFT_NET_RECV, i + ahead, bytes);
        }
        /* Reading a clock is not free, and half of the round is the other side's. */
        if (first) {
            double end_us = now_us();
            samples[i] = (end_us - start) / 2;
            start = end_us;
        }
    }
    while (end->sent < ROUNDS + WARM) {
        pump(end);
    }
    qsort(samples + WARM, ROUNDS, sizeof samples[0], compare);
    return samples[WARM + ROUNDS / 2];
}

/* Leaves the processor to the adapter where that is software. */
static void rest(end_t *end, uint32_t *idle_p, bool moved)
{
    int fd = -1;
    *idle_p = moved ? 0 : *idle_p + 1;
    if (*idle_p < IDLE_POLLS || !WEFT_HAS(end->ops, weft_net_ops_t, wait_fd)) {
        return;
    }
    *idle_p = 0;
    if (end->ops->wait_fd(end->device, &fd) == WEFT_OK) {
        struct pollfd watch = {.fd = fd, .events = POLLIN};
        poll(&watch, 1, 10);
    }
}

static double bandwidth(end_t *end, bool first, uint64_t bytes)
{
    uint64_t total = STREAM_BYTES / bytes, posted = 0;
    end->sent = end->received = 0;
    double start = now_us();
    uint32_t idle = 0;
    uint64_t *done = first ? &end->sent : &end->received;
    while (*done < total) {
        if (posted < total && posted - *done < WINDOW) {
            post(end, first ? WEFT_NET_SEND : WEFT_NET_RECV, posted++, bytes);
        } else {
            uint64_t before = *done;
            pump(end);
            rest(end, &idle, *done != before);
        }
    }
    return (double)STREAM_BYTES / (now_us() - start);
}

static void run(end_t *end, bool first)
{
    static const uint64_t sizes[] = {4096, 65536, 1048576};
    for (uint32_t ahead = 1; ahead <= WINDOW; ahead *= 4) {
        double us = latency(end, first, 8, ahead);
        if (first) {
            printf("latency 8 B, %u receives ahead: %.2f us\n", ahead, us);
        }
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int repeat = 0; repeat < 3; repeat++) {
            double rate = bandwidth(end, first, sizes[i]);
            if (first) {
                printf("stream of %llu B: %.1f MB/s\n", (unsigned long long)sizes[i], rate);
            }
        }
    }
}

static void end_open(end_t *end, const weft_plugin_t *plugin, const char *const *settings)
{
    char why[300];
    fake_host_init(&end->fake, plugin->name);
    void *config = fake_config_create(plugin, settings, why, sizeof why);
    if (config == NULL) {
        fprintf(stderr, "bench_net_message: %s\n", why);
        exit(1);
    }
    end->ops = plugin->ops;
    check(end->ops->create(&end->fake.host, config, &end->net), end, "create");
    check(end->ops->device_open(end->net, 0, &end->device), end, "device_open");
    end->memory = aligned_alloc(4096, 2 * WINDOW * LARGEST);
    if (end->memory == NULL) {
        exit(1);
    }
    memset(end->memory, 1, 2 * WINDOW * LARGEST);
    if (WEFT_HAS(end->ops, weft_net_ops_t, reg)) {
        check(end->ops->reg(end->device, end->memory, 2 * WINDOW * LARGEST, WEFT_MEMORY_HOST,
                            &end->region),
              end, "reg");
    }
}

int main(int argc, char **argv)
{
    char why[300];
    int link[2];
    static end_t end;
    weft_net_address_t address;
    const weft_plugin_t *plugin =
        argc > 1 ? fake_plugin_open(argv[1], WEFT_KIND_NET, why, sizeof why) : NULL;
    if (plugin == NULL || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, link) != 0) {
        fprintf(stderr, "usage: bench_net_message PLUGIN.so [key=value...]\n");
        return 2;
    }
    bool first = fork() != 0;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(first ? 0 : 1, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
    end_open(&end, plugin, (const char *const *)argv + 2);
    if (first) {
        weft_net_conn_params_t params = {.size = sizeof params};
        ssize_t got = recv(link[0], &address, sizeof address, 0);
        check(got == (ssize_t)sizeof address ? WEFT_OK : WEFT_ERR_LINK, &end, "address");
        check(end.ops->connect_begin(end.device, &address, &params, &end.conn), &end, "connect");
        weft_status_t status = WEFT_IN_PROGRESS;
        while (status == WEFT_IN_PROGRESS) {
            status = end.ops->connect_poll(end.conn);
        }
        check(status, &end, "connect");
    } else {
        weft_net_listener_t *listener = NULL;
        check(end.ops->listen(end.device, &address, &listener), &end, "listen");
        ssize_t sent = send(link[1], &address, sizeof address, 0);
        weft_status_t status = sent > 0 ? WEFT_AGAIN : WEFT_ERR_LINK;
        while (status == WEFT_AGAIN) {
            status = end.ops->accept(listener, &end.conn);
        }
        check(status, &end, "accept");
    }
    run(&end, first);
    if (first) {
        wait(NULL);
    }
    return 0;
}
