/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of options. */
#include "ib_options.h"

#include <stddef.h>

#include <weft/sdk/op_queue.h>

#define OPTION(field) .name = #field, .offset = offsetof(ib_config_t, field)
#define PATH_OPTION(field) .name = #field, .offset = offsetof(ib_config_t, path.field)

const weft_option_t ib_options[] = {
    {OPTION(devices), .flags = WEFT_OPTION_LOCAL, .type = WEFT_OPT_STRING, .value = "",
     .help =
         "adapters: mlx5 prefix; =mlx5_0:1,mlx5_1 exact, with port; ^mlx5_2 all but; empty = all"},
    {OPTION(rails), .type = WEFT_OPT_INT, .value = "1",
     .help = "ports that one connection uses at the same time", .min = 1, .max = IB_RAILS_MAX},
    {OPTION(interfaces), .flags = WEFT_OPTION_LOCAL, .type = WEFT_OPT_STRING, .value = "",
     .help = "network interfaces for the set-up over TCP; same form as in net-socket"},
    {OPTION(family), .type = WEFT_OPT_CHOICE, .value = "any",
     .help = "internet protocol of the set-up over TCP", .choices = "any|ipv4|ipv6"},
    {OPTION(gid_index), .flags = WEFT_OPTION_LOCAL, .type = WEFT_OPT_STRING, .value = "auto",
     .help = "index in the GID table of RoCE and iWARP ports; auto = RoCE v2, routable, of the "
             "peer's family"},
    {OPTION(roce_version), .type = WEFT_OPT_CHOICE, .value = "auto",
     .help = "version of RoCE that automatic GIDs are of", .choices = "auto|1|2"},
    {OPTION(address_family), .type = WEFT_OPT_CHOICE, .value = "any",
     .help = "family of addresses that automatic GIDs are of", .choices = "any|ipv4|ipv6"},
    {OPTION(networks), .flags = WEFT_OPTION_LOCAL, .type = WEFT_OPT_STRING, .value = "",
     .help = "networks that automatic GIDs are of: 10.1.0.0/16, fd00::/8; ^10.2.0.0/16 all but; "
             "empty = all"},
    {PATH_OPTION(pkey), .type = WEFT_OPT_INT, .value = "0",
     .help = "index in the port's table of partition keys", .max = 32767},
    {PATH_OPTION(sl), .type = WEFT_OPT_INT, .value = "0", .help = "InfiniBand service level",
     .max = 15},
    {PATH_OPTION(tc), .type = WEFT_OPT_INT, .value = "0",
     .help = "traffic class; on RoCE the DSCP is in its upper six bits", .max = 255},
    {PATH_OPTION(mtu), .type = WEFT_OPT_CHOICE, .value = "auto",
     .help = "largest path MTU in bytes; auto = what both ports have",
     .choices = "auto|256|512|1024|2048|4096"},
    {PATH_OPTION(timeout), .type = WEFT_OPT_INT, .value = "18",
     .help = "exponent of the wait for an acknowledgement: 4.096 us * 2^timeout", .min = 1,
     .max = 31},
    {PATH_OPTION(retry), .type = WEFT_OPT_INT, .value = "7",
     .help = "repetitions of a request that is not acknowledged", .max = 7},
    {PATH_OPTION(rnr_retry), .type = WEFT_OPT_INT, .value = "7",
     .help = "repetitions while the peer has no receive; 7 = without end", .max = 7},
    {OPTION(qps), .type = WEFT_OPT_INT, .value = "1",
     .help = "queue pairs for data per connection and rail; messages take turns", .min = 1,
     .max = IB_DATA_MAX},
    {OPTION(split), .type = WEFT_OPT_BOOL, .value = "yes",
     .help = "cut large messages over all queue pairs of a connection"},
    {OPTION(split_bytes), .type = WEFT_OPT_SIZE, .value = "64K",
     .help = "smallest part of a message that is cut", .min = IB_PART_UNIT, .max = 1 << 30},
    {.name = "inline",
     .offset = offsetof(ib_config_t, inline_bytes),
     .type = WEFT_OPT_SIZE,
     .value = "192",
     .help = "messages up to this size travel in the request itself, if the adapter can",
     .max = 1024},
    {OPTION(adaptive_routing), .type = WEFT_OPT_CHOICE, .value = "auto",
     .help = "data apart from the immediate, for networks that reorder; auto = on InfiniBand",
     .choices = "auto|on|off"},
    {OPTION(relaxed_ordering), .type = WEFT_OPT_BOOL, .value = "yes",
     .help = "let the adapter write data in any order, where it can; completions stay in order"},
    {OPTION(failover), .type = WEFT_OPT_BOOL, .value = "yes",
     .help = "with several rails: a lost one's messages go on over the others, each exactly once"},
    {OPTION(failover_patience), .type = WEFT_OPT_DURATION, .value = "10s",
     .help = "how long the peer may take to agree that a rail is lost", .min = 0.001, .max = 3600},
    {OPTION(port_patience), .type = WEFT_OPT_DURATION, .value = "1s",
     .help = "how long a port may be down before its connections fail", .max = 3600},
    {OPTION(connect_timeout), .type = WEFT_OPT_DURATION, .value = "2s",
     .help = "seconds without an answer from one address of a peer before the next is tried",
     .min = 0.001, .max = 3600},
    {OPTION(slots), .type = WEFT_OPT_INT, .value = "8",
     .help = "messages of slot_bytes on their way that fill the link", .min = 2,
     .max = WEFT_OP_SLOTS},
    {OPTION(slot_bytes), .type = WEFT_OPT_SIZE, .value = "256K",
     .help = "message size that reaches most of the bandwidth", .min = 4096, .max = 1 << 30},
    {.name = NULL},
};
