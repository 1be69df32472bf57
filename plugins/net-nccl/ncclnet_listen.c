/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See ncclnet_listen.h. */
#include "ncclnet_listen.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <weft/sdk/acceptor.h>

#include "ncclnet_conn.h"
#include "ncclnet_join.h"

#define FORMING_PATIENCE_NS UINT64_C(10000000000) /* for an authenticated peer to become ready */

struct weft_net_listener {
    const weft_host_t *host;
    weft_net_device_t *device;
    weft_net_conn_t *forming; /* authenticated, not ready */
    weft_acceptor_t acceptor;
};

/* Tries the ports of the range, beginning at a random one, or lets the kernel choose. */
static weft_status_t ncclnet_listener_bind(weft_net_listener_t *listener, int fd,
                                           weft_endpoint_t *point)
{
    const weft_host_t *host = listener->host;
    const weft_port_range_t *ports = &listener->device->net->ports;
    uint32_t span = ports->first == 0 ? 1 : (uint32_t)(ports->last - ports->first) + 1;
    uint32_t start = 0;
    weft_status_t status = host->random(host, &start, sizeof start);
    for (uint32_t i = 0; status == WEFT_OK && i < span; i++) {
        uint32_t port = ports->first == 0 ? 0 : ports->first + (start + i) % span;
        socklen_t bytes = weft_endpoint_bytes(point);
        weft_endpoint_set_port(point, (uint16_t)port);
        if (bind(fd, &point->any, bytes) == 0 && listen(fd, SOMAXCONN) == 0 &&
            getsockname(fd, &point->any, &bytes) == 0) {
            return WEFT_OK;
        }
    }
    int cause = errno;
    char text[WEFT_ENDPOINT_TEXT];
    weft_endpoint_text(point, text);
    return status != WEFT_OK ? status
                             : host->set_error(host, WEFT_ERR_RESOURCE, cause,
                                               "cannot listen on %s (port_range %u-%u)", text,
                                               ports->first, ports->last);
}

static weft_status_t ncclnet_listener_open(weft_net_listener_t *listener, weft_endpoint_t *point)
{
    const weft_host_t *host = listener->host;
    int family = point->any.sa_family, one = 1;
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return host->set_error(host, WEFT_ERR_RESOURCE, errno, "cannot open a socket");
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    /* Accepted sockets have these from it. */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    weft_endpoint_keep_alive(fd);
    if (family == AF_INET6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    }
    weft_status_t status = ncclnet_listener_bind(listener, fd, point);
    if (status != WEFT_OK) {
        close(fd);
        return status;
    }
    weft_acceptor_add(&listener->acceptor, fd);
    return WEFT_OK;
}

/* The endpoints, and behind them the name of the library's network. */
static void ncclnet_address_encode(const weft_net_t *net, const weft_endpoint_list_t *list,
                                   weft_net_address_t *address)
{
    _Static_assert(WEFT_ENDPOINTS_MAX * 20 + 32 + NCCLNET_NAME_MAX <= WEFT_NET_ADDRESS_MAX,
                   "address too long");
    weft_endpoint_list_encode(list, address);
    snprintf((char *)address->data + address->bytes, NCCLNET_NAME_MAX, "%s",
             net->library->shim->name(net->library->table));
    address->bytes += NCCLNET_NAME_MAX;
}

weft_status_t ncclnet_address_decode(weft_net_device_t *device, const weft_net_address_t *address,
                                     weft_endpoint_list_t *list)
{
    const weft_host_t *host = device->host;
    const ncclnet_library_t *library = device->net->library;
    weft_net_address_t points = *address;
    char name[NCCLNET_NAME_MAX + 1] = "", mine[NCCLNET_NAME_MAX];
    points.bytes = address->bytes > NCCLNET_NAME_MAX ? address->bytes - NCCLNET_NAME_MAX : 0;
    if (address->bytes > WEFT_NET_ADDRESS_MAX ||
        weft_endpoint_list_decode(&points, list) != WEFT_OK) {
        return host->set_error(host, WEFT_ERR_PROTO, 0, "not an address of net-nccl");
    }
    memcpy(name, address->data + points.bytes, NCCLNET_NAME_MAX);
    snprintf(mine, sizeof mine, "%s", library->shim->name(library->table));
    if (strcmp(name, mine) != 0) {
        return host->set_error(host, WEFT_ERR_UNSUPPORTED, 0,
                               "the peer uses the network plugin \"%s\", this rank \"%s\"", name,
                               mine);
    }
    weft_endpoint_list_reach(&device->net->local, list);
    if (list->count == 0) {
        return host->set_error(host, WEFT_ERR_UNSUPPORTED, 0,
                               "the peer has no address for the control stream that the chosen "
                               "interfaces reach");
    }
    return WEFT_OK;
}

weft_status_t ncclnet_reachable(weft_net_device_t *device, const weft_net_address_t *address)
{
    weft_endpoint_list_t list;
    return ncclnet_address_decode(device, address, &list);
}

weft_status_t ncclnet_listen(weft_net_device_t *device, weft_net_address_t *address_p,
                             weft_net_listener_t **listener_p)
{
    const weft_host_t *host = device->host;
    weft_net_listener_t *listener = host->alloc(host, sizeof *listener, 0);
    if (listener == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    listener->host = host;
    listener->device = device;
    weft_acceptor_init(&listener->acceptor, host, -1);
    /* An address may vanish meanwhile. That is no fault as long as one is left. */
    weft_endpoint_list_t list = device->net->local;
    uint32_t count = list.count;
    weft_status_t status = WEFT_ERR_LINK;
    list.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        weft_endpoint_entry_t entry = device->net->local.entries[i];
        status = ncclnet_listener_open(listener, &entry.point);
        if (status == WEFT_OK) {
            list.entries[list.count++] = entry;
        }
    }
    if (list.count == 0) {
        ncclnet_listener_close(listener);
        return count > 0 ? status
                         : host->set_error(host, WEFT_ERR_RESOURCE, 0,
                                           "no interface with an address fits interfaces = %s",
                                           device->net->config.interfaces);
    }
    ncclnet_address_encode(device->net, &list, address_p);
    *listener_p = listener;
    return WEFT_OK;
}

void ncclnet_listener_close(weft_net_listener_t *listener)
{
    if (listener == NULL) {
        return;
    }
    while (listener->forming != NULL) {
        weft_net_conn_t *conn = listener->forming;
        listener->forming = conn->next;
        ncclnet_conn_close(conn);
    }
    weft_acceptor_fini(&listener->acceptor);
    listener->host->free(listener->host, listener);
}

static weft_status_t ncclnet_listener_add(weft_net_listener_t *listener, int fd,
                                          const uint8_t label[WEFT_AUTH_LABEL])
{
    weft_net_conn_t *conn = ncclnet_conn_create(listener->device, label);
    if (conn == NULL) {
        close(fd);
        return WEFT_ERR_RESOURCE;
    }
    weft_endpoint_t point = {.any = {.sa_family = AF_UNSPEC}};
    socklen_t bytes = sizeof point;
    conn->fd = fd;
    if (getpeername(fd, &point.any, &bytes) == 0) {
        weft_endpoint_text(&point, conn->info.peer);
    }
    conn->join->started_ns = listener->host->clock_ns(listener->host);
    conn->next = listener->forming;
    listener->forming = conn;
    return WEFT_OK;
}

/* Tells of a peer that was dropped. One that closes the stream had a reason of its own. */
static void ncclnet_listener_tell(const weft_host_t *host, const weft_net_conn_t *conn)
{
    bool known = conn->why[0] != '\0';
    host->log(host, known ? WEFT_LOG_WARN : WEFT_LOG_INFO,
              "connection from peer %s did not come about: %s", conn->info.peer,
              known ? conn->why : "it closed the control stream");
}

/* Advances all, and drops those that fail or are late. Returns one that is ready, or NULL. */
static weft_net_conn_t *ncclnet_listener_advance(weft_net_listener_t *listener,
                                                 weft_status_t *status_p)
{
    const weft_host_t *host = listener->host;
    uint64_t now = host->clock_ns(host);
    weft_net_conn_t **link = &listener->forming;
    while (*link != NULL) {
        weft_net_conn_t *conn = *link, *next = conn->next;
        weft_status_t status = ncclnet_join_advance(conn);
        bool late =
            status == WEFT_IN_PROGRESS && now > conn->join->started_ns + FORMING_PATIENCE_NS;
        if (status == WEFT_IN_PROGRESS && !late) {
            link = &conn->next;
            continue;
        }
        *link = next;
        if (status == WEFT_OK) {
            ncclnet_conn_ready(conn);
            return conn;
        }
        /* What concerns one peer, as its handle with which the library does nothing, is no failure
         * of the listener. */
        bool own = status != WEFT_ERR_LINK && conn->why[0] == '\0';
        if (!late && own) {
            *status_p = status;
        } else if (!late) {
            ncclnet_listener_tell(host, conn);
        }
        ncclnet_conn_close(conn);
    }
    return NULL;
}

weft_status_t ncclnet_accept(weft_net_listener_t *listener, weft_net_conn_t **conn_p)
{
    int fd = -1;
    uint8_t label[WEFT_AUTH_LABEL];
    weft_status_t status = weft_acceptor_poll(&listener->acceptor, &fd, label);
    while (status == WEFT_OK) {
        status = ncclnet_listener_add(listener, fd, label);
        if (status == WEFT_OK) {
            status = weft_acceptor_poll(&listener->acceptor, &fd, label);
        }
    }
    weft_net_conn_t *conn = ncclnet_listener_advance(listener, &status);
    if (conn == NULL) {
        return status;
    }
    *conn_p = conn;
    return WEFT_OK;
}
