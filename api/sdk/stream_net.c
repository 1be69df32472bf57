/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A net plugin over stream sockets but for the sockets. A connection goes through connect() and the
 * handshake and is listed by its device once it is ready. The device's epoll descriptor is only for
 * wait_fd: poll() tries every connection with something posted, which costs one system call
 * each. */
#include <weft/sdk/stream_net.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <weft/sdk/acceptor.h>
#include <weft/sdk/endpoint.h>
#include <weft/sdk/message_stream.h>
#include <weft/sdk/watch.h>

#define STREAM_WAY_PATIENCE_NS UINT64_C(5000000000) /* for connect() before the next way is tried */

struct weft_net_device {
    weft_net_t *net;
    const weft_host_t *host;
    const weft_stream_medium_t *medium;
    uint32_t index;
    int epoll;
    int blind;              /* errno of the newest watch of them that the system refused */
    weft_net_conn_t *conns; /* ready ones */
    weft_op_done_t done;
};

struct weft_net_listener {
    weft_net_device_t *device;
    weft_net_address_t address;
    weft_acceptor_t acceptor;
};

typedef enum stream_step {
    STREAM_CONNECT = 0,
    STREAM_HANDSHAKE = 1,
    STREAM_READY = 2
} stream_step_t;

struct weft_net_conn {
    weft_net_device_t *device;
    weft_net_conn_t *next, *prev; /* in device->conns */
    stream_step_t step;
    bool gone;       /* connecting has failed */
    uint32_t events; /* that the device's epoll descriptor watches for */
    weft_net_conn_info_t info;
    weft_message_stream_t messages;
    /* Connector, until it is ready. */
    weft_net_address_t address;
    uint32_t way;
    uint64_t started_ns;
    weft_handshake_t handshake;
    char tried[384]; /* ways that failed, and why */
};

static weft_stream_net_t *stream_net(weft_net_t *net)
{
    return (weft_stream_net_t *)net; /* its first member */
}

/* Sockets ------------------------------------------------------------------------------------- */

static weft_status_t stream_socket(const weft_host_t *host, int family, int *fd_p)
{
    *fd_p = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*fd_p < 0) {
        return host->set_error(host, WEFT_ERR_RESOURCE, errno,
                               "cannot open a socket; the limit of open files is ulimit -n");
    }
    return WEFT_OK;
}

weft_status_t weft_stream_listen(const weft_host_t *host, struct sockaddr *name, socklen_t bytes,
                                 int *fd_p)
{
    int fd, one = 1;
    weft_status_t status = stream_socket(host, name->sa_family, &fd);
    if (status != WEFT_OK) {
        return status;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, name, bytes) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, name, &bytes) != 0) {
        status = host->set_error(host, WEFT_ERR_RESOURCE, errno, "cannot listen");
        close(fd);
        return status;
    }
    *fd_p = fd;
    return WEFT_OK;
}

weft_status_t weft_stream_connect(const weft_host_t *host, const struct sockaddr *name,
                                  socklen_t bytes, int *fd_p)
{
    int fd;
    weft_status_t status = stream_socket(host, name->sa_family, &fd);
    if (status != WEFT_OK) {
        return status;
    }
    if (connect(fd, name, bytes) != 0 && errno != EINPROGRESS && errno != EINTR) {
        int cause = errno;
        close(fd);
        status = host->set_error(host, WEFT_ERR_LINK, cause, "cannot connect");
        errno = cause;
        return status;
    }
    *fd_p = fd;
    return WEFT_OK;
}

/* Names the other end of an accepted socket. */
static void stream_peer_text(int fd, char peer[128])
{
    union {
        struct sockaddr any;
        struct sockaddr_storage room;
        weft_endpoint_t point;
    } name = {.room = {.ss_family = AF_UNSPEC}};
    socklen_t bytes = sizeof name;
    struct ucred who;
    socklen_t who_bytes = sizeof who;
    bool known = getpeername(fd, &name.any, &bytes) == 0;
    if (known && (name.any.sa_family == AF_INET || name.any.sa_family == AF_INET6)) {
        weft_endpoint_text(&name.point, peer);
    } else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &who_bytes) == 0 && who.pid > 0) {
        snprintf(peer, 128, "pid %d", (int)who.pid);
    } else {
        snprintf(peer, 128, "at socket %d", fd);
    }
}

/* Devices and listeners ----------------------------------------------------------------------- */

weft_status_t weft_stream_net_device_count(weft_net_t *net, uint32_t *count_p)
{
    *count_p = stream_net(net)->devices;
    return WEFT_OK;
}

static weft_status_t stream_index_check(const weft_stream_net_t *net, uint32_t index)
{
    return index < net->devices ? WEFT_OK
                                : net->host->set_error(net->host, WEFT_ERR_ARG, 0,
                                                       "device %u of %u", index, net->devices);
}

weft_status_t weft_stream_net_device_props(weft_net_t *net, uint32_t index, weft_net_props_t *props)
{
    const weft_stream_net_t *own = stream_net(net);
    weft_status_t status = stream_index_check(own, index);
    if (status != WEFT_OK) {
        return status;
    }
    weft_net_props_t all = own->props[index];
    all.size = props->size;
    all.max_outstanding = WEFT_OP_SLOTS;
    all.max_message = WEFT_STREAM_MESSAGE_MAX;
    memcpy(props, &all, props->size < sizeof all ? props->size : sizeof all);
    return WEFT_OK;
}

weft_status_t weft_stream_net_device_open(weft_net_t *net, uint32_t index,
                                          weft_net_device_t **device_p)
{
    const weft_stream_net_t *own = stream_net(net);
    const weft_host_t *host = own->host;
    weft_status_t status = stream_index_check(own, index);
    if (status != WEFT_OK) {
        return status;
    }
    weft_net_device_t *device = host->alloc(host, sizeof *device, 0);
    if (device == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    *device = (weft_net_device_t){.net = net, .host = host, .medium = own->medium, .index = index};
    device->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (device->epoll < 0) {
        status = host->set_error(host, WEFT_ERR_RESOURCE, errno, "epoll_create1");
        host->free(host, device);
        return status;
    }
    *device_p = device;
    return WEFT_OK;
}

void weft_stream_net_device_close(weft_net_device_t *device)
{
    if (device != NULL) {
        close(device->epoll);
        device->host->free(device->host, device);
    }
}

weft_status_t weft_stream_net_listen(weft_net_device_t *device, weft_net_address_t *address_p,
                                     weft_net_listener_t **listener_p)
{
    const weft_host_t *host = device->host;
    int fd;
    weft_net_listener_t *listener = host->alloc(host, sizeof *listener, 0);
    if (listener == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    listener->device = device;
    weft_acceptor_init(&listener->acceptor, host, device->epoll);
    weft_status_t status =
        device->medium->listen(device->net, device->index, &listener->address, &fd);
    if (status != WEFT_OK) {
        host->free(host, listener);
        return status;
    }
    weft_acceptor_add(&listener->acceptor, fd);
    *address_p = listener->address;
    *listener_p = listener;
    return WEFT_OK;
}

void weft_stream_net_listener_close(weft_net_listener_t *listener)
{
    const weft_net_device_t *device = listener->device;
    weft_acceptor_fini(&listener->acceptor);
    if (WEFT_HAS(device->medium, weft_stream_medium_t, unlisten)) {
        device->medium->unlisten(device->net, device->index, &listener->address);
    }
    device->host->free(device->host, listener);
}

weft_status_t weft_stream_net_reachable(weft_net_device_t *device,
                                        const weft_net_address_t *address)
{
    return device->medium->reachable(device->net, device->index, address);
}

/* Connections --------------------------------------------------------------------------------- */

static weft_net_conn_t *stream_conn_create(weft_net_device_t *device,
                                           const uint8_t label[WEFT_AUTH_LABEL])
{
    weft_net_conn_t *conn = device->host->alloc(device->host, sizeof *conn, 0);
    if (conn != NULL) {
        conn->device = device;
        conn->messages.fd = -1;
        conn->info.size = sizeof conn->info;
        memcpy(conn->info.label, label, WEFT_AUTH_LABEL);
    }
    return conn;
}

static void stream_conn_list(weft_net_conn_t *conn)
{
    weft_net_device_t *device = conn->device;
    conn->prev = NULL;
    conn->next = device->conns;
    if (conn->next != NULL) {
        conn->next->prev = conn;
    }
    device->conns = conn;
}

/* Lets the device's epoll descriptor watch for `events`. Explicitly also before the end: a copy of
 * the socket in a forked child would stay in the set. */
static void stream_conn_watch(weft_net_conn_t *conn, uint32_t events)
{
    struct epoll_event event = {.events = events, .data = {.ptr = conn}};
    if (events != conn->events) {
        int how = conn->events == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
        if (epoll_ctl(conn->device->epoll, how, conn->messages.fd, &event) == 0 || events == 0) {
            conn->events = events;
        } else {
            conn->device->blind = errno; /* fs.epoll.max_user_watches, or no memory */
        }
    }
}

static void stream_conn_unlist(weft_net_conn_t *conn)
{
    weft_net_device_t *device = conn->device;
    stream_conn_watch(conn, 0);
    *(conn->prev != NULL ? &conn->prev->next : &device->conns) = conn->next;
    if (conn->next != NULL) {
        conn->next->prev = conn->prev;
    }
}

static void stream_conn_ready(weft_net_conn_t *conn, int fd)
{
    const weft_net_device_t *device = conn->device;
    explicit_bzero(&conn->handshake, sizeof conn->handshake);
    weft_message_stream_init(&conn->messages, device->host, fd, conn->info.peer, conn,
                             &conn->device->done);
    conn->step = STREAM_READY;
    stream_conn_list(conn);
}

static void stream_tune(const weft_net_device_t *device, int fd)
{
    if (WEFT_HAS(device->medium, weft_stream_medium_t, tune)) {
        device->medium->tune(device->net, fd);
    }
}

/* Notes that the present way has failed and begins the next one that can be begun. After the last
 * one the caller gets `status` and all that was tried; with OK there was none yet. */
static weft_status_t stream_way_next(weft_net_conn_t *conn, weft_status_t status, int cause)
{
    const weft_net_device_t *device = conn->device;
    const weft_host_t *host = device->host;
    while (status == WEFT_ERR_LINK || status == WEFT_ERR_AUTH || conn->way == 0) {
        if (conn->way > 0) {
            size_t used = strlen(conn->tried);
            const char *why = status == WEFT_ERR_AUTH ? "it holds another secret"
                              : cause != 0            ? strerror(cause)
                                                      : "closed during the handshake";
            snprintf(conn->tried + used, sizeof conn->tried - used, "%s%s (%s)",
                     used > 0 ? ", " : "", conn->info.peer, why);
        }
        if (conn->messages.fd >= 0) {
            stream_conn_watch(conn, 0);
            close(conn->messages.fd);
            conn->messages.fd = -1;
        }
        weft_status_t begun =
            device->medium->connect(device->net, device->index, &conn->address, conn->way++,
                                    &conn->messages.fd, conn->info.peer);
        cause = begun == WEFT_ERR_LINK ? errno : 0;
        if (begun == WEFT_ERR_UNSUPPORTED && conn->way > 1) {
            return host->set_error(host, status, 0, "cannot connect; tried %s", conn->tried);
        }
        status = begun;
    }
    if (status == WEFT_OK) {
        stream_tune(device, conn->messages.fd);
        conn->step = STREAM_CONNECT;
        conn->started_ns = host->clock_ns(host);
        status = weft_handshake_begin(host, &conn->handshake, conn->info.label);
    }
    return status;
}

weft_status_t weft_stream_net_connect_begin(weft_net_device_t *device,
                                            const weft_net_address_t *address,
                                            const weft_net_conn_params_t *params,
                                            weft_net_conn_t **conn_p)
{
    weft_status_t status = weft_stream_net_reachable(device, address);
    if (status != WEFT_OK) {
        return status;
    }
    weft_net_conn_t *conn = stream_conn_create(device, params->label);
    if (conn == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    conn->info.connector = 1;
    conn->address = *address;
    status = stream_way_next(conn, WEFT_OK, 0);
    if (status != WEFT_OK) {
        weft_stream_net_conn_close(conn);
        return status;
    }
    *conn_p = conn;
    return WEFT_OK;
}

/* Advances connect(). Stores the errno of its failure. */
static weft_status_t stream_connect_wait(weft_net_conn_t *conn, int *cause_p)
{
    const weft_host_t *host = conn->device->host;
    struct pollfd watch = {.fd = conn->messages.fd, .events = POLLOUT};
    socklen_t bytes = sizeof *cause_p;
    if (poll(&watch, 1, 0) <= 0) {
        *cause_p = ETIMEDOUT;
        return host->clock_ns(host) - conn->started_ns < STREAM_WAY_PATIENCE_NS ? WEFT_IN_PROGRESS
                                                                                : WEFT_ERR_LINK;
    }
    getsockopt(watch.fd, SOL_SOCKET, SO_ERROR, cause_p, &bytes);
    return *cause_p == 0 ? WEFT_OK : WEFT_ERR_LINK;
}

static weft_status_t stream_connect_step(weft_net_conn_t *conn)
{
    weft_status_t status = WEFT_OK;
    int cause = 0;
    if (conn->step == STREAM_CONNECT) {
        status = stream_connect_wait(conn, &cause);
        conn->step = status == WEFT_OK ? STREAM_HANDSHAKE : STREAM_CONNECT;
    }
    if (status == WEFT_OK) {
        status = weft_handshake_connect(conn->device->host, &conn->handshake, conn->messages.fd);
    }
    if (status == WEFT_ERR_LINK || status == WEFT_ERR_AUTH) {
        status = stream_way_next(conn, status, cause);
        status = status == WEFT_OK ? WEFT_IN_PROGRESS : status;
    }
    return status;
}

weft_status_t weft_stream_net_connect_poll(weft_net_conn_t *conn)
{
    const weft_host_t *host = conn->device->host;
    if (conn->step == STREAM_READY) {
        return WEFT_OK;
    }
    if (conn->gone) {
        return host->set_error(host, WEFT_ERR_STATE, 0, "connection is not under way");
    }
    weft_status_t status = stream_connect_step(conn);
    const uint32_t awaits = conn->step == STREAM_CONNECT ? EPOLLOUT : EPOLLIN;
    stream_conn_watch(conn, status == WEFT_IN_PROGRESS ? awaits : 0);
    conn->gone = status < 0;
    if (status == WEFT_OK) {
        stream_conn_ready(conn, conn->messages.fd);
    }
    return status;
}

weft_status_t weft_stream_net_accept(weft_net_listener_t *listener, weft_net_conn_t **conn_p)
{
    int fd;
    uint8_t label[WEFT_AUTH_LABEL];
    weft_status_t status = weft_acceptor_poll(&listener->acceptor, &fd, label);
    if (status != WEFT_OK) {
        return status;
    }
    weft_net_conn_t *conn = stream_conn_create(listener->device, label);
    if (conn == NULL) {
        close(fd);
        return WEFT_ERR_RESOURCE;
    }
    stream_peer_text(fd, conn->info.peer);
    stream_tune(listener->device, fd);
    stream_conn_ready(conn, fd);
    *conn_p = conn;
    return WEFT_OK;
}

weft_status_t weft_stream_net_conn_info(weft_net_conn_t *conn, weft_net_conn_info_t *info)
{
    const weft_host_t *host = conn->device->host;
    if (conn->step != STREAM_READY) {
        return host->set_error(host, WEFT_ERR_STATE, 0, "connection is not ready");
    }
    weft_net_conn_info_t all = conn->info;
    all.size = info->size;
    memcpy(info, &all, info->size < sizeof all ? info->size : sizeof all);
    return WEFT_OK;
}

void weft_stream_net_conn_close(weft_net_conn_t *conn)
{
    if (conn == NULL) {
        return;
    }
    if (conn->step == STREAM_READY) {
        stream_conn_unlist(conn);
    }
    stream_conn_watch(conn, 0);
    weft_message_stream_close(&conn->messages);
    explicit_bzero(&conn->handshake, sizeof conn->handshake);
    conn->device->host->free(conn->device->host, conn);
}

static weft_status_t stream_conn_attach(weft_net_conn_t *conn, weft_net_device_t *device)
{
    const weft_host_t *host = conn->device->host;
    if (conn->step != STREAM_READY) {
        return host->set_error(host, WEFT_ERR_STATE, 0, "connection is not ready");
    }
    weft_status_t status = weft_message_stream_attach(&conn->messages, &device->done);
    if (status == WEFT_OK) {
        stream_conn_unlist(conn);
        conn->device = device;
        stream_conn_list(conn);
    }
    return status;
}

/* Messages ------------------------------------------------------------------------------------ */

weft_status_t weft_stream_net_conn_check(weft_net_conn_t *conn)
{
    return weft_message_stream_check(&conn->messages);
}

weft_status_t weft_stream_net_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                                   uint32_t *posted_p)
{
    const weft_host_t *host = conn->device->host;
    *posted_p = 0;
    return conn->step == STREAM_READY
               ? weft_message_stream_post(&conn->messages, ops, count, posted_p)
               : host->set_error(host, WEFT_ERR_STATE, 0, "connection is not ready");
}

weft_status_t weft_stream_net_poll(weft_net_device_t *device, weft_net_completion_t *completions,
                                   uint32_t max, uint32_t *count_p)
{
    /* Of connections that fail each has a poll of its own, since a thread has one reason. */
    bool fails = false;
    for (weft_net_conn_t *conn = device->conns; conn != NULL && !fails; conn = conn->next) {
        const weft_message_stream_t *stream = &conn->messages;
        const weft_status_t sends = stream->send_failed;
        if (weft_message_stream_events(stream) != 0) {
            weft_message_stream_progress(&conn->messages);
            fails = stream->failed != WEFT_OK || stream->send_failed != sends;
        }
    }
    *count_p = weft_op_done_take(&device->done, completions, max);
    return WEFT_OK;
}

weft_status_t weft_stream_net_cancel(weft_net_conn_t *conn)
{
    if (conn->step == STREAM_READY) {
        weft_message_stream_fail(&conn->messages, WEFT_ERR_ABORTED);
    }
    return WEFT_OK;
}

weft_status_t weft_stream_net_wait_fd(weft_net_device_t *device, int *fd_p)
{
    bool something = device->done.first != NULL;
    device->blind = 0;
    for (weft_net_conn_t *conn = device->conns; conn != NULL; conn = conn->next) {
        stream_conn_watch(conn, weft_message_stream_events(&conn->messages));
        something = something || weft_message_stream_goes_on(&conn->messages);
    }
    *fd_p = device->epoll;
    if (something) {
        return WEFT_AGAIN;
    }
    return device->blind == 0 ? WEFT_OK
                              : weft_watch_refused(device->host, "a connection", device->blind);
}

const void *weft_stream_net_get_extension(weft_net_t *net, const char *name)
{
    static const weft_net_attach_t attach = {.size = sizeof attach, .attach = stream_conn_attach};
    (void)net;
    return strcmp(name, WEFT_NET_ATTACH) == 0 ? &attach : NULL;
}
