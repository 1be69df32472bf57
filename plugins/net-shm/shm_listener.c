/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Listening on an abstract UNIX socket, and completing the connections that passed the acceptor. */
#include "shm_listener.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft/sdk/acceptor.h>

#include "shm_conn.h"

/* The acceptor is served at least this often, to drop peers that are late. */
#define SERVE_NS UINT64_C(50000000)

struct weft_net_listener {
    const weft_host_t *host;
    weft_net_device_t *device;
    uint64_t looks;           /* of the device, when accept() last asked */
    uint64_t again_ns;        /* when the acceptor is served whatever the watch says */
    weft_net_conn_t *joining; /* authenticated, memory not received yet */
    weft_acceptor_t acceptor;
};

static weft_status_t shm_listener_open(const weft_host_t *host, const shm_address_t *address,
                                       int *fd_p)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return host->set_error(host, WEFT_ERR_RESOURCE, errno, "cannot open a socket");
    }
    struct sockaddr_un name;
    shm_address_name(address->token, &name);
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
    shm_address_t address = device->net->own;
    weft_status_t status = host->random(host, address.token, sizeof address.token);
    if (status != WEFT_OK) {
        return status;
    }
    weft_net_listener_t *listener = host->alloc(host, sizeof *listener, 0);
    if (listener == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    listener->host = host;
    listener->device = device;
    int fd = -1;
    status = shm_listener_open(host, &address, &fd);
    if (status != WEFT_OK) {
        host->free(host, listener);
        return status;
    }
    weft_acceptor_init(&listener->acceptor, host, device->watch);
    weft_acceptor_add(&listener->acceptor, fd);
    address_p->bytes = sizeof address;
    memcpy(address_p->data, &address, sizeof address);
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
    weft_acceptor_fini(&listener->acceptor);
    listener->host->free(listener->host, listener);
}

/* Says why a connection was given up that nobody has heard of yet. The connector tries again. */
static void shm_listener_tell(weft_net_listener_t *listener, const weft_net_conn_t *conn,
                              weft_status_t status)
{
    listener->host->log(listener->host, WEFT_LOG_INFO, "%s %s", conn->info.peer,
                        status == WEFT_IN_PROGRESS ? "did not hand over its memory in time"
                        : status == WEFT_ERR_PROTO ? "handed over no memory that can be used"
                                                   : "left before it was connected");
}

/* Advances the connections that hold the secret and have not handed over their memory yet. *conn_p
 * is one that is complete, or NULL. ERR_RESOURCE: this process has no memory for one. */
static weft_status_t shm_listener_join(weft_net_listener_t *listener, weft_net_conn_t **conn_p)
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
            *conn_p = conn;
            return WEFT_OK;
        }
        shm_listener_tell(listener, conn, status);
        shm_conn_close(conn);
        if (status == WEFT_ERR_RESOURCE) {
            return status;
        }
    }
    return WEFT_AGAIN;
}

/* Takes over the peers that have authenticated. AGAIN: nobody is left. */
static weft_status_t shm_listener_serve(weft_net_listener_t *listener)
{
    int fd = -1;
    uint8_t label[WEFT_AUTH_LABEL];
    weft_status_t status = weft_acceptor_poll(&listener->acceptor, &fd, label);
    while (status == WEFT_OK) {
        weft_net_conn_t *conn;
        weft_status_t adopted = shm_conn_adopt(listener->device, fd, label, &conn);
        if (adopted == WEFT_ERR_RESOURCE) {
            return adopted;
        }
        if (adopted == WEFT_OK) {
            conn->next = listener->joining;
            listener->joining = conn;
        }
        status = weft_acceptor_poll(&listener->acceptor, &fd, label);
    }
    return status;
}

/* Tells whether the acceptor has something to do: a connection, bytes, or a peer that is late. */
static bool shm_listener_is_due(weft_net_listener_t *listener, uint64_t now)
{
    weft_net_device_t *device = listener->device;
    if (!device->knocked && listener->looks == device->looks) {
        shm_watch_look(device);
    }
    listener->looks = device->looks;
    return device->knocked || now >= listener->again_ns;
}

weft_status_t shm_accept(weft_net_listener_t *listener, weft_net_conn_t **conn_p)
{
    uint64_t now = listener->host->clock_ns(listener->host);
    weft_status_t status = WEFT_AGAIN;
    if (shm_listener_is_due(listener, now)) {
        status = shm_listener_serve(listener);
        listener->device->knocked = false;
        listener->again_ns = now + SERVE_NS;
    }
    *conn_p = NULL;
    weft_status_t joined = shm_listener_join(listener, conn_p);
    return joined == WEFT_AGAIN ? status : joined;
}
