/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The beginning of a transport: a listener over the acceptor of the SDK, and an address of its end
 * points. It is built and looked at, never loaded. */
#include <weft/sdk/acceptor.h>
#include <weft/sdk/net_interface.h>

struct weft_net {
    const weft_host_t *host;
    weft_endpoint_list_t local;
};

struct weft_net_listener {
    weft_acceptor_t acceptor;
};

struct weft_net_conn {
    int fd;
    uint8_t label[WEFT_AUTH_LABEL];
    weft_handshake_t handshake;
};

static weft_status_t outside_create(const weft_host_t *host, const void *config, weft_net_t **net_p)
{
    weft_interface_filter_t filter;
    weft_net_t *net = host->alloc(host, sizeof *net, 0);
    if (net == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    (void)config;
    net->host = host;
    weft_interface_filter_parse("", &filter);
    *net_p = net;
    return weft_endpoint_list_local(host, &filter, 0, &net->local);
}

static weft_status_t outside_accept(weft_net_listener_t *listener, weft_net_conn_t **conn_p)
{
    return weft_acceptor_poll(&listener->acceptor, &(*conn_p)->fd, (*conn_p)->label);
}

static weft_status_t outside_connect_poll(weft_net_conn_t *conn)
{
    return weft_handshake_connect(NULL, &conn->handshake, conn->fd);
}

static const weft_net_ops_t ops = {
    .size = sizeof ops,
    .create = outside_create,
    .accept = outside_accept,
    .connect_poll = outside_connect_poll,
};

static const weft_plugin_t plugin = {
    .magic = WEFT_PLUGIN_MAGIC,
    .abi_major = WEFT_ABI_NET_MAJOR,
    .abi_minor = WEFT_ABI_NET_MINOR,
    .size = sizeof plugin,
    .kind = WEFT_KIND_NET,
    .name = "net-outside",
    .ops = &ops,
};

const weft_plugin_t *weft_plugin_entry(void)
{
    return &plugin;
}
