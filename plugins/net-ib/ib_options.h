/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The options of net-ib: the table that the loader reads, and the struct that it fills. */
#ifndef WEFT_PLUGINS_NET_IB_OPTIONS_H
#define WEFT_PLUGINS_NET_IB_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/plugin/plugin.h>

#define IB_RAILS_MAX 8u
#define IB_DATA_MAX 16u   /* queue pairs for data of one connection */
#define IB_PART_UNIT 128u /* parts of a message begin at multiples of this many bytes */

/* Attributes of the path between two queue pairs, in the units of verbs. */
typedef struct ib_path_config {
    int64_t mtu; /* 0: auto; else enum ibv_mtu */
    int64_t pkey, sl, tc;
    int64_t timeout, retry, rnr_retry;
} ib_path_config_t;

typedef struct ib_config {
    const char *devices;
    const char *interfaces;
    int64_t family;
    const char *gid_index;
    int64_t roce_version;
    int64_t address_family;
    const char *networks;
    int64_t rails;
    int64_t qps;
    bool split;
    uint64_t split_bytes;
    uint64_t inline_bytes;
    ib_path_config_t path;
    int64_t adaptive_routing; /* 0: auto, 1: on, 2: off */
    bool relaxed_ordering;
    bool failover;
    double failover_patience; /* seconds, as the next two */
    double port_patience;
    double connect_timeout;
    int64_t slots;
    uint64_t slot_bytes;
} ib_config_t;

/* Ends with an entry without a name. */
extern const weft_option_t ib_options[];

#endif
