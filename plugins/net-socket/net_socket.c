/* SPDX-License-Identifier: BSD-3-Clause
 *
 * net-socket: messages over TCP. This file holds the plugin's tables, the options, the instance
 * and its devices: one with all chosen interfaces, or each of them. */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "sock_accept.h"
#include "sock_conn.h"
#include "sock_connect.h"
#include "sock_poll.h"

#define SIZE_LIMIT (1 << 30)

static const weft_option_t options[] = {
    {.name = "sockets",
     .type = WEFT_OPT_INT,
     .offset = offsetof(sock_config_t, sockets),
     .value = "2",
     .help =
         "TCP sockets per connection; 2: one each way for large messages; more where one flow is "
         "limited",
     .min = 1,
     .max = SOCK_STREAMS_MAX},
    {.name = "chunk",
     .type = WEFT_OPT_SIZE,
     .offset = offsetof(sock_config_t, chunk),
     .value = "128K",
     .help = "bytes given to one socket at a time when a direction has several",
     .min = 4096,
     .max = SIZE_LIMIT},
    {.name = "devices",
     .flags = WEFT_OPTION_LOCAL,
     .type = WEFT_OPT_STRING,
     .offset = offsetof(sock_config_t, devices),
     .value = "",
     .help = "network interfaces: eth,ib prefixes; =eth0 exact; 10.0.0.0/8 by network; ^docker all "
             "but these; empty = all"},
    {.name = "interfaces", .flags = WEFT_OPTION_ALIAS, .value = "devices", .help = "0.3"},
    {.name = "rails",
     .type = WEFT_OPT_INT,
     .offset = offsetof(sock_config_t, rails),
     .value = "0",
     .help = "interfaces that one connection uses at a time; 0 = all whose network the peer shares",
     .min = 0,
     .max = SOCK_RAILS_MAX},
    {.name = "bond",
     .type = WEFT_OPT_BOOL,
     .offset = offsetof(sock_config_t, bond),
     .value = "yes",
     .help = "yes: all interfaces are one device, and every connection uses them; no: each is a "
             "device, and channels are spread over them, rings and trees by the NICs they have"},
    {.name = "rail_patience",
     .type = WEFT_OPT_DURATION,
     .offset = offsetof(sock_config_t, rail_patience),
     .value = "1s",
     .help =
         "how long a rail may be silent before its messages go over the others; with bond = no, "
         "ten times as long ends its connections",
     .min = 0.001,
     .max = 3600},
    {.name = "ip_family",
     .type = WEFT_OPT_CHOICE,
     .offset = offsetof(sock_config_t, family),
     .value = "any",
     .help = "internet protocol of the addresses",
     .choices = "any|ipv4|ipv6"},
    {.name = "family", .flags = WEFT_OPTION_ALIAS, .value = "ip_family", .help = "0.3"},
    {.name = "port_range",
     .flags = WEFT_OPTION_LOCAL,
     .type = WEFT_OPT_STRING,
     .offset = offsetof(sock_config_t, port_range),
     .value = "",
     .help = "ports to listen on, e.g. 5000-5100; empty = any port"},
    {.name = "sndbuf",
     .type = WEFT_OPT_SIZE,
     .offset = offsetof(sock_config_t, sndbuf),
     .value = "0",
     .help = "bytes of the kernel's send buffer per socket; 0 = the kernel tunes it",
     .max = SIZE_LIMIT},
    {.name = "rcvbuf",
     .type = WEFT_OPT_SIZE,
     .offset = offsetof(sock_config_t, rcvbuf),
     .value = "0",
     .help = "bytes of the kernel's receive buffer per socket; 0 = the kernel tunes it",
     .max = SIZE_LIMIT},
    {.name = "congestion",
     .flags = WEFT_OPTION_LOCAL,
     .type = WEFT_OPT_STRING,
     .offset = offsetof(sock_config_t, congestion),
     .value = "auto",
     .help = "congestion control of the sockets: a name that the kernel has (cubic); system: its "
             "default; auto: the same, but cubic or reno to near hosts where that is BBR"},
    {.name = "connect_timeout",
     .type = WEFT_OPT_DURATION,
     .offset = offsetof(sock_config_t, connect_timeout),
     .value = "2s",
     .help = "seconds without an answer from one address of a peer before the next is tried",
     .min = 0.001,
     .max = 3600},
    {.name = NULL},
};

static weft_status_t net_socket_sock_create(const weft_host_t *host, const void *config,
                                            weft_net_t **net_p)
{
    weft_net_t *net = host->alloc(host, sizeof *net, 0);
    if (net == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    net->host = host;
    memcpy(&net->config, config, sizeof net->config);
    weft_interface_filter_parse(net->config.devices, &net->filter);
    net->filter.option = "[net-socket] devices";
    weft_status_t status;
    if (!weft_port_range_parse(net->config.port_range, &net->ports)) {
        status = host->set_error(host, WEFT_ERR_CONFIG, 0,
                                 "[net-socket] port_range is \"%s\", expected FIRST-LAST or one "
                                 "port, up to 65535, e.g. 5000-5100",
                                 net->config.port_range);
        goto err_free;
    }
    status = sock_congestion_find(host, net->config.congestion, &net->congestion);
    if (status == WEFT_OK) {
        status = weft_endpoint_list_local(host, &net->filter, net->config.family, &net->local);
    }
    if (status != WEFT_OK) {
        goto err_free;
    }
    if (net->local.count == 0) {
        host->log(host, WEFT_LOG_WARN, "no interface with an address fits devices = %s",
                  net->config.devices);
    }
    *net_p = net;
    return WEFT_OK;

err_free:
    host->free(host, net);
    return status;
}

static void net_socket_sock_destroy(weft_net_t *net)
{
    if (net != NULL) {
        net->host->free(net->host, net);
    }
}

/* Chooses the addresses of device `index`, all or those of one interface, in the order of the list.
 * The loopback, which joins only ranks of one host, belongs to the first. Returns how many devices
 * there are. */
static uint32_t net_socket_sock_part(const weft_net_t *net, uint32_t index,
                                     weft_endpoint_list_t *part)
{
    const weft_endpoint_list_t *all = &net->local;
    uint32_t seen[WEFT_ENDPOINTS_MAX], count = 0;
    memcpy(part->host, all->host, sizeof part->host);
    part->count = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const weft_endpoint_entry_t *entry = &all->entries[i];
        uint32_t at = 0;
        while (!entry->loopback && at < count && seen[at] != entry->interface) {
            at++;
        }
        if (!entry->loopback && at == count) {
            seen[count++] = entry->interface;
        }
        if (at == index || net->config.bond) {
            part->entries[part->count++] = *entry;
        }
    }
    return !net->config.bond && count > 1 ? count : all->count > 0 ? 1 : 0;
}

static weft_status_t net_socket_sock_device_count(weft_net_t *net, uint32_t *count_p)
{
    weft_endpoint_list_t part;
    *count_p = net_socket_sock_part(net, 0, &part);
    return WEFT_OK;
}

static weft_status_t net_socket_sock_index_check(weft_net_t *net, uint32_t index)
{
    uint32_t count = 0;
    (void)net_socket_sock_device_count(net, &count);
    if (index >= count) {
        return net->host->set_error(net->host, WEFT_ERR_ARG, 0, "device %u of %u", index, count);
    }
    return WEFT_OK;
}

static weft_status_t net_socket_sock_device_props(weft_net_t *net, uint32_t index,
                                                  weft_net_props_t *props)
{
    weft_status_t status = net_socket_sock_index_check(net, index);
    if (status != WEFT_OK) {
        return status;
    }
    weft_net_props_t mine = {
        .size = props->size,
        .name = "tcp",
        .memory_kinds = WEFT_MEMORY_HOST,
        .latency_ns = 8000,
        .bandwidth = UINT64_C(2000000000),
        .local_bandwidth = UINT64_C(8000000000), /* docs/decisions/0140-tcp-inside-a-host.md */
        .local_overhead_ns = 6000,
        .max_outstanding = WEFT_OP_SLOTS,
        .max_message = SOCK_MESSAGE_MAX,
        .slot_bytes = UINT64_C(512) << 10,
        .slots = 4,
    };
    weft_endpoint_list_t part;
    char interface[IF_NAMESIZE];
    uint32_t count = net_socket_sock_part(net, index, &part);
    uint32_t number = part.count > 0 ? part.entries[0].interface : 0; /* loopback stands last */
    if (count > 1 && number != 0 && if_indextoname(number, interface) != NULL) {
        snprintf(mine.name, sizeof mine.name, "%s", interface);
        mine.rail = index;
    }
    memcpy(props, &mine, props->size < sizeof mine ? props->size : sizeof mine);
    return WEFT_OK;
}

static weft_status_t net_socket_sock_device_open(weft_net_t *net, uint32_t index,
                                                 weft_net_device_t **device_p)
{
    const weft_host_t *host = net->host;
    weft_status_t status = net_socket_sock_index_check(net, index);
    if (status != WEFT_OK) {
        return status;
    }
    weft_net_device_t *device = host->alloc(host, sizeof *device, 0);
    if (device == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    *device = (weft_net_device_t){.host = host, .net = net};
    device->apart = net_socket_sock_part(net, index, &device->local) > 1;
    device->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (device->epoll < 0) {
        status = host->set_error(host, WEFT_ERR_RESOURCE, errno, "epoll_create1");
        host->free(host, device);
        return status;
    }
    *device_p = device;
    return WEFT_OK;
}

static void net_socket_sock_device_close(weft_net_device_t *device)
{
    if (device != NULL) {
        close(device->epoll);
        device->host->free(device->host, device);
    }
}

static weft_status_t net_socket_sock_reachable(weft_net_device_t *device,
                                               const weft_net_address_t *address)
{
    const weft_host_t *host = device->host;
    weft_endpoint_list_t list;
    if (weft_endpoint_list_decode(address, &list) != WEFT_OK) {
        return host->set_error(host, WEFT_ERR_PROTO, 0, "not an address of net-socket");
    }
    weft_endpoint_list_reach(&device->local, &list);
    if (list.count == 0) {
        return host->set_error(host, WEFT_ERR_UNSUPPORTED, 0,
                               "the peer has no address that the chosen interfaces reach");
    }
    return WEFT_OK;
}

static const void *net_socket_sock_get_extension(weft_net_t *net, const char *name)
{
    static const weft_net_attach_t attach = {.size = sizeof attach, .attach = sock_conn_attach};
    static const weft_net_payload_t payload = {
        .size = sizeof payload, .send = sock_send_payload, .place = sock_place_payload};
    (void)net;
    return strcmp(name, WEFT_NET_ATTACH) == 0    ? (const void *)&attach
           : strcmp(name, WEFT_NET_PAYLOAD) == 0 ? (const void *)&payload
                                                 : NULL;
}

static const weft_net_ops_t ops = {
    .size = sizeof ops,
    .caps = WEFT_NET_CAP_MESSAGES,
    .create = net_socket_sock_create,
    .destroy = net_socket_sock_destroy,
    .device_count = net_socket_sock_device_count,
    .device_props = net_socket_sock_device_props,
    .device_open = net_socket_sock_device_open,
    .device_close = net_socket_sock_device_close,
    .listen = sock_listen,
    .listener_close = sock_listener_close,
    .reachable = net_socket_sock_reachable,
    .connect_begin = sock_connect_begin,
    .connect_poll = sock_connect_poll,
    .accept = sock_accept,
    .conn_info = sock_conn_info,
    .conn_check = sock_conn_check,
    .conn_close = sock_conn_close,
    .post = sock_post,
    .poll = sock_poll,
    .cancel = sock_cancel,
    .wait_fd = sock_wait_fd,
    .get_extension = net_socket_sock_get_extension,
};

static const weft_plugin_t plugin = {
    .magic = WEFT_PLUGIN_MAGIC,
    .abi_major = WEFT_ABI_NET_MAJOR,
    .abi_minor = WEFT_ABI_NET_MINOR,
    .size = sizeof plugin,
    .kind = WEFT_KIND_NET,
    .name = "net-socket",
    .version = "0.1.0",
    .help = "messages over TCP",
    .options = options,
    .config_size = sizeof(sock_config_t),
    .ops = &ops,
};

const weft_plugin_t *weft_plugin_entry(void)
{
    return &plugin;
}
