/* SPDX-License-Identifier: BSD-3-Clause
 *
 * net-tcp: messages over TCP, with what the SDK has for stream sockets. What is left is
 * options, properties of devices, how to listen, which addresses are reached, how to connect. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>

#include <weft/sdk/endpoint.h>
#include <weft/sdk/net_interface.h>
#include <weft/sdk/stream_net.h>

typedef struct tcp_config {
    const char *devices;
    uint64_t slot_bytes;
} tcp_config_t;

struct weft_net {
    weft_stream_net_t stream; /* first: the SDK finds it there */
    weft_net_props_t props;
    weft_endpoint_list_t local; /* addresses of this host, with port 0 */
};

/* Stores the ways to a peer, best first: its addresses that this host can try. */
static weft_status_t tcp_ways(weft_net_t *net, const weft_net_address_t *address,
                              weft_endpoint_list_t *ways)
{
    const weft_host_t *host = net->stream.host;
    if (weft_endpoint_list_decode(address, ways) != WEFT_OK) {
        return host->set_error(host, WEFT_ERR_PROTO, 0, "not an address of net-tcp");
    }
    weft_endpoint_list_reach(&net->local, ways);
    return ways->count > 0 ? WEFT_OK
                           : host->set_error(host, WEFT_ERR_UNSUPPORTED, 0,
                                             "the peer has no address that the interfaces reach");
}

static weft_status_t tcp_listen(weft_net_t *net, uint32_t device, weft_net_address_t *address_p,
                                int *fd_p)
{
    (void)device;
    weft_endpoint_t point = {.v4 = {.sin_family = AF_INET}}; /* any address, any port */
    weft_endpoint_list_t list = net->local;
    weft_status_t status =
        weft_stream_listen(net->stream.host, &point.any, weft_endpoint_bytes(&point), fd_p);
    if (status == WEFT_OK) {
        for (uint32_t i = 0; i < list.count; i++) {
            weft_endpoint_set_port(&list.entries[i].point, weft_endpoint_port(&point));
        }
        weft_endpoint_list_encode(&list, address_p);
    }
    return status;
}

static weft_status_t tcp_reachable(weft_net_t *net, uint32_t device,
                                   const weft_net_address_t *address)
{
    weft_endpoint_list_t ways;
    (void)device;
    return tcp_ways(net, address, &ways);
}

static weft_status_t tcp_connect(weft_net_t *net, uint32_t device,
                                 const weft_net_address_t *address, uint32_t way, int *fd_p,
                                 char peer[128])
{
    weft_endpoint_list_t ways;
    (void)device;
    weft_status_t status = tcp_ways(net, address, &ways);
    if (status != WEFT_OK || way >= ways.count) {
        return status != WEFT_OK ? status : WEFT_ERR_UNSUPPORTED;
    }
    const weft_endpoint_t *to = &ways.entries[way].point;
    weft_endpoint_text(to, peer);
    return weft_stream_connect(net->stream.host, &to->any, weft_endpoint_bytes(to), fd_p);
}

/* Small messages leave at once. */
static void tcp_tune(weft_net_t *net, int fd)
{
    int one = 1;
    (void)net;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static weft_status_t tcp_create(const weft_host_t *host, const void *options, weft_net_t **net_p)
{
    static const weft_stream_medium_t medium = {.size = sizeof medium,
                                                .listen = tcp_listen,
                                                .reachable = tcp_reachable,
                                                .connect = tcp_connect,
                                                .tune = tcp_tune};
    const tcp_config_t *config = options;
    weft_interface_filter_t filter;
    weft_net_t *net = host->alloc(host, sizeof *net, 0);
    if (net == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    weft_interface_filter_parse(config->devices, &filter);
    weft_status_t status = weft_endpoint_list_local(host, &filter, 1 /* IPv4 */, &net->local);
    if (status != WEFT_OK) {
        host->free(host, net);
        return status;
    }
    /* The kit measures latency and bandwidth (--measure). */
    net->props = (weft_net_props_t){.name = "tcp",
                                    .memory_kinds = WEFT_MEMORY_HOST,
                                    .latency_ns = 8000,
                                    .bandwidth = UINT64_C(2000000000),
                                    .slot_bytes = config->slot_bytes,
                                    .slots = 4};
    net->stream = (weft_stream_net_t){
        .host = host, .medium = &medium, .props = &net->props, .devices = net->local.count > 0};
    *net_p = net;
    return WEFT_OK;
}

static void tcp_destroy(weft_net_t *net)
{
    if (net != NULL) {
        net->stream.host->free(net->stream.host, net);
    }
}

static const weft_option_t options[] = {
    {"devices", WEFT_OPT_STRING, offsetof(tcp_config_t, devices), "",
     "network interfaces, e.g. eth,^docker; empty = all", NULL, 0, 0, WEFT_OPTION_LOCAL, 0},
    {"slot_bytes", WEFT_OPT_SIZE, offsetof(tcp_config_t, slot_bytes), "512K", "bytes of a slot",
     NULL, 64, 1 << 30, 0, 0},
    {0}};
static const weft_net_ops_t ops = WEFT_STREAM_NET_OPS(tcp_create, tcp_destroy);
static const weft_plugin_t plugin = {.magic = WEFT_PLUGIN_MAGIC,
                                     .abi_major = WEFT_ABI_NET_MAJOR,
                                     .abi_minor = WEFT_ABI_NET_MINOR,
                                     .size = sizeof plugin,
                                     .kind = WEFT_KIND_NET,
                                     .name = "net-tcp",
                                     .version = "1",
                                     .help = "messages over TCP",
                                     .options = options,
                                     .config_size = sizeof(tcp_config_t),
                                     .ops = &ops};

const weft_plugin_t *weft_plugin_entry(void)
{
    return &plugin;
}
