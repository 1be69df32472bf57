/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OS seam: addresses as bytes and text, and the choice among the interfaces of this host. */
#include "core/os/os_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft/sdk/choice.h>
#include <weft/sdk/interface_list.h>
#include <weft/sdk/net_interface.h>

#include "core/base/error.h"

void weft_os_addr_encode(const weft_os_addr_t *addr, uint8_t bytes[WEFT_OS_ADDR_BYTES])
{
    bytes[0] = addr->family;
    bytes[1] = 0;
    bytes[2] = (uint8_t)(addr->port >> 8);
    bytes[3] = (uint8_t)addr->port;
    memcpy(bytes + 4, addr->bytes, 16);
}

weft_status_t weft_os_addr_decode(const uint8_t bytes[WEFT_OS_ADDR_BYTES], weft_os_addr_t *addr)
{
    memset(addr, 0, sizeof *addr);
    if (bytes[0] == 0) {
        return WEFT_OK;
    }
    uint16_t port = (uint16_t)(bytes[2] << 8 | bytes[3]);
    if ((bytes[0] != 4 && bytes[0] != 6) || port == 0) {
        return weft_fail(WEFT_ERR_PROTO, 0, "address of family %u and port %u", bytes[0], port);
    }
    addr->family = bytes[0];
    addr->port = port;
    memcpy(addr->bytes, bytes + 4, addr->family == 4 ? 4 : 16);
    return WEFT_OK;
}

void weft_os_addr_text(const weft_os_addr_t *addr, char text[WEFT_OS_ADDR_TEXT])
{
    char host[INET6_ADDRSTRLEN] = "?";
    inet_ntop(addr->family == 6 ? AF_INET6 : AF_INET, addr->bytes, host, sizeof host);
    snprintf(text, WEFT_OS_ADDR_TEXT, addr->family == 6 ? "[%s]:%u" : "%s:%u", host, addr->port);
}

void weft_os_addrs_text(const weft_os_addr_t *addrs, uint32_t count, char *text, size_t bytes)
{
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        char one[WEFT_OS_ADDR_TEXT];
        weft_os_addr_text(&addrs[i], one);
        size_t used = strlen(one) + (i > 0 ? 2 : 0);
        if (used >= bytes - at) {
            return;
        }
        at += (size_t)snprintf(text + at, bytes - at, "%s%s", i > 0 ? ", " : "", one);
    }
}

bool weft_os_addr_is_loopback(const weft_os_addr_t *addr)
{
    static const uint8_t one[16] = {[15] = 1};
    return addr->family == 4 ? addr->bytes[0] == 127
                             : addr->family == 6 && memcmp(addr->bytes, one, sizeof one) == 0;
}

bool weft_os_host_is_link_local(const char *host)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr addr;
    int used = snprintf(text, sizeof text, "%.*s", (int)strcspn(host, "%"), host);
    return used > 0 && (size_t)used < sizeof text && inet_pton(AF_INET6, text, &addr) == 1 &&
           IN6_IS_ADDR_LINKLOCAL(&addr);
}

uint32_t weft_os_interface_rank(const char *filter, const char *name)
{
    weft_choice_t choice;
    weft_choice_word_t word;
    uint32_t at = 0, found = 0, chosen = 0;
    weft_choice_parse(filter != NULL ? filter : "", &choice);
    for (const char *text = choice.words; weft_choice_next(&choice, &text, &word);) {
        bool fits = weft_choice_fits(&word, word.length, name);
        if (word.exclude && fits) {
            return 0;
        }
        at++;
        chosen += !word.exclude;
        found = found == 0 && fits ? at : found;
    }
    return chosen == 0 ? 1 : found;
}

/* False for what is no IP address, or means nothing on another host without its scope. */
static bool os_address_read(const struct sockaddr *from, weft_os_addr_t *addr)
{
    memset(addr, 0, sizeof *addr);
    if (from->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)from;
        addr->family = 4;
        memcpy(addr->bytes, &in->sin_addr, 4);
        return true;
    }
    if (from->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;
        addr->family = 6;
        memcpy(addr->bytes, &in6->sin6_addr, 16);
        return !IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr);
    }
    return false;
}

/* False for what cannot be used: interface down, no IP address, link-local. */
static bool os_address_usable(const struct ifaddrs *entry, weft_os_addr_t *addr)
{
    return entry->ifa_addr != NULL && (entry->ifa_flags & IFF_UP) != 0 &&
           os_address_read(entry->ifa_addr, addr);
}

/* The address from which the default route leaves. Family 0: there is no such route. */
static weft_os_addr_t os_address_default(int family)
{
    weft_endpoint_t point;
    weft_os_addr_t addr;
    return weft_interface_default(family, &point) && os_address_read(&point.any, &addr)
               ? addr
               : (weft_os_addr_t){.family = 0};
}

/* What decides the order of addresses. */
typedef struct os_address_order {
    const weft_os_addr_t *near;
    weft_os_addr_t routed[2]; /* from which the default routes leave */
} os_address_order_t;

static bool os_address_same(const weft_os_addr_t *one, const weft_os_addr_t *two)
{
    return one->family == two->family && memcmp(one->bytes, two->bytes, sizeof one->bytes) == 0;
}

/* Lower is better. */
static uint32_t os_address_penalty(const os_address_order_t *order, const struct ifaddrs *entry,
                                   const weft_os_addr_t *addr, uint32_t listed)
{
    enum { NEAR = 16 };
    static const char bridges[] = "docker,br-,virbr,veth,cni,flannel,podman";
    bool loopback = weft_os_addr_is_loopback(addr);
    for (uint32_t i = 0; order->near != NULL && order->near[i].family != 0 && i < NEAR; i++) {
        if (!loopback && os_address_same(&order->near[i], addr)) {
            return i;
        }
    }
    uint32_t kind = loopback                                                ? 3
                    : weft_os_interface_rank(bridges, entry->ifa_name) != 0 ? 2
                    : entry->ifa_flags & IFF_LOOPBACK                       ? 1
                                                                            : 0;
    bool routed =
        os_address_same(&order->routed[0], addr) || os_address_same(&order->routed[1], addr);
    return NEAR + listed * 16 + kind * 4 + (routed ? 0 : 2) + (addr->family == 6);
}

/* Keeps the best `max`, sorted; equal ones stay in the system's order. */
static uint32_t os_address_insert(weft_os_addr_t *addrs, uint32_t *costs, uint32_t count,
                                  uint32_t max, weft_os_addr_t addr, uint32_t cost)
{
    uint32_t at = count;
    while (at > 0 && costs[at - 1] > cost) {
        at--;
    }
    if (at == max) {
        return count;
    }
    count += count < max;
    memmove(addrs + at + 1, addrs + at, (count - at - 1) * sizeof *addrs);
    memmove(costs + at + 1, costs + at, (count - at - 1) * sizeof *costs);
    addrs[at] = addr;
    costs[at] = cost;
    return count;
}

static bool os_address_entry_usable(const struct ifaddrs *entry, const char *name)
{
    weft_os_addr_t addr;
    return strcmp(entry->ifa_name, name) == 0 && os_address_usable(entry, &addr);
}

/* Writes the names of all interfaces once each, and why one cannot be used. */
static void os_address_names(const struct ifaddrs *list, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (const struct ifaddrs *entry = list; entry != NULL && used < bytes;
         entry = entry->ifa_next) {
        const struct ifaddrs *first = list, *usable = list;
        while (strcmp(first->ifa_name, entry->ifa_name) != 0) {
            first = first->ifa_next;
        }
        while (usable != NULL && !os_address_entry_usable(usable, entry->ifa_name)) {
            usable = usable->ifa_next;
        }
        if (first == entry) {
            used += (size_t)snprintf(text + used, bytes - used, "%s%s%s", used > 0 ? ", " : "",
                                     entry->ifa_name,
                                     usable != NULL              ? ""
                                     : entry->ifa_flags & IFF_UP ? " (no address)"
                                                                 : " (down)");
        }
    }
}

/* Nothing fits the filter. */
static void os_address_fail(const char *filter, const struct ifaddrs *list)
{
    char names[256];
    os_address_names(list, names, sizeof names);
    bool filtered = filter != NULL && *filter != '\0';
    weft_fail(WEFT_ERR_CONFIG, 0, "no usable network interface %s%s; this host has %s",
              filtered ? "fits boot.interface = " : "has an address", filtered ? filter : "",
              names[0] != '\0' ? names : "none");
}

uint32_t weft_os_addrs(const char *filter, const weft_os_addr_t *near, weft_os_addr_t *addrs,
                       uint32_t max)
{
    enum { MOST = 16 };
    uint32_t costs[MOST], count = 0;
    weft_interface_list_t list;
    if (!weft_interface_list_get(&list)) {
        weft_fail(errno == ENOMEM ? WEFT_ERR_RESOURCE : WEFT_ERR_SYSTEM, errno,
                  "cannot list the network interfaces");
        return 0;
    }
    const os_address_order_t order = {
        .near = near, .routed = {os_address_default(AF_INET), os_address_default(AF_INET6)}};
    max = max < MOST ? max : MOST;
    for (struct ifaddrs *entry = list.first; entry != NULL; entry = entry->ifa_next) {
        weft_os_addr_t addr;
        uint32_t listed = weft_os_interface_rank(filter, entry->ifa_name);
        if (listed != 0 && os_address_usable(entry, &addr)) {
            count = os_address_insert(addrs, costs, count, max, addr,
                                      os_address_penalty(&order, entry, &addr, listed));
        }
    }
    if (count == 0) {
        os_address_fail(filter, list.first);
    }
    weft_interface_list_free(&list);
    return count;
}

uint32_t weft_os_addr_find(const char *host, uint16_t port, weft_os_addr_t *addrs, uint32_t max)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    uint32_t count = 0;
    int code = getaddrinfo(host, NULL, &hints, &found);
    if (code != 0) {
        weft_fail(WEFT_ERR_LINK, 0, "host \"%s\" is not found: %s", host, gai_strerror(code));
        return 0;
    }
    for (const struct addrinfo *info = found; info != NULL && count < max; info = info->ai_next) {
        if (os_address_read(info->ai_addr, &addrs[count])) {
            addrs[count++].port = port;
        }
    }
    freeaddrinfo(found);
    if (count == 0) {
        weft_fail(WEFT_ERR_LINK, 0, "host \"%s\" has no address that can be used", host);
    }
    return count;
}
