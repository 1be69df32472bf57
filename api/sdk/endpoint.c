/* SPDX-License-Identifier: BSD-3-Clause
 *
 * End points: their wire form, their text, and which of a peer can be tried. */
#include <weft/sdk/endpoint.h>

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* magic, count, host identity; then per entry family (4 or 6), loopback, port (big-endian), 16
 * bytes. */
#define HEADER 32u
#define ENTRY 20u

#define KEEP_IDLE_S 60
#define KEEP_AGAIN_S 30
#define KEEP_GIVE_UP_S 3600 /* longer than boot.unresponsive and exec.op_timeout are by default */

static const uint8_t magic[4] = {'t', 'c', 'p', '1'};

static_assert(HEADER + ENTRY * WEFT_ENDPOINTS_MAX <= WEFT_NET_ADDRESS_MAX, "address too long");

static bool port_range_parse_port(const char *text, char **end_p, uint16_t *port_p)
{
    if (*text < '0' || *text > '9') {
        return false;
    }
    unsigned long port = strtoul(text, end_p, 10);
    *port_p = (uint16_t)port;
    return port >= 1 && port <= UINT16_MAX;
}

bool weft_port_range_parse(const char *text, weft_port_range_t *ports)
{
    *ports = (weft_port_range_t){0, 0};
    if (*text == '\0') {
        return true;
    }
    char *end;
    if (!port_range_parse_port(text, &end, &ports->first)) {
        return false;
    }
    ports->last = ports->first;
    if (*end == '-' && !port_range_parse_port(end + 1, &end, &ports->last)) {
        return false;
    }
    return *end == '\0' && ports->first <= ports->last;
}

uint32_t weft_port_range_span(const weft_port_range_t *ports)
{
    return ports->first == 0 ? 1 : (uint32_t)(ports->last - ports->first) + 1;
}

uint16_t weft_port_range_at(const weft_port_range_t *ports, uint32_t start, uint32_t i)
{
    if (ports->first == 0) {
        return 0;
    }
    uint32_t span = weft_port_range_span(ports);
    return (uint16_t)(ports->first + (start % span + i) % span);
}

socklen_t weft_endpoint_bytes(const weft_endpoint_t *point)
{
    return point->any.sa_family == AF_INET ? sizeof point->v4 : sizeof point->v6;
}

uint16_t weft_endpoint_port(const weft_endpoint_t *point)
{
    return ntohs(point->any.sa_family == AF_INET ? point->v4.sin_port : point->v6.sin6_port);
}

void weft_endpoint_set_port(weft_endpoint_t *point, uint16_t port)
{
    if (point->any.sa_family == AF_INET) {
        point->v4.sin_port = htons(port);
    } else {
        point->v6.sin6_port = htons(port);
    }
}

void weft_endpoint_text(const weft_endpoint_t *point, char text[WEFT_ENDPOINT_TEXT])
{
    char address[INET6_ADDRSTRLEN] = "?";
    bool v4 = point->any.sa_family == AF_INET;
    if (v4) {
        inet_ntop(AF_INET, &point->v4.sin_addr, address, sizeof address);
    } else {
        inet_ntop(AF_INET6, &point->v6.sin6_addr, address, sizeof address);
    }
    snprintf(text, WEFT_ENDPOINT_TEXT, v4 ? "%s:%u" : "[%s]:%u", address,
             weft_endpoint_port(point));
}

void weft_endpoint_keep_alive(int fd)
{
    const int yes = 1, idle = KEEP_IDLE_S, again = KEEP_AGAIN_S;
    const int times = KEEP_GIVE_UP_S / KEEP_AGAIN_S;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &again, sizeof again);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
}

/* Returns the bytes of the address, and how many there are. */
static const uint8_t *endpoint_address(const weft_endpoint_t *point, uint32_t *bytes_p)
{
    bool v4 = point->any.sa_family == AF_INET;
    *bytes_p = v4 ? sizeof point->v4.sin_addr : sizeof point->v6.sin6_addr;
    return v4 ? (const uint8_t *)&point->v4.sin_addr : (const uint8_t *)&point->v6.sin6_addr;
}

bool weft_endpoint_shares_network(const weft_endpoint_entry_t *own, const weft_endpoint_t *peer)
{
    uint32_t bytes, others;
    const uint8_t *mine = endpoint_address(&own->point, &bytes);
    const uint8_t *theirs = endpoint_address(peer, &others);
    uint32_t whole = own->prefix / 8u, rest = own->prefix % 8u;
    if (own->prefix == 0 || own->prefix > 8 * bytes ||
        own->point.any.sa_family != peer->any.sa_family || memcmp(mine, theirs, whole) != 0) {
        return false;
    }
    return rest == 0 || ((mine[whole] ^ theirs[whole]) & (0xff00u >> rest) & 0xffu) == 0;
}

static void endpoint_encode_entry(const weft_endpoint_entry_t *entry, uint8_t *at)
{
    bool v4 = entry->point.any.sa_family == AF_INET;
    uint16_t port = weft_endpoint_port(&entry->point);
    memset(at, 0, ENTRY);
    at[0] = v4 ? 4 : 6;
    at[1] = entry->loopback ? 1 : 0;
    at[2] = (uint8_t)(port >> 8);
    at[3] = (uint8_t)port;
    if (v4) {
        memcpy(at + 4, &entry->point.v4.sin_addr, 4);
    } else {
        memcpy(at + 4, &entry->point.v6.sin6_addr, 16);
    }
}

void weft_endpoint_list_encode(const weft_endpoint_list_t *list, weft_net_address_t *address)
{
    memset(address, 0, sizeof *address);
    memcpy(address->data, magic, sizeof magic);
    address->data[4] = (uint8_t)list->count;
    memcpy(address->data + 8, list->host, sizeof list->host);
    for (uint32_t i = 0; i < list->count; i++) {
        endpoint_encode_entry(&list->entries[i], address->data + HEADER + i * ENTRY);
    }
    address->bytes = HEADER + list->count * ENTRY;
}

static bool endpoint_decode_entry(const uint8_t *at, weft_endpoint_entry_t *entry)
{
    uint16_t port = (uint16_t)(at[2] << 8 | at[3]);
    memset(entry, 0, sizeof *entry);
    entry->loopback = at[1] == 1;
    if (at[0] == 4) {
        entry->point.v4.sin_family = AF_INET;
        memcpy(&entry->point.v4.sin_addr, at + 4, 4);
    } else {
        entry->point.v6.sin6_family = AF_INET6;
        memcpy(&entry->point.v6.sin6_addr, at + 4, 16);
    }
    weft_endpoint_set_port(&entry->point, port);
    return port != 0 && at[1] <= 1 && (at[0] == 4 || at[0] == 6);
}

weft_status_t weft_endpoint_list_decode(const weft_net_address_t *address,
                                        weft_endpoint_list_t *list)
{
    const uint8_t *data = address->data;
    if (address->bytes < HEADER || address->bytes > WEFT_NET_ADDRESS_MAX ||
        memcmp(data, magic, sizeof magic) != 0 || data[4] == 0 || data[4] > WEFT_ENDPOINTS_MAX ||
        address->bytes != HEADER + ENTRY * (uint32_t)data[4]) {
        return WEFT_ERR_PROTO;
    }
    list->count = data[4];
    memcpy(list->host, data + 8, sizeof list->host);
    for (uint32_t i = 0; i < list->count; i++) {
        if (!endpoint_decode_entry(data + HEADER + i * ENTRY, &list->entries[i])) {
            return WEFT_ERR_PROTO;
        }
    }
    return WEFT_OK;
}

static bool endpoint_list_has_family(const weft_endpoint_list_t *list, sa_family_t family)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->entries[i].point.any.sa_family == family) {
            return true;
        }
    }
    return false;
}

/* Loopback first on one host: it is there whatever happens to the network. */
void weft_endpoint_list_reach(const weft_endpoint_list_t *here, weft_endpoint_list_t *there)
{
    static const uint8_t unknown[WEFT_HOST_IDENTITY_BYTES];
    bool same = memcmp(here->host, there->host, sizeof here->host) == 0 &&
                memcmp(here->host, unknown, sizeof unknown) != 0;
    weft_endpoint_list_t kept = {.count = 0};
    memcpy(kept.host, there->host, sizeof kept.host);
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < there->count; i++) {
            const weft_endpoint_entry_t *entry = &there->entries[i];
            bool now = entry->loopback == (pass == 0);
            bool works = (same || !entry->loopback) &&
                         endpoint_list_has_family(here, entry->point.any.sa_family);
            if (now && works) {
                kept.entries[kept.count++] = *entry;
            }
        }
    }
    *there = kept;
}
