/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The connector's way to a ready connection: the peer's TCP addresses in turn; there the handshake, then
 * both records about queue pairs, then the word that this end can receive. */
#include <endian.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cm.h"
#include "hello.h"

typedef enum ib_step {
    STEP_OPEN,
    STEP_CONNECT,
    STEP_SHAKE,
    STEP_TELL,
    STEP_HEAR,
    STEP_JOIN,
    STEP_ACK,
    STEP_GO,
    STEP_DONE
} ib_step_t;

struct ib_dial {
    ib_address_t address;
    uint32_t at; /* TCP address being tried */
    ib_step_t step;
    int cause; /* errno of the last failure */
    uint64_t started_ns;
    uint32_t done; /* bytes of the record */
    uint32_t ack, go;
    weft_handshake_t handshake;
    ib_hello_t mine, theirs;
    char tried[384]; /* addresses that failed, and why */
};

void ib_dial_close(weft_net_conn_t *conn)
{
    conn->host->free(conn->host, conn->dial);
    conn->dial = NULL;
}

static void dial_restart(weft_net_conn_t *conn)
{
    ib_dial_t *dial = conn->dial;
    if (conn->side >= 0) {
        close(conn->side);
        conn->side = -1;
    }
    dial->step = STEP_OPEN;
    dial->done = 0;
    dial->started_ns = conn->host->clock_ns(conn->host);
    weft_endpoint_text(&dial->address.list.entries[dial->at].point, conn->info.peer);
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
    conn->dial = host->alloc(host, sizeof *conn->dial, 0);
    if (conn->dial == NULL) {
        goto err_close;
    }
    status = ib_address_decode(address, &conn->dial->address);
    if (status != WEFT_OK) {
        host->set_error(host, status, 0, "not an address of net-ib");
        goto err_close;
    }
    if (!ib_address_reaches(device, &conn->dial->address)) {
        status = host->set_error(host, WEFT_ERR_LINK, 0, "no address of the peer can be reached");
        goto err_close;
    }
    dial_restart(conn);
    status = ib_lanes_create(conn, &conn->dial->address.gid);
    if (status != WEFT_OK) {
        goto err_close;
    }
    ib_lanes_tell(conn, &conn->dial->mine);
    *conn_p = conn;
    return WEFT_OK;

err_close:
    ib_conn_close(conn);
    return status;
}

static weft_status_t step_open(weft_net_conn_t *conn)
{
    const weft_host_t *host = conn->host;
    const weft_endpoint_t *point = &conn->dial->address.list.entries[conn->dial->at].point;
    int one = 1;
    conn->side = socket(point->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (conn->side < 0) {
        return host->set_error(host, WEFT_ERR_RESOURCE, errno,
                               "cannot open a socket; the limit of open files is ulimit -n");
    }
    setsockopt(conn->side, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(conn->side, &point->any, weft_endpoint_bytes(point)) != 0 && errno != EINPROGRESS &&
        errno != EINTR) {
        conn->dial->cause = errno;
        return WEFT_ERR_LINK;
    }
    return weft_handshake_begin(host, &conn->dial->handshake, conn->info.label);
}

static weft_status_t step_connect(weft_net_conn_t *conn)
{
    struct pollfd watch = {.fd = conn->side, .events = POLLOUT};
    int error = 0;
    socklen_t bytes = sizeof error;
    if (poll(&watch, 1, 0) <= 0) {
        return WEFT_IN_PROGRESS;
    }
    getsockopt(conn->side, SOL_SOCKET, SO_ERROR, &error, &bytes);
    conn->dial->cause = error;
    return error == 0 ? WEFT_OK : WEFT_ERR_LINK;
}

static weft_status_t step_shake(weft_net_conn_t *conn)
{
    conn->dial->cause = 0;
    return weft_handshake_connect(conn->host, &conn->dial->handshake, conn->side);
}

static weft_status_t step_tell(weft_net_conn_t *conn)
{
    ib_dial_t *dial = conn->dial;
    return weft_record_send(conn->side, &dial->mine, sizeof dial->mine, &dial->done);
}

static weft_status_t step_hear(weft_net_conn_t *conn)
{
    ib_dial_t *dial = conn->dial;
    weft_status_t status =
        weft_record_receive(conn->side, &dial->theirs, sizeof dial->theirs, &dial->done);
    status = status == WEFT_OK ? ib_lanes_connect(conn, &dial->theirs) : status;
    return status == WEFT_OK ? ib_cm_dial(conn, &dial->theirs) : status;
}

static weft_status_t step_ack(weft_net_conn_t *conn)
{
    ib_dial_t *dial = conn->dial;
    dial->ack = htole32(IB_HELLO_ACK);
    return weft_record_send(conn->side, &dial->ack, sizeof dial->ack, &dial->done);
}

/* Over iWARP the acceptor must have heard of each queue pair before anything else may happen there. */
static weft_status_t step_go(weft_net_conn_t *conn)
{
    ib_dial_t *dial = conn->dial;
    if (conn->cm == NULL) {
        return WEFT_OK;
    }
    weft_status_t status = weft_record_receive(conn->side, &dial->go, sizeof dial->go, &dial->done);
    return status == WEFT_OK && le32toh(dial->go) != IB_HELLO_GO ? WEFT_ERR_PROTO : status;
}

static weft_status_t dial_advance(weft_net_conn_t *conn)
{
    static weft_status_t (*const steps[])(weft_net_conn_t *) = {
        [STEP_OPEN] = step_open,   [STEP_CONNECT] = step_connect,
        [STEP_SHAKE] = step_shake, [STEP_TELL] = step_tell,
        [STEP_HEAR] = step_hear,   [STEP_JOIN] = ib_cm_poll,
        [STEP_ACK] = step_ack,     [STEP_GO] = step_go};
    ib_dial_t *dial = conn->dial;
    while (dial->step != STEP_DONE) {
        weft_status_t status = steps[dial->step](conn);
        if (status != WEFT_OK) {
            return status;
        }
        dial->step++;
        dial->done = 0;
    }
    return WEFT_OK;
}

/* Goes on to the next address. The last failure is given to the caller, with all that was tried. */
static weft_status_t dial_next(weft_net_conn_t *conn, weft_status_t status)
{
    ib_dial_t *dial = conn->dial;
    size_t used = strlen(dial->tried);
    const char *why = status == WEFT_ERR_AUTH ? "it holds another secret"
                      : dial->cause != 0      ? strerror(dial->cause)
                                              : "closed during the handshake";
    snprintf(dial->tried + used, sizeof dial->tried - used, "%s%s (%s)", used > 0 ? ", " : "",
             conn->info.peer, why);
    if (dial->at + 1 == dial->address.list.count) {
        return conn->host->set_error(conn->host, status, 0, "cannot connect; tried %s",
                                     dial->tried);
    }
    dial->at++;
    dial_restart(conn);
    return WEFT_IN_PROGRESS;
}

weft_status_t ib_connect_poll(weft_net_conn_t *conn)
{
    ib_dial_t *dial = conn->dial;
    if (conn->ready) {
        return WEFT_OK;
    }
    if (dial == NULL || conn->failed != WEFT_OK) {
        return conn->host->set_error(conn->host, WEFT_ERR_STATE, 0, "connection is not under way");
    }
    weft_status_t status = dial_advance(conn);
    if (status == WEFT_OK) {
        ib_dial_close(conn);
        ib_conn_ready(conn);
        return WEFT_OK;
    }
    uint64_t patience = (uint64_t)(conn->device->net->config.connect_timeout * 1e9);
    uint64_t waited = conn->host->clock_ns(conn->host) - dial->started_ns;
    if (status == WEFT_IN_PROGRESS) {
        /* The last address is tried until the core gives up. */
        if (waited < patience || dial->at + 1 == dial->address.list.count) {
            return status;
        }
        dial->cause = ETIMEDOUT;
        status = WEFT_ERR_LINK;
    }
    /* Once queue pairs are connected another address cannot help. */
    bool again = dial->step < STEP_HEAR && (status == WEFT_ERR_LINK || status == WEFT_ERR_AUTH);
    return again || (dial->step == STEP_HEAR && dial->theirs.magic == 0) ? dial_next(conn, status)
                                                                         : status;
}
