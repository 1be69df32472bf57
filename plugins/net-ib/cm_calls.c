/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finding librdmacm, and the addresses that lead over a port. */
#include "cm_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include "cm.h"

#define LIBRARY "librdmacm.so.1"

typedef struct ib_cm_name {
    const char *symbol;
    size_t offset;
} ib_cm_name_t;

#define NAME(call)                                                                                 \
    {                                                                                              \
        "rdma_" #call, offsetof(ib_cm_calls_t, call)                                               \
    }

static const ib_cm_name_t names[] = {
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

static bool calls_find(ib_cm_calls_t *calls)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *symbol = dlsym(calls->library, names[i].symbol);
        if (symbol == NULL) {
            return false;
        }
        memcpy((char *)calls + names[i].offset, &symbol, sizeof symbol);
    }
    return true;
}

/* The library and its own view of the adapters live as long as the process. */
bool ib_cm_load(weft_net_t *net, const char **why_p)
{
    *why_p = LIBRARY " cannot be used (package librdmacm1 or rdma-core)";
    if (net->cm_calls != NULL) {
        return true;
    }
    ib_cm_calls_t *calls = net->host->alloc(net->host, sizeof *calls, 0);
    if (calls == NULL) {
        *why_p = "there is no memory";
        return false;
    }
    calls->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    net->cm_calls = calls;
    if (calls->library != NULL && calls_find(calls)) {
        struct rdma_event_channel *channel = calls->create_event_channel();
        if (channel != NULL) {
            calls->destroy_event_channel(channel);
            return true;
        }
        *why_p = "/dev/infiniband/rdma_cm cannot be opened (module rdma_ucm)";
    }
    ib_cm_unload(net);
    return false;
}

void ib_cm_unload(weft_net_t *net)
{
    if (net->cm_calls != NULL && net->cm_calls->library != NULL) {
        dlclose(net->cm_calls->library);
    }
    net->host->free(net->host, net->cm_calls);
    net->cm_calls = NULL;
}

/* As IPv6, an IPv4 address in its mapped form; false: no address that a peer could use. */
static bool address_take(const struct sockaddr *any, union ibv_gid *gid)
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

/* The kernel itself says which port an address belongs to. */
static bool address_leads(const ib_port_t *port, struct rdma_event_channel *channel,
                          struct sockaddr *any)
{
    const ib_cm_calls_t *calls = port->hca->net->cm_calls;
    struct rdma_cm_id *id = NULL;
    if (calls->create_id(channel, &id, NULL, RDMA_PS_TCP) != 0) {
        return false;
    }
    bool leads = calls->bind_addr(id, any) == 0 && id->verbs != NULL &&
                 strcmp(ibv_get_device_name(id->verbs->device), port->hca->name) == 0 &&
                 id->port_num == port->number;
    calls->destroy_id(id);
    return leads;
}

void ib_cm_addresses(ib_port_t *port)
{
    const ib_cm_calls_t *calls = port->hca->net->cm_calls;
    struct ifaddrs *list = NULL;
    struct rdma_event_channel *channel = calls->create_event_channel();
    if (channel == NULL || getifaddrs(&list) != 0) {
        list = NULL;
    }
    for (const struct ifaddrs *at = list; at != NULL; at = at->ifa_next) {
        union ibv_gid gid;
        bool usable = at->ifa_addr != NULL && (at->ifa_flags & IFF_LOOPBACK) == 0 &&
                      address_take(at->ifa_addr, &gid);
        if (usable && port->naddresses < IB_ADDRESSES_MAX &&
            address_leads(port, channel, at->ifa_addr)) {
            port->addresses[port->naddresses++] = gid;
        }
    }
    if (list != NULL) {
        freeifaddrs(list);
    }
    if (channel != NULL) {
        calls->destroy_event_channel(channel);
    }
}
