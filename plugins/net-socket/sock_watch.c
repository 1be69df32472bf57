/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Events that the device's epoll set watches for. */
#include "sock_watch.h"

#include <errno.h>
#include <sys/epoll.h>

static uint32_t sock_stream_interest(const sock_stream_t *stream)
{
    const weft_net_conn_t *conn = stream->conn;
    uint32_t events = 0;
    if (conn->failed != WEFT_OK) {
        return 0;
    }
    bool wanted = conn->ops.recv.open > 0 || (conn->rails != NULL && conn->ops.send.open > 0);
    bool due = conn->rails != NULL && conn->rails->due;
    if (wanted && stream->receives && !stream->ended && !stream->stalled) {
        events |= EPOLLIN;
    }
    if (stream->blocked && !stream->mute && (conn->ops.send.open > 0 || due)) {
        events |= EPOLLOUT;
    }
    return events;
}

/* A stream that waits for nothing leaves the set, because EPOLLHUP is reported even for an empty
 * mask. */
void sock_stream_watch(sock_stream_t *stream, uint32_t events)
{
    if (events == stream->armed) {
        return;
    }
    struct epoll_event event = {.events = events, .data = {.ptr = stream}};
    int verb = events == 0 ? EPOLL_CTL_DEL : stream->armed == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (epoll_ctl(stream->conn->device->epoll, verb, stream->fd, &event) == 0 || events == 0) {
        stream->armed = events;
    } else {
        stream->conn->device->blind = errno; /* fs.epoll.max_user_watches, or no memory */
    }
}

void sock_stream_arm(sock_stream_t *stream)
{
    sock_stream_watch(stream, sock_stream_interest(stream));
}

void sock_conn_arm(weft_net_conn_t *conn)
{
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        conn->streams[i].quiet = 0; /* what ends the sleep is looked for at once */
        sock_stream_arm(&conn->streams[i]);
    }
}

void sock_conn_disarm(weft_net_conn_t *conn)
{
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        sock_stream_watch(&conn->streams[i], 0);
    }
}
