/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Control calls of a net plugin under core.check. */
#include "core/check/check_net.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/check/check_net_memory.h"
#include "core/check/check_net_traffic.h"

#define STORES "OK: it has stored the object"

static weft_status_t net_no_memory(void)
{
    return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to check a transport");
}

/* What a call that makes an object stored. */
static weft_status_t net_judge_made(const weft_check_call_t *call, weft_status_t status,
                                    const void *made)
{
    if (status == WEFT_OK && made == NULL) {
        return weft_check_breach(call->check, call->method, STORES, "it returned OK and no object");
    }
    return status;
}

/* Instances and devices ------------------------------------------------------------------------ */

static weft_status_t net_create(const weft_host_t *host, const void *config, weft_net_t **net_p)
{
    weft_check_t *check = weft_check_of(host);
    weft_net_t *net = weft_os_alloc(sizeof *net, 0);
    if (net == NULL) {
        return net_no_memory();
    }
    net->check = check;
    weft_check_call_t call = weft_check_enter(check, "create");
    weft_status_t status =
        weft_check_end(&call, check->own.net->create(host, config, &net->own), WEFT_CHECK_FAILURES);
    status = net_judge_made(&call, status, net->own);
    if (status != WEFT_OK) {
        weft_os_free(net);
        return status;
    }
    weft_check_made(check);
    *net_p = net;
    return WEFT_OK;
}

static void net_destroy(weft_net_t *net)
{
    if (net == NULL) {
        return;
    }
    weft_check_call_t call = weft_check_enter(net->check, "destroy");
    net->check->own.net->destroy(net->own);
    weft_check_leave(&call);
    weft_check_gone(net->check);
    weft_os_free(net);
}

static weft_status_t net_device_count(weft_net_t *net, uint32_t *count_p)
{
    weft_check_call_t call = weft_check_enter(net->check, "device_count");
    return weft_check_end(&call, net->check->own.net->device_count(net->own, count_p),
                          WEFT_CHECK_FAILURES);
}

static weft_status_t net_device_props(weft_net_t *net, uint32_t index, weft_net_props_t *props)
{
    size_t size = props->size;
    weft_check_call_t call = weft_check_enter(net->check, "device_props");
    weft_status_t status = weft_check_end(
        &call, net->check->own.net->device_props(net->own, index, props), WEFT_CHECK_FAILURES);
    if (status == WEFT_OK && props->size != size) {
        return weft_check_breach(net->check, "device_props", "it fills props->size bytes",
                                 "it changed props->size from %zu to %zu", size, props->size);
    }
    if (status == WEFT_OK && props->max_outstanding > 1) {
        props->max_outstanding /= 2; /* the other half is for the digests */
    }
    return status;
}

static weft_status_t net_device_open(weft_net_t *net, uint32_t index, weft_net_device_t **device_p)
{
    weft_net_device_t *device = weft_os_alloc(sizeof *device, 0);
    if (device == NULL) {
        return net_no_memory();
    }
    device->net = net;
    weft_check_call_t call = weft_check_enter(net->check, "device_open");
    weft_status_t status =
        weft_check_end(&call, net->check->own.net->device_open(net->own, index, &device->own),
                       WEFT_CHECK_FAILURES);
    status = net_judge_made(&call, status, device->own);
    for (const weft_net_device_t *d = net->devices; d != NULL && status == WEFT_OK; d = d->next) {
        if (d->own == device->own) {
            status = weft_check_breach(net->check, "device_open", "the core owns the device",
                                       "it gave out a device that is open already");
        }
    }
    if (status != WEFT_OK) {
        weft_os_free(device);
        return status;
    }
    weft_os_lock(&net->lock);
    device->next = net->devices;
    net->devices = device;
    weft_os_unlock(&net->lock);
    *device_p = device;
    return WEFT_OK;
}

static void net_device_close(weft_net_device_t *device)
{
    weft_net_t *net = device->net;
    weft_check_call_t call = weft_check_enter(net->check, "device_close");
    net->check->own.net->device_close(device->own);
    weft_check_leave(&call);
    weft_os_lock(&net->lock);
    weft_net_device_t **link = &net->devices;
    while (*link != device) {
        link = &(*link)->next;
    }
    *link = device->next;
    weft_os_unlock(&net->lock);
    weft_os_free(device);
}

/* Listeners ------------------------------------------------------------------------------------ */

static weft_status_t net_judge_address(const weft_check_call_t *call,
                                       const weft_net_device_t *device,
                                       const weft_net_address_t *address)
{
    weft_check_t *check = call->check;
    if (address->bytes == 0 || address->bytes > WEFT_NET_ADDRESS_MAX) {
        return weft_check_breach(check, "listen", "an address has 1 to 252 bytes",
                                 "it stored an address of %u bytes", address->bytes);
    }
    weft_check_call_t reachable = weft_check_enter(check, "reachable");
    weft_status_t status = weft_check_end(
        &reachable, check->own.net->reachable(device->own, address), WEFT_CHECK_FAILURES);
    if (status == WEFT_ERR_PROTO) {
        return weft_check_breach(check, "reachable",
                                 "ERR_PROTO: the bytes are not an address of this plugin",
                                 "it refused the address that listen() of the same device stored");
    }
    return status == WEFT_ERR_PLUGIN ? status : WEFT_OK;
}

static weft_status_t net_listen(weft_net_device_t *device, weft_net_address_t *address_p,
                                weft_net_listener_t **listener_p)
{
    weft_check_t *check = device->net->check;
    weft_net_listener_t *listener = weft_os_alloc(sizeof *listener, 0);
    if (listener == NULL) {
        return net_no_memory();
    }
    listener->device = device;
    weft_check_call_t call = weft_check_enter(check, "listen");
    weft_status_t status = weft_check_end(
        &call, check->own.net->listen(device->own, address_p, &listener->own), WEFT_CHECK_FAILURES);
    status = net_judge_made(&call, status, listener->own);
    if (status == WEFT_OK) {
        status = net_judge_address(&call, device, address_p);
        if (status != WEFT_OK) {
            check->own.net->listener_close(listener->own);
        }
    }
    if (status != WEFT_OK) {
        weft_os_free(listener);
        return status;
    }
    *listener_p = listener;
    return WEFT_OK;
}

static void net_listener_close(weft_net_listener_t *listener)
{
    weft_check_t *check = listener->device->net->check;
    weft_check_call_t call = weft_check_enter(check, "listener_close");
    check->own.net->listener_close(listener->own);
    weft_check_leave(&call);
    weft_os_free(listener);
}

static weft_status_t net_reachable(weft_net_device_t *device, const weft_net_address_t *address)
{
    weft_check_t *check = device->net->check;
    weft_check_call_t call = weft_check_enter(check, "reachable");
    return weft_check_end(&call, check->own.net->reachable(device->own, address),
                          WEFT_CHECK_FAILURES);
}

/* Connections ---------------------------------------------------------------------------------- */

static void net_conn_add(weft_net_device_t *device, weft_net_conn_t *conn)
{
    weft_os_lock(&device->lock);
    conn->device = device;
    conn->next = device->conns;
    device->conns = conn;
    weft_os_unlock(&device->lock);
}

static void net_conn_remove(weft_net_conn_t *conn)
{
    weft_os_lock(&conn->device->lock);
    weft_net_conn_t **link = &conn->device->conns;
    while (*link != conn) {
        link = &(*link)->next;
    }
    *link = conn->next;
    weft_os_unlock(&conn->device->lock);
}

static weft_status_t net_connect_begin(weft_net_device_t *device, const weft_net_address_t *address,
                                       const weft_net_conn_params_t *params,
                                       weft_net_conn_t **conn_p)
{
    weft_check_t *check = device->net->check;
    weft_net_conn_t *conn = weft_os_alloc(sizeof *conn, 0);
    if (conn == NULL) {
        return net_no_memory();
    }
    conn->connector = true;
    conn->map_bytes = params->map_bytes;
    memcpy(conn->label, params->label, sizeof conn->label);
    weft_check_call_t call = weft_check_enter(check, "connect_begin");
    weft_status_t status = weft_check_end(
        &call, check->own.net->connect_begin(device->own, address, params, &conn->own),
        WEFT_CHECK_FAILURES);
    status = net_judge_made(&call, status, conn->own);
    if (status != WEFT_OK) {
        weft_os_free(conn);
        return status;
    }
    net_conn_add(device, conn);
    *conn_p = conn;
    return WEFT_OK;
}

/* Compares what the plugin says of a connection that has just become ready with what is known. */
static weft_status_t net_judge_ready(weft_net_conn_t *conn)
{
    weft_check_t *check = conn->device->net->check;
    weft_net_conn_info_t info = {.size = sizeof info};
    weft_check_call_t call = weft_check_enter(check, "conn_info");
    weft_status_t status =
        weft_check_end(&call, check->own.net->conn_info(conn->own, &info), WEFT_CHECK_FAILURES);
    if (status != WEFT_OK) {
        return status;
    }
    if (memchr(info.peer, 0, sizeof info.peer) == NULL) {
        return weft_check_breach(check, "conn_info", "peer is a text", "found no end of peer");
    }
    if (info.connector != (conn->connector ? 1u : 0u)) {
        return weft_check_breach(check, "conn_info",
                                 "connector: 1 on the side that called connect_begin",
                                 "found %u on the side that %s", info.connector,
                                 conn->connector ? "connected" : "accepted");
    }
    if (conn->connector && memcmp(info.label, conn->label, sizeof conn->label) != 0) {
        return weft_check_breach(check, "conn_info", "label: as given by the connector",
                                 "found another label");
    }
    conn->ready = true;
    return WEFT_OK;
}

static weft_status_t net_connect_poll(weft_net_conn_t *conn)
{
    weft_check_t *check = conn->device->net->check;
    weft_check_call_t call = weft_check_enter(check, "connect_poll");
    weft_status_t status = weft_check_end(&call, check->own.net->connect_poll(conn->own),
                                          WEFT_CHECK_FAILURES | WEFT_CHECK_IN_PROGRESS);
    return status == WEFT_OK && !conn->ready ? net_judge_ready(conn) : status;
}

static weft_status_t net_judge_accepted(const weft_check_call_t *call, weft_net_device_t *device,
                                        weft_status_t status, const weft_net_conn_t *own)
{
    bool known = false;
    status = net_judge_made(call, status, own);
    if (status == WEFT_AGAIN && own != NULL) {
        return weft_check_breach(call->check, "accept", "AGAIN if there is none",
                                 "it returned AGAIN and stored a connection");
    }
    weft_os_lock(&device->net->lock);
    for (weft_net_device_t *d = device->net->devices; d != NULL; d = d->next) {
        weft_os_lock(&d->lock);
        for (const weft_net_conn_t *c = d->conns; c != NULL; c = c->next) {
            known = known || c->own == own;
        }
        weft_os_unlock(&d->lock);
    }
    weft_os_unlock(&device->net->lock);
    return status == WEFT_OK && known
               ? weft_check_breach(call->check, "accept", "it stores the next connection",
                                   "it gave out a connection that is open already")
               : status;
}

static weft_status_t net_accept(weft_net_listener_t *listener, weft_net_conn_t **conn_p)
{
    weft_net_device_t *device = listener->device;
    weft_check_t *check = device->net->check;
    weft_net_conn_t *own = NULL;
    weft_check_call_t call = weft_check_enter(check, "accept");
    weft_status_t status = weft_check_end(&call, check->own.net->accept(listener->own, &own),
                                          WEFT_CHECK_FAILURES | WEFT_CHECK_AGAIN);
    status = net_judge_accepted(&call, device, status, own);
    if (status != WEFT_OK) {
        return status;
    }
    weft_net_conn_t *conn = weft_os_alloc(sizeof *conn, 0);
    if (conn == NULL) {
        check->own.net->conn_close(own);
        return net_no_memory();
    }
    conn->own = own;
    net_conn_add(device, conn);
    status = net_judge_ready(conn);
    if (status != WEFT_OK) {
        net_conn_remove(conn);
        check->own.net->conn_close(own);
        weft_os_free(conn);
        return status;
    }
    *conn_p = conn;
    return WEFT_OK;
}

static weft_status_t net_conn_info(weft_net_conn_t *conn, weft_net_conn_info_t *info)
{
    weft_check_t *check = conn->device->net->check;
    weft_check_call_t call = weft_check_enter(check, "conn_info");
    return weft_check_end(&call, check->own.net->conn_info(conn->own, info), WEFT_CHECK_FAILURES);
}

static weft_status_t net_conn_check(weft_net_conn_t *conn)
{
    weft_check_t *check = conn->device->net->check;
    weft_check_call_t call = weft_check_enter(check, "conn_check");
    return weft_check_end(&call, check->own.net->conn_check(conn->own), WEFT_CHECK_FAILURES);
}

static void net_conn_close(weft_net_conn_t *conn)
{
    if (conn == NULL) {
        return;
    }
    weft_check_t *check = conn->device->net->check;
    net_conn_remove(conn);
    weft_check_call_t call = weft_check_enter(check, "conn_close");
    check->own.net->conn_close(conn->own);
    weft_check_leave(&call);
    weft_check_net_end(conn);
    weft_os_free(conn);
}

static weft_status_t net_cancel(weft_net_conn_t *conn)
{
    weft_check_t *check = conn->device->net->check;
    weft_check_call_t call = weft_check_enter(check, "cancel");
    conn->cancelled = weft_os_clock_ns();
    return weft_check_end(&call, check->own.net->cancel(conn->own), WEFT_CHECK_FAILURES);
}

static weft_status_t net_wait_fd(weft_net_device_t *device, int *fd_p)
{
    weft_check_t *check = device->net->check;
    int fd = -1;
    weft_check_call_t call = weft_check_enter(check, "wait_fd");
    weft_status_t status = weft_check_end(&call, check->own.net->wait_fd(device->own, &fd),
                                          WEFT_CHECK_FAILURES | WEFT_CHECK_AGAIN);
    if (status == WEFT_OK && fd < 0) {
        return weft_check_breach(check, "wait_fd", "it stores a file descriptor",
                                 "it returned OK and stored %d", fd);
    }
    if (status == WEFT_OK) {
        *fd_p = fd;
    }
    return status;
}

/* The connection changes its list, for ours as for the plugin's. */
static weft_status_t net_attach(weft_net_conn_t *conn, weft_net_device_t *device)
{
    weft_check_t *check = conn->device->net->check;
    weft_check_call_t call = weft_check_enter(check, "attach");
    weft_status_t status = weft_check_end(
        &call, device->net->own_attach->attach(conn->own, device->own), WEFT_CHECK_FAILURES);
    if (status == WEFT_OK) {
        net_conn_remove(conn);
        net_conn_add(device, conn);
    }
    return status;
}

static const void *net_get_extension(weft_net_t *net, const char *name)
{
    static const weft_net_attach_t attach = {.size = sizeof attach, .attach = net_attach};
    weft_check_call_t call = weft_check_enter(net->check, "get_extension");
    const void *own = net->check->own.net->get_extension(net->own, name);
    weft_check_leave(&call);
    if (own == NULL) {
        return NULL;
    }
    if (strcmp(name, WEFT_NET_ATTACH) == 0) {
        net->own_attach = own;
        return &attach;
    }
    if (strcmp(name, WEFT_NET_PAYLOAD) == 0) {
        net->own_payload = own;
        return &weft_check_net_payload;
    }
    return weft_check_net_memory_extension(net, name, own);
}

void weft_check_net(weft_check_t *check, const weft_net_ops_t *own)
{
    bool registers = WEFT_HAS(own, weft_net_ops_t, reg);
    check->own.net = own;
    check->table.net = (weft_net_ops_t){
        .size = sizeof check->table.net,
        .caps = own->caps,
        .create = net_create,
        .destroy = net_destroy,
        .device_count = net_device_count,
        .device_props = net_device_props,
        .device_open = net_device_open,
        .device_close = net_device_close,
        .listen = net_listen,
        .listener_close = net_listener_close,
        .reachable = net_reachable,
        .connect_begin = net_connect_begin,
        .connect_poll = net_connect_poll,
        .accept = net_accept,
        .conn_info = net_conn_info,
        .conn_check = net_conn_check,
        .conn_close = net_conn_close,
        .post = (own->caps & WEFT_NET_CAP_MESSAGES) != 0 ? weft_check_net_post : NULL,
        .poll = (own->caps & WEFT_NET_CAP_MESSAGES) != 0 ? weft_check_net_poll : NULL,
        .cancel = (own->caps & WEFT_NET_CAP_MESSAGES) != 0 ? net_cancel : NULL,
        .wait_fd = WEFT_HAS(own, weft_net_ops_t, wait_fd) ? net_wait_fd : NULL,
        .reg = registers ? weft_check_net_reg : NULL,
        .dereg = registers ? weft_check_net_dereg : NULL,
        .get_extension = WEFT_HAS(own, weft_net_ops_t, get_extension) ? net_get_extension : NULL,
    };
    check->plugin.ops = &check->table.net;
}
