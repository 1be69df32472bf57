/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TCP addresses of transports that meet their peers over sockets: choosing local ones by interface,
 * and their form on the wire. Compiled into each plugin that needs it, as gate.h. */
#ifndef WEFT_PLUGINS_SHARED_ADDRESS_H
#define WEFT_PLUGINS_SHARED_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include <weft/plugin/net.h>

#include "place.h"

#define SOCK_ADDRESSES_MAX 8u
#define SOCK_TEXT 64 /* longest "[address]:port" with its end */

/* One end point. */
typedef union sock_point {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} sock_point_t;

typedef struct sock_entry {
    sock_point_t point;
    bool loopback;
} sock_entry_t;

/* Which system, and its addresses in the order of preference. */
typedef struct sock_list {
    uint8_t system[PLACE_BYTES]; /* zero if unknown */
    uint32_t count;
    sock_entry_t entries[SOCK_ADDRESSES_MAX];
} sock_list_t;

/* Choice of interfaces: "eth,ib" prefixes, "=eth0,ib0" exact names, "^docker" all but these,
 * "^=eth1" all but exactly these. Empty: all, but docker and bridges only when nothing else is there. */
typedef struct sock_filter {
    const char *names; /* after the signs */
    bool exclude;
    bool exact;
} sock_filter_t;

typedef struct sock_ports {
    uint16_t first, last; /* both 0: the kernel chooses */
} sock_ports_t;

void sock_filter_parse(const char *text, sock_filter_t *filter);
bool sock_filter_admits(const sock_filter_t *filter, const char *name);

/* What: reads "5000-5100", "5000" or "". Returns false for anything else. */
bool sock_ports_parse(const char *text, sock_ports_t *ports);

/* What: lists the addresses of the interfaces that are up and admitted. `family`: 0 any, 1 IPv4,
 * 2 IPv6. Link-local addresses are left out: they mean nothing to another host. */
weft_status_t sock_list_local(const weft_host_t *host, const sock_filter_t *filter, int64_t family,
                              sock_list_t *list);

/* What: the wire form. Decoding checks every field. OK, or ERR_PROTO. No error text. */
void sock_list_encode(const sock_list_t *list, weft_net_address_t *address);
weft_status_t sock_list_decode(const weft_net_address_t *address, sock_list_t *list);

/* What: keeps the entries of `there` that can be tried from `here`, best first. */
void sock_list_reach(const sock_list_t *here, sock_list_t *there);

socklen_t sock_point_bytes(const sock_point_t *point);
uint16_t sock_point_port(const sock_point_t *point);
void sock_point_set_port(sock_point_t *point, uint16_t port);
void sock_point_text(const sock_point_t *point, char text[SOCK_TEXT]);

#endif
