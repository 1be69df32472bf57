/* SPDX-License-Identifier: BSD-3-Clause
 *
 * net-ib: messages over InfiniBand, RoCE and iWARP by libibverbs. This file holds the plugin's
 * tables, the instance and its devices. A device is a group of ports of one kind, as many as option
 * `rails` says; a port belongs to one device. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "ib_accept.h"
#include "ib_conn.h"
#include "ib_connect.h"
#include "ib_event.h"
#include "ib_hca.h"
#include "ib_hello.h"
#include "ib_memory.h"
#include "ib_poll.h"
#include "ib_sysfs.h"
#include "ib_watch.h"

/* Whether one connection may use both ports. */
static bool ib_ports_alike(const ib_port_t *one, const ib_port_t *two)
{
    return one->attr.link_layer == two->attr.link_layer && one->hca->iwarp == two->hca->iwarp;
}

/* Gathers the rails of the next device: the port `first` and the next ones of its kind that have no
 * device. Returns how many there are. */
static uint32_t ib_device_gather(weft_net_t *net, uint32_t first, const bool *placed)
{
    uint32_t most = (uint32_t)net->config.rails, count = 0;
    for (uint32_t i = first; i < net->nports && count < most; i++) {
        if (!placed[i] && ib_ports_alike(&net->ports[first], &net->ports[i])) {
            net->rails[net->ndevices * most + count++] = &net->ports[i];
        }
    }
    return count;
}

/* Devices are in the order of their first ports. */
static void ib_devices_make(weft_net_t *net)
{
    const weft_host_t *host = net->host;
    uint32_t most = (uint32_t)net->config.rails;
    bool placed[IB_PORTS_MAX] = {false};
    for (uint32_t i = 0; i < net->nports; i++) {
        if (placed[i]) {
            continue;
        }
        if (ib_device_gather(net, i, placed) < most) {
            host->log(host, WEFT_LOG_INFO, "%s:%u is left out: too few ports of its kind for rails",
                      net->ports[i].hca->name, net->ports[i].number);
            continue;
        }
        for (uint32_t k = 0; k < most; k++) {
            placed[net->rails[net->ndevices * most + k] - net->ports] = true;
        }
        net->ndevices++;
    }
    if (net->ndevices == 0 && net->nports > 0) {
        host->log(host, WEFT_LOG_WARN,
                  "rails = %u, but of the %u usable ports fewer are of one kind", most,
                  net->nports);
    }
}

static weft_status_t ib_net_create(const weft_host_t *host, const void *config, weft_net_t **net_p)
{
    weft_net_t *net = host->alloc(host, sizeof *net, 0);
    if (net == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    net->host = host;
    memcpy(&net->config, config, sizeof net->config);
    weft_interface_filter_parse(net->config.interfaces, &net->filter);
    net->filter.option = "[net-ib] interfaces";
    weft_status_t status;
    if (!ib_gid_index_parse(net->config.gid_index, &net->gid_index)) {
        status = host->set_error(
            host, WEFT_ERR_CONFIG, 0,
            "[net-ib] gid_index is \"%s\", expected auto or an index of the GID table, 0 to 255",
            net->config.gid_index);
        goto err_free;
    }
    weft_choice_word_t word;
    weft_interface_filter_parse(net->config.networks, &net->networks);
    if (!ib_gid_networks_valid(&net->networks, &word)) {
        status = host->set_error(host, WEFT_ERR_CONFIG, 0,
                                 "[net-ib] networks: \"%.*s\" is no network, expected such as "
                                 "10.1.0.0/16 or fd00::/8",
                                 (int)word.length, word.text);
        goto err_free;
    }
    status = weft_endpoint_list_local(host, &net->filter, net->config.family, &net->local);
    status = status == WEFT_OK ? ib_ports_open(net) : status;
    if (status != WEFT_OK) {
        goto err_free;
    }
    ib_devices_make(net);
    *net_p = net;
    return WEFT_OK;

err_free:
    host->free(host, net);
    return status;
}

static void ib_net_destroy(weft_net_t *net)
{
    if (net != NULL) {
        ib_ports_close(net);
        net->host->free(net->host, net);
    }
}

static weft_status_t ib_device_count(weft_net_t *net, uint32_t *count_p)
{
    *count_p = net->ndevices;
    return WEFT_OK;
}

static ib_port_t *ib_device_port(weft_net_t *net, uint32_t index, uint32_t rail)
{
    return net->rails[index * (uint32_t)net->config.rails + rail];
}

static weft_status_t ib_index_check(weft_net_t *net, uint32_t index)
{
    return index < net->ndevices ? WEFT_OK
                                 : net->host->set_error(net->host, WEFT_ERR_ARG, 0,
                                                        "device %u of %u", index, net->ndevices);
}

/* The port's bandwidth in bytes per second, from its width and speed codes. */
static uint64_t ib_port_bandwidth(const ib_port_t *port)
{
    static const struct {
        uint8_t code;
        uint32_t mbit; /* per lane, after the line code */
    } speeds[] = {{1, 2000},   {2, 4000},   {4, 8000},   {8, 10000},
                  {16, 13636}, {32, 24242}, {64, 50000}, {128, 100000}};
    uint32_t width = port->attr.active_width == 2    ? 4
                     : port->attr.active_width == 4  ? 8
                     : port->attr.active_width == 8  ? 12
                     : port->attr.active_width == 16 ? 2
                                                     : 1;
    for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++) {
        if (speeds[i].code == port->attr.active_speed) {
            return (uint64_t)speeds[i].mbit * width * 125000;
        }
    }
    /* A speed that is newer than this table. */
    uint64_t rate = ib_sysfs_rate(port->hca->path, port->number);
    return rate > 0 ? rate : UINT64_C(1000000000);
}

/* The kinds of memory that all rails of the device can access. */
static uint32_t ib_memory_kinds(weft_net_t *net, uint32_t index)
{
    bool dmabuf = true;
    for (uint32_t i = 0; i < (uint32_t)net->config.rails; i++) {
        dmabuf = dmabuf && ib_device_port(net, index, i)->hca->dmabuf;
    }
    return WEFT_MEMORY_HOST | (dmabuf || ib_peer_memory() ? WEFT_MEMORY_CUDA : 0);
}

static weft_status_t ib_device_props(weft_net_t *net, uint32_t index, weft_net_props_t *props)
{
    weft_status_t status = ib_index_check(net, index);
    if (status != WEFT_OK) {
        return status;
    }
    const ib_port_t *port = ib_device_port(net, index, 0);
    weft_net_props_t mine = {
        .size = props->size,
        .rail = index,
        .memory_kinds = ib_memory_kinds(net, index),
        .latency_ns = 2000,
        .flush_needed = (ib_memory_kinds(net, index) & WEFT_MEMORY_CUDA) != 0 ? 1 : 0,
        .max_outstanding = IB_OPS,
        .inline_bytes = net->config.inline_bytes,
        .max_message = IB_MESSAGE_MAX,
        .slot_bytes = net->config.slot_bytes,
        .slots = (uint32_t)net->config.slots,
    };
    snprintf(mine.name, sizeof mine.name, "%.56s:%u", port->hca->name, port->number);
    memcpy(mine.pci, port->hca->pci, sizeof mine.pci);
    for (uint32_t i = 0; i < (uint32_t)net->config.rails; i++) {
        const ib_port_t *rail = ib_device_port(net, index, i);
        uint64_t most = rail->write_max * (IB_WRITES_MAX - 2);
        mine.bandwidth += ib_port_bandwidth(rail);
        mine.max_message = most < mine.max_message ? most : mine.max_message;
    }
    memcpy(props, &mine, props->size < sizeof mine ? props->size : sizeof mine);
    return WEFT_OK;
}

static weft_status_t ib_device_open(weft_net_t *net, uint32_t index, weft_net_device_t **device_p)
{
    const weft_host_t *host = net->host;
    weft_status_t status = ib_index_check(net, index);
    if (status != WEFT_OK) {
        return status;
    }
    weft_net_device_t *device = host->alloc(host, sizeof *device, 0);
    if (device == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    *device = (weft_net_device_t){.host = host, .net = net, .nrails = (uint32_t)net->config.rails};
    device->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (device->epoll < 0) {
        status = host->set_error(host, WEFT_ERR_RESOURCE, errno, "epoll_create1");
        host->free(host, device);
        return status;
    }
    for (uint32_t i = 0; i < device->nrails; i++) {
        ib_port_t *port = ib_device_port(net, index, i);
        device->rails[i] = port;
        device->async[i] = (ib_watch_t){.kind = IB_WATCH_ASYNC, .owner = port->hca};
        ib_device_watch(device, EPOLL_CTL_ADD, port->hca->context->async_fd, EPOLLIN,
                        &device->async[i]);
    }
    *device_p = device;
    return WEFT_OK;
}

static void ib_device_close(weft_net_device_t *device)
{
    if (device != NULL) {
        close(device->epoll);
        device->host->free(device->host, device);
    }
}

static weft_status_t ib_net_reachable(weft_net_device_t *device, const weft_net_address_t *address)
{
    const weft_host_t *host = device->host;
    ib_address_t peer;
    if (ib_address_decode(address, &peer) != WEFT_OK) {
        return host->set_error(host, WEFT_ERR_PROTO, 0, "not an address of net-ib");
    }
    ib_device_events_take(device);
    if (!ib_address_reaches(device, &peer)) {
        char text[IB_GID_TEXT];
        ib_gid_text(&peer.gid.gid, text);
        return host->set_error(host, WEFT_ERR_UNSUPPORTED, 0,
                               "%s:%u does not reach the peer's GID %s (%s): another link layer, "
                               "subnet or family of addresses, or no TCP address in common",
                               device->rails[0]->hca->name, device->rails[0]->number, text,
                               ib_gid_type_text(peer.gid.type));
    }
    return WEFT_OK;
}

static weft_status_t ib_net_describe(weft_net_t *net, uint32_t index, char *text, size_t bytes)
{
    weft_status_t status = ib_index_check(net, index);
    if (status != WEFT_OK || bytes == 0) {
        return status;
    }
    *text = '\0';
    for (uint32_t i = 0; i < (uint32_t)net->config.rails; i++) {
        ib_port_describe(ib_device_port(net, index, i), text, bytes);
    }
    return WEFT_OK;
}

static const void *ib_net_extension(weft_net_t *net, const char *name)
{
    static const weft_net_attach_t attach = {.size = sizeof attach, .attach = ib_conn_attach};
    static const weft_net_dmabuf_t dmabuf = {.size = sizeof dmabuf, .reg = ib_reg_dmabuf};
    static const weft_net_describe_t describe = {.size = sizeof describe,
                                                 .describe = ib_net_describe};
    const struct {
        const char *name;
        const void *table;
    } tables[] = {
        {WEFT_NET_ATTACH, &attach}, {WEFT_NET_DMABUF, &dmabuf}, {WEFT_NET_DESCRIBE, &describe}};
    (void)net;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (strcmp(name, tables[i].name) == 0) {
            return tables[i].table;
        }
    }
    return NULL;
}

static const weft_net_ops_t ops = {
    .size = sizeof ops,
    .caps = WEFT_NET_CAP_MESSAGES,
    .create = ib_net_create,
    .destroy = ib_net_destroy,
    .device_count = ib_device_count,
    .device_props = ib_device_props,
    .device_open = ib_device_open,
    .device_close = ib_device_close,
    .listen = ib_listen,
    .listener_close = ib_listener_close,
    .reachable = ib_net_reachable,
    .connect_begin = ib_connect_begin,
    .connect_poll = ib_connect_poll,
    .accept = ib_accept,
    .conn_info = ib_conn_info,
    .conn_check = ib_conn_check,
    .conn_close = ib_conn_close,
    .post = ib_post,
    .poll = ib_poll,
    .cancel = ib_cancel,
    .wait_fd = ib_wait_fd,
    .reg = ib_reg,
    .dereg = ib_dereg,
    .get_extension = ib_net_extension,
};

static const weft_plugin_t plugin = {
    .magic = WEFT_PLUGIN_MAGIC,
    .abi_major = WEFT_ABI_NET_MAJOR,
    .abi_minor = WEFT_ABI_NET_MINOR,
    .size = sizeof plugin,
    .kind = WEFT_KIND_NET,
    .name = "net-ib",
    .version = "0.1.0",
    .help = "messages over InfiniBand, RoCE and iWARP (libibverbs)",
    .options = ib_options,
    .config_size = sizeof(ib_config_t),
    .ops = &ops,
};

const weft_plugin_t *weft_plugin_entry(void)
{
    return &plugin;
}
