/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Listening on an abstract UNIX socket and joining the ones that passed the gate. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shm.h"

static weft_status_t listener_open(const weft_host_t *host, const shm_place_t *place, int *fd_p)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return host->set_error(host, WEFT_ERR_RESOURCE, errno, "cannot open a socket");
    }
    struct sockaddr_un name;
    shm_address_name(place->token, &name);
    if (bind(fd, (const struct sockaddr *)&name, sizeof name) != 0 || listen(fd, SOMAXCONN) != 0) {
        weft_status_t status = host->set_error(host, WEFT_ERR_SYSTEM, errno,
                                               "listen on UNIX socket @%s", name.sun_path + 1);
        close(fd);
        return status;
    }
    *fd_p = fd;
    return WEFT_OK;
}

weft_status_t shm_listen(weft_net_device_t *device, weft_net_address_t *address_p,
                         weft_net_listener_t **listener_p)
{
    const weft_host_t *host = device->host;
    shm_place_t place = device->net->here;
    weft_status_t status = host->random(host, place.token, sizeof place.token);
    if (status != WEFT_OK) {
        return status;
    }
    weft_net_listener_t *listener = host->alloc(host, sizeof *listener, 0);
    if (listener == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    listener->host = host;
    int fd = -1;
    status = listener_open(host, &place, &fd);
    if (status != WEFT_OK) {
        host->free(host, listener);
        return status;
    }
    gate_init(&listener->gate, host, -1);
    gate_add(&listener->gate, fd);
    address_p->bytes = sizeof place;
    memcpy(address_p->data, &place, sizeof place);
    *listener_p = listener;
    return WEFT_OK;
}

void shm_listener_close(weft_net_listener_t *listener)
{
    if (listener == NULL) {
        return;
    }
    while (listener->joining != NULL) {
        weft_net_conn_t *conn = listener->joining;
        listener->joining = conn->next;
        shm_conn_close(conn);
    }
    gate_fini(&listener->gate);
    listener->host->free(listener->host, listener);
}

/* Advances those that hold the secret but have not handed over their memory yet. */
static weft_net_conn_t *listener_join(weft_net_listener_t *listener)
{
    uint64_t now = listener->host->clock_ns(listener->host);
    weft_net_conn_t **link = &listener->joining;
    while (*link != NULL) {
        weft_net_conn_t *conn = *link;
        weft_status_t status = shm_conn_join(conn);
        if (status == WEFT_IN_PROGRESS && now < conn->deadline_ns) {
            link = &conn->next;
            continue;
        }
        *link = conn->next;
        conn->next = NULL;
        if (status == WEFT_OK) {
            return conn;
        }
        listener->host->log(listener->host, WEFT_LOG_INFO, "%s left before it was connected",
                            conn->info.peer);
        shm_conn_close(conn);
    }
    return NULL;
}

weft_status_t shm_accept(weft_net_listener_t *listener, weft_net_conn_t **conn_p)
{
    int fd = -1;
    uint8_t label[WEFT_AUTH_LABEL];
    weft_status_t status = gate_poll(&listener->gate, &fd, label);
    while (status == WEFT_OK) {
        weft_net_conn_t *conn;
        weft_status_t adopted = shm_conn_adopt(listener->host, fd, label, &conn);
        if (adopted == WEFT_ERR_RESOURCE) {
            return adopted;
        }
        if (adopted == WEFT_OK) {
            conn->next = listener->joining;
            listener->joining = conn;
        }
        status = gate_poll(&listener->gate, &fd, label);
    }
    *conn_p = listener_join(listener);
    return *conn_p != NULL ? WEFT_OK : status;
}
