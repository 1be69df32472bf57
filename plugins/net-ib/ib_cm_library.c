/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loads librdmacm, and asks it which addresses lead over a port. */
#include "ib_cm_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include "ib_cm_calls.h"

#define LIBRARY "librdmacm.so.1"

typedef struct ib_cm_name {
    const char *symbol;
    size_t offset;
} ib_cm_name_t;

#define NAME(call)                                                                                 \
    {                                                                                              \
        "rdma_" #call, offsetof(ib_cm_calls_t, call)                                               \
    }

static const ib_cm_name_t ib_cm_names[] = {
    NAME(create_event_channel),
    NAME(destroy_event_channel),
    NAME(create_id),
    NAME(destroy_id),
    NAME(bind_addr),
    NAME(listen),
    NAME(get_src_port),
    NAME(resolve_addr),
    NAME(resolve_route),
    NAME(connect),
    NAME(accept),
    NAME(reject),
    NAME(get_cm_event),
    NAME(ack_cm_event),
    NAME(set_option),
    NAME(event_str),
};

static bool ib_cm_calls_find(ib_cm_calls_t *calls)
{
    for (size_t i = 0; i < sizeof ib_cm_names / sizeof ib_cm_names[0]; i++) {
        void *symbol = dlsym(calls->library, ib_cm_names[i].symbol);
        if (symbol == NULL) {
            return false;
        }
        memcpy((char *)calls + ib_cm_names[i].offset, &symbol, sizeof symbol);
    }
    return true;
}

static weft_status_t ib_cm_no_channel(const weft_host_t *host, int cause)
{
    return host->set_error(host, WEFT_ERR_RESOURCE, cause,
                           "librdmacm gets no event channel; the limit of open files is ulimit -n");
}

/* The library never releases the adapters that it has opened, so it stays loaded: a second copy
 * would open them again. */
static weft_status_t ib_cm_calls_load(const weft_host_t *host, ib_cm_calls_t *calls,
                                      const char **why_p)
{
    calls->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (calls->library == NULL || !ib_cm_calls_find(calls)) {
        *why_p = LIBRARY " cannot be used (package librdmacm1 or rdma-core)";
        return WEFT_ERR_UNSUPPORTED;
    }
    struct rdma_event_channel *channel = calls->create_event_channel();
    if (channel != NULL) {
        calls->destroy_event_channel(channel);
        return WEFT_OK;
    }
    *why_p = "/dev/infiniband/rdma_cm cannot be opened (module rdma_ucm)";
    bool want = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
    return want ? ib_cm_no_channel(host, errno) : WEFT_ERR_UNSUPPORTED;
}

weft_status_t ib_cm_load(weft_net_t *net, const char **why_p)
{
    if (net->cm_calls != NULL) {
        return WEFT_OK;
    }
    net->cm_calls = net->host->alloc(net->host, sizeof *net->cm_calls, 0);
    if (net->cm_calls == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    weft_status_t status = ib_cm_calls_load(net->host, net->cm_calls, why_p);
    if (status != WEFT_OK) {
        ib_cm_unload(net);
    }
    return status;
}

void ib_cm_unload(weft_net_t *net)
{
    if (net->cm_calls != NULL && net->cm_calls->library != NULL) {
        dlclose(net->cm_calls->library);
    }
    net->host->free(net->host, net->cm_calls);
    net->cm_calls = NULL;
}

/* Converts an address to a GID: IPv6 as it is, IPv4 in its mapped form. Returns false for an
 * address that no peer could use. */
static bool ib_cm_address_take(const struct sockaddr *any, union ibv_gid *gid)
{
    memset(gid, 0, sizeof *gid);
    if (any->sa_family == AF_INET) {
        gid->raw[10] = gid->raw[11] = 0xff;
        memcpy(gid->raw + 12, &((const struct sockaddr_in *)(const void *)any)->sin_addr, 4);
        return true;
    }
    if (any->sa_family == AF_INET6) {
        memcpy(gid->raw, &((const struct sockaddr_in6 *)(const void *)any)->sin6_addr, 16);
        return !IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)(const void *)gid->raw);
    }
    return false;
}

/* Asks the kernel whether the address belongs to the port. Returns 0, also for an address of no
 * adapter, or the errno of a lack of resources. */
static int ib_cm_address_leads(const ib_port_t *port, struct rdma_event_channel *channel,
                               struct sockaddr *any, bool *leads_p)
{
    const ib_cm_calls_t *calls = port->hca->net->cm_calls;
    struct rdma_cm_id *id = NULL;
    *leads_p = false;
    if (calls->create_id(channel, &id, NULL, RDMA_PS_TCP) != 0) {
        return errno;
    }
    int cause = calls->bind_addr(id, any) == 0 ? 0 : errno;
    *leads_p = cause == 0 && id->verbs != NULL &&
               strcmp(ibv_get_device_name(id->verbs->device), port->hca->name) == 0 &&
               id->port_num == port->number;
    calls->destroy_id(id);
    return cause == EMFILE || cause == ENFILE || cause == ENOMEM ? cause : 0;
}

static int ib_cm_addresses_find(ib_port_t *port, struct rdma_event_channel *channel,
                                const struct ifaddrs *list)
{
    int cause = 0;
    for (const struct ifaddrs *at = list; at != NULL && cause == 0; at = at->ifa_next) {
        union ibv_gid gid;
        bool leads = false;
        if (at->ifa_addr != NULL && (at->ifa_flags & IFF_LOOPBACK) == 0 &&
            ib_cm_address_take(at->ifa_addr, &gid) && port->naddresses < IB_ADDRESSES_MAX) {
            cause = ib_cm_address_leads(port, channel, at->ifa_addr, &leads);
        }
        if (leads) {
            port->addresses[port->naddresses++] = gid;
        }
    }
    return cause;
}

weft_status_t ib_cm_addresses(ib_port_t *port)
{
    const weft_host_t *host = port->hca->net->host;
    const ib_cm_calls_t *calls = port->hca->net->cm_calls;
    struct ifaddrs *list = NULL;
    struct rdma_event_channel *channel = calls->create_event_channel();
    if (channel == NULL) {
        return ib_cm_no_channel(host, errno);
    }
    int cause = getifaddrs(&list) == 0 ? ib_cm_addresses_find(port, channel, list) : errno;
    if (list != NULL) {
        freeifaddrs(list);
    }
    calls->destroy_event_channel(channel);
    return cause == 0 ? WEFT_OK
                      : host->set_error(host, WEFT_ERR_RESOURCE, cause,
                                        "cannot find the addresses of %s:%u; the limit of open "
                                        "files is ulimit -n",
                                        port->hca->name, port->number);
}
