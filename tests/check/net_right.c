/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The right half of net-wrong: messages over abstract AF_UNIX stream sockets, between processes of
 * one host, or packet sockets, which are as right ("packets"). Mistakes on the wire are made here,
 * all others by net_wrong.c around it. */
#include "net_right.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <weft/sdk/acceptor.h>

#define DEPTH 64u
#define PACKET 32768u
#define LARGE 65536u /* bytes of a message that mistakes take for a large one */

int *wrong_nowhere;

struct address { /* what travels in weft_net_address_t.data */
    char magic[8];
    char boot[40]; /* which host */
    char name[32]; /* abstract socket */
};
struct weft_net {
    const weft_host_t *host;
    char boot[40];
    bool packets; /* instances may differ in it */
};
struct weft_net_device {
    weft_net_t *net;
    weft_net_conn_t *conns;
};
struct weft_net_listener {
    weft_net_device_t *device;
    weft_acceptor_t acceptor;
};
struct queue { /* operations of one direction */
    weft_net_op_t ops[DEPTH];
    uint32_t head, done, tail; /* head..done: finished, not given out; done..tail: open */
    weft_status_t status[DEPTH];
    uint64_t got[DEPTH];
    uint64_t length; /* of the message under way; sent or received before it */
    uint32_t prefix; /* bytes of the length that are through */
    uint64_t moved;  /* bytes of the message that are through */
};
enum { CONNECTING, SHAKING, READY };
struct weft_net_conn {
    weft_net_device_t *device;
    weft_net_conn_t *next;
    int fd, state;
    struct sockaddr_un to;
    socklen_t to_bytes;
    weft_handshake_t shake;
    weft_status_t status;
    weft_net_conn_info_t info;
    struct queue out, in;
    uint8_t packet[PACKET]; /* the last that came */
    size_t packet_at, packet_bytes;
};

static weft_status_t uds_create(const weft_host_t *host, const void *config, weft_net_t **net_p)
{
    weft_net_t *net = host->alloc(host, sizeof *net, 0);
    if (net == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    net->host = host;
    net->packets = wrong_is("packets");
    (void)config;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, net->boot, 36);
    int code = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (n != 36) {
        host->free(host, net);
        return host->set_error(host, WEFT_ERR_SYSTEM, code, "cannot read the host's boot id");
    }
    *net_p = net;
    return WEFT_OK;
}
static void uds_destroy(weft_net_t *net)
{
    if (net != NULL) {
        net->host->free(net->host, net);
    }
}
static weft_status_t uds_count(weft_net_t *net, uint32_t *count_p)
{
    (void)net;
    *count_p = 1;
    return WEFT_OK;
}
static weft_status_t uds_props(weft_net_t *net, uint32_t index, weft_net_props_t *props)
{
    weft_net_props_t all = {.size = props->size,
                            .name = "uds",
                            .memory_kinds = WEFT_MEMORY_HOST,
                            .latency_ns = 8000,
                            .bandwidth = 3000000000,
                            .max_outstanding = DEPTH,
                            .inline_bytes = 0,
                            .max_message = UINT64_C(1) << 30,
                            .slot_bytes = 64 << 10,
                            .slots = 4};
    if (index > 0) {
        return net->host->set_error(net->host, WEFT_ERR_ARG, 0, "no device %u", index);
    }
    memcpy(props, &all, props->size < sizeof all ? props->size : sizeof all);
    return WEFT_OK;
}
static weft_status_t uds_open(weft_net_t *net, uint32_t index, weft_net_device_t **device_p)
{
    if (index > 0) {
        return net->host->set_error(net->host, WEFT_ERR_ARG, 0, "no device %u", index);
    }
    weft_net_device_t *device = net->host->alloc(net->host, sizeof *device, 0);
    if (device == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    device->net = net;
    *device_p = device;
    return WEFT_OK;
}
static void uds_close(weft_net_device_t *device)
{
    device->net->host->free(device->net->host, device);
}

static socklen_t uds_name(const char name[32], struct sockaddr_un *to)
{
    memset(to, 0, sizeof *to);
    to->sun_family = AF_UNIX;
    memcpy(to->sun_path + 1, name, 32);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + 32);
}
static int uds_socket(const weft_net_t *net)
{
    int type = net->packets ? SOCK_SEQPACKET : SOCK_STREAM;
    return socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}
static weft_status_t uds_listen(weft_net_device_t *device, weft_net_address_t *address_p,
                                weft_net_listener_t **listener_p)
{
    const weft_host_t *host = device->net->host;
    struct address address = {.magic = "uds/1"};
    struct sockaddr_un at;
    uint8_t bits[16];
    weft_status_t status = host->random(host, bits, sizeof bits);
    if (status != WEFT_OK) {
        return status;
    }
    for (int i = 0; i < 16; i++) {
        static const char hex[] = "0123456789abcdef";
        address.name[2 * i] = hex[bits[i] >> 4];
        address.name[2 * i + 1] = hex[bits[i] & 15];
    }
    memcpy(address.boot, device->net->boot, sizeof address.boot);
    weft_net_listener_t *listener = host->alloc(host, sizeof *listener, 0);
    if (listener == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    socklen_t bytes = uds_name(address.name, &at);
    int fd = uds_socket(device->net);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, bytes) != 0 || listen(fd, 512) != 0) {
        int code = errno;
        if (fd >= 0) {
            close(fd);
        }
        host->free(host, listener);
        return host->set_error(host, code == EMFILE ? WEFT_ERR_RESOURCE : WEFT_ERR_SYSTEM, code,
                               "cannot listen on a unix socket (ulimit -n?)");
    }
    listener->device = device;
    weft_acceptor_init(&listener->acceptor, host, -1);
    weft_acceptor_add(&listener->acceptor, fd);
    address_p->bytes = sizeof address;
    memcpy(address_p->data, &address, sizeof address);
    *listener_p = listener;
    return WEFT_OK;
}
static void uds_listener_close(weft_net_listener_t *listener)
{
    weft_acceptor_fini(&listener->acceptor);
    listener->device->net->host->free(listener->device->net->host, listener);
}

static weft_status_t uds_read_address(weft_net_device_t *device, const weft_net_address_t *address,
                                      struct address *out)
{
    const weft_host_t *host = device->net->host;
    if (address->bytes != sizeof *out) {
        return host->set_error(host, WEFT_ERR_PROTO, 0, "no address of net-wrong");
    }
    memcpy(out, address->data, sizeof *out);
    if (memcmp(out->magic, "uds/1\0\0", 8) != 0 || out->boot[39] != 0) {
        return host->set_error(host, WEFT_ERR_PROTO, 0, "no address of net-wrong");
    }
    for (int i = 0; i < 32; i++) {
        char c = out->name[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
            return host->set_error(host, WEFT_ERR_PROTO, 0, "no address of net-wrong");
        }
    }
    if (memcmp(out->boot, device->net->boot, sizeof out->boot) != 0) {
        return host->set_error(host, WEFT_ERR_UNSUPPORTED, 0, "the peer is on another host");
    }
    return WEFT_OK;
}
static weft_status_t uds_reachable(weft_net_device_t *device, const weft_net_address_t *address)
{
    struct address a;
    return uds_read_address(device, address, &a);
}

static weft_net_conn_t *uds_conn(weft_net_device_t *device, int fd, int state, uint32_t connector)
{
    const weft_host_t *host = device->net->host;
    weft_net_conn_t *conn = host->alloc(host, sizeof *conn, 0);
    if (conn != NULL) {
        conn->device = device;
        conn->fd = fd;
        conn->state = state;
        conn->status = WEFT_OK;
        conn->info.connector = connector;
        conn->next = device->conns;
        device->conns = conn;
    }
    return conn;
}
static void uds_name_peer(weft_net_conn_t *conn)
{
    struct ucred who = {0};
    socklen_t bytes = sizeof who;
    getsockopt(conn->fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes);
    snprintf(conn->info.peer, sizeof conn->info.peer, "pid %d", (int)who.pid);
}
static weft_status_t uds_connect_step(weft_net_conn_t *conn)
{
    const weft_host_t *host = conn->device->net->host;
    if (conn->state == CONNECTING) {
        if (connect(conn->fd, (struct sockaddr *)&conn->to, conn->to_bytes) != 0) {
            if (errno == EAGAIN || errno == EINTR || errno == EINPROGRESS) {
                return WEFT_IN_PROGRESS;
            }
            return host->set_error(host, WEFT_ERR_LINK, errno, "connect to a unix socket");
        }
        conn->state = SHAKING;
        uds_name_peer(conn);
        weft_status_t status = weft_handshake_begin(host, &conn->shake, conn->info.label);
        if (status != WEFT_OK) {
            return status;
        }
    }
    weft_status_t status = weft_handshake_connect(host, &conn->shake, conn->fd);
    if (status == WEFT_OK) {
        conn->state = READY;
    }
    return status;
}
static weft_status_t uds_connect_poll(weft_net_conn_t *conn)
{
    if (conn->state == READY || conn->status != WEFT_OK) {
        return conn->status;
    }
    weft_status_t status = uds_connect_step(conn);
    conn->status = status == WEFT_IN_PROGRESS ? WEFT_OK : status;
    return status;
}
static void uds_send(weft_net_conn_t *conn);
static void uds_conn_close(weft_net_conn_t *conn)
{
    if (conn == NULL) {
        return;
    }
    uds_send(conn); /* nothing, but for what "wire-early" has not sent */
    weft_net_conn_t **link = &conn->device->conns;
    while (*link != conn) {
        link = &(*link)->next;
    }
    *link = conn->next;
    close(conn->fd);
    conn->device->net->host->free(conn->device->net->host, conn);
}
static weft_status_t uds_connect(weft_net_device_t *device, const weft_net_address_t *address,
                                 const weft_net_conn_params_t *params, weft_net_conn_t **conn_p)
{
    const weft_host_t *host = device->net->host;
    struct address a;
    weft_status_t status = uds_read_address(device, address, &a);
    if (status != WEFT_OK) {
        return status;
    }
    int fd = uds_socket(device->net);
    if (fd < 0) {
        return host->set_error(host, WEFT_ERR_RESOURCE, errno, "no socket (ulimit -n?)");
    }
    weft_net_conn_t *conn = uds_conn(device, fd, CONNECTING, 1);
    if (conn == NULL) {
        close(fd);
        return WEFT_ERR_RESOURCE;
    }
    memcpy(conn->info.label, params->label, sizeof conn->info.label);
    conn->to_bytes = uds_name(a.name, &conn->to);
    *conn_p = conn;
    return WEFT_OK;
}
static weft_status_t uds_accept(weft_net_listener_t *listener, weft_net_conn_t **conn_p)
{
    uint8_t label[WEFT_AUTH_LABEL];
    int fd = -1;
    weft_status_t status = weft_acceptor_poll(&listener->acceptor, &fd, label);
    if (status != WEFT_OK) {
        return status;
    }
    weft_net_conn_t *conn = uds_conn(listener->device, fd, READY, 0);
    if (conn == NULL) {
        close(fd);
        return WEFT_ERR_RESOURCE;
    }
    memcpy(conn->info.label, label, sizeof label);
    uds_name_peer(conn);
    *conn_p = conn;
    return WEFT_OK;
}
static weft_status_t uds_info(weft_net_conn_t *conn, weft_net_conn_info_t *info)
{
    weft_net_conn_info_t all = conn->info;
    all.size = info->size;
    memcpy(info, &all, all.size < sizeof all ? all.size : sizeof all);
    return WEFT_OK;
}

static weft_status_t uds_fail(weft_net_conn_t *conn, weft_status_t status, int code,
                              const char *why)
{
    const weft_host_t *host = conn->device->net->host;
    if (conn->status != WEFT_OK) {
        return conn->status;
    }
    conn->status = status;
    struct queue *both[2] = {&conn->out, &conn->in};
    for (int i = 0; i < 2; i++) {
        for (; both[i]->done != both[i]->tail; both[i]->done++) {
            both[i]->status[both[i]->done % DEPTH] = status;
            both[i]->got[both[i]->done % DEPTH] = 0;
        }
    }
    return host->set_error(host, status, code, "%s: %s", conn->info.peer, why);
}
static void uds_finish(struct queue *q, uint64_t bytes)
{
    q->status[q->done % DEPTH] = WEFT_OK;
    q->got[q->done % DEPTH] = bytes;
    q->done++;
    q->prefix = 0;
    q->moved = 0;
}
static void uds_send(weft_net_conn_t *conn)
{
    const uint64_t most = conn->device->net->packets ? PACKET - 8 : UINT64_MAX;
    struct queue *q = &conn->out;
    while (conn->status == WEFT_OK && q->done != q->tail) {
        weft_net_op_t *op = &q->ops[q->done % DEPTH];
        if (wrong_now("wire-drop")) {
            uds_finish(q, op->bytes);
            continue;
        }
        q->length = op->bytes;
        uint64_t rest = op->bytes - q->moved < most ? op->bytes - q->moved : most;
        struct iovec iov[2] = {{(char *)&q->length + q->prefix, 8 - q->prefix},
                               {(char *)op->buffer + q->moved, rest}};
        struct msghdr msg = {.msg_iov = iov, .msg_iovlen = op->bytes > 0 ? 2 : 1};
        ssize_t n = sendmsg(conn->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == EINTR)) {
            return;
        }
        if (n < 0) {
            uds_fail(conn, WEFT_ERR_PEER_DEAD, errno, "send");
            return;
        }
        uint64_t prefix = (uint64_t)n < 8 - q->prefix ? (uint64_t)n : 8 - q->prefix;
        q->prefix += (uint32_t)prefix;
        q->moved += (uint64_t)n - prefix;
        if (q->prefix == 8 && q->moved == op->bytes) {
            if (wrong_now("wire-double")) {
                q->prefix = 0;
                q->moved = 0;
                continue;
            }
            uds_finish(q, op->bytes);
        }
    }
}
static ssize_t uds_take(weft_net_conn_t *conn, void *to, size_t bytes)
{
    if (!conn->device->net->packets) {
        return recv(conn->fd, to, bytes, MSG_DONTWAIT);
    }
    if (conn->packet_at == conn->packet_bytes) {
        ssize_t n = recv(conn->fd, conn->packet, PACKET, MSG_DONTWAIT);
        if (n <= 0) {
            return n;
        }
        conn->packet_at = 0;
        conn->packet_bytes = (size_t)n;
    }
    size_t left = conn->packet_bytes - conn->packet_at, taken = bytes < left ? bytes : left;
    memcpy(to, conn->packet + conn->packet_at, taken);
    conn->packet_at += taken;
    return (ssize_t)taken;
}
static void uds_receive(weft_net_conn_t *conn)
{
    struct queue *q = &conn->in;
    while (conn->status == WEFT_OK && q->done != q->tail) {
        weft_net_op_t *op = &q->ops[q->done % DEPTH];
        char *to = q->prefix < 8 ? (char *)&q->length + q->prefix : (char *)op->buffer + q->moved;
        uint64_t want = q->prefix < 8 ? 8 - q->prefix : q->length - q->moved;
        ssize_t n = uds_take(conn, to, want);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (n <= 0) {
            uds_fail(conn, WEFT_ERR_PEER_DEAD, n < 0 ? errno : 0, "closed by the peer");
            return;
        }
        if (q->prefix < 8) {
            q->prefix += (uint32_t)n;
            if (q->prefix < 8) {
                continue;
            }
            if (q->length > op->bytes) {
                uds_fail(conn, WEFT_ERR_PROTO, 0, "message longer than the room for it");
                return;
            }
        } else {
            q->moved += (uint64_t)n;
            if (q->moved == q->length && q->length > 200 && wrong_now("wire-late")) {
                memset((uint8_t *)op->buffer + q->length - 8, 0xee, 8); /* as if not here yet */
            }
        }
        if (q->moved == q->length) {
            if (q->length > 200 && wrong_now("wire-flip")) {
                ((uint8_t *)op->buffer)[q->length / 2] ^= 1;
            }
            uds_finish(q, q->length);
        }
    }
}
static weft_status_t uds_check(weft_net_conn_t *conn)
{
    char byte;
    if (conn->status != WEFT_OK || conn->packet_at != conn->packet_bytes) {
        return conn->status;
    }
    ssize_t n = recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        return uds_fail(conn, WEFT_ERR_PEER_DEAD, n < 0 ? errno : 0, "closed by the peer");
    }
    return WEFT_OK;
}
/* The buffers of the next two sends change places. */
static int q_two(const struct queue *q)
{
    return q->tail - q->done >= 2 && q->prefix == 0;
}
static bool q_overtakes(const struct queue *q)
{
    return wrong_is("wire-overtake") && q->ops[q->done % DEPTH].bytes >= LARGE &&
           q->ops[(q->done + 1) % DEPTH].bytes < LARGE;
}
static void q_exchange(struct queue *q)
{
    weft_net_op_t *one = &q->ops[q->done % DEPTH], *two = &q->ops[(q->done + 1) % DEPTH];
    void *buffer = one->buffer;
    uint64_t bytes = one->bytes;
    one->buffer = two->buffer;
    one->bytes = two->bytes;
    two->buffer = buffer;
    two->bytes = bytes;
}
static weft_status_t uds_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                              uint32_t *posted_p)
{
    *posted_p = 0;
    for (; conn->status == WEFT_OK && *posted_p < count; (*posted_p)++) {
        const weft_net_op_t *op = &ops[*posted_p];
        struct queue *q = op->kind == WEFT_NET_SEND ? &conn->out : &conn->in;
        if (q->tail - q->head == DEPTH || q->tail - q->done == DEPTH) {
            break;
        }
        q->ops[q->tail++ % DEPTH] = *op;
    }
    if (q_two(&conn->out) && (wrong_now("wire-exchange") || q_overtakes(&conn->out))) {
        q_exchange(&conn->out);
    }
    if (!wrong_is("wire-overtake") && !wrong_is("wire-early")) {
        uds_send(conn);
    }
    if (conn->status != WEFT_OK && *posted_p == 0) {
        return conn->status;
    }
    return *posted_p == count ? WEFT_OK : conn->status != WEFT_OK ? conn->status : WEFT_AGAIN;
}
/* Those that are done, and with "wire-early" small sends that are not. */
static void uds_give(weft_net_conn_t *conn, struct queue *q, weft_net_completion_t *completions,
                     uint32_t max, uint32_t *count_p)
{
    for (; q->head != q->tail && *count_p < max; q->head++) {
        weft_net_op_t *op = &q->ops[q->head % DEPTH];
        bool done = (int32_t)(q->done - q->head) > 0;
        if (!done && !(wrong_is("wire-early") && op->kind == WEFT_NET_SEND && op->bytes < LARGE)) {
            break;
        }
        completions[(*count_p)++] =
            (weft_net_completion_t){op->context, done ? q->status[q->head % DEPTH] : WEFT_OK,
                                    op->kind, done ? q->got[q->head % DEPTH] : op->bytes, conn};
    }
}
static bool q_idle(const struct queue *q)
{
    return q->head == q->tail && q->done == q->tail;
}
static weft_status_t uds_poll(weft_net_device_t *device, weft_net_completion_t *completions,
                              uint32_t max, uint32_t *count_p)
{
    static _Atomic uint32_t polls;
    *count_p = 0;
    for (weft_net_conn_t *conn = device->conns; conn != NULL; conn = conn->next) {
        if (q_idle(&conn->out) && q_idle(&conn->in)) {
            continue;
        }
        if (!wrong_is("wire-early") || ++polls % 3 == 0) {
            uds_send(conn);
        }
        uds_receive(conn);
        uds_give(conn, &conn->out, completions, max, count_p);
        uds_give(conn, &conn->in, completions, max, count_p);
    }
    return WEFT_OK;
}
static weft_status_t uds_cancel(weft_net_conn_t *conn)
{
    (void)uds_fail(conn, WEFT_ERR_ABORTED, 0, "cancelled");
    return WEFT_OK;
}

static weft_status_t uds_attach(weft_net_conn_t *conn, weft_net_device_t *device)
{
    if (conn->state != READY || conn->in.tail != 0 || conn->out.tail != 0) {
        return WEFT_ERR_STATE;
    }
    weft_net_conn_t **link = &conn->device->conns;
    while (*link != conn) {
        link = &(*link)->next;
    }
    *link = conn->next;
    conn->device = device;
    conn->next = device->conns;
    device->conns = conn;
    return WEFT_OK;
}
static const weft_net_attach_t attach = {sizeof attach, uds_attach};
static const void *uds_extension(weft_net_t *net, const char *name)
{
    (void)net;
    return strcmp(name, WEFT_NET_ATTACH) == 0 ? &attach : NULL;
}

const weft_net_ops_t net_right_ops = {.size = sizeof net_right_ops,
                                      .caps = WEFT_NET_CAP_MESSAGES,
                                      .create = uds_create,
                                      .destroy = uds_destroy,
                                      .device_count = uds_count,
                                      .device_props = uds_props,
                                      .device_open = uds_open,
                                      .device_close = uds_close,
                                      .listen = uds_listen,
                                      .listener_close = uds_listener_close,
                                      .reachable = uds_reachable,
                                      .connect_begin = uds_connect,
                                      .connect_poll = uds_connect_poll,
                                      .accept = uds_accept,
                                      .conn_info = uds_info,
                                      .conn_check = uds_check,
                                      .conn_close = uds_conn_close,
                                      .post = uds_post,
                                      .poll = uds_poll,
                                      .cancel = uds_cancel,
                                      .get_extension = uds_extension};
