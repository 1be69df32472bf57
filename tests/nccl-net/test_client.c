/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libnccl-net-weft.so as NCCL sees it, without weft above it: both ends of a connection are here,
 * over every version of its table. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ncclnet_shim.h"
#include "tests/support/unit.h"

enum { LARGE = 300000, TAG = 7 };

static void *object;
static char warning[600];

static void log_line(int level, unsigned long subsystems, const char *where, int line,
                     const char *format, ...)
{
    va_list args;
    (void)subsystems;
    (void)where;
    (void)line;
    va_start(args, format);
    if (level == WEFT_NCCL_LOG_WARN) {
        vsnprintf(warning, sizeof warning, format, args);
    }
    va_end(args);
}

/* One version of the library, and a connection over it. */
typedef struct client {
    const ncclnet_shim_t *shim;
    const void *table;
    ncclnet_setup_t setup;
    void *instance;
    uint8_t handle[WEFT_NCCL_HANDLE];
    void *listening, *from, *to;
} client_t;

static void client_connect(client_t *c)
{
    time_t end = time(NULL) + 60;
    assert_int_equal(c->shim->listen(c->table, c->instance, 0, c->handle, &c->listening), 0);
    while ((c->from == NULL || c->to == NULL) && time(NULL) < end) {
        if (c->from == NULL) {
            assert_int_equal(
                c->shim->connect(c->table, c->instance, 0, &c->setup, c->handle, &c->from), 0);
        }
        if (c->to == NULL) {
            assert_int_equal(c->shim->accept(c->table, c->listening, &c->to), 0);
        }
    }
    assert_non_null(c->from);
    assert_non_null(c->to);
    assert_int_equal(c->shim->close_listen(c->table, c->listening), 0);
}

static void client_open(client_t *c, const ncclnet_shim_t *shim)
{
    int devices = 0;
    *c = (client_t){.shim = shim,
                    .setup = {.id = 1, .config = {.trafficClass = -1}, .log = log_line}};
    c->table = dlsym(object, shim->symbol);
    assert_non_null(c->table);
    assert_null(shim->missing(c->table));
    assert_string_equal(shim->name(c->table), "weft");
    assert_int_equal(shim->init(c->table, &c->setup, &c->instance), 0);
    assert_int_equal(shim->devices(c->table, &devices), 0);
    assert_true(devices >= 1);
}

static void client_close(client_t *c)
{
    assert_int_equal(c->shim->close_send(c->table, c->from), 0);
    assert_int_equal(c->shim->close_receive(c->table, c->to), 0);
    assert_int_equal(c->shim->finalize(c->table, c->instance), 0);
}

/* Waits for a request. Returns its result. */
static int client_wait(const client_t *c, void *request, int *bytes)
{
    int done = 0, result = 0;
    time_t end = time(NULL) + 60;
    while (result == 0 && done == 0 && time(NULL) < end) {
        result = c->shim->test(c->table, request, &done, bytes);
    }
    return result;
}

static void *client_reg(const client_t *c, void *comm, void *data, size_t bytes)
{
    void *mhandle = NULL;
    ncclnet_memory_t memory = {.data = data, .bytes = bytes, .type = WEFT_NCCL_PTR_HOST, .fd = -1};
    assert_int_equal(c->shim->reg(c->table, comm, &memory, &mhandle), 0);
    return mhandle;
}

/* Sends `bytes` bytes into `room`. Returns the result of the receive. */
static int client_pass(const client_t *c, size_t bytes, size_t room)
{
    static uint8_t out[LARGE], in[LARGE];
    void *sent = NULL, *received = NULL;
    int got = -1, none = -1;
    for (size_t i = 0; i < bytes; i++) {
        out[i] = (uint8_t)(i * 7 + bytes);
    }
    memset(in, 0, sizeof in);
    ncclnet_message_t send = {out, bytes, TAG, client_reg(c, c->from, out, sizeof out)};
    ncclnet_message_t receive = {in, room, TAG, client_reg(c, c->to, in, sizeof in)};
    assert_int_equal(c->shim->receive(c->table, c->to, &receive, &received), 0);
    assert_int_equal(c->shim->send(c->table, c->from, &send, &sent), 0);
    assert_non_null(sent);
    assert_non_null(received);
    int result = client_wait(c, received, &got);
    if (result == 0) {
        assert_int_equal(got, bytes);
        assert_memory_equal(in, out, bytes);
        assert_int_equal(client_wait(c, sent, &none), 0);
    }
    assert_int_equal(c->shim->dereg(c->table, c->from, send.mhandle), 0);
    assert_int_equal(c->shim->dereg(c->table, c->to, receive.mhandle), 0);
    return result;
}

static void every_version_carries_messages(void **state)
{
    static const size_t sizes[] = {0, 1, 100, 8192, LARGE};
    (void)state;
    for (size_t i = 0; i < NCCLNET_SHIMS && ncclnet_shims[i]->version >= 8; i++) {
        client_t c;
        ncclnet_foreign_t foreign;
        client_open(&c, ncclnet_shims[i]);
        assert_int_equal(c.shim->properties(c.table, 0, &foreign), 0);
        assert_int_equal(foreign.memory & WEFT_NCCL_PTR_HOST, WEFT_NCCL_PTR_HOST);
        assert_int_equal(foreign.offload, WEFT_NCCL_DEVICE_HOST);
        assert_int_equal(foreign.recvs, 1);
        assert_true(foreign.speed > 0 && foreign.latency > 0 && foreign.name != NULL);
        client_connect(&c);
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            assert_int_equal(client_pass(&c, sizes[s], LARGE), 0);
        }
        client_close(&c);
    }
}

static void what_cannot_be_is_refused_with_a_reason(void **state)
{
    client_t c;
    void *comm = NULL, *mhandle = NULL;
    uint8_t bad[WEFT_NCCL_HANDLE] = {1, 2, 3};
    ncclnet_foreign_t foreign;
    ncclnet_memory_t cuda = {.data = bad, .bytes = 8, .type = WEFT_NCCL_PTR_CUDA, .fd = -1};
    (void)state;
    client_open(&c, ncclnet_shims[0]);
    assert_int_not_equal(c.shim->properties(c.table, 99, &foreign), 0);
    assert_non_null(strstr(warning, "getProperties: device 99 of"));
    assert_int_not_equal(c.shim->listen(c.table, c.instance, -1, bad, &comm), 0);
    assert_int_not_equal(c.shim->connect(c.table, c.instance, 0, &c.setup, bad, &comm), 0);
    assert_non_null(strstr(warning, "not a handle of NET/weft"));
    client_connect(&c);
    assert_int_not_equal(c.shim->reg(c.table, c.to, &cuda, &mhandle), 0);
    assert_non_null(strstr(warning, "takes no memory of type 2"));
    assert_int_equal(client_pass(&c, 100, 99), WEFT_NCCL_INVALID_USAGE);
    assert_non_null(strstr(warning, "test: ERR_PROTO: "));
    client_close(&c);
}

static void a_gpu_cannot_drive_a_connection(void **state)
{
    const weft_nccl_net_v12_t *table = dlsym(object, "ncclNetPlugin_v12");
    client_t c;
    void *comm = NULL, *offload = &c;
    (void)state;
    client_open(&c, ncclnet_shims[0]);
    assert_int_equal(c.shim->listen(c.table, c.instance, 0, c.handle, &c.listening), 0);
    assert_int_equal(table->connect(c.instance, 0, c.handle, &comm, &offload),
                     WEFT_NCCL_INVALID_USAGE);
    assert_int_equal(table->accept(c.listening, &comm, &offload), WEFT_NCCL_INVALID_USAGE);
    assert_non_null(strstr(warning, "a connection that a GPU drives"));
    assert_null(comm);
    assert_int_equal(c.shim->close_listen(c.table, c.listening), 0);
}

static void a_peer_that_closed_is_an_error(void **state)
{
    client_t c;
    uint8_t in[8];
    void *request = NULL;
    int bytes = 0;
    (void)state;
    client_open(&c, ncclnet_shims[1]);
    client_connect(&c);
    ncclnet_message_t receive = {in, sizeof in, TAG, client_reg(&c, c.to, in, sizeof in)};
    assert_int_equal(c.shim->receive(c.table, c.to, &receive, &request), 0);
    assert_non_null(request);
    assert_int_equal(c.shim->close_send(c.table, c.from), 0);
    assert_int_equal(client_wait(&c, request, &bytes), WEFT_NCCL_REMOTE_ERROR);
    assert_int_equal(c.shim->dereg(c.table, c.to, receive.mhandle), 0);
    assert_int_equal(c.shim->close_receive(c.table, c.to), 0);
}

/* test-nccl-net-client [TRANSPORT]: messages over another one than net-socket over lo, on all
 * interfaces: their addresses may be more than a handle has room for. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_carries_messages),
        cmocka_unit_test(what_cannot_be_is_refused_with_a_reason),
        cmocka_unit_test(a_gpu_cannot_drive_a_connection),
        cmocka_unit_test(a_peer_that_closed_is_an_error),
    };
    if (argc > 1) {
        cmocka_set_test_filter("every_version_carries_messages");
    }
    setenv("WEFT_CORE_NET", argc > 1 ? argv[1] : "net-socket", 1);
    setenv("WEFT_NET_SOCKET_DEVICES", "lo", 1);
    object = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
