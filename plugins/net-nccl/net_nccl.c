/* SPDX-License-Identifier: BSD-3-Clause
 *
 * net-nccl: messages over a network plugin of NCCL, which it opens as NCCL does (docs/nccl-
 * net.md). This file holds the plugin's tables, the options, the instance and its devices. */
#include <string.h>

#include "ncclnet_call.h"
#include "ncclnet_conn.h"
#include "ncclnet_connect.h"
#include "ncclnet_library.h"
#include "ncclnet_listen.h"
#include "ncclnet_poll.h"
#include "ncclnet_props.h"
#include "ncclnet_region.h"

static const weft_option_t options[] = {
    {.name = "library",
     .flags = WEFT_OPTION_LOCAL,
     .type = WEFT_OPT_STRING,
     .offset = offsetof(ncclnet_config_t, library),
     .value = "",
     .help = "network plugin of NCCL: path of a libnccl-net-*.so, or its name as in "
             "NCCL_NET_PLUGIN: ofi is libnccl-net-ofi.so"},
    {.name = "interfaces",
     .flags = WEFT_OPTION_LOCAL,
     .type = WEFT_OPT_STRING,
     .offset = offsetof(ncclnet_config_t, interfaces),
     .value = "",
     .help = "network interfaces for the control streams, chosen as devices of net-socket; empty = "
             "all"},
    {.name = "port_range",
     .flags = WEFT_OPTION_LOCAL,
     .type = WEFT_OPT_STRING,
     .offset = offsetof(ncclnet_config_t, port_range),
     .value = "",
     .help = "ports of the control streams to listen on, e.g. 5000-5100; empty = any port"},
    {.name = "traffic_class",
     .type = WEFT_OPT_INT,
     .offset = offsetof(ncclnet_config_t, traffic_class),
     .value = "-1",
     .help = "traffic class for libraries of version 10 and newer; -1 = theirs",
     .min = -1,
     .max = 255},
    {.name = "in_flight",
     .type = WEFT_OPT_INT,
     .offset = offsetof(ncclnet_config_t, in_flight),
     .value = "8",
     .help = "operations per connection and direction that the library has at a time",
     .min = 1,
     .max = WEFT_NCCL_REQUESTS},
    {.name = NULL},
};

static void net_nccl_destroy(weft_net_t *net)
{
    if (net != NULL) {
        ncclnet_library_close(net);
        ncclnet_log_remove(net);
        pthread_mutex_destroy(&net->lock);
        net->host->free(net->host, net);
    }
}

static weft_status_t net_nccl_create(const weft_host_t *host, const void *config,
                                     weft_net_t **net_p)
{
    weft_net_t *net = host->alloc(host, sizeof *net, 0);
    if (net == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    net->host = host;
    net->notes = host->get_service(host, WEFT_SERVICE_CALL_NOTE);
    memcpy(&net->config, config, sizeof net->config);
    pthread_mutex_init(&net->lock, NULL);
    ncclnet_log_add(net);
    weft_interface_filter_parse(net->config.interfaces, &net->filter);
    net->filter.option = "[net-nccl] interfaces";
    weft_status_t status = WEFT_OK;
    if (!weft_port_range_parse(net->config.port_range, &net->ports)) {
        status = host->set_error(host, WEFT_ERR_CONFIG, 0,
                                 "[net-nccl] port_range is \"%s\", expected FIRST-LAST or one "
                                 "port, up to 65535, e.g. 5000-5100",
                                 net->config.port_range);
    }
    if (status == WEFT_OK) {
        status = weft_endpoint_list_local(host, &net->filter, 0, &net->local);
    }
    if (status == WEFT_OK) {
        status = ncclnet_library_open(net);
    }
    if (status == WEFT_OK) {
        status = ncclnet_devices_find(net);
    }
    if (status != WEFT_OK) {
        net_nccl_destroy(net);
        return status;
    }
    host->log(host, WEFT_LOG_INFO, "%s: %s, %s, %u devices", net->library->path,
              net->library->shim->name(net->library->table), net->library->shim->symbol,
              net->ndevices);
    *net_p = net;
    return WEFT_OK;
}

static weft_status_t net_nccl_device_count(weft_net_t *net, uint32_t *count_p)
{
    *count_p = net->ndevices;
    return WEFT_OK;
}

static weft_status_t net_nccl_device_ask(weft_net_t *net, uint32_t index,
                                         ncclnet_foreign_t *foreign)
{
    if (index >= net->ndevices) {
        return net->host->set_error(net->host, WEFT_ERR_ARG, 0, "device %u of %u", index,
                                    net->ndevices);
    }
    return ncclnet_device_ask(net, (int)net->devices[index], foreign);
}

static weft_status_t net_nccl_device_props(weft_net_t *net, uint32_t index, weft_net_props_t *props)
{
    ncclnet_foreign_t foreign;
    weft_status_t status = net_nccl_device_ask(net, index, &foreign);
    if (status == WEFT_OK) {
        ncclnet_device_convert(net, index, &foreign, props);
    }
    return status;
}

static weft_status_t net_nccl_describe(weft_net_t *net, uint32_t index, char *text, size_t bytes)
{
    ncclnet_foreign_t foreign;
    weft_status_t status = net_nccl_device_ask(net, index, &foreign);
    if (status == WEFT_OK) {
        ncclnet_device_describe(net, (int)net->devices[index], &foreign, text, bytes);
    }
    return status;
}

static weft_status_t net_nccl_device_open(weft_net_t *net, uint32_t index,
                                          weft_net_device_t **device_p)
{
    const weft_host_t *host = net->host;
    ncclnet_foreign_t foreign;
    weft_status_t status = net_nccl_device_ask(net, index, &foreign);
    if (status != WEFT_OK) {
        return status;
    }
    weft_net_device_t *device = host->alloc(host, sizeof *device, 0);
    if (device == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    *device = (weft_net_device_t){
        .host = host, .net = net, .dev = (int)net->devices[index], .foreign = foreign};
    *device_p = device;
    return WEFT_OK;
}

static void net_nccl_device_close(weft_net_device_t *device)
{
    if (device != NULL) {
        device->host->free(device->host, device);
    }
}

static const void *net_nccl_get_extension(weft_net_t *net, const char *name)
{
    static const weft_net_attach_t attach = {.size = sizeof attach, .attach = ncclnet_conn_attach};
    static const weft_net_dmabuf_t dmabuf = {.size = sizeof dmabuf, .reg = ncclnet_reg_dmabuf};
    static const weft_net_describe_t describe = {.size = sizeof describe,
                                                 .describe = net_nccl_describe};
    (void)net;
    return strcmp(name, WEFT_NET_ATTACH) == 0     ? (const void *)&attach
           : strcmp(name, WEFT_NET_DMABUF) == 0   ? (const void *)&dmabuf
           : strcmp(name, WEFT_NET_DESCRIBE) == 0 ? (const void *)&describe
                                                  : NULL;
}

static const weft_net_ops_t ops = {
    .size = sizeof ops,
    .caps = WEFT_NET_CAP_MESSAGES,
    .create = net_nccl_create,
    .destroy = net_nccl_destroy,
    .device_count = net_nccl_device_count,
    .device_props = net_nccl_device_props,
    .device_open = net_nccl_device_open,
    .device_close = net_nccl_device_close,
    .listen = ncclnet_listen,
    .listener_close = ncclnet_listener_close,
    .reachable = ncclnet_reachable,
    .connect_begin = ncclnet_connect_begin,
    .connect_poll = ncclnet_connect_poll,
    .accept = ncclnet_accept,
    .conn_info = ncclnet_conn_info,
    .conn_check = ncclnet_conn_check,
    .conn_close = ncclnet_conn_close,
    .post = ncclnet_post,
    .poll = ncclnet_poll,
    .cancel = ncclnet_conn_cancel,
    .reg = ncclnet_reg,
    .dereg = ncclnet_dereg,
    .get_extension = net_nccl_get_extension,
};

static const weft_plugin_t plugin = {
    .magic = WEFT_PLUGIN_MAGIC,
    .abi_major = WEFT_ABI_NET_MAJOR,
    .abi_minor = WEFT_ABI_NET_MINOR,
    .size = sizeof plugin,
    .kind = WEFT_KIND_NET,
    .name = "net-nccl",
    .version = "0.1.0",
    .help = "messages over a network plugin of NCCL (libnccl-net-*.so)",
    .options = options,
    .config_size = sizeof(ncclnet_config_t),
    .ops = &ops,
};

const weft_plugin_t *weft_plugin_entry(void)
{
    return &plugin;
}
