/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress of a device. While few streams are busy each is tried in turn, which costs one system
 * call per busy stream and none for idle ones. When many are busy, epoll says which to try. The
 * epoll set is updated only where it is going to be used. */
#include "sock_poll.h"

#include <sys/epoll.h>

#include <weft/sdk/watch.h>

#include "sock_conn.h"
#include "sock_op.h"
#include "sock_rails.h"
#include "sock_silence.h"
#include "sock_stream.h"
#include "sock_watch.h"

#define SWEEP_MAX 8u /* up to so many busy streams, trying all is faster than asking epoll */
#define EVENTS 32
#define QUIET_VISITS 8u
#define END_PATIENCE_NS UINT64_C(10000000000) /* how long the end of the other streams may take */

static void sock_device_arm(weft_net_device_t *device)
{
    device->blind = 0;
    for (weft_net_conn_t *conn = device->conns; conn != NULL; conn = conn->next) {
        sock_conn_arm(conn);
    }
}

/* A stream that ended says nothing of the others: what was sent on them before may be on its second
 * way, after a loss. Each has its own end behind its data, in good time if the peer's system
 * lives. */
static weft_status_t sock_conn_ended(weft_net_conn_t *conn)
{
    uint32_t receiving = 0;
    if (conn->ended == 0 || !sock_conn_has_to_receive(conn)) {
        return WEFT_OK;
    }
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        receiving += conn->streams[i].receives ? 1 : 0;
    }
    uint64_t now = conn->host->clock_ns(conn->host);
    conn->loss.since = conn->loss.since == 0 ? now : conn->loss.since;
    bool over = conn->ended == receiving || now - conn->loss.since > END_PATIENCE_NS;
    return over ? sock_conn_lost(conn, 0) : WEFT_OK;
}

/* Small messages come over the first stream. A wait for one should not pay for asking the others
 * each time: after some visits in vain they are asked now and then. */
static bool sock_stream_is_due(sock_stream_t *stream)
{
    if (stream->eager) {
        return true;
    }
    uint32_t quiet = stream->quiet++;
    return quiet < QUIET_VISITS || quiet % QUIET_VISITS == 0;
}

static void sock_conn_visit(weft_net_conn_t *conn)
{
    weft_status_t status = WEFT_OK;
    if (sock_conn_has_to_send(conn)) {
        for (uint32_t i = 0; i < conn->nstreams; i++) {
            conn->streams[i].blocked = conn->streams[i].mute;
        }
        status = sock_conn_send(conn);
    }
    for (uint32_t i = 0; i < conn->nstreams && status == WEFT_OK && sock_conn_has_to_receive(conn);
         i++) {
        if (conn->streams[i].receives && sock_stream_is_due(&conn->streams[i])) {
            status = sock_stream_receive(&conn->streams[i]);
        }
    }
    if (status == WEFT_OK && conn->rails != NULL && conn->rails->due) {
        status = sock_conn_send(conn);
    }
    status = status == WEFT_OK ? sock_conn_ended(conn) : status;
    if (status != WEFT_OK) {
        sock_conn_fail(conn, status);
    }
}

/* An ended stream raises no event; only time decides. */
static bool sock_conn_ending(const weft_net_conn_t *conn)
{
    return conn->busy && conn->loss.since != 0;
}

/* Something to do without a further event: the next poll goes on behind a large message. */
static bool sock_conn_goes_on(const weft_net_conn_t *conn)
{
    bool goes = false;
    for (uint32_t i = 0; conn->busy && i < conn->nstreams; i++) {
        goes = goes || (sock_stream_pauses(&conn->streams[i]) && !conn->streams[i].stalled);
    }
    return goes || sock_conn_ending(conn);
}

static void sock_device_sweep(weft_net_device_t *device)
{
    for (weft_net_conn_t *conn = device->conns; conn != NULL; conn = conn->next) {
        if (conn->busy) {
            sock_conn_visit(conn);
        }
    }
}

static void sock_device_events(weft_net_device_t *device)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(device->epoll, events, EVENTS, 0);
    for (int i = 0; i < n; i++) {
        sock_stream_t *stream = events[i].data.ptr;
        if (stream == NULL || !stream->conn->ready) {
            continue; /* of a listener or a connection under way: accept(), connect_poll() */
        }
        stream->quiet = 0;
        if (stream->conn->busy) {
            sock_conn_visit(stream->conn);
        }
        sock_conn_arm(stream->conn);
    }
    weft_net_conn_t *first = n == 0 && device->timed > 0 ? device->conns : NULL;
    for (weft_net_conn_t *conn = first; conn != NULL; conn = conn->next) {
        if (sock_conn_ending(conn) || (conn->busy && conn->rails != NULL)) {
            sock_conn_visit(conn);
        }
    }
}

/* See weft_op_tell_t. */
static bool sock_completion_tell(const weft_net_completion_t *completion)
{
    weft_net_conn_t *conn = completion->conn;
    const bool failed = completion->status != WEFT_OK && completion->status == conn->failed;
    if (failed && conn->loss.text[0] != '\0') {
        (void)sock_conn_unusable(conn);
    }
    return failed;
}

weft_status_t sock_poll(weft_net_device_t *device, weft_net_completion_t *completions, uint32_t max,
                        uint32_t *count_p)
{
    if (device->unanswered > 0) {
        sock_rails_watch(device);
    }
    if (device->busy > 0) {
        sock_silence_watch(device);
    }
    bool many = device->busy > SWEEP_MAX;
    if (many && !device->many) {
        device->many = true;
        sock_device_sweep(device);
        sock_device_arm(device);
    }
    device->many = many;
    if (many && device->blind == 0) {
        sock_device_events(device);
    } else if (device->busy > 0) {
        sock_device_sweep(device);
    }
    *count_p = device->failing ? weft_op_done_take_failing(&device->done, completions, max,
                                                           sock_completion_tell)
                               : weft_op_done_take(&device->done, completions, max);
    device->failing = device->failing && device->done.first != NULL;
    return WEFT_OK;
}

weft_status_t sock_wait_fd(weft_net_device_t *device, int *fd_p)
{
    *fd_p = device->epoll;
    sock_device_arm(device);
    bool something = device->done.first != NULL;
    for (weft_net_conn_t *conn = device->conns; !something && conn != NULL; conn = conn->next) {
        something = sock_conn_goes_on(conn);
    }
    if (something) {
        return WEFT_AGAIN;
    }
    return device->blind == 0 ? WEFT_OK
                              : weft_watch_refused(device->host, "a connection", device->blind);
}
