/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The connector's way to a ready connection: the peer's addresses in turn, first one stream through
 * connect, handshake and join record, then the others to the same address, then the acceptor's word
 * that it has them all. */
#include <endian.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "socket.h"

/* A stream on its way. */
enum { LEG_OPEN = 0, LEG_CONNECT = 1, LEG_SHAKE = 2, LEG_JOIN = 3, LEG_DONE = 4 };

typedef struct sock_leg {
    uint32_t step;
    uint32_t done; /* bytes of the join record */
    gate_shake_t shake;
} sock_leg_t;

struct sock_dial {
    sock_list_t list;
    uint32_t at;
    int cause;           /* errno of the last failure */
    uint64_t started_ns; /* on this address */
    uint32_t ack, ack_done;
    char tried[384]; /* addresses that failed, and why */
    sock_leg_t legs[];
};

void sock_tune(const weft_net_t *net, int fd)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    /* Setting a size ends the kernel's own tuning of it. */
    int send_bytes = (int)net->config.sndbuf, receive_bytes = (int)net->config.rcvbuf;
    if (send_bytes > 0) {
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
    }
    if (receive_bytes > 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    }
}

void sock_dial_close(weft_net_conn_t *conn)
{
    conn->host->free(conn->host, conn->dial);
    conn->dial = NULL;
}

/* Makes every stream start anew, at the address dial->at. */
static weft_status_t dial_restart(weft_net_conn_t *conn)
{
    sock_dial_t *dial = conn->dial;
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        if (conn->streams[i].fd >= 0) {
            close(conn->streams[i].fd);
            conn->streams[i].fd = -1;
        }
        dial->legs[i].step = LEG_OPEN;
        dial->legs[i].done = 0;
    }
    dial->ack_done = 0;
    dial->started_ns = conn->host->clock_ns(conn->host);
    sock_point_text(&dial->list.entries[dial->at].point, conn->info.peer);
    return conn->host->random(conn->host, conn->id, sizeof conn->id);
}

weft_status_t sock_connect_begin(weft_net_device_t *device, const weft_net_address_t *address,
                                 const weft_net_conn_params_t *params, weft_net_conn_t **conn_p)
{
    const weft_host_t *host = device->host;
    uint32_t nstreams = (uint32_t)device->net->config.sockets;
    weft_net_conn_t *conn = sock_conn_create(device, nstreams, params->label);
    if (conn == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    conn->info.connector = 1;
    weft_status_t status;
    conn->dial = host->alloc(host, sizeof *conn->dial + nstreams * sizeof(sock_leg_t), 0);
    if (conn->dial == NULL) {
        status = WEFT_ERR_RESOURCE;
        goto err_close;
    }
    status = sock_list_decode(address, &conn->dial->list);
    if (status != WEFT_OK) {
        host->set_error(host, status, 0, "not an address of net-socket");
        goto err_close;
    }
    sock_list_reach(&device->net->local, &conn->dial->list);
    if (conn->dial->list.count == 0) {
        status = host->set_error(host, WEFT_ERR_LINK, 0, "no address of the peer can be reached");
        goto err_close;
    }
    status = dial_restart(conn);
    if (status != WEFT_OK) {
        goto err_close;
    }
    *conn_p = conn;
    return WEFT_OK;

err_close:
    sock_conn_close(conn);
    return status;
}

static weft_status_t leg_open(weft_net_conn_t *conn, uint32_t index)
{
    const weft_host_t *host = conn->host;
    const sock_point_t *point = &conn->dial->list.entries[conn->dial->at].point;
    int fd = socket(point->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return host->set_error(host, WEFT_ERR_RESOURCE, errno,
                               "cannot open a socket; the limit of open files is ulimit -n");
    }
    conn->streams[index].fd = fd;
    sock_tune(conn->device->net, fd);
    if (connect(fd, &point->any, sock_point_bytes(point)) != 0 && errno != EINPROGRESS &&
        errno != EINTR) {
        conn->dial->cause = errno;
        return WEFT_ERR_LINK;
    }
    return gate_shake_begin(host, &conn->dial->legs[index].shake, conn->info.label);
}

static weft_status_t leg_connect(weft_net_conn_t *conn, uint32_t index)
{
    struct pollfd watch = {.fd = conn->streams[index].fd, .events = POLLOUT};
    int error = 0;
    socklen_t bytes = sizeof error;
    if (poll(&watch, 1, 0) <= 0) {
        return WEFT_IN_PROGRESS;
    }
    getsockopt(watch.fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
    conn->dial->cause = error;
    return error == 0 ? WEFT_OK : WEFT_ERR_LINK;
}

static weft_status_t leg_join(weft_net_conn_t *conn, uint32_t index)
{
    sock_join_t join = {.magic = htole32(SOCK_JOIN_MAGIC),
                        .index = htole16((uint16_t)index),
                        .count = htole16((uint16_t)conn->nstreams)};
    memcpy(join.id, conn->id, sizeof join.id);
    weft_status_t status =
        gate_send(conn->streams[index].fd, &join, sizeof join, &conn->dial->legs[index].done);
    conn->dial->cause = status == WEFT_ERR_LINK ? errno : 0;
    return status;
}

static weft_status_t leg_advance(weft_net_conn_t *conn, uint32_t index)
{
    sock_leg_t *leg = &conn->dial->legs[index];
    weft_status_t status = WEFT_OK;
    while (status == WEFT_OK && leg->step != LEG_DONE) {
        switch (leg->step) {
        case LEG_OPEN:
            status = leg_open(conn, index);
            break;
        case LEG_CONNECT:
            status = leg_connect(conn, index);
            break;
        case LEG_SHAKE:
            conn->dial->cause = 0;
            status = gate_shake_connect(conn->host, &leg->shake, conn->streams[index].fd);
            break;
        default:
            status = leg_join(conn, index);
            break;
        }
        leg->step += status == WEFT_OK ? 1 : 0;
    }
    return status;
}

static weft_status_t dial_ack(weft_net_conn_t *conn)
{
    sock_dial_t *dial = conn->dial;
    weft_status_t status =
        gate_receive(conn->streams[0].fd, &dial->ack, sizeof dial->ack, &dial->ack_done);
    dial->cause = status == WEFT_ERR_LINK ? errno : 0;
    if (status == WEFT_OK && le32toh(dial->ack) != SOCK_JOIN_ACK) {
        return WEFT_ERR_LINK;
    }
    return status;
}

static weft_status_t dial_advance(weft_net_conn_t *conn)
{
    weft_status_t status = leg_advance(conn, 0);
    if (status != WEFT_OK) {
        return status;
    }
    bool waiting = false;
    for (uint32_t i = 1; i < conn->nstreams; i++) {
        status = leg_advance(conn, i);
        if (status != WEFT_OK && status != WEFT_IN_PROGRESS) {
            return status;
        }
        waiting = waiting || status == WEFT_IN_PROGRESS;
    }
    return waiting ? WEFT_IN_PROGRESS : dial_ack(conn);
}

/* Goes on to the next address. The last failure is given to the caller, with all that was tried. */
static weft_status_t dial_next(weft_net_conn_t *conn, weft_status_t status)
{
    sock_dial_t *dial = conn->dial;
    size_t used = strlen(dial->tried);
    const char *why = status == WEFT_ERR_AUTH ? "it holds another secret"
                      : dial->cause != 0      ? strerror(dial->cause)
                                              : "closed during the handshake";
    snprintf(dial->tried + used, sizeof dial->tried - used, "%s%s (%s)", used > 0 ? ", " : "",
             conn->info.peer, why);
    if (dial->at + 1 == dial->list.count) {
        return conn->host->set_error(conn->host, status, 0, "cannot connect; tried %s",
                                     dial->tried);
    }
    dial->at++;
    status = dial_restart(conn);
    return status == WEFT_OK ? WEFT_IN_PROGRESS : status;
}

weft_status_t sock_connect_poll(weft_net_conn_t *conn)
{
    sock_dial_t *dial = conn->dial;
    if (conn->ready) {
        return WEFT_OK;
    }
    if (dial == NULL || conn->failed != WEFT_OK) {
        return conn->host->set_error(conn->host, WEFT_ERR_STATE, 0, "connection is not under way");
    }
    weft_status_t status = dial_advance(conn);
    if (status == WEFT_OK) {
        sock_dial_close(conn);
        sock_conn_ready(conn);
        return WEFT_OK;
    }
    uint64_t patience = (uint64_t)(conn->device->net->config.connect_timeout * 1e9);
    uint64_t waited = conn->host->clock_ns(conn->host) - dial->started_ns;
    if (status == WEFT_IN_PROGRESS) {
        /* The last address is tried until the core gives up. */
        if (waited < patience || dial->at + 1 == dial->list.count) {
            return status;
        }
        dial->cause = ETIMEDOUT;
        status = WEFT_ERR_LINK;
    }
    return status == WEFT_ERR_LINK || status == WEFT_ERR_AUTH ? dial_next(conn, status) : status;
}
