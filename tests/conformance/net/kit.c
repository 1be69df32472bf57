/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Instances, pairs and waiting for the cases of the net suite. */
#include "kit.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/check/check.h"

#define PATIENCE_S 10u
#define PATIENCE_NS (PATIENCE_S * UINT64_C(1000000000))
#define SPOILED 0xdb /* what a given buffer is filled with */

static _Thread_local char note[600];
static _Thread_local uint32_t completions;

void kit_require(bool held, const char *text, const char *file, int line)
{
    /* The line of a breach, which the checking layer has written, says more. */
    if (!held && weft_check_breaches() > 0) {
        fflush(stdout);
        _exit(1);
    }
    if (!held) {
        const char *slash = strrchr(file, '/');
        printf("not held: %s (%s:%d)\n", text, slash != NULL ? slash + 1 : file, line);
        if (note[0] != '\0') {
            printf("%s\n", note);
        }
        fflush(stdout);
        _exit(1);
    }
}

void kit_skip(const char *missing)
{
    printf("missing: %s\n", missing);
    kit_end(KIT_SKIPPED);
}

void kit_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(note, sizeof note, format, args);
    va_end(args);
}

uint64_t kit_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint32_t kit_fd_count(void)
{
    uint32_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    REQUIRE(dir != NULL);
    while (readdir(dir) != NULL) {
        count++;
    }
    closedir(dir);
    return count;
}

uint64_t kit_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 24;
}

static uint8_t pattern(uint64_t position, uint64_t seed)
{
    return (uint8_t)((position * 167 + (position >> 8) + seed * 31 + 1) & 255);
}

void kit_fill(uint8_t *bytes, uint64_t count, uint64_t seed)
{
    for (uint64_t i = 0; i < count; i++) {
        bytes[i] = pattern(i, seed);
    }
}

bool kit_matches(const uint8_t *bytes, uint64_t count, uint64_t seed)
{
    for (uint64_t i = 0; i < count; i++) {
        if (bytes[i] != pattern(i, seed)) {
            kit_note("byte %llu of %llu differs", (unsigned long long)i, (unsigned long long)count);
            return false;
        }
    }
    return true;
}

static void side_release(kit_side_t *side)
{
    if (side->listener != NULL) {
        side->ops->listener_close(side->listener);
    }
    if (side->device != NULL) {
        side->ops->device_close(side->device);
    }
    side->ops->destroy(side->net);
    fake_config_destroy(side->config);
}

weft_status_t side_try_open(const kit_t *kit, kit_side_t *side, const char *const *settings)
{
    char why[300];
    uint64_t fail_at = atomic_load(&side->fake.fail_at);
    memset(side, 0, sizeof *side);
    side->ops = kit->ops;
    fake_host_init(&side->fake, kit->plugin->name);
    atomic_store(&side->fake.fail_at, fail_at);
    side->config = fake_config_create(kit->plugin, settings, why, sizeof why);
    kit_note("%s", side->config == NULL ? why : "");
    REQUIRE(side->config != NULL);

    weft_status_t status = kit->ops->create(kit->host != NULL ? kit->host : &side->fake.host,
                                            side->config, &side->net);
    uint32_t devices = 0;
    if (status == WEFT_OK) {
        status = kit->ops->device_count(side->net, &devices);
        REQUIRE(status != WEFT_OK || devices > 0);
    }
    side->props.size = sizeof side->props;
    if (status == WEFT_OK) {
        status = kit->ops->device_props(side->net, 0, &side->props);
    }
    if (status == WEFT_OK) {
        status = kit->ops->device_open(side->net, 0, &side->device);
    }
    if (status == WEFT_OK) {
        status = kit->ops->listen(side->device, &side->address, &side->listener);
    }
    if (status != WEFT_OK) {
        side_release(side);
    }
    return status;
}

void side_open(const kit_t *kit, kit_side_t *side)
{
    memset(side, 0, sizeof *side);
    weft_status_t status = side_try_open(kit, side, kit->settings);
    kit_note("status %d: %s", (int)status, side->fake.error);
    REQUIRE(status == WEFT_OK);
    REQUIRE(side->address.bytes > 0 && side->address.bytes <= WEFT_NET_ADDRESS_MAX);
}

void side_close(kit_side_t *side)
{
    side_release(side);
    kit_note("%llu allocations not freed", (unsigned long long)atomic_load(&side->fake.live));
    REQUIRE(atomic_load(&side->fake.live) == 0);
    fake_host_fini(&side->fake);
}

static weft_net_conn_params_t params_make(uint64_t map_bytes)
{
    weft_net_conn_params_t params = {.size = sizeof params, .map_bytes = map_bytes};
    kit_fill(params.label, sizeof params.label, KIT_LABEL_SEED);
    return params;
}

weft_status_t pair_try_connect(kit_side_t *from, kit_side_t *to, uint64_t map_bytes, kit_end_t *a,
                               kit_end_t *b)
{
    weft_net_conn_params_t params = params_make(map_bytes);
    uint64_t start = kit_now_ns();
    *a = (kit_end_t){.side = from};
    *b = (kit_end_t){.side = to};
    weft_status_t status = from->ops->connect_begin(from->device, &to->address, &params, &a->conn);
    if (status != WEFT_OK) {
        return status;
    }
    memset(&params, 0xff, sizeof params); /* may vanish after the call */
    status = WEFT_IN_PROGRESS;
    weft_status_t accepted = WEFT_AGAIN;
    while (status == WEFT_IN_PROGRESS || (status == WEFT_OK && accepted == WEFT_AGAIN)) {
        status = status == WEFT_IN_PROGRESS ? from->ops->connect_poll(a->conn) : status;
        accepted = accepted == WEFT_AGAIN ? to->ops->accept(to->listener, &b->conn) : accepted;
        status = accepted < 0 ? accepted : status;
        status = kit_now_ns() - start > PATIENCE_NS ? WEFT_ERR_TIMEOUT : status;
    }
    if (status != WEFT_OK) {
        from->ops->conn_close(a->conn);
        if (accepted == WEFT_OK) {
            to->ops->conn_close(b->conn);
        }
    }
    return status;
}

void pair_connect(kit_side_t *from, kit_side_t *to, kit_end_t *a, kit_end_t *b)
{
    uint64_t bytes = (from->ops->caps & WEFT_NET_CAP_MAP) != 0 ? 65536 : 0;
    weft_status_t status = pair_try_connect(from, to, bytes, a, b);
    kit_note("status %d: %s", (int)status, from->fake.error);
    REQUIRE(status == WEFT_OK);
}

void pair_close(kit_end_t *a, kit_end_t *b)
{
    end_close(a);
    end_close(b);
}

weft_status_t end_connect(kit_side_t *side, const weft_net_address_t *address, uint64_t map_bytes,
                          kit_end_t *end)
{
    weft_net_conn_params_t params = params_make(map_bytes);
    uint64_t start = kit_now_ns();
    *end = (kit_end_t){.side = side};
    weft_status_t status = side->ops->connect_begin(side->device, address, &params, &end->conn);
    if (status != WEFT_OK) {
        return status;
    }
    do {
        status = side->ops->connect_poll(end->conn);
        REQUIRE(kit_now_ns() - start < PATIENCE_NS);
    } while (status == WEFT_IN_PROGRESS);
    if (status != WEFT_OK) {
        end_close(end);
    }
    return status;
}

void end_accept(kit_side_t *side, kit_end_t *end)
{
    uint64_t start = kit_now_ns();
    *end = (kit_end_t){.side = side};
    weft_status_t status;
    do {
        status = side->ops->accept(side->listener, &end->conn);
        REQUIRE(kit_now_ns() - start < PATIENCE_NS);
    } while (status == WEFT_AGAIN);
    kit_note("status %d: %s", (int)status, side->fake.error);
    REQUIRE(status == WEFT_OK);
}

void end_close(kit_end_t *end)
{
    end->side->ops->conn_close(end->conn);
    end->conn = NULL;
}

static void end_post(kit_end_t *end, const weft_net_op_t *op)
{
    uint64_t start = kit_now_ns();
    uint32_t posted = 0;
    weft_status_t status = WEFT_AGAIN;
    while (posted == 0) {
        status = end->side->ops->post(end->conn, op, 1, &posted);
        kit_note("status %d: %s", (int)status, end->side->fake.error);
        REQUIRE(status == (posted == 1 ? WEFT_OK : WEFT_AGAIN));
        REQUIRE(kit_now_ns() - start < PATIENCE_NS);
        if (posted == 0) {
            side_pump(end->side);
        }
    }
}

static void end_post_send(kit_end_t *end, const void *bytes, uint64_t count, kit_done_t *done)
{
    /* The plugin promises not to write to it. */
    weft_net_op_t op = {
        .kind = WEFT_NET_SEND, .buffer = (void *)(uintptr_t)bytes, .bytes = count, .context = done};
    end_post(end, &op);
}

void end_send(kit_end_t *end, const void *bytes, uint64_t count, kit_done_t *done)
{
    *done = (kit_done_t){.done = false};
    end_post_send(end, bytes, count, done);
}

void end_give(kit_end_t *end, void *bytes, uint64_t count, kit_done_t *done)
{
    *done = (kit_done_t){.given = bytes, .given_bytes = count};
    end_post_send(end, bytes, count, done);
}

void end_receive(kit_end_t *end, void *bytes, uint64_t room, kit_done_t *done)
{
    *done = (kit_done_t){.done = false};
    weft_net_op_t op = {.kind = WEFT_NET_RECV, .buffer = bytes, .bytes = room, .context = done};
    end_post(end, &op);
}

void side_pump(kit_side_t *side)
{
    weft_net_completion_t list[5];
    uint32_t count = 0;
    REQUIRE(side->ops->poll(side->device, list, 5, &count) == WEFT_OK);
    REQUIRE(count <= 5);
    for (uint32_t i = 0; i < count; i++) {
        kit_done_t *done = list[i].context;
        REQUIRE(!done->done);
        if (done->given != NULL) {
            memset(done->given, SPOILED, done->given_bytes);
        }
        *done = (kit_done_t){.done = true,
                             .status = list[i].status,
                             .bytes = list[i].bytes,
                             .kind = list[i].kind,
                             .order = completions++};
    }
}

void sides_wait(kit_side_t *a, kit_side_t *b, const kit_done_t *done)
{
    sides_wait_long(a, b, done, PATIENCE_S);
}

void sides_wait_long(kit_side_t *a, kit_side_t *b, const kit_done_t *done, uint32_t seconds)
{
    uint64_t start = kit_now_ns();
    while (!done->done) {
        side_pump(a);
        if (b != NULL && b != a) {
            side_pump(b);
        }
        bool in_time = kit_now_ns() - start < seconds * UINT64_C(1000000000);
        if (!in_time) {
            kit_note("an operation has no completion after %u s", seconds);
        }
        REQUIRE(in_time);
    }
}

int kit_spawn(const kit_t *kit, kit_side_t *side, kit_child_fn_t child, void *arg)
{
    int link[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) == 0);
    fflush(stdout);
    pid_t pid = kit_fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        weft_net_address_t address;
        close(link[1]);
        side_open(kit, side);
        REQUIRE(recv(link[0], &address, sizeof address, 0) == (ssize_t)sizeof address);
        weft_status_t status = kit->ops->reachable(side->device, &address);
        REQUIRE(send(link[0], &status, sizeof status, 0) == (ssize_t)sizeof status);
        if (status == WEFT_OK) {
            child(side, &address, arg);
        }
        close(link[0]);
        kit_end(0);
    }
    close(link[0]);
    side_open(kit, side);
    weft_status_t status = WEFT_ERR_INTERNAL;
    REQUIRE(send(link[1], &side->address, sizeof side->address, 0) ==
            (ssize_t)sizeof side->address);
    REQUIRE(recv(link[1], &status, sizeof status, 0) == (ssize_t)sizeof status);
    close(link[1]);
    if (status == WEFT_ERR_UNSUPPORTED) {
        waitpid(pid, NULL, 0);
        kit_skip("connections between processes (reachable says ERR_UNSUPPORTED)");
    }
    REQUIRE(status == WEFT_OK);
    return pid;
}

void kit_reap(int child)
{
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    bool ended = kit_has_ended(child);
    kit_note("the other process ended with %#x%s", (unsigned)status,
             !ended && status == 0 ? " before its part did" : "");
    REQUIRE(ended && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
