/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Adapters and ports of this host. */
#include "ib_hca.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ib_cm_library.h"
#include "ib_filter.h"
#include "ib_memory.h"
#include "ib_sysfs.h"

#define GIDS_MAX 512u
#define SPARE_FDS 16
#define IB_DEVICES_MAX 256u
#define IB_PORT_NAME (sizeof((ib_hca_t *)0)->name + 24)
/* Bytes that a write must hold, so that a message of 1 MiB is possible (net.h, max_message). */
#define WRITE_LEAST (((1u << 20) / (IB_WRITES_MAX - 2) / IB_PART_UNIT + 1) * IB_PART_UNIT)

bool ib_port_is_ethernet(const ib_port_t *port)
{
    return port->attr.link_layer == IBV_LINK_LAYER_ETHERNET;
}

/* An adapter, or its port if `port` is not 0, that does not serve is left out, so that it does not
 * end the job. It does if the user wants exactly that one, and if this process is short of
 * something: then all would be left out. Returns ERR_UNSUPPORTED if it is left out, else
 * ERR_RESOURCE with the error set. */
static weft_status_t WEFT_PRINTF(4, 5)
    ib_leave_out(const ib_hca_t *hca, uint8_t port, int cause, const char *format, ...)
{
    const weft_host_t *host = hca->net->host;
    char why[320], number[8] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    if (port != 0) {
        snprintf(number, sizeof number, ":%u", port);
    }
    bool exact = ib_filter_exact(hca->net->config.devices, hca->name, port);
    if (exact || cause == EMFILE || cause == ENFILE || cause == ENOMEM) {
        return host->set_error(host, WEFT_ERR_RESOURCE, cause, "%s%s cannot be used: %s", hca->name,
                               number, why);
    }
    host->log(host, WEFT_LOG_WARN, "%s%s is left out: %s%s%s", hca->name, number, why,
              cause != 0 ? ": " : "", cause != 0 ? strerror(cause) : "");
    return WEFT_ERR_UNSUPPORTED;
}

void ib_port_path(const ib_port_t *port, uint32_t *lid_p, uint32_t *mtu_p)
{
    struct ibv_port_attr now;
    /* A dead adapter tells nothing, and shows in other ways. */
    const struct ibv_port_attr *attr =
        ibv_query_port(port->hca->context, port->number, &now) == 0 ? &now : &port->attr;
    *lid_p = attr->lid;
    *mtu_p = (uint32_t)attr->active_mtu;
}

static int ib_hca_pin(void *owner, ib_pin_t *pin)
{
    ib_hca_t *hca = owner;
    unsigned flags = pin->access == IB_PIN_WRITE ? ib_access_write(hca) : 0;
    struct ibv_mr *mr = ibv_reg_mr(hca->pd, (void *)pin->start, pin->end - pin->start, flags);
    if (mr == NULL) {
        return errno;
    }
    pin->memory = mr;
    pin->local_key = mr->lkey;
    pin->remote_key = mr->rkey;
    return 0;
}

static void ib_hca_unpin(void *owner, ib_pin_t *pin)
{
    ib_hca_t *hca = owner;
    int cause = ibv_dereg_mr(pin->memory);
    if (cause != 0) {
        hca->net->host->log(hca->net->host, WEFT_LOG_WARN, "%s: cannot end a registration: %s",
                            hca->name, strerror(cause));
    }
}

/* The table of an iWARP port are the addresses of its interface. */
static uint32_t ib_port_table(const ib_port_t *port, struct ibv_gid_entry *table, int *cause_p)
{
    if (!port->hca->iwarp) {
        ssize_t count = ibv_query_gid_table(port->hca->context, table, GIDS_MAX, 0);
        *cause_p = count < 0 ? (int)-count : 0;
        return count > 0 ? (uint32_t)count : 0;
    }
    *cause_p = 0;
    for (uint32_t i = 0; i < port->naddresses; i++) {
        table[i] = (struct ibv_gid_entry){.gid = port->addresses[i],
                                          .gid_index = i,
                                          .port_num = port->number,
                                          .gid_type = IB_GID_TYPE_IWARP};
    }
    return port->naddresses;
}

/* *cause_p is the errno of a table that cannot be read, else 0. */
static bool ib_port_gid_find(const ib_port_t *port, const ib_gid_t *peer, ib_gid_t *gid,
                             int *cause_p)
{
    const weft_net_t *net = port->hca->net;
    struct ibv_gid_entry table[GIDS_MAX];
    uint32_t count = ib_port_table(port, table, cause_p);
    /* A number is for the tables of Ethernet ports. Those of InfiniBand begin with what the subnet
     * manager set. */
    ib_gid_wish_t wish = {.index = ib_port_is_ethernet(port) ? net->gid_index : -1,
                          .version = net->config.roce_version,
                          .family = net->config.address_family,
                          .networks = &net->networks,
                          .peer = peer};
    const struct ibv_gid_entry *entry = ib_gid_choose(table, count, port->number, &wish);
    if (entry != NULL) {
        *gid = (ib_gid_t){.gid = entry->gid, .index = entry->gid_index, .type = entry->gid_type};
    }
    return entry != NULL;
}

bool ib_port_gid(const ib_port_t *port, const ib_gid_t *peer, ib_gid_t *gid)
{
    int cause;
    return ib_port_gid_find(port, peer, gid, &cause);
}

static void ib_port_log(const ib_port_t *port)
{
    const weft_host_t *host = port->hca->net->host;
    char text[IB_GID_TEXT];
    ib_gid_text(&port->gid.gid, text);
    host->log(host, WEFT_LOG_INFO, "%s:%u uses GID %u %s, %s, MTU %u", port->hca->name,
              port->number, port->gid.index, text, ib_gid_type_text(port->gid.type),
              128u << port->attr.active_mtu);
}

/* An index that the user has set must exist; otherwise a port without a fitting GID is only left
 * out. */
static weft_status_t ib_port_without_gid(const ib_port_t *port, int cause)
{
    const weft_net_t *net = port->hca->net;
    const weft_host_t *host = net->host;
    if (cause != 0) {
        return ib_leave_out(port->hca, port->number, cause, "its GID table cannot be read");
    }
    if (net->gid_index >= 0 && ib_port_is_ethernet(port)) {
        return host->set_error(host, WEFT_ERR_CONFIG, 0,
                               "%s:%u has no GID with index %lld; set gid_index = auto, or choose "
                               "from the table that weft info shows",
                               port->hca->name, port->number, (long long)net->gid_index);
    }
    host->log(host, WEFT_LOG_WARN, "%s:%u is left out: %s", port->hca->name, port->number,
              ib_port_is_ethernet(port)
                  ? "no GID fits roce_version, address_family and networks; does its network "
                    "interface have an address?"
                  : "it has no GID; a virtual function gets its GUID from the host (ip link set … "
                    "vf … port_guid)");
    return WEFT_ERR_UNSUPPORTED;
}

/* Returns OK, ERR_UNSUPPORTED if the port is left out, or a failure with the error set. A port that
 * is down is left out, so that a spare one does not stop the job. */
static weft_status_t ib_port_open(ib_port_t *port)
{
    const ib_hca_t *hca = port->hca;
    weft_net_t *net = hca->net;
    int cause = ibv_query_port(hca->context, port->number, &port->attr);
    if (cause != 0) {
        return ib_leave_out(hca, port->number, cause, "it cannot be queried");
    }
    if (port->attr.state != IBV_PORT_ACTIVE) {
        net->host->log(net->host, WEFT_LOG_INFO, "%s:%u is left out: its port is %s", hca->name,
                       port->number, ibv_port_state_str(port->attr.state));
        return WEFT_ERR_UNSUPPORTED;
    }
    if (port->attr.max_msg_sz < WRITE_LEAST) {
        return ib_leave_out(hca, port->number, 0,
                            "its messages hold %u bytes (max_msg_sz), %u are needed",
                            port->attr.max_msg_sz, WRITE_LEAST);
    }
    weft_status_t status = hca->iwarp ? ib_cm_addresses(port) : WEFT_OK;
    if (status != WEFT_OK) {
        return status;
    }
    if (!ib_port_gid_find(port, NULL, &port->gid, &cause)) {
        return ib_port_without_gid(port, cause);
    }
    uint64_t most = port->attr.max_msg_sz < (1u << 30) ? port->attr.max_msg_sz : 1u << 30;
    port->write_max = most & ~(uint64_t)(IB_PART_UNIT - 1);
    ib_port_log(port);
    return WEFT_OK;
}

static weft_status_t ib_port_add(ib_hca_t *hca, uint8_t number)
{
    weft_net_t *net = hca->net;
    ib_port_t *port = &net->ports[net->nports];
    *port = (ib_port_t){.hca = hca, .number = number};
    weft_status_t status = ib_port_open(port);
    net->nports += status == WEFT_OK ? 1 : 0;
    return status == WEFT_ERR_UNSUPPORTED ? WEFT_OK : status;
}

static void ib_hca_pci(ib_hca_t *hca, const struct ibv_device *device)
{
    char path[PATH_MAX], real[PATH_MAX];
    snprintf(hca->path, sizeof hca->path, "%s", device->ibdev_path);
    snprintf(path, sizeof path, "%s/device", device->ibdev_path);
    const char *name = realpath(path, real) != NULL ? strrchr(real, '/') : NULL;
    if (name != NULL && strchr(name, ':') != NULL && strlen(name + 1) < sizeof hca->pci) {
        strcpy(hca->pci, name + 1);
    }
}

static bool ib_hca_wanted(const char *filter, const char *name)
{
    for (uint32_t port = 1; port < UINT8_MAX; port++) {
        if (ib_filter_admits(filter, name, port)) {
            return true;
        }
    }
    return false;
}

static bool ib_hca_any_wanted(const char *word, struct ibv_device **devices, int count)
{
    for (int i = 0; i < count; i++) {
        if (ib_hca_wanted(word, ibv_get_device_name(devices[i]))) {
            return true;
        }
    }
    return false;
}

/* libibverbs leaves out in silence what it has no driver for, as in a container without the
 * package. */
static void ib_hcas_driverless(const weft_host_t *host, struct ibv_device **devices, int count)
{
    const char *known[IB_DEVICES_MAX];
    char names[256];
    uint32_t most = (uint32_t)count < IB_DEVICES_MAX ? (uint32_t)count : IB_DEVICES_MAX;
    for (uint32_t i = 0; i < most; i++) {
        known[i] = ibv_get_device_name(devices[i]);
    }
    ib_sysfs_others(IB_SYSFS_VERBS, known, most, names, sizeof names);
    if (names[0] != '\0' && (uint32_t)count == most) {
        host->log(host, WEFT_LOG_WARN,
                  "the kernel has adapters for which libibverbs has no driver: %s; install "
                  "ibverbs-providers or rdma-core (in a container: there)",
                  names);
    }
}

/* The system lists adapters as their drivers began, which may be otherwise on each host; devices of
 * the same number meet. */
static void ib_hcas_sort(const char *filter, struct ibv_device **devices, int count)
{
    for (int i = 1; i < count; i++) {
        struct ibv_device *device = devices[i];
        int at = i;
        while (at > 0 && ib_filter_before(filter, ibv_get_device_name(device),
                                          ibv_get_device_name(devices[at - 1]))) {
            devices[at] = devices[at - 1];
            at--;
        }
        devices[at] = device;
    }
}

static void ib_hca_names(struct ibv_device **devices, int count, char *names, size_t bytes)
{
    names[0] = '\0';
    for (int i = 0; i < count; i++) {
        size_t used = strlen(names);
        snprintf(names + used, bytes - used, "%s%s", i > 0 ? ", " : "",
                 ibv_get_device_name(devices[i]));
    }
}

/* Refuses a word of `devices` that chooses no adapter, and warns of one that leaves none out. A
 * host without any may have the word of others. */
static weft_status_t ib_hcas_check(const weft_net_t *net, struct ibv_device **devices, int count)
{
    const weft_host_t *host = net->host;
    char word[IB_FILTER_WORD], names[512];
    bool excludes;
    for (uint32_t n = 0; count > 0 && ib_filter_word(net->config.devices, n, word, &excludes);
         n++) {
        if (ib_hca_any_wanted(word, devices, count)) {
            continue;
        }
        ib_hca_names(devices, count, names, sizeof names);
        if (!excludes) {
            return host->set_error(host, WEFT_ERR_CONFIG, 0,
                                   "[net-ib] devices: no adapter here fits \"%s\"; there are: %s",
                                   word, names);
        }
        host->log(host, WEFT_LOG_WARN,
                  "devices leaves out \"%s\", which no adapter here fits; there are: %s", word,
                  names);
    }
    return WEFT_OK;
}

static void ib_hca_close(ib_hca_t *hca)
{
    if (hca->pd != NULL) {
        ib_cache_fini(&hca->cache);
        ibv_dealloc_pd(hca->pd);
    }
    if (hca->context != NULL) {
        ibv_close_device(hca->context);
    }
    pthread_mutex_destroy(&hca->events);
}

/* Chooses the depths of the queues. A completion queue that is too short would overrun, so the send
 * queues are as long as it allows. A rail may have to take over all queue pairs of the others. */
static weft_status_t ib_hca_limits(ib_hca_t *hca)
{
    const weft_net_t *net = hca->net;
    const struct ibv_device_attr *attr = &hca->attr;
    uint32_t rails = (uint32_t)net->config.rails, all = ib_config_qps(&net->config);
    uint32_t qps = net->config.failover ? all : (all + rails - 1) / rails + 1;
    int64_t depth = attr->max_cqe / (int64_t)qps - IB_RECV_DEPTH;
    depth = depth < IB_SEND_DEPTH ? depth : IB_SEND_DEPTH;
    depth = depth < attr->max_qp_wr ? depth : attr->max_qp_wr;
    if (attr->max_qp_wr < (int)IB_RECV_DEPTH) {
        return ib_leave_out(hca, 0, 0,
                            "its queue pairs hold %d requests (max_qp_wr), %u are needed",
                            attr->max_qp_wr, IB_RECV_DEPTH);
    }
    if (depth < IB_WRITES_MAX) {
        return ib_leave_out(hca, 0, 0,
                            "its completion queues hold %d entries (max_cqe), %u queue pairs of a "
                            "connection need %u; use fewer qps or rails",
                            attr->max_cqe, qps, qps * (IB_RECV_DEPTH + IB_WRITES_MAX));
    }
    hca->send_depth = (uint32_t)depth;
    hca->cq_depth = qps * (hca->send_depth + IB_RECV_DEPTH);
    return WEFT_OK;
}

static weft_status_t ib_hca_open(ib_hca_t *hca, struct ibv_device *device)
{
    const weft_net_t *net = hca->net;
    snprintf(hca->name, sizeof hca->name, "%s", ibv_get_device_name(device));
    ib_hca_pci(hca, device);
    hca->context = ibv_open_device(device);
    if (hca->context == NULL) {
        return ib_leave_out(
            hca, 0, errno,
            "it cannot be opened; is /dev/infiniband there and accessible (container,"
            " device cgroup), and the limit of open files (ulimit -n) high enough?");
    }
    int cause = ibv_query_device(hca->context, &hca->attr);
    int flags = fcntl(hca->context->async_fd, F_GETFL);
    if (cause != 0) {
        return ib_leave_out(hca, 0, cause, "it cannot be queried; look at dmesg");
    }
    if (flags < 0 || fcntl(hca->context->async_fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        return ib_leave_out(hca, 0, errno, "its events cannot be read without waiting");
    }
    uint32_t vector = 0;
    weft_status_t status = ib_hca_limits(hca);
    status = status == WEFT_OK ? net->host->random(net->host, &vector, sizeof vector) : status;
    if (status != WEFT_OK) {
        return status;
    }
    atomic_store(&hca->vector, vector);
    hca->pd = ibv_alloc_pd(hca->context);
    if (hca->pd == NULL) {
        return ib_leave_out(hca, 0, errno, "it gives no protection domain");
    }
    hca->dmabuf = ib_dmabuf_known(hca);
    ib_pinner_t pinner = {.pin = ib_hca_pin, .unpin = ib_hca_unpin, .owner = hca};
    return ib_cache_init(&hca->cache, net->host, &pinner);
}

static void ib_hca_left_out(const weft_net_t *net, const char *what, uint32_t most, const char *of)
{
    net->host->log(net->host, WEFT_LOG_WARN,
                   "%s is left out: %u %s are the most; choose by devices = …", what, most, of);
}

/* Adds the ports that the options admit, as long as there is room. */
static weft_status_t ib_ports_add(ib_hca_t *hca)
{
    weft_net_t *net = hca->net;
    for (uint32_t port = 1; port <= hca->attr.phys_port_cnt; port++) {
        if (!ib_filter_admits(net->config.devices, hca->name, port)) {
            continue;
        }
        if (net->nports == IB_PORTS_MAX) {
            char name[IB_PORT_NAME];
            snprintf(name, sizeof name, "%s from port %u on", hca->name, port);
            ib_hca_left_out(net, name, IB_PORTS_MAX, "ports");
            return WEFT_OK;
        }
        weft_status_t status = ib_port_add(hca, (uint8_t)port);
        if (status != WEFT_OK) {
            return status;
        }
    }
    return WEFT_OK;
}

static weft_status_t ib_hca_add(weft_net_t *net, struct ibv_device *device)
{
    const weft_host_t *host = net->host;
    const char *name = ibv_get_device_name(device);
    if (!ib_hca_wanted(net->config.devices, name)) {
        return WEFT_OK;
    }
    const char *why = "it is neither InfiniBand, RoCE nor iWARP";
    bool iwarp = device->transport_type == IBV_TRANSPORT_IWARP;
    weft_status_t status = iwarp                                        ? ib_cm_load(net, &why)
                           : device->transport_type == IBV_TRANSPORT_IB ? WEFT_OK
                                                                        : WEFT_ERR_UNSUPPORTED;
    if (status == WEFT_ERR_UNSUPPORTED) {
        host->log(host, WEFT_LOG_WARN, "%s is left out: %s%s", name,
                  iwarp ? "it speaks iWARP, and " : "", why);
        return WEFT_OK;
    }
    if (net->nhcas == IB_HCAS_MAX) {
        ib_hca_left_out(net, name, IB_HCAS_MAX, "adapters");
        return WEFT_OK;
    }
    ib_hca_t *hca = &net->hcas[net->nhcas];
    hca->net = net;
    hca->iwarp = iwarp;
    pthread_mutex_init(&hca->events, NULL);
    status = status == WEFT_OK ? ib_hca_open(hca, device) : status;
    if (status != WEFT_OK) {
        ib_hca_close(hca);
        memset(hca, 0, sizeof *hca);
        return status == WEFT_ERR_UNSUPPORTED ? WEFT_OK : status;
    }
    net->nhcas++;
    return ib_ports_add(hca);
}

/* libibverbs loads its drivers once. If that fails because descriptors are short, this process
 * never sees an adapter again. */
static weft_status_t ib_hca_descriptors_check(const weft_host_t *host)
{
    int fds[SPARE_FDS], count = 0, cause = 0;
    while (count < SPARE_FDS && cause == 0) {
        fds[count] = open("/", O_RDONLY | O_CLOEXEC);
        cause = fds[count] < 0 ? errno : 0;
        count += cause == 0 ? 1 : 0;
    }
    while (count > 0) {
        close(fds[--count]);
    }
    return cause == 0 ? WEFT_OK
                      : host->set_error(host, WEFT_ERR_RESOURCE, cause,
                                        "libibverbs needs %d file descriptors; raise the limit of "
                                        "open files (ulimit -n)",
                                        SPARE_FDS);
}

/* Before Linux 5.12 a process that has forked gets a copy of a registered page when it writes to
 * it, and the adapter keeps the old one. libibverbs keeps such pages out of children; where the
 * kernel needs no help it does nothing. */
static void ib_hca_fork_prepare(const weft_host_t *host)
{
    int cause = ibv_fork_init();
    if (cause != 0) {
        host->log(host, WEFT_LOG_WARN,
                  "a fork() may change what adapters write and read: ibv_fork_init: %s; another "
                  "library registered memory before, so set RDMAV_FORK_SAFE=1",
                  strerror(cause));
    }
}

weft_status_t ib_ports_open(weft_net_t *net)
{
    weft_status_t status = ib_hca_descriptors_check(net->host);
    if (status != WEFT_OK) {
        return status;
    }
    ib_hca_fork_prepare(net->host);
    int count = 0;
    struct ibv_device **devices = ibv_get_device_list(&count);
    if (devices == NULL) {
        /* ENOSYS: the kernel has no RDMA at all. */
        return errno == ENOSYS || errno == ENOENT
                   ? WEFT_OK
                   : net->host->set_error(net->host, WEFT_ERR_SYSTEM, errno,
                                          "cannot list RDMA adapters");
    }
    ib_hcas_driverless(net->host, devices, count);
    status = ib_hcas_check(net, devices, count);
    ib_hcas_sort(net->config.devices, devices, count);
    for (int i = 0; i < count && status == WEFT_OK; i++) {
        status = ib_hca_add(net, devices[i]);
    }
    ibv_free_device_list(devices);
    if (status != WEFT_OK) {
        ib_ports_close(net);
    }
    return status;
}

void ib_ports_close(weft_net_t *net)
{
    for (uint32_t i = 0; i < net->nhcas; i++) {
        ib_hca_close(&net->hcas[i]);
    }
    net->nhcas = 0;
    net->nports = 0;
    ib_cm_unload(net);
}

/* Appends one line; what does not fit is left out. */
static void WEFT_PRINTF(3, 4) ib_port_line_add(char *text, size_t bytes, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, bytes - used, format, args);
    va_end(args);
}

void ib_port_describe(const ib_port_t *port, char *text, size_t bytes)
{
    struct ibv_gid_entry table[GIDS_MAX];
    int cause;
    uint32_t count = ib_port_table(port, table, &cause);
    char gid[IB_GID_TEXT];
    ib_port_line_add(text, bytes, "%s:%u %s, firmware %s, MTU %u of %u, LID %u\n", port->hca->name,
                     port->number, ib_port_is_ethernet(port) ? "Ethernet" : "InfiniBand",
                     port->hca->attr.fw_ver[0] != '\0' ? port->hca->attr.fw_ver : "unknown",
                     128u << port->attr.active_mtu, 128u << port->attr.max_mtu, port->attr.lid);
    for (uint32_t i = 0; i < count; i++) {
        if (table[i].port_num == port->number) {
            ib_gid_text(&table[i].gid, gid);
            ib_port_line_add(text, bytes, "%s GID %u %s %s\n",
                             table[i].gid_index == port->gid.index ? "*" : " ", table[i].gid_index,
                             ib_gid_type_text(table[i].gid_type), gid);
        }
    }
}
