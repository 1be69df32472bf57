/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The listener. A peer that passed the authentication sends its record, gets ours, and confirms
 * that it can receive. Nothing is allocated for a peer before it is authenticated. */
#include "ib_accept.h"

#include <endian.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <weft/sdk/acceptor.h>
#include "ib_cm.h"
#include "ib_conn.h"
#include "ib_event.h"
#include "ib_failover.h"
#include "ib_qp.h"
#include "ib_rail.h"
#include "ib_refusal.h"
#include "ib_side.h"

/* How long a peer may take for a step. It has proved who it is, so it is waited for: it may have to
 * make the queue pairs of hundreds of connections first, and each takes an adapter milliseconds. */
#define JOIN_PATIENCE_NS UINT64_C(30000000000)

typedef enum ib_join_step {
    JOIN_RECEIVE,
    JOIN_SEND,
    JOIN_CM,
    JOIN_ACK,
    JOIN_GO,
    JOIN_DONE
} ib_join_step_t;

/* A peer that is authenticated and not connected yet. */
typedef struct ib_joiner {
    struct ib_joiner *next;
    weft_net_conn_t *conn;
    ib_join_step_t step;
    uint32_t done; /* of the record being sent or received */
    uint64_t deadline_ns;
    uint32_t ack, go;
    bool again; /* the peer is to send another record */
    ib_hello_t hello;
} ib_joiner_t;

struct weft_net_listener {
    const weft_host_t *host;
    weft_net_device_t *device;
    ib_joiner_t *joiners;
    weft_acceptor_t acceptor;
};

static weft_status_t ib_listener_open(weft_net_listener_t *listener, weft_endpoint_t *point)
{
    const weft_host_t *host = listener->host;
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
    socklen_t bytes = weft_endpoint_bytes(point);
    if (bind(fd, &point->any, bytes) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, &point->any, &bytes) != 0) {
        char text[WEFT_ENDPOINT_TEXT];
        int cause = errno;
        weft_endpoint_text(point, text);
        close(fd);
        return host->set_error(host, WEFT_ERR_RESOURCE, cause, "cannot listen on %s", text);
    }
    weft_acceptor_add(&listener->acceptor, fd);
    return WEFT_OK;
}

weft_status_t ib_listen(weft_net_device_t *device, weft_net_address_t *address_p,
                        weft_net_listener_t **listener_p)
{
    const weft_host_t *host = device->host;
    const ib_port_t *port = device->rails[0];
    weft_net_listener_t *listener = host->alloc(host, sizeof *listener, 0);
    if (listener == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    listener->host = host;
    listener->device = device;
    weft_acceptor_init(&listener->acceptor, host, device->epoll);
    /* An address that has vanished meanwhile is no error as long as one is left. */
    ib_address_t address = {.link_layer = port->attr.link_layer, .gid = port->gid};
    address.list = device->net->local;
    uint32_t count = address.list.count;
    address.list.count = 0;
    weft_status_t status =
        count > 0 ? WEFT_OK
                  : host->set_error(host, WEFT_ERR_LINK, 0,
                                    "no interface with an address fits interfaces = %s; the queue "
                                    "pairs are set up over TCP",
                                    device->net->config.interfaces);
    for (uint32_t i = 0; i < count; i++) {
        weft_endpoint_entry_t entry = address.list.entries[i];
        status = ib_listener_open(listener, &entry.point);
        if (status == WEFT_OK) {
            address.list.entries[address.list.count++] = entry;
        }
    }
    if (address.list.count == 0) {
        ib_listener_close(listener);
        return status;
    }
    ib_address_encode(&address, address_p);
    *listener_p = listener;
    return WEFT_OK;
}

static void ib_joiner_close(weft_net_listener_t *listener, ib_joiner_t *joiner)
{
    if (joiner->conn != NULL) {
        ib_side_await(joiner->conn, 0);
        if (joiner->step != JOIN_DONE) {
            ib_conn_close(joiner->conn);
        }
    }
    listener->host->free(listener->host, joiner);
}

void ib_listener_close(weft_net_listener_t *listener)
{
    if (listener == NULL) {
        return;
    }
    while (listener->joiners != NULL) {
        ib_joiner_t *joiner = listener->joiners;
        listener->joiners = joiner->next;
        ib_joiner_close(listener, joiner);
    }
    weft_acceptor_fini(&listener->acceptor);
    listener->host->free(listener->host, listener);
}

/* Returns the EPOLL* events of the side channel after which a step can go on. What the peer sends
 * for the next step must end no sleep in this one. */
static uint32_t ib_join_interest(ib_join_step_t step)
{
    switch (step) {
    case JOIN_RECEIVE:
    case JOIN_ACK:
        return EPOLLIN;
    case JOIN_CM: /* ib_cm.c watches channels of its own, and looks for the end of this one */
        return EPOLLRDHUP;
    default:
        return EPOLLOUT;
    }
}

static weft_status_t ib_joiner_add(weft_net_listener_t *listener, int fd,
                                   const uint8_t label[WEFT_AUTH_LABEL])
{
    const weft_host_t *host = listener->host;
    ib_joiner_t *joiner = host->alloc(host, sizeof *joiner, 0);
    weft_net_conn_t *conn = joiner != NULL ? ib_conn_create(listener->device, label) : NULL;
    if (conn == NULL) {
        host->free(host, joiner);
        close(fd);
        return WEFT_ERR_RESOURCE;
    }
    weft_endpoint_t point = {.any = {.sa_family = AF_UNSPEC}};
    socklen_t bytes = sizeof point;
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    weft_endpoint_keep_alive(fd);
    getpeername(fd, &point.any, &bytes);
    weft_endpoint_text(&point, conn->info.peer);
    conn->side.fd = fd;
    joiner->conn = conn;
    joiner->deadline_ns = host->clock_ns(host) + JOIN_PATIENCE_NS;
    joiner->next = listener->joiners;
    listener->joiners = joiner;
    ib_side_await(conn, ib_join_interest(joiner->step));
    return WEFT_OK;
}

/* Returns which rails either end has lost. */
static uint32_t ib_join_lost(const ib_joiner_t *joiner)
{
    const ib_hello_t *hello = &joiner->hello;
    bool both = (le32toh(hello->flags) & IB_HELLO_FAILOVER) != 0;
    ib_device_events_take(joiner->conn->device);
    return le32toh(hello->lost) | (both ? ib_rails_lost(joiner->conn) : 0);
}

static weft_status_t ib_join_again(ib_joiner_t *joiner, uint32_t lost)
{
    joiner->again = true;
    joiner->conn->reason[0] = '\0';
    joiner->hello = (ib_hello_t){.magic = htole32(IB_HELLO_AGAIN), .lost = htole32(lost)};
    return ib_rails_leave(joiner->conn, lost);
}

/* Makes the queue pairs, all but those of lost rails, and connects them. */
static weft_status_t ib_join_make(ib_joiner_t *joiner, uint32_t lost)
{
    weft_net_conn_t *conn = joiner->conn;
    ib_gid_t gids[IB_RAILS_MAX];
    for (uint32_t i = 0; i < IB_RAILS_MAX; i++) {
        ib_hello_gid(&joiner->hello, i, &gids[i]);
    }
    weft_status_t status = ib_qps_create(conn, gids, lost);
    status = status == WEFT_OK ? ib_qps_connect(conn, &joiner->hello) : status;
    return status == WEFT_OK ? ib_failover_init(conn, &joiner->hello) : status;
}

static weft_status_t ib_join_receive(ib_joiner_t *joiner)
{
    weft_net_conn_t *conn = joiner->conn;
    weft_status_t status =
        weft_record_receive(conn->side.fd, &joiner->hello, sizeof joiner->hello, &joiner->done);
    if (status != WEFT_OK) {
        return status;
    }
    status = ib_hello_check(conn, &joiner->hello);
    if (status != WEFT_OK) {
        return status;
    }
    uint32_t theirs = le32toh(joiner->hello.lost), lost = ib_join_lost(joiner);
    if (lost == theirs) {
        status = ib_join_make(joiner, lost);
        lost = status == WEFT_OK ? lost : ib_join_lost(joiner);
    }
    if (lost != theirs) { /* before, or just now */
        return ib_join_again(joiner, lost);
    }
    if (status == WEFT_OK) {
        ib_hello_fill(conn, &joiner->hello);
        status = ib_cm_listen(conn, &joiner->hello);
    }
    return status;
}

static weft_status_t ib_join_send(ib_joiner_t *joiner)
{
    return weft_record_send(joiner->conn->side.fd, &joiner->hello, sizeof joiner->hello,
                            &joiner->done);
}

static weft_status_t ib_join_cm(ib_joiner_t *joiner)
{
    return ib_cm_poll(joiner->conn);
}

static weft_status_t ib_join_go(ib_joiner_t *joiner)
{
    joiner->go = htole32(IB_HELLO_GO);
    return joiner->conn->cm == NULL ? WEFT_OK
                                    : weft_record_send(joiner->conn->side.fd, &joiner->go,
                                                       sizeof joiner->go, &joiner->done);
}

static weft_status_t ib_join_ack(ib_joiner_t *joiner)
{
    weft_net_conn_t *conn = joiner->conn;
    weft_status_t status =
        weft_record_receive(conn->side.fd, &joiner->ack, sizeof joiner->ack, &joiner->done);
    return status == WEFT_OK && le32toh(joiner->ack) != IB_HELLO_ACK
               ? ib_blame(conn, WEFT_ERR_PROTO, 0,
                          "peer %s confirms with another word (%#x); check that all ranks run the "
                          "same version of weft",
                          conn->info.peer, le32toh(joiner->ack))
               : status;
}

static weft_status_t ib_joiner_advance(ib_joiner_t *joiner)
{
    static weft_status_t (*const steps[])(ib_joiner_t *) = {[JOIN_RECEIVE] = ib_join_receive,
                                                            [JOIN_SEND] = ib_join_send,
                                                            [JOIN_CM] = ib_join_cm,
                                                            [JOIN_ACK] = ib_join_ack,
                                                            [JOIN_GO] = ib_join_go};
    const weft_host_t *host = joiner->conn->host;
    while (joiner->step != JOIN_DONE) {
        weft_status_t status = steps[joiner->step](joiner);
        if (status != WEFT_OK) {
            return status;
        }
        bool back = joiner->again && joiner->step == JOIN_SEND;
        joiner->step = back ? JOIN_RECEIVE : joiner->step + 1;
        joiner->again = joiner->again && !back;
        joiner->done = 0;
        joiner->deadline_ns = host->clock_ns(host) + JOIN_PATIENCE_NS;
    }
    return WEFT_OK;
}

/* Why it does not come about, where no reason was found here. */
static const char *ib_joiner_end_text(weft_status_t status)
{
    return status == WEFT_ERR_LINK      ? ": the peer closed it"
           : status == WEFT_IN_PROGRESS ? ": a step of the peer took longer than 30 s"
                                        : "";
}

static void ib_joiner_report(const weft_net_listener_t *listener, const ib_joiner_t *joiner,
                             weft_status_t status)
{
    const weft_host_t *host = listener->host;
    bool known = joiner->conn->reason[0] != '\0';
    host->log(host, known ? WEFT_LOG_WARN : WEFT_LOG_INFO,
              "connection from peer %s did not come about (status %d)%s%s", joiner->conn->info.peer,
              (int)status, known ? ": " : ib_joiner_end_text(status), joiner->conn->reason);
}

/* The peer waits for our record only after it has sent its own. */
static void ib_joiner_refuse(const ib_joiner_t *joiner, weft_status_t status)
{
    if (joiner->step == JOIN_RECEIVE && joiner->done == sizeof joiner->hello) {
        ib_refusal_send(joiner->conn, status);
    }
}

/* Hands out one complete connection. Returns OK, AGAIN (none now) or ERR_RESOURCE; a bad record
 * ends only its own connection. */
static weft_status_t ib_listener_join(weft_net_listener_t *listener, weft_net_conn_t **conn_p)
{
    ib_joiner_t **link = &listener->joiners;
    while (*link != NULL) {
        ib_joiner_t *joiner = *link;
        weft_status_t status = ib_joiner_advance(joiner);
        if (status == WEFT_IN_PROGRESS &&
            listener->host->clock_ns(listener->host) < joiner->deadline_ns) {
            ib_side_await(joiner->conn, ib_join_interest(joiner->step));
            link = &joiner->next;
            continue;
        }
        weft_net_conn_t *conn = joiner->conn;
        *link = joiner->next;
        if (status != WEFT_OK) {
            ib_joiner_report(listener, joiner, status);
            ib_joiner_refuse(joiner, status);
        }
        ib_joiner_close(listener, joiner);
        if (status == WEFT_OK) {
            *conn_p = conn;
            return WEFT_OK;
        }
        if (status == WEFT_ERR_RESOURCE) {
            return status;
        }
    }
    return WEFT_AGAIN;
}

weft_status_t ib_accept(weft_net_listener_t *listener, weft_net_conn_t **conn_p)
{
    int fd = -1;
    uint8_t label[WEFT_AUTH_LABEL];
    weft_net_conn_t *conn = NULL;
    weft_status_t status = weft_acceptor_poll(&listener->acceptor, &fd, label);
    while (status == WEFT_OK) {
        status = ib_joiner_add(listener, fd, label);
        if (status == WEFT_OK) {
            status = weft_acceptor_poll(&listener->acceptor, &fd, label);
        }
    }
    weft_status_t joined = ib_listener_join(listener, &conn);
    if (conn == NULL) {
        return joined == WEFT_AGAIN ? status : joined;
    }
    ib_conn_ready(conn);
    *conn_p = conn;
    return WEFT_OK;
}
