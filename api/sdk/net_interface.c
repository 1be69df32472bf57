/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interfaces of this host: which are chosen, and the order in which peers should try them. */
#include <weft/sdk/interface_list.h>
#include <weft/sdk/net_interface.h>

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A word of a filter. */
typedef struct word {
    weft_choice_word_t name;
    weft_endpoint_entry_t network; /* prefix 0: it is a name */
} word_t;

void weft_interface_filter_parse(const char *text, weft_interface_filter_t *filter)
{
    weft_choice_parse(text, filter);
}

/* Anything with a slash that is no network fits nothing. */
static void interface_word_network(word_t *word)
{
    char text[INET6_ADDRSTRLEN];
    const char *start = word->name.text;
    const char *slash = memchr(start, '/', word->name.length);
    size_t bytes = slash == NULL ? 0 : (size_t)(slash - start);
    if (slash == NULL || bytes >= sizeof text) {
        return;
    }
    memcpy(text, start, bytes);
    text[bytes] = '\0';
    weft_endpoint_t *point = &word->network.point;
    point->any.sa_family = strchr(text, ':') == NULL ? AF_INET : AF_INET6;
    bool v4 = point->any.sa_family == AF_INET;
    void *address = v4 ? (void *)&point->v4.sin_addr : (void *)&point->v6.sin6_addr;
    char *end;
    unsigned long prefix = strtoul(slash + 1, &end, 10);
    if (inet_pton(point->any.sa_family, text, address) == 1 && end == start + word->name.length &&
        prefix >= 1 && prefix <= (v4 ? 32 : 128)) {
        word->network.prefix = (uint8_t)prefix;
    }
}

/* Takes the next word. Returns false at the end. */
static bool interface_filter_next(const weft_interface_filter_t *filter, const char **at_p,
                                  word_t *word)
{
    *word = (word_t){.network = {.prefix = 0}};
    if (!weft_choice_next(filter, at_p, &word->name)) {
        return false;
    }
    interface_word_network(word);
    return true;
}

static bool interface_word_fits(const word_t *word, const char *name,
                                const weft_endpoint_t *address)
{
    if (word->network.prefix != 0) {
        return address != NULL && weft_endpoint_shares_network(&word->network, address);
    }
    return weft_choice_fits(&word->name, word->name.length, name);
}

bool weft_interface_filter_admits(const weft_interface_filter_t *filter, const char *name,
                                  const weft_endpoint_t *address)
{
    word_t word;
    bool chooses = false, chosen = false, left_out = false;
    for (const char *at = filter->words; interface_filter_next(filter, &at, &word);) {
        bool fits = interface_word_fits(&word, name, address);
        chooses = chooses || !word.name.exclude;
        chosen = chosen || (!word.name.exclude && fits);
        left_out = left_out || (word.name.exclude && fits);
    }
    return !left_out && (chosen || !chooses);
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

/* Kinds of addresses in the order of the list. One on the loopback interface that is no loopback
 * address is announced to routers, and is the host's in the whole network. */
enum { KIND_NETWORK = 0, KIND_ROUTED = 1, KIND_BRIDGE = 2, KIND_LOOPBACK = 3, KINDS = 4 };

static bool interface_is_loopback(const weft_endpoint_t *point)
{
    return point->any.sa_family == AF_INET ? ntohl(point->v4.sin_addr.s_addr) >> 24 == 127
                                           : IN6_IS_ADDR_LOOPBACK(&point->v6.sin6_addr) != 0;
}

static int interface_kind(const struct ifaddrs *item, const weft_endpoint_t *point)
{
    if (interface_is_loopback(point)) {
        return KIND_LOOPBACK;
    }
    return (item->ifa_flags & IFF_LOOPBACK) != 0 ? KIND_ROUTED
           : interface_is_bridge(item->ifa_name) ? KIND_BRIDGE
                                                 : KIND_NETWORK;
}

static uint8_t interface_prefix(const struct sockaddr *mask)
{
    uint32_t bits = 0;
    if (mask == NULL) {
        return 0;
    }
    bool v4 = mask->sa_family == AF_INET;
    struct sockaddr_in6 copy; /* the larger one; `mask` is only as long as its family says */
    memcpy(&copy, mask, v4 ? sizeof(struct sockaddr_in) : sizeof copy);
    const uint8_t *bytes = v4 ? (const uint8_t *)&copy + offsetof(struct sockaddr_in, sin_addr)
                              : (const uint8_t *)&copy.sin6_addr;
    for (uint32_t i = 0; i < (v4 ? 4u : 16u); i++) {
        bits += (uint32_t)__builtin_popcount(bytes[i]);
    }
    return (uint8_t)bits;
}

static void interface_list_add(const struct ifaddrs *items, const weft_interface_filter_t *filter,
                               int64_t family, int kind, weft_endpoint_list_t *list)
{
    /* Two entries are kept for loopback. */
    uint32_t room = kind == KIND_LOOPBACK ? WEFT_ENDPOINTS_MAX : WEFT_ENDPOINTS_MAX - 2;
    for (const struct ifaddrs *item = items; item != NULL; item = item->ifa_next) {
        weft_endpoint_t point;
        if (list->count < room && (item->ifa_flags & IFF_UP) != 0 &&
            interface_endpoint(item->ifa_addr, family, &point) &&
            interface_kind(item, &point) == kind &&
            weft_interface_filter_admits(filter, item->ifa_name, &point)) {
            weft_endpoint_set_port(&point, 0);
            list->entries[list->count++] =
                (weft_endpoint_entry_t){.point = point,
                                        .loopback = kind == KIND_LOOPBACK,
                                        .prefix = interface_prefix(item->ifa_netmask),
                                        .interface = if_nametoindex(item->ifa_name)};
        }
    }
}

/* Lists the names with their addresses: "eth0 10.0.0.1, lo 127.0.0.1". */
static void interface_list_text(const struct ifaddrs *items, char text[WEFT_INTERFACE_TEXT])
{
    text[0] = '\0';
    for (const struct ifaddrs *item = items; item != NULL; item = item->ifa_next) {
        weft_endpoint_t point;
        char address[INET6_ADDRSTRLEN];
        if ((item->ifa_flags & IFF_UP) == 0 || !interface_endpoint(item->ifa_addr, 0, &point)) {
            continue;
        }
        bool v4 = point.any.sa_family == AF_INET;
        const void *bytes = v4 ? (const void *)&point.v4.sin_addr : &point.v6.sin6_addr;
        inet_ntop(point.any.sa_family, bytes, address, sizeof address);
        size_t used = strlen(text);
        snprintf(text + used, WEFT_INTERFACE_TEXT - used, "%s%s %s", used > 0 ? ", " : "",
                 item->ifa_name, address);
    }
}

/* Interfaces count that are down, or have no address: they exist. */
static bool interface_word_chooses(const word_t *word, const struct ifaddrs *items)
{
    for (const struct ifaddrs *item = items; item != NULL; item = item->ifa_next) {
        weft_endpoint_t point;
        bool has = interface_endpoint(item->ifa_addr, 0, &point);
        if (interface_word_fits(word, item->ifa_name, has ? &point : NULL)) {
            return true;
        }
    }
    return false;
}

/* What is left out need not exist: one choice may be for many hosts. */
static weft_status_t interface_filter_check(const weft_host_t *host,
                                            const weft_interface_filter_t *filter,
                                            const struct ifaddrs *items)
{
    word_t word;
    char text[WEFT_INTERFACE_TEXT];
    for (const char *at = filter->words; interface_filter_next(filter, &at, &word);) {
        const int length = (int)word.name.length;
        if (interface_word_chooses(&word, items)) {
            continue;
        }
        interface_list_text(items, text);
        if (!word.name.exclude) {
            return host->set_error(
                host, WEFT_ERR_CONFIG, 0, "%s%sno interface here fits \"%.*s\"; there are: %s",
                filter->option != NULL ? filter->option : "", filter->option != NULL ? ": " : "",
                length, word.name.text, text);
        }
        host->log(host, WEFT_LOG_INFO,
                  "no interface here fits \"%.*s\", left out by ^; there are: %s", length,
                  word.name.text, text);
    }
    return WEFT_OK;
}

weft_status_t weft_endpoint_list_local(const weft_host_t *host,
                                       const weft_interface_filter_t *filter, int64_t family,
                                       weft_endpoint_list_t *list)
{
    weft_interface_list_t items;
    if (!weft_interface_list_get(&items)) {
        return host->set_error(host, errno == ENOMEM ? WEFT_ERR_RESOURCE : WEFT_ERR_SYSTEM, errno,
                               "cannot list network interfaces");
    }
    if (items.ipv4_only) {
        host->log(host, WEFT_LOG_INFO,
                  "the system has no netlink for this process (a filter of a container, or "
                  "RestrictAddressFamilies?): only IPv4 addresses are found");
    }
    list->count = 0;
    weft_host_identity_read(list->host);
    weft_status_t status = interface_filter_check(host, filter, items.first);
    bool chosen = *filter->words != '\0';
    for (int kind = 0; kind < KINDS && status == WEFT_OK; kind++) {
        /* Addresses of bridges are often the same on every host, so peers would meet the wrong
         * one. */
        if (kind != KIND_BRIDGE || chosen || list->count == 0) {
            interface_list_add(items.first, filter, family, kind, list);
        }
    }
    weft_interface_list_free(&items);
    return status;
}

/* The kernel looks for the way to an address that is nobody's (RFC 5737, RFC 3849). */
bool weft_interface_default(int family, weft_endpoint_t *point)
{
    weft_endpoint_t to = {.v4 = {.sin_family = AF_INET, .sin_port = htons(9)}};
    socklen_t bytes = sizeof *point;
    if (family == AF_INET) {
        (void)inet_pton(AF_INET, "192.0.2.1", &to.v4.sin_addr);
    } else {
        to.v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(9)};
        (void)inet_pton(AF_INET6, "2001:db8::1", &to.v6.sin6_addr);
    }
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    memset(point, 0, sizeof *point);
    bool found = fd >= 0 && connect(fd, &to.any, weft_endpoint_bytes(&to)) == 0 &&
                 getsockname(fd, &point->any, &bytes) == 0;
    if (fd >= 0) {
        close(fd);
    }
    weft_endpoint_set_port(point, 0);
    return found;
}

/* Moves the entry with the address of `point`, whatever its port, before all others. */
static void interface_list_raise(weft_endpoint_list_t *list, const weft_endpoint_t *point)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const weft_endpoint_entry_t entry = list->entries[i];
        const weft_endpoint_entry_t whole = {
            .point = entry.point, .prefix = entry.point.any.sa_family == AF_INET ? 32 : 128};
        if (weft_endpoint_shares_network(&whole, point)) {
            memmove(list->entries + 1, list->entries, i * sizeof entry);
            list->entries[0] = entry;
            return;
        }
    }
}

bool weft_interface_shorten(weft_net_address_t *address, uint32_t bytes)
{
    weft_endpoint_list_t list;
    weft_endpoint_t point;
    weft_net_address_t tail = *address;
    uint32_t head = 0;
    while (weft_endpoint_list_decode(&tail, &list) != WEFT_OK) {
        if (++head >= address->bytes) {
            return false;
        }
        tail.bytes = address->bytes - head;
        memcpy(tail.data, address->data + head, tail.bytes);
    }
    if (weft_interface_default(AF_INET6, &point)) {
        interface_list_raise(&list, &point);
    }
    if (weft_interface_default(AF_INET, &point)) {
        interface_list_raise(&list, &point);
    }
    while (head + tail.bytes > bytes) {
        if (--list.count == 0) {
            return false;
        }
        weft_endpoint_list_encode(&list, &tail);
    }
    address->bytes = head + tail.bytes;
    memcpy(address->data + head, tail.data, tail.bytes);
    return true;
}
