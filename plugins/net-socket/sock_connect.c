/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The connecting side. It tries the addresses of the peer in turn: one stream goes through connect,
 * handshake and join record, the other streams follow to the same address, and the acknowledgement
 * of the acceptor says that it has them all. An address that answers is kept, however slowly it
 * does.
 *
 * Over several rails all streams begin at once. Rails on which one fails are left out in the next
 * try; with fewer than two left it goes on as above. */
#include "sock_connect.h"

#include <endian.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <weft/sdk/acceptor.h>

#include "sock_conn.h"
#include "sock_path.h"
#include "sock_rails.h"
#include "sock_watch.h"

/* Steps of one stream. */
enum {
    LEG_OPEN = 0,
    LEG_CONNECT = 1,
    LEG_HANDSHAKE = 2,
    LEG_JOIN = 3,
    LEG_DONE = 4,
    LEG_FAILED = 5
};

typedef struct sock_leg {
    uint32_t step;
    uint32_t done; /* bytes of the join record */
    weft_handshake_t handshake;
} sock_leg_t;

struct sock_attempt {
    weft_endpoint_list_t list;
    uint32_t at;
    int cause;         /* errno of the last failure */
    uint64_t moved_ns; /* when this address was begun with, or last answered */
    uint32_t ack, ack_done;
    char tried[384]; /* addresses that failed, and why */
    sock_path_t paths[SOCK_RAILS_MAX];
    uint32_t npaths; /* below two: there are no rails */
    sock_leg_t legs[];
};

void sock_tune(const weft_net_t *net, int fd)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    /* A peer that lost its end is silent for ever, also to one that waits for its answer. */
    weft_endpoint_keep_alive(fd);
    sock_congestion_set(&net->congestion, fd);
    /* Setting a size ends the kernel's own tuning of it. */
    int send_bytes = (int)net->config.sndbuf, receive_bytes = (int)net->config.rcvbuf;
    if (send_bytes > 0) {
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
    }
    if (receive_bytes > 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    }
}

/* Frees what only a connection under way needs. */
static void sock_attempt_close(weft_net_conn_t *conn)
{
    conn->host->free(conn->host, conn->attempt);
    conn->attempt = NULL;
}

static uint32_t sock_rails_streams(const weft_net_t *net, uint32_t rails)
{
    uint32_t streams = (uint32_t)net->config.sockets, most = SOCK_STREAMS_MAX / rails;
    streams = rails > 1 && streams < 2 ? 2 : streams;
    return rails * (streams < most ? streams : most);
}

/* Makes every stream start anew, over the rails, or at the address attempt->at. */
static weft_status_t sock_attempt_restart(weft_net_conn_t *conn)
{
    sock_attempt_t *attempt = conn->attempt;
    sock_conn_disarm(conn);
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        if (conn->streams[i].fd >= 0) {
            close(conn->streams[i].fd);
            conn->streams[i].fd = -1;
        }
        attempt->legs[i].step = LEG_OPEN;
        attempt->legs[i].done = 0;
    }
    uint32_t rails = attempt->npaths > 1 ? attempt->npaths : 1;
    conn->nstreams = sock_rails_streams(conn->device->net, rails);
    attempt->ack_done = 0;
    attempt->moved_ns = conn->host->clock_ns(conn->host);
    const weft_endpoint_t *first =
        rails > 1 ? &attempt->paths[0].to : &attempt->list.entries[attempt->at].point;
    weft_endpoint_text(first, conn->info.peer);
    weft_status_t status = sock_rails_create(conn, rails);
    return status == WEFT_OK ? conn->host->random(conn->host, conn->id, sizeof conn->id) : status;
}

/* Finds the rails to the addresses of a peer. On one host everything goes over the loopback. */
static uint32_t sock_connect_paths(const weft_net_device_t *device,
                                   const weft_endpoint_list_t *list,
                                   sock_path_t paths[SOCK_RAILS_MAX])
{
    return list->count < 2 || list->entries[0].loopback
               ? 0
               : sock_paths_find(&device->local, list, (uint32_t)device->net->config.rails, paths);
}

weft_status_t sock_connect_begin(weft_net_device_t *device, const weft_net_address_t *address,
                                 const weft_net_conn_params_t *params, weft_net_conn_t **conn_p)
{
    const weft_host_t *host = device->host;
    weft_endpoint_list_t list;
    sock_path_t paths[SOCK_RAILS_MAX];
    weft_status_t status = weft_endpoint_list_decode(address, &list);
    if (status != WEFT_OK) {
        return host->set_error(host, status, 0, "not an address of net-socket");
    }
    weft_endpoint_list_reach(&device->local, &list);
    if (list.count == 0) {
        return host->set_error(host, WEFT_ERR_LINK, 0, "no address of the peer can be reached");
    }
    uint32_t npaths = sock_connect_paths(device, &list, paths);
    uint32_t nstreams = sock_rails_streams(device->net, npaths > 1 ? npaths : 1);
    uint32_t one = sock_rails_streams(device->net, 1);
    nstreams = nstreams > one ? nstreams : one;
    weft_net_conn_t *conn = sock_conn_create(device, nstreams, params->label);
    if (conn == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    conn->info.connector = 1;
    conn->attempt = host->alloc(host, sizeof *conn->attempt + nstreams * sizeof(sock_leg_t), 0);
    status = conn->attempt == NULL ? WEFT_ERR_RESOURCE : WEFT_OK;
    if (status == WEFT_OK) {
        conn->attempt->list = list;
        conn->attempt->npaths = npaths;
        memcpy(conn->attempt->paths, paths, npaths * sizeof paths[0]);
        status = sock_attempt_restart(conn);
    }
    if (status != WEFT_OK) {
        sock_conn_close(conn);
        return status;
    }
    *conn_p = conn;
    return WEFT_OK;
}

static weft_status_t sock_leg_open(weft_net_conn_t *conn, uint32_t index)
{
    const weft_host_t *host = conn->host;
    sock_attempt_t *attempt = conn->attempt;
    const sock_path_t *path =
        conn->rails != NULL ? &attempt->paths[index / conn->rails->per_rail] : NULL;
    const weft_endpoint_t *point =
        path != NULL ? &path->to : &attempt->list.entries[attempt->at].point;
    int fd = socket(point->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return host->set_error(host, WEFT_ERR_RESOURCE, errno,
                               "cannot open a socket; the limit of open files is ulimit -n");
    }
    conn->streams[index].fd = fd;
    sock_tune(conn->device->net, fd);
    bool bound = path == NULL || bind(fd, &path->from.any, weft_endpoint_bytes(&path->from)) == 0;
    if (!bound || (connect(fd, &point->any, weft_endpoint_bytes(point)) != 0 &&
                   errno != EINPROGRESS && errno != EINTR)) {
        attempt->cause = errno;
        return WEFT_ERR_LINK;
    }
    return weft_handshake_begin(host, &attempt->legs[index].handshake, conn->info.label);
}

static weft_status_t sock_leg_connect(weft_net_conn_t *conn, uint32_t index)
{
    struct pollfd watch = {.fd = conn->streams[index].fd, .events = POLLOUT};
    int error = 0;
    socklen_t bytes = sizeof error;
    if (poll(&watch, 1, 0) <= 0) {
        return WEFT_IN_PROGRESS;
    }
    getsockopt(watch.fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
    conn->attempt->cause = error;
    return error == 0 ? WEFT_OK : WEFT_ERR_LINK;
}

static weft_status_t sock_leg_join(weft_net_conn_t *conn, uint32_t index)
{
    sock_join_t join = {.magic = htole32(SOCK_JOIN_MAGIC),
                        .index = htole16((uint16_t)index),
                        .count = htole16((uint16_t)conn->nstreams),
                        .rails = htole16((uint16_t)(conn->rails != NULL ? conn->rails->count : 1))};
    memcpy(join.id, conn->id, sizeof join.id);
    weft_status_t status = weft_record_send(conn->streams[index].fd, &join, sizeof join,
                                            &conn->attempt->legs[index].done);
    conn->attempt->cause = status == WEFT_ERR_LINK ? errno : 0;
    return status;
}

static weft_status_t sock_leg_advance(weft_net_conn_t *conn, uint32_t index)
{
    sock_leg_t *leg = &conn->attempt->legs[index];
    weft_status_t status = WEFT_OK;
    while (status == WEFT_OK && leg->step != LEG_DONE) {
        switch (leg->step) {
        case LEG_OPEN:
            status = sock_leg_open(conn, index);
            break;
        case LEG_CONNECT:
            status = sock_leg_connect(conn, index);
            break;
        case LEG_HANDSHAKE:
            conn->attempt->cause = 0;
            status = weft_handshake_connect(conn->host, &leg->handshake, conn->streams[index].fd);
            break;
        default:
            status = sock_leg_join(conn, index);
            break;
        }
        if (status == WEFT_OK) {
            leg->step++;
            conn->attempt->moved_ns = conn->host->clock_ns(conn->host);
        }
    }
    return status;
}

/* All join records are on their way. */
static bool sock_attempt_has_joined(const weft_net_conn_t *conn)
{
    uint32_t joined = 0;
    while (joined < conn->nstreams && conn->attempt->legs[joined].step == LEG_DONE) {
        joined++;
    }
    return joined == conn->nstreams;
}

static weft_status_t sock_attempt_ack(weft_net_conn_t *conn)
{
    sock_attempt_t *attempt = conn->attempt;
    weft_status_t status = weft_record_receive(conn->streams[0].fd, &attempt->ack,
                                               sizeof attempt->ack, &attempt->ack_done);
    attempt->cause = status == WEFT_ERR_LINK ? errno : 0;
    if (status == WEFT_OK && le32toh(attempt->ack) != SOCK_JOIN_ACK) {
        return conn->host->set_error(
            conn->host, WEFT_ERR_PROTO, 0,
            "peer %s confirms with another word (%#x); check that all ranks "
            "run the same version of weft",
            conn->info.peer, le32toh(attempt->ack));
    }
    return status;
}

/* Advances streams from number `first` on. Returns IN_PROGRESS while one is under way. */
static weft_status_t sock_legs_advance(weft_net_conn_t *conn, uint32_t first)
{
    bool waiting = false;
    for (uint32_t i = first; i < conn->nstreams; i++) {
        weft_status_t status = sock_leg_advance(conn, i);
        if (status != WEFT_OK && status != WEFT_IN_PROGRESS) {
            conn->attempt->legs[i].step = LEG_FAILED;
            return status;
        }
        waiting = waiting || status == WEFT_IN_PROGRESS;
    }
    return waiting ? WEFT_IN_PROGRESS : WEFT_OK;
}

/* The first stream is read as soon as it waits for the acknowledgement: its end would keep a core
 * awake that waits for the others. */
static weft_status_t sock_attempt_advance(weft_net_conn_t *conn)
{
    weft_status_t status = WEFT_OK, ack = WEFT_IN_PROGRESS;
    if (conn->rails == NULL) {
        status = sock_leg_advance(conn, 0);
    }
    if (status == WEFT_OK) {
        status = sock_legs_advance(conn, conn->rails == NULL ? 1 : 0);
    }
    if (status >= 0 && conn->attempt->legs[0].step == LEG_DONE) {
        ack = sock_attempt_ack(conn);
    }
    return status == WEFT_OK || ack < 0 ? ack : status;
}

/* Returns the EPOLL* events after which a step of a stream can go on. */
static uint32_t sock_leg_interest(const sock_leg_t *leg, bool first)
{
    switch (leg->step) {
    case LEG_CONNECT:
    case LEG_JOIN:
        return EPOLLOUT;
    case LEG_HANDSHAKE:
        return EPOLLIN;
    case LEG_DONE:
        return first ? EPOLLIN : 0; /* the acknowledgement */
    default:
        return 0;
    }
}

/* An answer ends a sleep. */
static void sock_attempt_watch(weft_net_conn_t *conn)
{
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        sock_stream_watch(&conn->streams[i], sock_leg_interest(&conn->attempt->legs[i], i == 0));
    }
}

/* The address of the one rail that is left comes first: the others have failed, or would be waited
 * for once more. */
static void sock_attempt_prefer(sock_attempt_t *attempt, const weft_endpoint_t *point)
{
    weft_endpoint_entry_t *first = &attempt->list.entries[0], before = *first;
    for (uint32_t i = 0; i < attempt->list.count; i++) {
        weft_endpoint_entry_t *entry = &attempt->list.entries[i];
        if (memcmp(&entry->point, point, weft_endpoint_bytes(point)) == 0) {
            *first = *entry;
            *entry = before;
            return;
        }
    }
}

/* Leaves out the rail on which a stream failed, or those that are not ready when the time is over,
 * and begins anew. */
static weft_status_t sock_attempt_leave_out(weft_net_conn_t *conn, weft_status_t why)
{
    sock_attempt_t *attempt = conn->attempt;
    uint32_t per_rail = conn->rails->per_rail, kept = 0;
    bool failed[SOCK_RAILS_MAX] = {false}, some = false;
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        uint32_t step = attempt->legs[i].step;
        bool bad = why == WEFT_ERR_TIMEOUT ? step != LEG_DONE : step == LEG_FAILED;
        failed[i / per_rail] = failed[i / per_rail] || bad;
        some = some || bad;
    }
    for (uint32_t i = 0; i < attempt->npaths; i++) {
        char text[WEFT_ENDPOINT_TEXT];
        if (some && !failed[i]) {
            attempt->paths[kept++] = attempt->paths[i];
            continue;
        }
        weft_endpoint_text(&attempt->paths[i].to, text);
        conn->host->log(conn->host, WEFT_LOG_INFO, "a connection does without %s: %s", text,
                        why == WEFT_ERR_TIMEOUT ? "no answer in time" : strerror(attempt->cause));
    }
    attempt->npaths = kept;
    if (kept == 1) {
        sock_attempt_prefer(attempt, &attempt->paths[0].to);
    }
    weft_status_t status = sock_attempt_restart(conn);
    return status == WEFT_OK ? WEFT_IN_PROGRESS : status;
}

/* The system's text speaks of the address, which is that of the peer here. */
static const char sock_no_port[] = "this host has no free port for it, by sysctl "
                                   "net.ipv4.ip_local_port_range, or no address";

/* Goes on to the next address. After the last one the caller gets its failure and all that was
 * tried. */
static weft_status_t sock_attempt_next(weft_net_conn_t *conn, weft_status_t status)
{
    sock_attempt_t *attempt = conn->attempt;
    size_t used = strlen(attempt->tried);
    const char *why = status == WEFT_ERR_AUTH           ? "it holds another secret"
                      : attempt->cause == EADDRNOTAVAIL ? sock_no_port
                      : attempt->cause != 0             ? strerror(attempt->cause)
                      : attempt->legs[0].step == LEG_DONE
                          ? "it closed the connection; look at its log"
                          : "closed during the handshake";
    snprintf(attempt->tried + used, sizeof attempt->tried - used, "%s%s (%s)", used > 0 ? ", " : "",
             conn->info.peer, why);
    if (attempt->at + 1 == attempt->list.count) {
        return conn->host->set_error(conn->host, status, 0,
                                     "cannot connect; net-socket.devices = NAME or NETWORK, on "
                                     "the peer's host, chooses its addresses; tried %s",
                                     attempt->tried);
    }
    attempt->at++;
    status = sock_attempt_restart(conn);
    return status == WEFT_OK ? WEFT_IN_PROGRESS : status;
}

static weft_status_t sock_attempt_step(weft_net_conn_t *conn)
{
    sock_attempt_t *attempt = conn->attempt;
    weft_status_t status = sock_attempt_advance(conn);
    if (status == WEFT_OK) {
        return status;
    }
    /* From here on the peer may have taken the connection and may use it: to leave it now would
     * break it there. How long its answer may take is for the core to say. */
    if (status == WEFT_IN_PROGRESS && sock_attempt_has_joined(conn)) {
        return status;
    }
    uint64_t patience = (uint64_t)(conn->device->net->config.connect_timeout * 1e9);
    uint64_t waited = conn->host->clock_ns(conn->host) - attempt->moved_ns;
    if (conn->rails != NULL && (status != WEFT_IN_PROGRESS || waited >= patience)) {
        bool late = status == WEFT_IN_PROGRESS;
        return late || status == WEFT_ERR_LINK || status == WEFT_ERR_AUTH
                   ? sock_attempt_leave_out(conn, late ? WEFT_ERR_TIMEOUT : status)
                   : status;
    }
    if (status == WEFT_IN_PROGRESS) {
        /* The last address is tried until the core gives up. */
        if (waited < patience || attempt->at + 1 == attempt->list.count) {
            return status;
        }
        attempt->cause = ETIMEDOUT;
        status = WEFT_ERR_LINK;
    }
    return status == WEFT_ERR_LINK || status == WEFT_ERR_AUTH ? sock_attempt_next(conn, status)
                                                              : status;
}

/* One that begins anew goes on at once: nothing would end a sleep before that. */
static weft_status_t sock_attempt_poll(weft_net_conn_t *conn)
{
    weft_status_t status = sock_attempt_step(conn);
    while (status == WEFT_IN_PROGRESS && conn->attempt->legs[0].step == LEG_OPEN) {
        status = sock_attempt_step(conn);
    }
    return status;
}

weft_status_t sock_connect_poll(weft_net_conn_t *conn)
{
    if (conn->ready) {
        return WEFT_OK;
    }
    if (conn->attempt == NULL || conn->failed != WEFT_OK) {
        return conn->host->set_error(conn->host, WEFT_ERR_STATE, 0, "connection is not under way");
    }
    weft_status_t status = sock_attempt_poll(conn);
    if (status == WEFT_IN_PROGRESS) {
        sock_attempt_watch(conn);
        return status;
    }
    sock_conn_disarm(conn); /* also of one that failed, which stays until the core closes it */
    if (status == WEFT_OK) {
        sock_attempt_close(conn);
        sock_conn_ready(conn);
    }
    return status;
}
