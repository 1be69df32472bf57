/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wire form of addresses, and the parsing of the options that choose them. */
#include "address.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* magic, count, system; then per entry family (4 or 6), loopback, port (big-endian), 16 bytes. */
#define HEAD 32u
#define ENTRY 20u

static const uint8_t magic[4] = {'t', 'c', 'p', '1'};

static_assert(HEAD + ENTRY * SOCK_ADDRESSES_MAX <= WEFT_NET_ADDRESS_MAX, "address too long");

void sock_filter_parse(const char *text, sock_filter_t *filter)
{
    *filter = (sock_filter_t){.names = text};
    if (*filter->names == '^') {
        filter->exclude = true;
        filter->names++;
    }
    if (*filter->names == '=') {
        filter->exact = true;
        filter->names++;
    }
}

static bool filter_lists(const sock_filter_t *filter, const char *name)
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

bool sock_filter_admits(const sock_filter_t *filter, const char *name)
{
    return *filter->names == '\0' || filter_lists(filter, name) != filter->exclude;
}

static bool port_parse(const char *text, char **end_p, uint16_t *port_p)
{
    if (*text < '0' || *text > '9') {
        return false;
    }
    unsigned long port = strtoul(text, end_p, 10);
    *port_p = (uint16_t)port;
    return port >= 1 && port <= UINT16_MAX;
}

bool sock_ports_parse(const char *text, sock_ports_t *ports)
{
    *ports = (sock_ports_t){0, 0};
    if (*text == '\0') {
        return true;
    }
    char *end;
    if (!port_parse(text, &end, &ports->first)) {
        return false;
    }
    ports->last = ports->first;
    if (*end == '-' && !port_parse(end + 1, &end, &ports->last)) {
        return false;
    }
    return *end == '\0' && ports->first <= ports->last;
}

socklen_t sock_point_bytes(const sock_point_t *point)
{
    return point->any.sa_family == AF_INET ? sizeof point->v4 : sizeof point->v6;
}

uint16_t sock_point_port(const sock_point_t *point)
{
    return ntohs(point->any.sa_family == AF_INET ? point->v4.sin_port : point->v6.sin6_port);
}

void sock_point_set_port(sock_point_t *point, uint16_t port)
{
    if (point->any.sa_family == AF_INET) {
        point->v4.sin_port = htons(port);
    } else {
        point->v6.sin6_port = htons(port);
    }
}

void sock_point_text(const sock_point_t *point, char text[SOCK_TEXT])
{
    char address[INET6_ADDRSTRLEN] = "?";
    bool v4 = point->any.sa_family == AF_INET;
    if (v4) {
        inet_ntop(AF_INET, &point->v4.sin_addr, address, sizeof address);
    } else {
        inet_ntop(AF_INET6, &point->v6.sin6_addr, address, sizeof address);
    }
    snprintf(text, SOCK_TEXT, v4 ? "%s:%u" : "[%s]:%u", address, sock_point_port(point));
}

static void entry_encode(const sock_entry_t *entry, uint8_t *at)
{
    bool v4 = entry->point.any.sa_family == AF_INET;
    uint16_t port = sock_point_port(&entry->point);
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

void sock_list_encode(const sock_list_t *list, weft_net_address_t *address)
{
    memset(address, 0, sizeof *address);
    memcpy(address->data, magic, sizeof magic);
    address->data[4] = (uint8_t)list->count;
    memcpy(address->data + 8, list->system, sizeof list->system);
    for (uint32_t i = 0; i < list->count; i++) {
        entry_encode(&list->entries[i], address->data + HEAD + i * ENTRY);
    }
    address->bytes = HEAD + list->count * ENTRY;
}

static bool entry_decode(const uint8_t *at, sock_entry_t *entry)
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
    sock_point_set_port(&entry->point, port);
    return port != 0 && at[1] <= 1 && (at[0] == 4 || at[0] == 6);
}

weft_status_t sock_list_decode(const weft_net_address_t *address, sock_list_t *list)
{
    const uint8_t *data = address->data;
    if (address->bytes < HEAD || address->bytes > WEFT_NET_ADDRESS_MAX ||
        memcmp(data, magic, sizeof magic) != 0 || data[4] == 0 || data[4] > SOCK_ADDRESSES_MAX ||
        address->bytes != HEAD + ENTRY * (uint32_t)data[4]) {
        return WEFT_ERR_PROTO;
    }
    list->count = data[4];
    memcpy(list->system, data + 8, sizeof list->system);
    for (uint32_t i = 0; i < list->count; i++) {
        if (!entry_decode(data + HEAD + i * ENTRY, &list->entries[i])) {
            return WEFT_ERR_PROTO;
        }
    }
    return WEFT_OK;
}

static bool list_has_family(const sock_list_t *list, sa_family_t family)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->entries[i].point.any.sa_family == family) {
            return true;
        }
    }
    return false;
}

/* Loopback first on one host: it is there whatever happens to the network. */
void sock_list_reach(const sock_list_t *here, sock_list_t *there)
{
    static const uint8_t unknown[PLACE_BYTES];
    bool same = memcmp(here->system, there->system, sizeof here->system) == 0 &&
                memcmp(here->system, unknown, sizeof unknown) != 0;
    sock_list_t kept = {.count = 0};
    memcpy(kept.system, there->system, sizeof kept.system);
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < there->count; i++) {
            const sock_entry_t *entry = &there->entries[i];
            bool now = entry->loopback == (pass == 0);
            bool works =
                (same || !entry->loopback) && list_has_family(here, entry->point.any.sa_family);
            if (now && works) {
                kept.entries[kept.count++] = *entry;
            }
        }
    }
    *there = kept;
}
