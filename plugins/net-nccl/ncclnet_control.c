/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See ncclnet_control.h. */
#include "ncclnet_control.h"

#include <endian.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "ncclnet_call.h"

#define ADDRESS_PATIENCE_NS UINT64_C(2000000000)
#define BYE_PATIENCE_NS UINT64_C(10000000000) /* for messages that were sent before the end */

enum { STEP_OPEN = 0, STEP_CONNECT = 1, STEP_HANDSHAKE = 2, STEP_DONE = 3 };

static const uint8_t bye_magic[8] = {'n', 'c', 'c', 'l', 'b', 'y', 'e', '1'};

static weft_status_t ncclnet_control_open(weft_net_conn_t *conn)
{
    ncclnet_join_t *join = conn->join;
    const weft_endpoint_t *point = &join->list.entries[join->at].point;
    int one = 1;
    join->started_ns = conn->host->clock_ns(conn->host);
    weft_endpoint_text(point, conn->info.peer);
    conn->fd = socket(point->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (conn->fd < 0) {
        return conn->host->set_error(conn->host, WEFT_ERR_RESOURCE, errno, "cannot open a socket");
    }
    setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    weft_endpoint_keep_alive(conn->fd);
    if (connect(conn->fd, &point->any, weft_endpoint_bytes(point)) != 0 && errno != EINPROGRESS &&
        errno != EINTR) {
        join->cause = errno;
        return WEFT_ERR_LINK;
    }
    return WEFT_OK;
}

static weft_status_t ncclnet_control_connected(weft_net_conn_t *conn)
{
    struct pollfd watch = {.fd = conn->fd, .events = POLLOUT};
    int error = 0;
    socklen_t bytes = sizeof error;
    if (poll(&watch, 1, 0) <= 0) {
        return WEFT_IN_PROGRESS;
    }
    getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
    conn->join->cause = error;
    return error != 0 ? WEFT_ERR_LINK
                      : weft_handshake_begin(conn->host, &conn->join->handshake, conn->info.label);
}

static weft_status_t ncclnet_control_step(weft_net_conn_t *conn)
{
    ncclnet_join_t *join = conn->join;
    weft_status_t status = WEFT_OK;
    while (status == WEFT_OK && join->step != STEP_DONE) {
        switch (join->step) {
        case STEP_OPEN:
            status = ncclnet_control_open(conn);
            break;
        case STEP_CONNECT:
            status = ncclnet_control_connected(conn);
            break;
        default:
            join->cause = 0;
            status = weft_handshake_connect(conn->host, &join->handshake, conn->fd);
            break;
        }
        join->step += status == WEFT_OK ? 1 : 0;
    }
    return status;
}

/* Goes on with the next address of the peer; after the last one this is the failure. */
static weft_status_t ncclnet_control_next(weft_net_conn_t *conn, weft_status_t status)
{
    const weft_host_t *host = conn->host;
    ncclnet_join_t *join = conn->join;
    if (conn->fd >= 0) {
        close(conn->fd);
        conn->fd = -1;
    }
    join->step = STEP_OPEN;
    if (++join->at < join->list.count) {
        return WEFT_IN_PROGRESS;
    }
    return host->set_error(host, status, join->cause, "cannot connect to %s%s", conn->info.peer,
                           status == WEFT_ERR_AUTH ? ": it holds another secret"
                           : join->cause == 0      ? ": it closed the stream in the handshake"
                                                   : "");
}

weft_status_t ncclnet_control_connect(weft_net_conn_t *conn)
{
    const ncclnet_join_t *join = conn->join;
    weft_status_t status = ncclnet_control_step(conn);
    if (status == WEFT_IN_PROGRESS && join->at + 1 < join->list.count &&
        conn->host->clock_ns(conn->host) - join->started_ns > ADDRESS_PATIENCE_NS) {
        return ncclnet_control_next(conn, WEFT_ERR_LINK);
    }
    return status == WEFT_ERR_LINK || status == WEFT_ERR_AUTH ? ncclnet_control_next(conn, status)
                                                              : status;
}

static weft_status_t ncclnet_control_moved(const weft_net_conn_t *conn, weft_status_t status)
{
    return status != WEFT_ERR_LINK
               ? status
               : conn->host->set_error(conn->host, status, errno,
                                       "peer %s closed the control stream before the connection "
                                       "was ready",
                                       conn->info.peer);
}

weft_status_t ncclnet_control_send(weft_net_conn_t *conn, const void *record, uint32_t bytes,
                                   uint32_t *done_p)
{
    return ncclnet_control_moved(conn, weft_record_send(conn->fd, record, bytes, done_p));
}

weft_status_t ncclnet_control_receive(weft_net_conn_t *conn, void *record, uint32_t bytes,
                                      uint32_t *done_p)
{
    return ncclnet_control_moved(conn, weft_record_receive(conn->fd, record, bytes, done_p));
}

weft_status_t ncclnet_control_wait(const weft_net_conn_t *conn)
{
    uint8_t byte;
    ssize_t got = recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    bool waits = got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
    errno = got == 0 ? 0 : errno;
    return waits ? WEFT_IN_PROGRESS : ncclnet_control_moved(conn, WEFT_ERR_LINK);
}

void ncclnet_control_bye(const weft_net_conn_t *conn)
{
    ncclnet_bye_t bye = {.sent = htole64(conn->send.moved)};
    memcpy(bye.magic, bye_magic, sizeof bye.magic);
    /* A peer that does not get it takes this end for dead, which is no worse. */
    (void)send(conn->fd, &bye, sizeof bye, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Reads what has come. A byte behind the record is nothing that a peer sends. */
static void ncclnet_control_read(weft_net_conn_t *conn)
{
    while (!conn->ended) {
        uint8_t spare;
        uint32_t missing = (uint32_t)sizeof conn->bye - conn->bye_bytes;
        ssize_t got = recv(conn->fd, missing > 0 ? (uint8_t *)&conn->bye + conn->bye_bytes : &spare,
                           missing > 0 ? missing : 1, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && errno == EAGAIN) {
            return;
        }
        conn->bye_bytes += got > 0 && missing > 0 ? (uint32_t)got : 0;
        if (got <= 0) {
            conn->ended = true;
            conn->ended_ns = conn->host->clock_ns(conn->host);
        }
    }
}

bool ncclnet_control_has_bye(weft_net_conn_t *conn)
{
    ncclnet_control_read(conn);
    return conn->bye_bytes == sizeof conn->bye &&
           memcmp(conn->bye.magic, bye_magic, sizeof bye_magic) == 0;
}

weft_status_t ncclnet_control_look(weft_net_conn_t *conn)
{
    bool has_bye = ncclnet_control_has_bye(conn);
    if (!conn->ended) {
        return WEFT_OK;
    }
    if (!has_bye && conn->bye_bytes == sizeof conn->bye) {
        return ncclnet_conn_error(conn, WEFT_ERR_PROTO,
                                  "peer %s sent a wrong last message; check that all ranks run the "
                                  "same version of weft",
                                  conn->info.peer);
    }
    if (!has_bye) {
        return ncclnet_conn_error(conn, WEFT_ERR_PEER_DEAD, "peer %s is gone", conn->info.peer);
    }
    uint64_t sent = le64toh(conn->bye.sent);
    bool late = conn->host->clock_ns(conn->host) - conn->ended_ns > BYE_PATIENCE_NS;
    if (conn->recv.moved < sent && !late) {
        return WEFT_OK;
    }
    return ncclnet_conn_error(
        conn, WEFT_ERR_LINK, "peer %s has closed the connection; %llu of its %llu messages arrived",
        conn->info.peer, (unsigned long long)conn->recv.moved, (unsigned long long)sent);
}
