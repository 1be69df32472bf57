/* SPDX-License-Identifier: BSD-3-Clause
 *
 * net-shm: memory shared by two ranks of one host, which are processes or threads. The plugin
 * offers mapped memory only; the core moves the bytes itself. This file holds the tables. */
#include <errno.h>
#include <string.h>

#include "shm_conn.h"
#include "shm_listener.h"
#include "shm_memory.h"
#include "shm_watch.h"

static const weft_option_t options[] = {
    {.name = "slot_bytes",
     .type = WEFT_OPT_SIZE,
     .offset = offsetof(shm_config_t, slot_bytes),
     .value = "512K",
     .help = "bytes of one slot of a queue between two ranks; large messages move in pieces of "
             "this size",
     .min = 4096,
     .max = 64 << 20},
    {.name = "slots",
     .type = WEFT_OPT_INT,
     .offset = offsetof(shm_config_t, slots),
     .value = "4",
     .help = "slots of a queue between two ranks",
     .min = 2,
     .max = 64},
    {.name = "domain",
     .type = WEFT_OPT_STRING,
     .offset = offsetof(shm_config_t, domain),
     .value = "",
     .help = "ranks share memory only with ranks that have the same text here",
     .flags = WEFT_OPTION_LOCAL},
    {.name = NULL},
};

static weft_status_t shm_create(const weft_host_t *host, const void *config, weft_net_t **net_p)
{
    weft_net_t *net = host->alloc(host, sizeof *net, 0);
    if (net == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    net->host = host;
    memcpy(&net->config, config, sizeof net->config);
    net->available = shm_address_local(net->config.domain, &net->own);
    if (!net->available && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
        int cause = errno;
        host->free(host, net);
        return host->set_error(host, WEFT_ERR_RESOURCE, cause, "cannot read /proc");
    }
    if (!net->available) {
        host->log(host, WEFT_LOG_INFO, "no device: /proc does not tell the boot id and namespaces");
    }
    const char *refused = net->available ? shm_memory_refused() : NULL;
    if (refused != NULL) {
        net->available = false;
        host->log(host, WEFT_LOG_WARN,
                  "no device: the system refuses %s (%s), perhaps by a filter of a container; the "
                  "ranks of this host use other transports, which are slower",
                  refused, strerror(errno));
    }
    *net_p = net;
    return WEFT_OK;
}

static void shm_destroy(weft_net_t *net)
{
    if (net != NULL) {
        net->host->free(net->host, net);
    }
}

static weft_status_t shm_device_count(weft_net_t *net, uint32_t *count_p)
{
    *count_p = net->available ? 1 : 0;
    return WEFT_OK;
}

static weft_status_t shm_index_check(weft_net_t *net, uint32_t index)
{
    if (!net->available || index != 0) {
        return net->host->set_error(net->host, WEFT_ERR_ARG, 0, "device %u of %u", index,
                                    net->available ? 1u : 0u);
    }
    return WEFT_OK;
}

static weft_status_t shm_device_props(weft_net_t *net, uint32_t index, weft_net_props_t *props)
{
    weft_status_t status = shm_index_check(net, index);
    if (status != WEFT_OK) {
        return status;
    }
    weft_net_props_t mine = {
        .size = props->size,
        .name = "host",
        .memory_kinds = WEFT_MEMORY_HOST,
        .latency_ns = 400,
        .bandwidth = UINT64_C(8000000000),
        .ordering_bytes = 8,
        .max_outstanding = (uint32_t)net->config.slots,
        .max_message = UINT64_C(1) << 40,
        .slot_bytes = net->config.slot_bytes,
        .slots = (uint32_t)net->config.slots,
    };
    memcpy(props, &mine, props->size < sizeof mine ? props->size : sizeof mine);
    return WEFT_OK;
}

static weft_status_t shm_device_open(weft_net_t *net, uint32_t index, weft_net_device_t **device_p)
{
    weft_status_t status = shm_index_check(net, index);
    if (status != WEFT_OK) {
        return status;
    }
    weft_net_device_t *device = net->host->alloc(net->host, sizeof *device, 0);
    if (device == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    *device = (weft_net_device_t){.host = net->host, .net = net};
    status = shm_watch_open(device);
    if (status != WEFT_OK) {
        net->host->free(net->host, device);
        return status;
    }
    *device_p = device;
    return WEFT_OK;
}

static void shm_device_close(weft_net_device_t *device)
{
    if (device != NULL) {
        shm_watch_close(device);
        device->host->free(device->host, device);
    }
}

static weft_status_t shm_reachable(weft_net_device_t *device, const weft_net_address_t *address)
{
    shm_address_t peer;
    if (shm_address_parse(address, &peer) != WEFT_OK) {
        return device->host->set_error(device->host, WEFT_ERR_PROTO, 0,
                                       "not an address of net-shm");
    }
    if (!shm_address_reaches(&device->net->own, &peer)) {
        return device->host->set_error(device->host, WEFT_ERR_UNSUPPORTED, 0,
                                       "peer is on another host, in another container, or of "
                                       "another user");
    }
    return WEFT_OK;
}

static const void *shm_get_extension(weft_net_t *net, const char *name)
{
    static const weft_net_map_t map = {.size = sizeof map,
                                       .region = shm_conn_region,
                                       .commit = shm_conn_commit,
                                       .discard = shm_conn_discard};
    (void)net;
    return strcmp(name, WEFT_NET_MAP) == 0 ? &map : NULL;
}

static const weft_net_ops_t ops = {
    .size = sizeof ops,
    .caps = WEFT_NET_CAP_MAP,
    .create = shm_create,
    .destroy = shm_destroy,
    .device_count = shm_device_count,
    .device_props = shm_device_props,
    .device_open = shm_device_open,
    .device_close = shm_device_close,
    .listen = shm_listen,
    .listener_close = shm_listener_close,
    .reachable = shm_reachable,
    .connect_begin = shm_connect_begin,
    .connect_poll = shm_connect_poll,
    .accept = shm_accept,
    .conn_info = shm_conn_info,
    .conn_check = shm_conn_check,
    .conn_close = shm_conn_close,
    .wait_fd = shm_wait_fd,
    .get_extension = shm_get_extension,
};

static const weft_plugin_t plugin = {
    .magic = WEFT_PLUGIN_MAGIC,
    .abi_major = WEFT_ABI_NET_MAJOR,
    .abi_minor = WEFT_ABI_NET_MINOR,
    .size = sizeof plugin,
    .kind = WEFT_KIND_NET,
    .name = "net-shm",
    .version = "0.1.0",
    .help = "shared memory between ranks of one host",
    .options = options,
    .config_size = sizeof(shm_config_t),
    .ops = &ops,
};

const weft_plugin_t *weft_plugin_entry(void)
{
    return &plugin;
}
