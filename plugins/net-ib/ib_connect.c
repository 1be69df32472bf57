/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The connector. It tries the peer's TCP addresses in turn; over the one that answers go the
 * handshake, the records of both ends, and the confirmation that this end can receive. */
#include "ib_connect.h"

#include <endian.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <weft/sdk/acceptor.h>
#include "ib_cm.h"
#include "ib_conn.h"
#include "ib_event.h"
#include "ib_failover.h"
#include "ib_hca.h"
#include "ib_qp.h"
#include "ib_rail.h"
#include "ib_refusal.h"
#include "ib_side.h"

typedef enum ib_step {
    STEP_OPEN,
    STEP_CONNECT,
    STEP_SHAKE,
    STEP_SEND,
    STEP_RECEIVE,
    STEP_CM,
    STEP_ACK,
    STEP_GO,
    STEP_DONE
} ib_step_t;

struct ib_attempt {
    ib_address_t address;
    uint32_t at; /* index of the TCP address being tried */
    ib_step_t step;
    int cause;         /* errno of the last failure */
    uint64_t moved_ns; /* when this address was begun with, or last answered */
    uint32_t done;     /* of the record being sent or received */
    uint32_t ack, go;
    bool again; /* the peer wants another record */
    weft_handshake_t handshake;
    ib_hello_t mine, theirs;
    char tried[384]; /* text: addresses that failed, and why */
};

static void ib_attempt_restart(weft_net_conn_t *conn)
{
    ib_attempt_t *attempt = conn->attempt;
    if (conn->side.fd >= 0) {
        ib_side_await(conn, 0);
        close(conn->side.fd);
        conn->side.fd = -1;
    }
    attempt->step = STEP_OPEN;
    attempt->done = 0;
    attempt->moved_ns = conn->host->clock_ns(conn->host);
    weft_endpoint_text(&attempt->address.list.entries[attempt->at].point, conn->info.peer);
}

/* Makes the queue pairs, all but those of lost rails, and the record of them. The address has the
 * GID of one rail. Where another one has none of its kind, so will the peer's. */
static weft_status_t ib_attempt_make_over(weft_net_conn_t *conn, uint32_t lost)
{
    ib_attempt_t *attempt = conn->attempt;
    ib_gid_t peers[IB_RAILS_MAX], gid;
    const ib_gid_t *told = &attempt->address.gid;
    for (uint32_t i = 0; i < conn->nrails; i++) {
        const ib_port_t *port = conn->rails[i].port;
        /* Its network is that of the first rail, and that of no other. */
        bool own = i > 0 && ib_gid_compatible(port->gid.type, &port->gid.gid, told);
        peers[i] = !own && ib_port_gid(port, told, &gid) ? *told : port->gid;
    }
    weft_status_t status = ib_qps_create(conn, peers, lost);
    if (status == WEFT_OK) {
        ib_hello_fill(conn, &attempt->mine);
    }
    return status;
}

/* Returns the rails that are lost here now and are not left out. */
static uint32_t ib_attempt_lost(const weft_net_conn_t *conn)
{
    ib_device_events_take(conn->device);
    return ib_rails_lost(conn) & ib_rails_up(conn);
}

/* Makes them without the rails that fail meanwhile, too. */
static weft_status_t ib_attempt_make(weft_net_conn_t *conn, uint32_t lost)
{
    weft_status_t status = ib_attempt_make_over(conn, lost);
    for (uint32_t more; status != WEFT_OK && (more = ib_attempt_lost(conn)) != 0;) {
        lost |= more;
        status = ib_attempt_make_over(conn, lost);
    }
    return status;
}

weft_status_t ib_connect_begin(weft_net_device_t *device, const weft_net_address_t *address,
                               const weft_net_conn_params_t *params, weft_net_conn_t **conn_p)
{
    const weft_host_t *host = device->host;
    weft_net_conn_t *conn = ib_conn_create(device, params->label);
    if (conn == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    conn->info.connector = 1;
    weft_status_t status = WEFT_ERR_RESOURCE;
    conn->attempt = host->alloc(host, sizeof *conn->attempt, 0);
    if (conn->attempt == NULL) {
        goto err_close;
    }
    ib_device_events_take(device);
    status = ib_address_decode(address, &conn->attempt->address);
    if (status != WEFT_OK) {
        host->set_error(host, status, 0, "not an address of net-ib");
        goto err_close;
    }
    if (!ib_address_reaches(device, &conn->attempt->address)) {
        status = host->set_error(host, WEFT_ERR_LINK, 0, "no address of the peer can be reached");
        goto err_close;
    }
    ib_attempt_restart(conn);
    status = ib_attempt_make(conn, ib_rails_lost(conn));
    if (status != WEFT_OK) {
        goto err_close;
    }
    *conn_p = conn;
    return WEFT_OK;

err_close:
    ib_conn_close(conn);
    return status;
}

static weft_status_t ib_connect_open(weft_net_conn_t *conn)
{
    const weft_host_t *host = conn->host;
    const weft_endpoint_t *point = &conn->attempt->address.list.entries[conn->attempt->at].point;
    int one = 1;
    conn->side.fd = socket(point->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (conn->side.fd < 0) {
        return host->set_error(host, WEFT_ERR_RESOURCE, errno,
                               "cannot open a socket; the limit of open files is ulimit -n");
    }
    setsockopt(conn->side.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    weft_endpoint_keep_alive(conn->side.fd);
    if (connect(conn->side.fd, &point->any, weft_endpoint_bytes(point)) != 0 &&
        errno != EINPROGRESS && errno != EINTR) {
        conn->attempt->cause = errno;
        return WEFT_ERR_LINK;
    }
    return weft_handshake_begin(host, &conn->attempt->handshake, conn->info.label);
}

static weft_status_t ib_connect_tcp(weft_net_conn_t *conn)
{
    struct pollfd watch = {.fd = conn->side.fd, .events = POLLOUT};
    int error = 0;
    socklen_t bytes = sizeof error;
    if (poll(&watch, 1, 0) <= 0) {
        return WEFT_IN_PROGRESS;
    }
    getsockopt(conn->side.fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
    conn->attempt->cause = error;
    return error == 0 ? WEFT_OK : WEFT_ERR_LINK;
}

static weft_status_t ib_connect_shake(weft_net_conn_t *conn)
{
    conn->attempt->cause = 0;
    return weft_handshake_connect(conn->host, &conn->attempt->handshake, conn->side.fd);
}

static weft_status_t ib_connect_send(weft_net_conn_t *conn)
{
    ib_attempt_t *attempt = conn->attempt;
    return weft_record_send(conn->side.fd, &attempt->mine, sizeof attempt->mine, &attempt->done);
}

/* The peer has lost rails that this end has not. Each record names more of them than the one
 * before. */
static weft_status_t ib_connect_again(weft_net_conn_t *conn)
{
    ib_attempt_t *attempt = conn->attempt;
    uint32_t before = le32toh(attempt->mine.lost), lost = le32toh(attempt->theirs.lost);
    if ((lost & before) != before || lost == before || lost >= (1u << conn->nrails) - 1) {
        return conn->host->set_error(conn->host, WEFT_ERR_PROTO, 0,
                                     "peer %s leaves no rail (mask %#x after %#x of %u)",
                                     conn->info.peer, lost, before, conn->nrails);
    }
    attempt->again = true;
    return ib_attempt_make(conn, lost);
}

static weft_status_t ib_connect_receive(weft_net_conn_t *conn)
{
    ib_attempt_t *attempt = conn->attempt;
    weft_status_t status = weft_record_receive(conn->side.fd, &attempt->theirs,
                                               sizeof attempt->theirs, &attempt->done);
    if (status != WEFT_OK) {
        return status;
    }
    uint32_t magic = le32toh(attempt->theirs.magic);
    if (magic == IB_HELLO_AGAIN || magic == IB_HELLO_REFUSED) {
        return magic == IB_HELLO_AGAIN ? ib_connect_again(conn)
                                       : ib_refusal_take(conn, &attempt->theirs);
    }
    status = ib_qps_connect(conn, &attempt->theirs);
    status = status == WEFT_OK ? ib_failover_init(conn, &attempt->theirs) : status;
    return status == WEFT_OK ? ib_cm_connect(conn, &attempt->theirs) : status;
}

static weft_status_t ib_connect_ack(weft_net_conn_t *conn)
{
    ib_attempt_t *attempt = conn->attempt;
    attempt->ack = htole32(IB_HELLO_ACK);
    return weft_record_send(conn->side.fd, &attempt->ack, sizeof attempt->ack, &attempt->done);
}

/* Over iWARP the acceptor must have received a message on each queue pair before anything else
 * is sent. */
static weft_status_t ib_connect_go(weft_net_conn_t *conn)
{
    ib_attempt_t *attempt = conn->attempt;
    if (conn->cm == NULL) {
        return WEFT_OK;
    }
    weft_status_t status =
        weft_record_receive(conn->side.fd, &attempt->go, sizeof attempt->go, &attempt->done);
    if (status == WEFT_ERR_LINK) {
        return conn->host->set_error(conn->host, status, 0,
                                     "peer %s closed the connection before it was ready",
                                     conn->info.peer);
    }
    return status == WEFT_OK && le32toh(attempt->go) != IB_HELLO_GO
               ? conn->host->set_error(conn->host, WEFT_ERR_PROTO, 0,
                                       "peer %s confirms with another word (%#x); check that all "
                                       "ranks run the same version of weft",
                                       conn->info.peer, le32toh(attempt->go))
               : status;
}

static weft_status_t ib_attempt_advance(weft_net_conn_t *conn)
{
    static weft_status_t (*const steps[])(weft_net_conn_t *) = {
        [STEP_OPEN] = ib_connect_open,       [STEP_CONNECT] = ib_connect_tcp,
        [STEP_SHAKE] = ib_connect_shake,     [STEP_SEND] = ib_connect_send,
        [STEP_RECEIVE] = ib_connect_receive, [STEP_CM] = ib_cm_poll,
        [STEP_ACK] = ib_connect_ack,         [STEP_GO] = ib_connect_go};
    ib_attempt_t *attempt = conn->attempt;
    while (attempt->step != STEP_DONE) {
        weft_status_t status = steps[attempt->step](conn);
        if (status != WEFT_OK) {
            return status;
        }
        attempt->step = attempt->again ? STEP_SEND : attempt->step + 1;
        attempt->again = false;
        attempt->done = 0;
        attempt->moved_ns = conn->host->clock_ns(conn->host);
    }
    return WEFT_OK;
}

/* Rails that failed on the way are left out, and everything begins anew: the peer has not been told
 * that this end is ready. */
static weft_status_t ib_attempt_leave(weft_net_conn_t *conn, uint32_t lost)
{
    weft_status_t status = ib_attempt_make(conn, le32toh(conn->attempt->mine.lost) | lost);
    if (status != WEFT_OK) {
        return status;
    }
    ib_attempt_restart(conn);
    return WEFT_IN_PROGRESS;
}

/* Continues with the next address. After the last one it returns the failure, with an error text
 * that names all addresses that were tried. */
static weft_status_t ib_attempt_next(weft_net_conn_t *conn, weft_status_t status)
{
    ib_attempt_t *attempt = conn->attempt;
    size_t used = strlen(attempt->tried);
    const char *why = status == WEFT_ERR_AUTH      ? "it holds another secret"
                      : attempt->cause != 0        ? strerror(attempt->cause)
                      : attempt->step > STEP_SHAKE ? "it closed the connection; look at its log"
                                                   : "closed during the handshake";
    snprintf(attempt->tried + used, sizeof attempt->tried - used, "%s%s (%s)", used > 0 ? ", " : "",
             conn->info.peer, why);
    if (attempt->at + 1 == attempt->address.list.count) {
        return conn->host->set_error(conn->host, status, 0, "cannot connect; tried %s",
                                     attempt->tried);
    }
    attempt->at++;
    ib_attempt_restart(conn);
    return WEFT_IN_PROGRESS;
}

static weft_status_t ib_attempt_step(weft_net_conn_t *conn)
{
    ib_attempt_t *attempt = conn->attempt;
    weft_status_t status = ib_attempt_advance(conn);
    if (status == WEFT_OK) {
        return status;
    }
    uint32_t lost = status != WEFT_IN_PROGRESS ? ib_attempt_lost(conn) : 0;
    if (lost != 0) {
        return ib_attempt_leave(conn, lost);
    }
    uint64_t patience = (uint64_t)(conn->device->net->config.connect_timeout * 1e9);
    uint64_t waited = conn->host->clock_ns(conn->host) - attempt->moved_ns;
    if (status == WEFT_IN_PROGRESS) {
        /* The last address is tried until the core gives up, and so is one whose record is here. */
        bool last = attempt->at + 1 == attempt->address.list.count;
        if (waited < patience || last || attempt->step > STEP_RECEIVE) {
            return status;
        }
        attempt->cause = ETIMEDOUT;
        status = WEFT_ERR_LINK;
    }
    /* Once the peer's record is there, another address cannot help. */
    bool again =
        attempt->step < STEP_RECEIVE && (status == WEFT_ERR_LINK || status == WEFT_ERR_AUTH);
    bool unheard = attempt->step == STEP_RECEIVE && attempt->done < sizeof attempt->theirs;
    return again || unheard ? ib_attempt_next(conn, status) : status;
}

/* One that begins anew goes on at once: nothing would end a sleep before that. */
static weft_status_t ib_attempt_poll(weft_net_conn_t *conn)
{
    weft_status_t status = ib_attempt_step(conn);
    while (status == WEFT_IN_PROGRESS && conn->attempt->step == STEP_OPEN) {
        status = ib_attempt_step(conn);
    }
    return status;
}

/* Returns the EPOLL* events of the side channel after which a step can go on. */
static uint32_t ib_step_interest(ib_step_t step)
{
    switch (step) {
    case STEP_CONNECT:
    case STEP_SEND:
    case STEP_ACK:
        return EPOLLOUT;
    case STEP_SHAKE:
    case STEP_RECEIVE:
    case STEP_CM: /* ib_cm.c watches a channel of its own, too */
    case STEP_GO:
        return EPOLLIN;
    default:
        return 0;
    }
}

weft_status_t ib_connect_poll(weft_net_conn_t *conn)
{
    if (conn->ready) {
        return WEFT_OK;
    }
    if (conn->attempt == NULL || conn->failed != WEFT_OK) {
        return conn->host->set_error(conn->host, WEFT_ERR_STATE, 0, "connection is not under way");
    }
    weft_status_t status = ib_attempt_poll(conn);
    if (status == WEFT_IN_PROGRESS) {
        ib_side_await(conn, ib_step_interest(conn->attempt->step));
        return status;
    }
    ib_side_await(conn, 0); /* also of one that failed, which stays until the core closes it */
    if (status == WEFT_OK) {
        conn->host->free(conn->host, conn->attempt);
        conn->attempt = NULL;
        ib_conn_ready(conn);
    }
    return status;
}
