/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SDK: a net plugin over stream sockets but for the sockets. The plugin says what its devices are,
 * how to listen, which addresses it reaches, and how to connect; this module brings every other
 * method of net.h: devices, listeners with authentication, connecting with one address of the peer
 * after the other, messages, completions, cancel, wait_fd, and the extension weft.net.attach/1.
 * examples/net-tcp is such a plugin.
 *
 * struct weft_net is the plugin's and begins with a weft_stream_net_t. struct weft_net_device,
 * weft_net_listener and weft_net_conn are this module's. */
#ifndef WEFT_SDK_STREAM_NET_H
#define WEFT_SDK_STREAM_NET_H

#include <sys/socket.h>

#include <weft/plugin/net.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What differs from one kind of stream socket to another. Sockets are non-blocking and
 * close-on-exec; this module owns those that it is given. Functions that fail set the error. Thread
 * and blocking: as the method of weft_net_ops_t that is named. */
typedef struct weft_stream_medium {
    size_t size;

    /* Opens a listening socket of device `device` and stores its address for the peers. It should
     * begin with a mark of the plugin. As listen().
     * Errors: ERR_RESOURCE, ERR_SYSTEM. */
    weft_status_t (*listen)(weft_net_t *net, uint32_t device, weft_net_address_t *address_p,
                            int *fd_p);

    /* As reachable(). It checks every byte: others may have sent them. */
    weft_status_t (*reachable)(weft_net_t *net, uint32_t device, const weft_net_address_t *address);

    /* Starts to connect to way number `way` to `address`, from 0: a peer may have several network
     * addresses. Stores the socket, on which connect() was called and may be in progress, and the
     * text of the peer. As connect_begin(). `address` has passed reachable().
     * Errors: ERR_LINK (this way leads nowhere; errno says why), ERR_UNSUPPORTED (there is no such
     * way; needs no text unless `way` is 0), ERR_RESOURCE. */
    weft_status_t (*connect)(weft_net_t *net, uint32_t device, const weft_net_address_t *address,
                             uint32_t way, int *fd_p, char peer[128]);

    /* Optional from here. */

    /* Sets options of a new data socket, at both ends. */
    void (*tune)(weft_net_t *net, int fd);

    /* Undoes what listen() has left, such as a file. The socket is closed. As listener_close(). */
    void (*unlisten)(weft_net_t *net, uint32_t device, const weft_net_address_t *address);
} weft_stream_medium_t;

/* The first member of struct weft_net. create() sets all fields. */
typedef struct weft_stream_net {
    const weft_host_t *host;
    const weft_stream_medium_t *medium;
    /* Properties of the devices, in the plugin's memory. This module answers with its own
     * max_outstanding and max_message. */
    const weft_net_props_t *props;
    uint32_t devices; /* their number */
} weft_stream_net_t;

/* Helpers for listen() and connect() of a medium. Both open a socket of the family of `name`.
 *
 * The first binds it to `name` and listens; `name` becomes what the kernel has chosen, such as the
 * port. Errors: ERR_RESOURCE. */
weft_status_t weft_stream_listen(const weft_host_t *host, struct sockaddr *name, socklen_t bytes,
                                 int *fd_p);
/* The second begins to connect to `name`. Errors: ERR_LINK with errno in place, ERR_RESOURCE. */
weft_status_t weft_stream_connect(const weft_host_t *host, const struct sockaddr *name,
                                  socklen_t bytes, int *fd_p);

/* The methods, as weft_net_ops_t says; WEFT_STREAM_NET_OPS names them all. */
weft_status_t weft_stream_net_device_count(weft_net_t *net, uint32_t *count_p);
weft_status_t weft_stream_net_device_props(weft_net_t *net, uint32_t index,
                                           weft_net_props_t *props);
weft_status_t weft_stream_net_device_open(weft_net_t *net, uint32_t index,
                                          weft_net_device_t **device_p);
void weft_stream_net_device_close(weft_net_device_t *device);
weft_status_t weft_stream_net_listen(weft_net_device_t *device, weft_net_address_t *address_p,
                                     weft_net_listener_t **listener_p);
void weft_stream_net_listener_close(weft_net_listener_t *listener);
weft_status_t weft_stream_net_reachable(weft_net_device_t *device,
                                        const weft_net_address_t *address);
weft_status_t weft_stream_net_connect_begin(weft_net_device_t *device,
                                            const weft_net_address_t *address,
                                            const weft_net_conn_params_t *params,
                                            weft_net_conn_t **conn_p);
weft_status_t weft_stream_net_connect_poll(weft_net_conn_t *conn);
weft_status_t weft_stream_net_accept(weft_net_listener_t *listener, weft_net_conn_t **conn_p);
weft_status_t weft_stream_net_conn_info(weft_net_conn_t *conn, weft_net_conn_info_t *info);
weft_status_t weft_stream_net_conn_check(weft_net_conn_t *conn);
void weft_stream_net_conn_close(weft_net_conn_t *conn);
weft_status_t weft_stream_net_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                                   uint32_t *posted_p);
weft_status_t weft_stream_net_poll(weft_net_device_t *device, weft_net_completion_t *completions,
                                   uint32_t max, uint32_t *count_p);
weft_status_t weft_stream_net_cancel(weft_net_conn_t *conn);
weft_status_t weft_stream_net_wait_fd(weft_net_device_t *device, int *fd_p);
const void *weft_stream_net_get_extension(weft_net_t *net, const char *name);

/* The table of methods of a plugin with these create() and destroy(). */
#define WEFT_STREAM_NET_OPS(create_, destroy_)                                                     \
    {                                                                                              \
        .size = sizeof(weft_net_ops_t), .caps = WEFT_NET_CAP_MESSAGES, .create = (create_),        \
        .destroy = (destroy_), .device_count = weft_stream_net_device_count,                       \
        .device_props = weft_stream_net_device_props, .device_open = weft_stream_net_device_open,  \
        .device_close = weft_stream_net_device_close, .listen = weft_stream_net_listen,            \
        .listener_close = weft_stream_net_listener_close, .reachable = weft_stream_net_reachable,  \
        .connect_begin = weft_stream_net_connect_begin,                                            \
        .connect_poll = weft_stream_net_connect_poll, .accept = weft_stream_net_accept,            \
        .conn_info = weft_stream_net_conn_info, .conn_check = weft_stream_net_conn_check,          \
        .conn_close = weft_stream_net_conn_close, .post = weft_stream_net_post,                    \
        .poll = weft_stream_net_poll, .cancel = weft_stream_net_cancel,                            \
        .wait_fd = weft_stream_net_wait_fd, .get_extension = weft_stream_net_get_extension,        \
    }

#ifdef __cplusplus
}
#endif

#endif
