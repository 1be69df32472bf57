/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The choice of a global identifier (GID), from a port's table alone. */
#ifndef WEFT_PLUGINS_NET_IB_GID_H
#define WEFT_PLUGINS_NET_IB_GID_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include <weft/sdk/net_interface.h>

#define IB_GID_TEXT 48
#define IB_GID_TYPE_IWARP 3u /* not in enum ibv_gid_type: an address of the port's interface */

/* The kind of address that a GID holds. Two peers need the same kind. */
typedef enum ib_gid_family {
    IB_GID_NONE = 0,
    IB_GID_IPV4,
    IB_GID_IPV6,
    IB_GID_LINK
} ib_gid_family_t;

typedef struct ib_gid {
    union ibv_gid gid;
    uint32_t index;
    uint32_t type; /* enum ibv_gid_type, or IB_GID_TYPE_IWARP */
} ib_gid_t;

typedef struct ib_gid_wish {
    int64_t index;                           /* −1: any */
    int64_t version;                         /* of RoCE; 0: any */
    int64_t family;                          /* 0 any, 1 IPv4, 2 IPv6 */
    const weft_interface_filter_t *networks; /* words are networks; NULL: any */
    const ib_gid_t *peer;                    /* NULL: not known yet */
} ib_gid_wish_t;

ib_gid_family_t ib_gid_family(const union ibv_gid *gid);

/* Returns the best entry for the port, or NULL: of the peer's network, if the peer is known; RoCE
 * v2 before v1, routable before link-local, IPv4 before IPv6, low index before high. */
const struct ibv_gid_entry *ib_gid_choose(const struct ibv_gid_entry *table, uint32_t count,
                                          uint32_t port, const ib_gid_wish_t *wish);

/* Returns whether a GID of this type and value can reach `peer`. */
bool ib_gid_compatible(uint32_t type, const union ibv_gid *gid, const ib_gid_t *peer);

/* Returns whether no router is between two GIDs of InfiniBand; other types have no subnets here. */
bool ib_gid_same_subnet(const ib_gid_t *gid, const ib_gid_t *peer);

/* The address that a GID holds, with a port. */
void ib_gid_endpoint(const union ibv_gid *gid, uint16_t port, weft_endpoint_t *point);

/* Returns whether each word of the filter is a network; else *word_p is the first that is none. */
bool ib_gid_networks_valid(const weft_interface_filter_t *networks, weft_choice_word_t *word_p);

/* Parses "auto" (−1) or a number. Returns false for anything else. */
bool ib_gid_index_parse(const char *text, int64_t *index_p);

void ib_gid_text(const union ibv_gid *gid, char text[IB_GID_TEXT]);
const char *ib_gid_type_text(uint32_t type);

#endif
