/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a peer of net-ib can say: its address, the record of its queue pairs, credits that it writes
 * into the ring, immediates, and counts after a failover. No message is longer than its receive,
 * and none is sent that was not posted. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>

#include "fuzz.h"
#include "ib_flow.h"
#include "ib_hca.h"
#include "ib_hello.h"
#include "tests/support/fake_host.h"

enum { ROOM = 64, STEPS_MOST = 300 };

typedef struct scene {
    weft_net_t net;
    weft_net_device_t device;
    ib_hca_t hca;
    ib_port_t port;
    weft_net_conn_t conn;
    struct ibv_context context;
    struct ibv_qp qps[IB_QPS_MAX];
    struct ibv_mr mr;
    weft_net_region_t region;
    ib_pin_t pin;
    ib_credit_t in[IB_OPS], out[IB_OPS];
    uint8_t memory[ROOM * 4];
    uint32_t words[IB_QPS_MAX * (IB_RECV_DEPTH + IB_SEND_DEPTH)]; /* immediates that are emulated */
    uint32_t posted, done;
    bool refuses, goes_on; /* the adapter takes no request; another rail may */
    bool no_gid, other_subnet;
} scene_t;

static fake_host_t fake;
static scene_t scene;
static bool failed;

/* Of the plugin, what needs an adapter --------------------------------------------------------- */

static int adapter_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    (void)qp;
    (void)bad;
    for (; wr != NULL; wr = wr->next) {
        for (int i = 0; i < wr->num_sge; i++) {
            const uint8_t *from = (const uint8_t *)(uintptr_t)wr->sg_list[i].addr;
            bool data = from >= scene.memory && from < scene.memory + sizeof scene.memory;
            bool ring = from >= (const uint8_t *)scene.out &&
                        from + wr->sg_list[i].length <= (const uint8_t *)(scene.out + IB_OPS);
            bool word = wr->opcode == IBV_WR_SEND && wr->sg_list[i].length == sizeof(uint32_t) &&
                        from >= (const uint8_t *)scene.words &&
                        from < (const uint8_t *)scene.words + sizeof scene.words;
            FUZZ_NEED(ring || word ||
                      (data && wr->sg_list[i].length <=
                                   sizeof scene.memory - (size_t)(from - scene.memory)));
        }
    }
    return scene.refuses ? EIO : 0;
}

void ib_op_unregister(weft_net_conn_t *conn, const weft_op_queue_t *queue, weft_posted_op_t *op)
{
    (void)conn;
    (void)queue;
    (void)op;
}

void ib_conn_set_busy(weft_net_conn_t *conn)
{
    (void)conn;
}

weft_status_t ib_memory_blame(weft_net_conn_t *conn, const ib_hca_t *hca, uint64_t bytes, int cause)
{
    (void)conn;
    (void)hca;
    (void)bytes;
    (void)cause;
    return WEFT_ERR_RESOURCE;
}

bool ib_rail_refused(weft_net_conn_t *conn, ib_qp_t *qp, int cause)
{
    (void)conn;
    (void)cause;
    qp->stopped = scene.goes_on;
    return scene.goes_on;
}

bool ib_port_gid(const ib_port_t *port, const ib_gid_t *peer, ib_gid_t *gid)
{
    (void)port;
    *gid = *peer;
    gid->gid.global.subnet_prefix ^= scene.other_subnet;
    return !scene.no_gid;
}

bool ib_port_is_ethernet(const ib_port_t *port)
{
    return port->attr.link_layer == IBV_LINK_LAYER_ETHERNET;
}

/* ---------------------------------------------------------------------------------------------- */

static void scene_open(uint8_t how)
{
    memset(&scene, 0, sizeof scene);
    scene.context.ops.post_send = adapter_send;
    scene.net.config = (ib_config_t){.split = (how & 1) != 0, .split_bytes = 16};
    scene.device = (weft_net_device_t){.host = &fake.host, .net = &scene.net};
    scene.device.nrails = 1;
    scene.device.rails[0] = &scene.port;
    scene.port.hca = &scene.hca;
    scene.port.write_max = 32;
    scene.pin = (ib_pin_t){.local_key = 1, .remote_key = 2};
    scene.region = (weft_net_region_t){.nrails = 1, .pins = {&scene.pin}};
    weft_net_conn_t *conn = &scene.conn;
    conn->host = &fake.host;
    conn->device = &scene.device;
    weft_op_queues_attach(&conn->ops, conn, &scene.device.done);
    conn->with_immediate = (how & 16) == 0;
    conn->immediates = scene.words;
    conn->rails[0].immediates = &scene.mr;
    conn->unordered = (how & 2) != 0;
    conn->nrails = 1;
    conn->nqps = 2 + (how >> 2) % 3;
    conn->rails[0].port = &scene.port;
    conn->rails[0].credits_out = conn->rails[0].credits_in = &scene.mr;
    conn->credits.in = scene.in;
    conn->credits.out = scene.out;
    for (uint32_t i = 0; i < conn->nqps; i++) {
        scene.qps[i] = (struct ibv_qp){.context = &scene.context, .qp_num = i};
        conn->qps[i] = (ib_qp_t){.handle = &scene.qps[i], .depth = IB_SEND_DEPTH, .inline_max = 64};
    }
}

static void address(const uint8_t *data, size_t bytes)
{
    weft_net_address_t given = {.bytes = 0};
    ib_address_t read, again;
    uint8_t sane = fuzz_byte(&data, &bytes);
    bool ethernet = (sane & 8) == 0;
    scene.port.attr.link_layer = ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
    scene.no_gid = (sane & 2) != 0;
    scene.other_subnet = (sane & 4) != 0;
    scene.net.local.count = 1;
    scene.net.local.entries[0].point.v4 =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if ((sane & 1) != 0) { /* a good one, damaged */
        ib_address_t good = {.link_layer = scene.port.attr.link_layer,
                             .gid = {.type = ethernet ? 1 : IBV_GID_TYPE_IB}};
        good.list.count = 1;
        good.list.entries[0].point.v4.sin_family = AF_INET;
        ib_address_encode(&good, &given);
    } else {
        given.bytes = (uint32_t)(bytes % (sizeof given.data + 8));
    }
    for (size_t i = 0; i < bytes && i < sizeof given.data; i++) {
        given.data[i] ^= data[i];
    }
    if (ib_address_decode(&given, &read) == WEFT_OK) {
        FUZZ_NEED(read.list.count <= WEFT_ENDPOINTS_MAX);
        ib_address_encode(&read, &given);
        FUZZ_NEED(ib_address_decode(&given, &again) == WEFT_OK);
        bool reached = ib_address_reaches(&scene.device, &again);
        FUZZ_NEED(!reached || (again.list.count > 0 && again.list.count <= read.list.count));
        FUZZ_NEED(!reached || (!scene.no_gid && read.link_layer == scene.port.attr.link_layer));
    }
}

static void record(const uint8_t *data, size_t bytes)
{
    ib_hello_t hello;
    uint8_t *raw = (uint8_t *)&hello;
    ib_gid_t gid;
    ib_hello_fill(&scene.conn, &hello);
    for (size_t i = 0; i < bytes && i < sizeof hello; i++) {
        raw[i] ^= data[i];
    }
    fake.error[0] = '\0';
    if (ib_hello_check(&scene.conn, &hello) != WEFT_OK) {
        FUZZ_NEED(fake.error[0] != '\0');
    } else {
        for (uint32_t r = 0; r < le32toh(hello.nrails); r++) {
            ib_hello_gid(&hello, r, &gid);
        }
        FUZZ_NEED(le32toh(hello.nqps) == scene.conn.nqps);
    }
}

static void post(weft_op_queue_t *queue, uint8_t size)
{
    weft_net_op_t op = {.kind = queue == &scene.conn.ops.send ? WEFT_NET_SEND : WEFT_NET_RECV,
                        .buffer = scene.memory + size % ROOM,
                        .bytes = size % (3 * ROOM),
                        .region = &scene.region};
    if (weft_op_prepare(queue, &op) != NULL) {
        weft_op_push(queue);
        scene.posted++;
    }
}

/* A credit lies in the ring before its immediate comes. */
static void credit(const uint8_t **data, size_t *bytes, uint8_t how)
{
    uint32_t n = scene.conn.credits.received;
    ib_credit_t *ring = &scene.in[n % IB_OPS];
    fuzz_take(data, bytes, ring, sizeof *ring);
    ring->sequence = (how & 1) != 0 ? htole32(n + 1) : ring->sequence;
    ring->room = (how & 2) != 0 ? htole64(3 * ROOM) : ring->room;
}

static void take(void)
{
    weft_net_completion_t completions[8];
    uint32_t count = weft_op_done_take(&scene.device.done, completions, 8);
    for (uint32_t i = 0; i < count; i++) {
        FUZZ_NEED(completions[i].bytes <= 3 * ROOM && ++scene.done <= scene.posted);
    }
}

static weft_status_t step(const uint8_t **data, size_t *bytes)
{
    weft_net_conn_t *conn = &scene.conn;
    uint8_t what, how;
    uint32_t word, again = 0;
    fuzz_take(data, bytes, &what, 1);
    fuzz_take(data, bytes, &how, 1);
    switch (what % 8) {
    case 0:
        post(&conn->ops.send, how);
        return ib_flow_send(conn);
    case 1:
        post(&conn->ops.recv, how);
        return ib_flow_credit(conn);
    case 2:
        credit(data, bytes, how);
        return (how & 4) != 0 ? ib_flow_arrive(conn, 0, 1) : WEFT_OK;
    case 3:
        fuzz_take(data, bytes, &word, sizeof word);
        word = (what & 8) != 0 ? word % (4 * ROOM) : word;
        return ib_flow_arrive(conn, how % conn->nqps, word);
    case 4: {
        ib_qp_t *qp = &conn->qps[how % conn->nqps];
        qp->retired = qp->sent;
        qp->stopped = (what & 32) != 0 && !qp->stopped;
        scene.refuses = (what & 64) != 0;
        scene.goes_on = (what & 128) != 0;
        return ib_flow_send(conn);
    }
    case 5: { /* the adapter has delivered the oldest part of a queue pair */
        weft_op_queue_t *queue = &conn->ops.send;
        uint32_t qp = 1 + how % (conn->nqps - 1);
        for (uint32_t n = queue->head; n != queue->next; n++) {
            weft_posted_op_t *op = weft_op_at(queue, n);
            if (!op->done && (op->progress & UINT64_C(1) << qp) != 0) {
                return ib_flow_acked(conn, op, qp);
            }
        }
        return WEFT_OK;
    }
    case 6:
        fuzz_take(data, bytes, &word, sizeof word);
        word = (what & 8) != 0 ? conn->qps[how % conn->nqps].acked + word % 4 : word;
        return ib_flow_resume(conn, how % conn->nqps, word, &again);
    default:
        take();
        return WEFT_OK;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t what, how;
    if (fake.name == NULL) {
        fake_host_init(&fake, "fuzz");
    }
    fuzz_take(&data, &bytes, &what, 1);
    fuzz_take(&data, &bytes, &how, 1);
    scene_open(how);
    failed = false;
    if (what % 8 == 0) {
        address(data, bytes);
    } else if (what % 8 == 1) {
        record(data, bytes);
    } else {
        fake.error[0] = '\0';
        for (int i = 0; bytes > 0 && i < STEPS_MOST && !failed; i++) {
            failed = step(&data, &bytes) != WEFT_OK;
        }
        FUZZ_NEED(!failed || fake.error[0] != '\0');
        take();
    }
    return 0;
}
