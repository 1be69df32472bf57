/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The side channel. */
#include "ib_side.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <weft/sdk/acceptor.h>

#include "ib_refusal.h"
#include "ib_watch.h"

void ib_side_await(weft_net_conn_t *conn, uint32_t events)
{
    ib_side_t *side = &conn->side;
    if (events == side->awaits) {
        return;
    }
    int verb = events == 0 ? EPOLL_CTL_DEL : side->awaits == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (ib_device_watch(conn->device, verb, side->fd, events, NULL)) {
        side->awaits = events;
    }
}

bool ib_side_is_closed(const weft_net_conn_t *conn)
{
    struct pollfd watch = {.fd = conn->side.fd, .events = POLLRDHUP};
    return poll(&watch, 1, 0) > 0;
}

void ib_side_watch(weft_net_conn_t *conn)
{
    conn->side.watched = ib_device_watch(conn->device, EPOLL_CTL_ADD, conn->side.fd,
                                         EPOLLIN | EPOLLRDHUP, &conn->side.watch);
}

void ib_side_unwatch(weft_net_conn_t *conn)
{
    if (conn->side.watched) {
        epoll_ctl(conn->device->epoll, EPOLL_CTL_DEL, conn->side.fd, NULL);
        conn->side.watched = false;
    }
}

weft_status_t ib_side_send(weft_net_conn_t *conn, ib_control_t *control)
{
    control->magic = htole32(IB_CONTROL_MAGIC);
    ssize_t sent = send(conn->side.fd, control, sizeof *control, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == (ssize_t)sizeof *control || (sent < 0 && (errno == EPIPE || errno == ECONNRESET))) {
        return WEFT_OK;
    }
    return ib_blame(conn, WEFT_ERR_LINK, sent < 0 ? errno : 0, "cannot tell peer %s of a lost rail",
                    conn->info.peer);
}

static void ib_side_end(weft_net_conn_t *conn)
{
    conn->side.ended_ns = conn->host->clock_ns(conn->host);
    ib_side_unwatch(conn);
}

void ib_side_refuse(weft_net_conn_t *conn)
{
    conn->side.wrong = true;
    ib_side_end(conn);
}

bool ib_side_receive(weft_net_conn_t *conn)
{
    ib_side_t *side = &conn->side;
    if (side->ended_ns != 0) {
        return false;
    }
    weft_status_t status =
        weft_record_receive(side->fd, &side->control, sizeof side->control, &side->bytes);
    if (status == WEFT_IN_PROGRESS) {
        return false;
    }
    if (status == WEFT_OK && le32toh(side->control.magic) != IB_CONTROL_MAGIC) {
        ib_side_refuse(conn);
        return false;
    }
    if (status == WEFT_OK) {
        side->bytes = 0;
        if (le32toh(side->control.kind) != IB_CONTROL_LEAVE) {
            return true;
        }
        side->peer_reason = (int32_t)le32toh(side->control.status);
    }
    ib_side_end(conn);
    return false;
}

void ib_side_leave(weft_net_conn_t *conn, weft_status_t status)
{
    ib_control_t control = {.magic = htole32(IB_CONTROL_MAGIC),
                            .kind = htole32(IB_CONTROL_LEAVE),
                            .status = htole32((uint32_t)status)};
    /* A message that does not get through only costs the peer the reason. */
    ssize_t ignored = send(conn->side.fd, &control, sizeof control, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)ignored;
    ib_side_unwatch(conn);
    shutdown(conn->side.fd, SHUT_RDWR);
}
