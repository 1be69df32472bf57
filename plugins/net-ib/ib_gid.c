/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The choice of a GID. */
#include "ib_gid.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ib_gid_family_t ib_gid_family(const union ibv_gid *gid)
{
    static const uint8_t zero[16], mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (memcmp(gid->raw, zero, sizeof zero) == 0) {
        return IB_GID_NONE;
    }
    if (memcmp(gid->raw, mapped, sizeof mapped) == 0) {
        return IB_GID_IPV4;
    }
    return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80 ? IB_GID_LINK : IB_GID_IPV6;
}

bool ib_gid_compatible(uint32_t type, const union ibv_gid *gid, const ib_gid_t *peer)
{
    /* On InfiniBand the prefix is a matter of routing, so every GID will do. */
    return type == peer->type &&
           (type == IBV_GID_TYPE_IB || ib_gid_family(gid) == ib_gid_family(&peer->gid));
}

bool ib_gid_same_subnet(const ib_gid_t *gid, const ib_gid_t *peer)
{
    return gid->type != IBV_GID_TYPE_IB ||
           gid->gid.global.subnet_prefix == peer->gid.global.subnet_prefix;
}

void ib_gid_endpoint(const union ibv_gid *gid, uint16_t port, weft_endpoint_t *point)
{
    memset(point, 0, sizeof *point);
    if (ib_gid_family(gid) == IB_GID_IPV4) {
        point->v4.sin_family = AF_INET;
        point->v4.sin_port = htons(port);
        memcpy(&point->v4.sin_addr, gid->raw + 12, 4);
        return;
    }
    point->v6.sin6_family = AF_INET6;
    point->v6.sin6_port = htons(port);
    memcpy(&point->v6.sin6_addr, gid->raw, 16);
}

/* A network has the address in it that stands before its slash. */
static bool ib_gid_network_valid(const weft_choice_word_t *word)
{
    char text[80];
    weft_endpoint_t point = {.any = {.sa_family = AF_UNSPEC}};
    weft_interface_filter_t alone;
    const char *slash = memchr(word->text, '/', word->length);
    if (slash == NULL || word->length >= sizeof text) {
        return false;
    }
    snprintf(text, sizeof text, "%.*s", (int)(slash - word->text), word->text);
    bool v4 = inet_pton(AF_INET, text, &point.v4.sin_addr) == 1;
    point.any.sa_family = v4 ? AF_INET : AF_INET6;
    if (!v4 && inet_pton(AF_INET6, text, &point.v6.sin6_addr) != 1) {
        return false;
    }
    snprintf(text, sizeof text, "%.*s", (int)word->length, word->text);
    weft_interface_filter_parse(text, &alone);
    return weft_interface_filter_admits(&alone, "", &point);
}

bool ib_gid_networks_valid(const weft_interface_filter_t *networks, weft_choice_word_t *word_p)
{
    for (const char *at = networks->words; weft_choice_next(networks, &at, word_p);) {
        if (!ib_gid_network_valid(word_p)) {
            return false;
        }
    }
    return true;
}

static bool ib_gid_admitted(const struct ibv_gid_entry *entry, const ib_gid_wish_t *wish)
{
    ib_gid_family_t family = ib_gid_family(&entry->gid);
    if (family == IB_GID_NONE || entry->gid_index > UINT8_MAX) {
        return false; /* empty, or a queue pair cannot be told of it */
    }
    if (wish->index >= 0 && entry->gid_index != wish->index) {
        return false;
    }
    if (wish->index < 0 && entry->gid_type != IBV_GID_TYPE_IB) {
        int64_t version = entry->gid_type == IBV_GID_TYPE_ROCE_V2 ? 2 : 1;
        bool iwarp = (uint32_t)entry->gid_type == IB_GID_TYPE_IWARP;
        bool fits = wish->family == 0 || (wish->family == 1) == (family == IB_GID_IPV4);
        weft_endpoint_t point;
        ib_gid_endpoint(&entry->gid, 0, &point);
        fits = fits &&
               (wish->networks == NULL || weft_interface_filter_admits(wish->networks, "", &point));
        if ((wish->version != 0 && wish->version != version && !iwarp) || !fits) {
            return false;
        }
    }
    return wish->peer == NULL || ib_gid_compatible(entry->gid_type, &entry->gid, wish->peer);
}

/* The bits that an address has in common with the peer's from the left on, as far as addresses of
 * one network differ at all: 24 bits of IPv4, 64 of IPv6. As in RFC 6724, rule 9. */
static uint32_t ib_gid_common(const union ibv_gid *gid, const ib_gid_t *peer)
{
    ib_gid_family_t family = ib_gid_family(gid);
    uint32_t most = family == IB_GID_IPV4 ? 96 + 24 : 64, bits = 0;
    if (peer == NULL || peer->type == IBV_GID_TYPE_IB || family == IB_GID_LINK) {
        return 0;
    }
    while (bits < most &&
           ((gid->raw[bits / 8] ^ peer->gid.raw[bits / 8]) & 0x80 >> bits % 8) == 0) {
        bits++;
    }
    return bits;
}

/* Where the peer is known, all that are admitted are of its version and family. */
static uint32_t ib_gid_score(const struct ibv_gid_entry *entry, const ib_gid_t *peer)
{
    ib_gid_family_t family = ib_gid_family(&entry->gid);
    return 8 * ib_gid_common(&entry->gid, peer) +
           (entry->gid_type == IBV_GID_TYPE_ROCE_V2 ? 4u : 0u) + (family != IB_GID_LINK ? 2u : 0u) +
           (family == IB_GID_IPV4 ? 1u : 0u);
}

const struct ibv_gid_entry *ib_gid_choose(const struct ibv_gid_entry *table, uint32_t count,
                                          uint32_t port, const ib_gid_wish_t *wish)
{
    const struct ibv_gid_entry *best = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct ibv_gid_entry *entry = &table[i];
        if (entry->port_num == port && ib_gid_admitted(entry, wish) &&
            (best == NULL || ib_gid_score(entry, wish->peer) > ib_gid_score(best, wish->peer))) {
            best = entry;
        }
    }
    return best;
}

bool ib_gid_index_parse(const char *text, int64_t *index_p)
{
    char *end;
    if (strcmp(text, "auto") == 0) {
        *index_p = -1;
        return true;
    }
    if (*text < '0' || *text > '9') {
        return false;
    }
    unsigned long value = strtoul(text, &end, 10);
    *index_p = (int64_t)value;
    return *end == '\0' && value <= UINT8_MAX;
}

void ib_gid_text(const union ibv_gid *gid, char text[IB_GID_TEXT])
{
    inet_ntop(AF_INET6, gid->raw, text, IB_GID_TEXT);
}

const char *ib_gid_type_text(uint32_t type)
{
    static const char *const names[] = {"InfiniBand", "RoCE v1", "RoCE v2", "iWARP"};
    return type < sizeof names / sizeof names[0] ? names[type] : "unknown";
}
