/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interfaces of this host: which are chosen, and the order in which peers should try them. */
#include <weft/sdk/net_interface.h>

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>

void weft_interface_filter_parse(const char *text, weft_interface_filter_t *filter)
{
    *filter = (weft_interface_filter_t){.names = text};
    if (*filter->names == '^') {
        filter->exclude = true;
        filter->names++;
    }
    if (*filter->names == '=') {
        filter->exact = true;
        filter->names++;
    }
}

static bool interface_filter_lists(const weft_interface_filter_t *filter, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = filter->names; *at != '\0';) {
        size_t word = strcspn(at, ",");
        bool fits = filter->exact ? word == length : word <= length;
        if (word > 0 && fits && memcmp(at, name, word) == 0) {
            return true;
        }
        at += word + (at[word] == ',' ? 1 : 0);
    }
    return false;
}

bool weft_interface_filter_admits(const weft_interface_filter_t *filter, const char *name)
{
    return *filter->names == '\0' || interface_filter_lists(filter, name) != filter->exclude;
}

static bool interface_endpoint(const struct sockaddr *address, int64_t family,
                               weft_endpoint_t *point)
{
    if (address == NULL) {
        return false;
    }
    memset(point, 0, sizeof *point);
    if (address->sa_family == AF_INET && family != 2) {
        memcpy(&point->v4, address, sizeof point->v4);
        return true;
    }
    if (address->sa_family == AF_INET6 && family != 1) {
        memcpy(&point->v6, address, sizeof point->v6);
        return !IN6_IS_ADDR_LINKLOCAL(&point->v6.sin6_addr);
    }
    return false;
}

static bool interface_is_bridge(const char *name)
{
    static const char *const prefixes[] = {"docker", "br-", "virbr", "veth", "podman", "cni"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Kinds of interfaces in the order of the list. */
enum { KIND_NETWORK = 0, KIND_BRIDGE = 1, KIND_LOOPBACK = 2, KINDS = 3 };

static int interface_kind(const struct ifaddrs *item)
{
    if ((item->ifa_flags & IFF_LOOPBACK) != 0) {
        return KIND_LOOPBACK;
    }
    return interface_is_bridge(item->ifa_name) ? KIND_BRIDGE : KIND_NETWORK;
}

static void interface_list_add(const struct ifaddrs *items, const weft_interface_filter_t *filter,
                               int64_t family, int kind, weft_endpoint_list_t *list)
{
    /* Two entries are kept for loopback. */
    uint32_t room = kind == KIND_LOOPBACK ? WEFT_ENDPOINTS_MAX : WEFT_ENDPOINTS_MAX - 2;
    for (const struct ifaddrs *item = items; item != NULL; item = item->ifa_next) {
        weft_endpoint_t point;
        if (list->count < room && (item->ifa_flags & IFF_UP) != 0 && interface_kind(item) == kind &&
            weft_interface_filter_admits(filter, item->ifa_name) &&
            interface_endpoint(item->ifa_addr, family, &point)) {
            weft_endpoint_set_port(&point, 0);
            list->entries[list->count++] =
                (weft_endpoint_entry_t){.point = point, .loopback = kind == KIND_LOOPBACK};
        }
    }
}

weft_status_t weft_endpoint_list_local(const weft_host_t *host,
                                       const weft_interface_filter_t *filter, int64_t family,
                                       weft_endpoint_list_t *list)
{
    struct ifaddrs *items;
    if (getifaddrs(&items) != 0) {
        return host->set_error(host, WEFT_ERR_SYSTEM, errno, "cannot list network interfaces");
    }
    list->count = 0;
    weft_host_identity_read(list->host);
    bool chosen = *filter->names != '\0';
    for (int kind = 0; kind < KINDS; kind++) {
        /* Addresses of bridges are often the same on every host, so peers would meet the wrong
         * one. */
        if (kind != KIND_BRIDGE || chosen || list->count == 0) {
            interface_list_add(items, filter, family, kind, list);
        }
    }
    freeifaddrs(items);
    return WEFT_OK;
}
