/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The exchange. */
#include "traffic.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <weft/sdk/endpoint.h>

#include "tests/support/unit.h"

#define CONNECT_S 10.0
#define ROOM (TRAFFIC_LARGEST + 4096u) /* of a message in memory of a device */
#define AREA (2 * TRAFFIC_MESSAGES * ROOM)

/* Sizes of messages: inline, empty, of one write, of several parts. Odd ones go from side 1 to
 * side 0. */
static const uint32_t sizes[TRAFFIC_MESSAGES] = {8, 8,    3000, 3000, TRAFFIC_LARGEST,
                                                 0, 5000, 8,    192,  70000};

static uint32_t descriptors(void)
{
    uint32_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir) != NULL) {
        count++;
    }
    closedir(dir);
    return count;
}

double traffic_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

uint64_t traffic_later_by_ns;

uint64_t traffic_later(const weft_host_t *host)
{
    (void)host;
    return (uint64_t)(traffic_now() * 1e9) + traffic_later_by_ns;
}

static const weft_plugin_t *plugin_get(void)
{
    char why[400];
    const weft_plugin_t *plugin =
        fake_plugin_open(WEFT_PLUGIN_DIR "/net-ib.so", WEFT_KIND_NET, why, sizeof why);
    if (plugin == NULL) {
        fail_msg("%s", why);
    }
    return plugin;
}

const weft_net_ops_t *traffic_ops(void)
{
    return plugin_get()->ops;
}

weft_status_t side_open(traffic_side_t *side, const char *const *settings)
{
    char why[300];
    const weft_plugin_t *plugin = plugin_get();
    memset(side, 0, sizeof *side);
    fake_host_init(&side->fake, "net-ib");
    side->config = fake_config_create(plugin, settings, why, sizeof why);
    if (side->config == NULL) {
        fail_msg("%s", why);
    }
    return traffic_ops()->create(&side->fake.host, side->config, &side->net);
}

void side_close(traffic_side_t *side)
{
    const weft_net_ops_t *ops = traffic_ops();
    ops->conn_close(side->conn);
    ops->dereg(side->region);
    ops->listener_close(side->listener);
    ops->device_close(side->device);
    ops->destroy(side->net);
    fake_config_destroy(side->config);
    assert_int_equal(atomic_load(&side->fake.live), 0);
    fake_host_fini(&side->fake);
}

bool side_wakes(const traffic_side_t *side, int ms)
{
    struct pollfd watch = {.events = POLLIN};
    weft_status_t status = traffic_ops()->wait_fd(side->device, &watch.fd);
    assert_true(status == WEFT_OK || status == WEFT_AGAIN);
    return status == WEFT_AGAIN || poll(&watch, 1, ms) > 0;
}

void side_add_address(traffic_side_t *side, uint16_t port)
{
    enum { HEAD = 24 }; /* see ib_hello.c */
    weft_net_address_t *address = &side->address, tcp = {.bytes = address->bytes - HEAD};
    weft_endpoint_list_t list;
    memcpy(tcp.data, address->data + HEAD, tcp.bytes);
    assert_int_equal(weft_endpoint_list_decode(&tcp, &list), WEFT_OK);
    memmove(list.entries + 1, list.entries, list.count * sizeof list.entries[0]);
    list.count++;
    list.entries[0].loopback = true; /* those are tried first */
    if (port != 0) {
        weft_endpoint_set_port(&list.entries[0].point, port);
    }
    weft_endpoint_list_encode(&list, &tcp);
    memcpy(address->data + HEAD, tcp.data, tcp.bytes);
    address->bytes = HEAD + tcp.bytes;
}

void side_check_log(const char *setting, uint32_t devices, const char *said, const char *unsaid)
{
    const char *const settings[] = {setting, NULL};
    traffic_side_t side;
    uint32_t count = 0;
    assert_int_equal(side_open(&side, settings), WEFT_OK);
    assert_int_equal(traffic_ops()->device_count(side.net, &count), WEFT_OK);
    assert_int_equal(count, devices);
    assert_non_null(strstr(side.fake.log, said));
    assert_null(strstr(side.fake.log, unsaid));
    side_close(&side);
}

static weft_status_t side_listen(traffic_side_t *side)
{
    const weft_net_ops_t *ops = traffic_ops();
    uint32_t count = 0;
    weft_status_t status = ops->device_count(side->net, &count);
    if (status == WEFT_OK && count == 0) {
        return WEFT_ERR_UNSUPPORTED;
    }
    status = status == WEFT_OK ? ops->device_open(side->net, 0, &side->device) : status;
    return status == WEFT_OK ? ops->listen(side->device, &side->address, &side->listener) : status;
}

weft_status_t traffic_connect(traffic_t *traffic, weft_net_conn_t **conns)
{
    const weft_net_ops_t *ops = traffic->ops;
    traffic_side_t *from = &traffic->sides[0], *to = &traffic->sides[1];
    weft_net_conn_params_t params = {.size = sizeof params};
    conns[0] = conns[1] = NULL;
    weft_status_t status = ops->reachable(from->device, &to->address);
    status = status == WEFT_OK ? ops->connect_begin(from->device, &to->address, &params, &conns[0])
                               : status;
    if (status != WEFT_OK) {
        conns[0] = NULL;
        return status;
    }
    weft_status_t mine = WEFT_IN_PROGRESS, theirs = WEFT_AGAIN;
    double end = traffic_now() + CONNECT_S;
    while (mine == WEFT_IN_PROGRESS || (mine == WEFT_OK && theirs == WEFT_AGAIN)) {
        mine = mine == WEFT_IN_PROGRESS ? ops->connect_poll(conns[0]) : mine;
        theirs = theirs == WEFT_AGAIN ? ops->accept(to->listener, &conns[1]) : theirs;
        if (theirs != WEFT_OK) {
            conns[1] = NULL;
        }
        mine = theirs < 0 && mine >= 0 ? theirs : mine;
        if (traffic_now() > end) {
            fail_msg("no connection: %d \"%s\", %d \"%s\"", (int)mine, from->fake.error,
                     (int)theirs, to->fake.error);
        }
    }
    return mine != WEFT_OK ? mine : theirs;
}

static weft_status_t pair_connect(traffic_t *traffic)
{
    weft_net_conn_t *conns[2];
    weft_status_t status = traffic_connect(traffic, conns);
    traffic->sides[0].conn = conns[0];
    traffic->sides[1].conn = conns[1];
    return status;
}

weft_status_t traffic_again(traffic_t *traffic)
{
    assert_int_equal(traffic->done, traffic->posted);
    for (int i = 0; i < 2; i++) {
        traffic->ops->conn_close(traffic->sides[i].conn);
    }
    memset(traffic->sends, 0, sizeof traffic->sends);
    memset(traffic->recvs, 0, sizeof traffic->recvs);
    for (uint32_t i = 0; i < TRAFFIC_MESSAGES; i++) {
        memset(traffic->in[i], 0, sizes[i]);
    }
    traffic->posted = traffic->done = traffic->failed = 0;
    return pair_connect(traffic);
}

/* Memory of the device ------------------------------------------------------------------------ */

/* A file stands for it. A CPU access dies at once, because going on with the adapters' lock held
 * would hang. */
static void area_make(traffic_t *traffic)
{
    signal(SIGSEGV, SIG_DFL);
    traffic->area = memfd_create("device", MFD_CLOEXEC);
    assert_int_equal(ftruncate(traffic->area, AREA), 0);
    traffic->here = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_SHARED, traffic->area, 0);
    traffic->there = mmap(NULL, AREA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(traffic->here != MAP_FAILED && traffic->there != MAP_FAILED);
}

static weft_status_t area_register(const traffic_t *traffic, traffic_side_t *side)
{
    const weft_net_dmabuf_t *dmabuf = traffic->ops->get_extension(side->net, WEFT_NET_DMABUF);
    weft_net_dmabuf_range_t range = {.size = sizeof range,
                                     .fd = traffic->area,
                                     .memory_kind = WEFT_MEMORY_CUDA,
                                     .bytes = AREA,
                                     .address = (uintptr_t)traffic->there};
    return dmabuf->reg(side->device, &range, &side->region);
}

weft_status_t traffic_register(traffic_t *traffic)
{
    weft_status_t status = WEFT_OK;
    for (int i = 0; i < 2 && status == WEFT_OK; i++) {
        traffic->ops->dereg(traffic->sides[i].region);
        traffic->sides[i].region = NULL;
        status = area_register(traffic, &traffic->sides[i]);
    }
    return status;
}

static void area_end(traffic_t *traffic)
{
    close(traffic->area);
    munmap(traffic->here, AREA);
    munmap(traffic->there, AREA);
}

/* Returns the n-th buffer of `bytes` zeros. */
static uint8_t *buffer_of(const traffic_t *traffic, uint32_t n, uint32_t bytes)
{
    return traffic->on_device ? traffic->here + (size_t)n * ROOM : test_calloc(bytes + 1, 1);
}

static weft_status_t sides_open(traffic_t *traffic, const char *const *settings[2])
{
    weft_status_t status = WEFT_OK;
    if (traffic->on_device) {
        area_make(traffic);
    }
    for (int i = 0; i < 2; i++) {
        weft_status_t one = side_open(&traffic->sides[i], settings[i]);
        one = one == WEFT_OK ? side_listen(&traffic->sides[i]) : one;
        if (one == WEFT_OK && traffic->on_device) {
            one = area_register(traffic, &traffic->sides[i]);
        }
        status = status == WEFT_OK ? one : status;
    }
    return status;
}

weft_status_t traffic_begin_sides(traffic_t *traffic, const char *const *first,
                                  const char *const *second)
{
    const char *const *settings[2] = {first, second};
    traffic_t asked = {
        .wait = traffic->wait, .on_device = traffic->on_device, .ops = traffic_ops()};
    *traffic = asked;
    weft_status_t status = sides_open(traffic, settings);
    for (uint32_t i = 0; i < TRAFFIC_MESSAGES; i++) {
        traffic->out[i] = buffer_of(traffic, 2 * i, sizes[i]);
        traffic->in[i] = buffer_of(traffic, 2 * i + 1, sizes[i]);
        for (uint32_t k = 0; k < sizes[i]; k++) {
            traffic->out[i][k] = (uint8_t)(k * 7 + k / 251 + i * 31 + 1);
        }
    }
    return status == WEFT_OK ? pair_connect(traffic) : status;
}

weft_status_t traffic_begin(traffic_t *traffic, const char *const *settings)
{
    return traffic_begin_sides(traffic, settings, settings);
}

/* The first error of a side is the one that the user reads. */
static void side_note(traffic_side_t *side)
{
    if (side->cause[0] == '\0') {
        snprintf(side->cause, sizeof side->cause, "%s", side->fake.error);
    }
}

/* The statuses and sizes that net.h allows in a completion. */
static bool status_allowed(weft_status_t status)
{
    return status == WEFT_OK || status == WEFT_ERR_ABORTED || status == WEFT_ERR_LINK ||
           status == WEFT_ERR_PEER_DEAD || status == WEFT_ERR_PROTO;
}

static void side_poll(traffic_t *traffic, traffic_side_t *side)
{
    weft_net_completion_t list[3];
    uint32_t count = 0;
    assert_int_equal(traffic->ops->poll(side->device, list, 3, &count), WEFT_OK);
    assert_true(count <= 3);
    for (uint32_t i = 0; i < count; i++) {
        traffic_op_t *op = list[i].context;
        assert_true(op->posted && !op->done);
        assert_true(status_allowed(list[i].status));
        assert_int_equal(op->kind, list[i].kind);
        assert_ptr_equal(list[i].conn, side->conn);
        op->done = true;
        op->status = list[i].status;
        op->bytes = list[i].bytes;
        traffic->done++;
        traffic->failed += op->status != WEFT_OK ? 1 : 0;
    }
    side_note(side);
}

static void side_post(traffic_t *traffic, traffic_side_t *side, traffic_op_t *op, uint8_t *buffer,
                      uint32_t bytes)
{
    weft_net_op_t wish = {.kind = op->kind,
                          .buffer = traffic->on_device ? traffic->there + (buffer - traffic->here)
                                                       : buffer,
                          .bytes = bytes,
                          .region = side->region,
                          .context = op};
    uint32_t posted = 0;
    op->posted = true;
    weft_status_t status = WEFT_AGAIN;
    for (int tries = 0; tries < 1000 && status == WEFT_AGAIN; tries++) {
        status = side->refused == WEFT_OK ? traffic->ops->post(side->conn, &wish, 1, &posted)
                                          : side->refused;
        if (status == WEFT_AGAIN) {
            side_poll(traffic, side);
        }
    }
    assert_int_equal(posted, status == WEFT_OK ? 1 : 0);
    op->posted = posted == 1;
    traffic->posted += posted;
    side_note(side);
    side->refused = status;
}

void traffic_post(traffic_t *traffic)
{
    for (uint32_t i = 0; i < TRAFFIC_MESSAGES; i++) {
        traffic_side_t *from = &traffic->sides[i % 2], *to = &traffic->sides[1 - i % 2];
        traffic->sends[i].kind = WEFT_NET_SEND;
        traffic->recvs[i].kind = WEFT_NET_RECV;
        /* Some sends wait for their receive. */
        if (i % 3 != 0) {
            side_post(traffic, to, &traffic->recvs[i], traffic->in[i], sizes[i]);
        }
        side_post(traffic, from, &traffic->sends[i], traffic->out[i], sizes[i]);
        if (i % 3 == 0) {
            side_poll(traffic, from);
            side_post(traffic, to, &traffic->recvs[i], traffic->in[i], sizes[i]);
        }
        if (i % 4 == 1) {
            traffic_poll(traffic, 1);
        }
    }
}

static void side_wait_fd(traffic_t *traffic, traffic_side_t *side)
{
    int fd = -1;
    weft_status_t status = traffic->ops->wait_fd(side->device, &fd);
    assert_true(status == WEFT_OK || status == WEFT_AGAIN || status < 0);
    assert_true(fd >= 0);
}

void traffic_poll(traffic_t *traffic, uint32_t times)
{
    for (uint32_t i = 0; i < times; i++) {
        for (int s = 0; s < 2; s++) {
            if (traffic->wait) {
                side_wait_fd(traffic, &traffic->sides[s]);
            }
            side_poll(traffic, &traffic->sides[s]);
        }
    }
}

bool traffic_wait(traffic_t *traffic, double seconds)
{
    double end = traffic_now() + seconds;
    while (traffic->done < traffic->posted && traffic_now() < end) {
        uint32_t before = traffic->done;
        traffic_poll(traffic, 300);
        if (traffic->done == before) {
            poll(NULL, 0, 1); /* many of these processes share few processors */
        }
    }
    return traffic->done == traffic->posted;
}

void traffic_verify(traffic_t *traffic)
{
    traffic_poll(traffic, 300);
    assert_int_equal(traffic->done, traffic->posted);
    for (uint32_t i = 0; i < TRAFFIC_MESSAGES; i++) {
        const traffic_op_t *recv = &traffic->recvs[i], *send = &traffic->sends[i];
        if (recv->posted && recv->status == WEFT_OK) {
            assert_int_equal(recv->bytes, sizes[i]);
            assert_memory_equal(traffic->in[i], traffic->out[i], sizes[i]);
        }
        if (send->posted && send->status == WEFT_OK) {
            assert_int_equal(send->bytes, sizes[i]);
        }
    }
}

void traffic_check_all(traffic_t *traffic, const char *what, uint32_t nth)
{
    if (traffic->failed > 0 || traffic->done < 2 * TRAFFIC_MESSAGES) {
        fail_msg("%s, %u: %u done, %u failed; \"%s\" and \"%s\"", what, nth, traffic->done,
                 traffic->failed, traffic->sides[0].cause, traffic->sides[1].cause);
    }
    traffic_verify(traffic);
}

bool traffic_log_says(const traffic_t *traffic, const char *words)
{
    return strstr(traffic->sides[0].fake.log, words) != NULL &&
           strstr(traffic->sides[1].fake.log, words) != NULL;
}

void traffic_end(traffic_t *traffic)
{
    fake_live_t live, none = {0};
    for (int i = 0; i < 2; i++) {
        if (traffic->sides[i].config != NULL) {
            side_close(&traffic->sides[i]);
        }
    }
    for (uint32_t i = 0; i < TRAFFIC_MESSAGES && !traffic->on_device; i++) {
        test_free(traffic->out[i]);
        test_free(traffic->in[i]);
    }
    if (traffic->on_device) {
        area_end(traffic);
    }
    fake_living(&live);
    assert_memory_equal(&live, &none, sizeof live);
}

weft_status_t traffic_run(traffic_t *traffic, const char *const *settings)
{
    static uint32_t fds;
    fds = fds == 0 ? descriptors() : fds;
    weft_status_t status = traffic_begin(traffic, settings);
    if (status == WEFT_OK) {
        traffic_post(traffic);
        assert_true(traffic_wait(traffic, 10));
        traffic_verify(traffic);
    }
    traffic_end(traffic);
    assert_int_equal(descriptors(), fds);
    return status;
}
