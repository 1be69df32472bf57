/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The accepting side: one listening socket per local address, the acceptor of the SDK, then the
 * join record, which says which stream of which connection this is. */
#include "sock_accept.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <weft/sdk/acceptor.h>

#include "sock_conn.h"
#include "sock_connect.h"
#include "sock_rails.h"

/* For all streams of a connection, each of which takes three round trips and may lose a segment.
 * Longer than the connector waits for one answer: it opens them one after the other. */
#define SOCK_FORMING_NS UINT64_C(10000000000)

/* An authenticated stream whose join record is not complete yet. */
typedef struct sock_joiner {
    struct sock_joiner *next;
    int fd;
    uint32_t done;
    uint64_t deadline_ns;
    sock_join_t join;
    uint8_t label[WEFT_AUTH_LABEL];
} sock_joiner_t;

struct weft_net_listener {
    const weft_host_t *host;
    weft_net_device_t *device;
    sock_joiner_t *joiners;
    weft_net_conn_t *forming; /* connections that still lack streams */
    weft_acceptor_t acceptor;
};

/* Tries the ports of the range, beginning at a random one, or lets the kernel choose. */
static weft_status_t sock_listener_bind(const weft_host_t *host, const weft_port_range_t *ports,
                                        int fd, weft_endpoint_t *point)
{
    uint32_t span = weft_port_range_span(ports), start = 0;
    weft_status_t status = host->random(host, &start, sizeof start);
    int cause = 0;
    for (uint32_t i = 0; status == WEFT_OK && i < span; i++) {
        weft_endpoint_set_port(point, weft_port_range_at(ports, start, i));
        /* listen() too can find the port taken. */
        if (bind(fd, &point->any, weft_endpoint_bytes(point)) == 0 && listen(fd, SOMAXCONN) == 0) {
            return WEFT_OK;
        }
        cause = errno;
        if (cause != EADDRINUSE && cause != EACCES) {
            break;
        }
    }
    char text[WEFT_ENDPOINT_TEXT];
    weft_endpoint_text(point, text);
    return status != WEFT_OK ? status
                             : host->set_error(host, WEFT_ERR_RESOURCE, cause,
                                               "cannot listen on %s (port_range %u-%u)", text,
                                               ports->first, ports->last);
}

static weft_status_t sock_listener_open(weft_net_listener_t *listener, weft_endpoint_t *point)
{
    const weft_host_t *host = listener->host;
    weft_net_t *net = listener->device->net;
    int family = point->any.sa_family;
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return host->set_error(host, WEFT_ERR_RESOURCE, errno, "cannot open a socket");
    }
    int one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (family == AF_INET6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    }
    sock_tune(net, fd);
    weft_status_t status = sock_listener_bind(host, &net->ports, fd, point);
    socklen_t bytes = weft_endpoint_bytes(point);
    if (status == WEFT_OK && getsockname(fd, &point->any, &bytes) != 0) {
        status = host->set_error(host, WEFT_ERR_SYSTEM, errno, "getsockname");
    }
    if (status != WEFT_OK) {
        close(fd);
        return status;
    }
    weft_acceptor_add(&listener->acceptor, fd);
    return WEFT_OK;
}

weft_status_t sock_listen(weft_net_device_t *device, weft_net_address_t *address_p,
                          weft_net_listener_t **listener_p)
{
    const weft_host_t *host = device->host;
    weft_net_listener_t *listener = host->alloc(host, sizeof *listener, 0);
    if (listener == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    listener->host = host;
    listener->device = device;
    weft_acceptor_init(&listener->acceptor, host, device->epoll);
    /* An address may vanish meanwhile. That is no fault as long as one is left. */
    weft_endpoint_list_t list = device->local;
    uint32_t count = list.count;
    weft_status_t status = WEFT_ERR_LINK;
    list.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        weft_endpoint_entry_t entry = list.entries[i];
        status = sock_listener_open(listener, &entry.point);
        if (status == WEFT_OK) {
            list.entries[list.count++] = entry;
        }
    }
    if (list.count == 0) {
        sock_listener_close(listener);
        return status;
    }
    weft_endpoint_list_encode(&list, address_p);
    *listener_p = listener;
    return WEFT_OK;
}

static void sock_joiner_close(weft_net_listener_t *listener, sock_joiner_t *joiner,
                              bool with_socket)
{
    epoll_ctl(listener->device->epoll, EPOLL_CTL_DEL, joiner->fd, NULL);
    if (with_socket) {
        close(joiner->fd);
    }
    listener->host->free(listener->host, joiner);
}

void sock_listener_close(weft_net_listener_t *listener)
{
    if (listener == NULL) {
        return;
    }
    while (listener->joiners != NULL) {
        sock_joiner_t *joiner = listener->joiners;
        listener->joiners = joiner->next;
        sock_joiner_close(listener, joiner, true);
    }
    while (listener->forming != NULL) {
        weft_net_conn_t *conn = listener->forming;
        listener->forming = conn->next;
        sock_conn_close(conn);
    }
    weft_acceptor_fini(&listener->acceptor);
    listener->host->free(listener->host, listener);
}

static weft_status_t sock_joiner_add(weft_net_listener_t *listener, int fd,
                                     const uint8_t label[WEFT_AUTH_LABEL])
{
    const weft_host_t *host = listener->host;
    sock_joiner_t *joiner = host->alloc(host, sizeof *joiner, 0);
    if (joiner == NULL) {
        close(fd);
        return WEFT_ERR_RESOURCE;
    }
    joiner->fd = fd;
    joiner->deadline_ns = host->clock_ns(host) + WEFT_ACCEPTOR_PATIENCE_NS;
    memcpy(joiner->label, label, WEFT_AUTH_LABEL);
    joiner->next = listener->joiners;
    listener->joiners = joiner;
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = NULL}};
    epoll_ctl(listener->device->epoll, EPOLL_CTL_ADD, fd, &event);
    sock_tune(listener->device->net, fd);
    return WEFT_OK;
}

/* Finds the connection that a joiner belongs to, or makes it for its first stream. ERR_PROTO: the
 * record is wrong. */
static weft_status_t sock_joiner_conn(weft_net_listener_t *listener, const sock_joiner_t *joiner,
                                      weft_net_conn_t **conn_p)
{
    uint32_t count = le16toh(joiner->join.count), rails = le16toh(joiner->join.rails);
    if (le32toh(joiner->join.magic) != SOCK_JOIN_MAGIC || count == 0 || count > SOCK_STREAMS_MAX ||
        le16toh(joiner->join.index) >= count || rails == 0 || rails > SOCK_RAILS_MAX ||
        count % rails != 0 || (rails > 1 && count / rails < 2)) {
        return WEFT_ERR_PROTO;
    }
    weft_net_conn_t *conn = listener->forming;
    while (conn != NULL && memcmp(conn->id, joiner->join.id, sizeof conn->id) != 0) {
        conn = conn->next;
    }
    if (conn == NULL) {
        conn = sock_conn_create(listener->device, count, joiner->label);
        if (conn == NULL || sock_rails_create(conn, rails) != WEFT_OK) {
            sock_conn_close(conn);
            return WEFT_ERR_RESOURCE;
        }
        memcpy(conn->id, joiner->join.id, sizeof conn->id);
        conn->deadline_ns = listener->host->clock_ns(listener->host) + SOCK_FORMING_NS;
        conn->next = listener->forming;
        listener->forming = conn;
    }
    bool fits = conn->nstreams == count &&
                (conn->rails != NULL ? conn->rails->count : 1) == rails &&
                memcmp(conn->info.label, joiner->label, sizeof joiner->label) == 0 &&
                conn->streams[le16toh(joiner->join.index)].fd < 0;
    *conn_p = conn;
    return fits ? WEFT_OK : WEFT_ERR_PROTO;
}

/* On success the connection owns the joiner's socket. */
static weft_status_t sock_joiner_assign(weft_net_listener_t *listener, sock_joiner_t *joiner)
{
    weft_net_conn_t *conn = NULL;
    weft_status_t status = sock_joiner_conn(listener, joiner, &conn);
    if (status != WEFT_OK) {
        return status;
    }
    weft_endpoint_t point = {.any = {.sa_family = AF_UNSPEC}};
    socklen_t bytes = sizeof point;
    conn->streams[le16toh(joiner->join.index)].fd = joiner->fd;
    conn->joined++;
    getpeername(joiner->fd, &point.any, &bytes);
    weft_endpoint_text(&point, conn->info.peer);
    return WEFT_OK;
}

/* Tells what became of an authenticated peer that does not join. */
static void sock_joiner_report(const weft_net_listener_t *listener, const sock_joiner_t *joiner,
                               weft_status_t status)
{
    const weft_host_t *host = listener->host;
    weft_endpoint_t point = {.any = {.sa_family = AF_UNSPEC}};
    socklen_t bytes = sizeof point;
    char text[WEFT_ENDPOINT_TEXT];
    getpeername(joiner->fd, &point.any, &bytes);
    weft_endpoint_text(&point, text);
    if (status == WEFT_ERR_PROTO) {
        host->log(
            host, WEFT_LOG_WARN,
            "connection from peer %s did not come about: it joins in another way (%#x, stream "
            "%u of %u, %u rails); check that all ranks run the same version of weft",
            text, le32toh(joiner->join.magic), le16toh(joiner->join.index),
            le16toh(joiner->join.count), le16toh(joiner->join.rails));
    } else if (status != WEFT_ERR_RESOURCE) {
        host->log(host, WEFT_LOG_INFO, "connection from peer %s did not come about: %s", text,
                  status == WEFT_IN_PROGRESS ? "it did not say of which connection it is"
                                             : "the peer closed it");
    }
}

/* Returns OK or ERR_RESOURCE. A bad record ends its own connection only. */
static weft_status_t sock_listener_join(weft_net_listener_t *listener)
{
    uint64_t now = listener->host->clock_ns(listener->host);
    sock_joiner_t **link = &listener->joiners;
    while (*link != NULL) {
        sock_joiner_t *joiner = *link;
        weft_status_t status =
            weft_record_receive(joiner->fd, &joiner->join, sizeof joiner->join, &joiner->done);
        if (status == WEFT_IN_PROGRESS && now < joiner->deadline_ns) {
            link = &joiner->next;
            continue;
        }
        *link = joiner->next;
        status = status == WEFT_OK ? sock_joiner_assign(listener, joiner) : status;
        if (status != WEFT_OK) {
            sock_joiner_report(listener, joiner, status);
        }
        sock_joiner_close(listener, joiner, status != WEFT_OK);
        if (status == WEFT_ERR_RESOURCE) {
            return status;
        }
    }
    return WEFT_OK;
}

/* Returns one connection that is complete, or NULL. Drops connections that stay incomplete. */
static weft_net_conn_t *sock_listener_complete(weft_net_listener_t *listener)
{
    uint64_t now = listener->host->clock_ns(listener->host);
    weft_net_conn_t **link = &listener->forming;
    while (*link != NULL) {
        weft_net_conn_t *conn = *link;
        bool complete = conn->joined == conn->nstreams;
        if (!complete && now < conn->deadline_ns) {
            link = &conn->next;
            continue;
        }
        *link = conn->next;
        uint32_t ack = htole32(SOCK_JOIN_ACK), done = 0;
        if (complete && weft_record_send(conn->streams[0].fd, &ack, sizeof ack, &done) == WEFT_OK) {
            return conn;
        }
        listener->host->log(
            listener->host, WEFT_LOG_INFO,
            "connection from peer %s did not come about: %u of its %u streams came%s",
            conn->info.peer, conn->joined, conn->nstreams,
            complete ? ", and it was not there any more to hear so" : "");
        sock_conn_close(conn);
    }
    return NULL;
}

weft_status_t sock_accept(weft_net_listener_t *listener, weft_net_conn_t **conn_p)
{
    int fd = -1;
    uint8_t label[WEFT_AUTH_LABEL];
    weft_status_t status = weft_acceptor_poll(&listener->acceptor, &fd, label);
    while (status == WEFT_OK) {
        status = sock_joiner_add(listener, fd, label);
        if (status == WEFT_OK) {
            status = weft_acceptor_poll(&listener->acceptor, &fd, label);
        }
    }
    weft_status_t joined = sock_listener_join(listener);
    status = joined != WEFT_OK ? joined : status;
    weft_net_conn_t *conn = sock_listener_complete(listener);
    if (conn == NULL) {
        return status;
    }
    sock_conn_ready(conn);
    *conn_p = conn;
    return WEFT_OK;
}
