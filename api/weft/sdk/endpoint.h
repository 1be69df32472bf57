/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SDK: TCP endpoints of a transport that meets its peers over sockets. A list of them has a form
 * on the wire, which is the address that a listener publishes (weft_net_address_t).
 * sdk/net_interface.h lists those of this host. Nothing here blocks; every function may be called
 * from any thread. */
#ifndef WEFT_SDK_ENDPOINT_H
#define WEFT_SDK_ENDPOINT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include <weft/plugin/net.h>
#include <weft/sdk/host_identity.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_ENDPOINTS_MAX 9u /* endpoints of one list: seven, and two of loopback */
#define WEFT_ENDPOINT_TEXT 64 /* bytes of the longest "[address]:port", with its zero byte */

/* IP address and TCP port. */
typedef union weft_endpoint {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} weft_endpoint_t;

/* The last two are known of this host's own addresses only, and do not travel. */
typedef struct weft_endpoint_entry {
    weft_endpoint_t point;
    bool loopback;
    uint8_t prefix;     /* bits of the address that name its network; 0: not known */
    uint32_t interface; /* the kernel's index of its interface; 0: not known */
} weft_endpoint_entry_t;

/* The endpoints of one process in the order of preference, and the host that it runs on. */
typedef struct weft_endpoint_list {
    uint8_t host[WEFT_HOST_IDENTITY_BYTES]; /* zeros: unknown */
    uint32_t count;
    weft_endpoint_entry_t entries[WEFT_ENDPOINTS_MAX];
} weft_endpoint_list_t;

/* A range of TCP ports, both ends included; both 0: the kernel chooses. */
typedef struct weft_port_range {
    uint16_t first, last;
} weft_port_range_t;

/* Parses "5000-5100", "5000" or "". Returns false for anything else. */
bool weft_port_range_parse(const char *text, weft_port_range_t *ports);
/* Returns how many ports there are to try, at least 1. */
uint32_t weft_port_range_span(const weft_port_range_t *ports);
/* Returns the one to try at turn `i` below the span, 0: any. Processes of a host that begin at a
 * random `start` seldom meet. */
uint16_t weft_port_range_at(const weft_port_range_t *ports, uint32_t start, uint32_t i);

/* Converts a list to its wire form and back. Decoding checks every field and returns OK, or
 * ERR_PROTO without an error text. */
void weft_endpoint_list_encode(const weft_endpoint_list_t *list, weft_net_address_t *address);
weft_status_t weft_endpoint_list_decode(const weft_net_address_t *address,
                                        weft_endpoint_list_t *list);

/* Keeps the entries of `there` that can be tried from `here`, best first. */
void weft_endpoint_list_reach(const weft_endpoint_list_t *here, weft_endpoint_list_t *there);

/* Tells whether `peer` lies in the network of `own`, an address of this host. */
bool weft_endpoint_shares_network(const weft_endpoint_entry_t *own, const weft_endpoint_t *peer);

/* Has the system send an empty segment where nothing went over a TCP socket for a minute, and every
 * half minute after that. Firewalls that keep states, and load balancers, forget a connection over
 * which nothing goes for some minutes, and swallow in silence what comes over it later. The answers
 * say nothing of the rank. A lack of them ends the connection after an hour, with ETIMEDOUT: who
 * waits for how long is for boot.unresponsive and exec.op_timeout to say. It does no harm where a
 * system cannot. */
void weft_endpoint_keep_alive(int fd);

/* The length of the socket address, for bind() and connect(). */
socklen_t weft_endpoint_bytes(const weft_endpoint_t *point);
uint16_t weft_endpoint_port(const weft_endpoint_t *point);
void weft_endpoint_set_port(weft_endpoint_t *point, uint16_t port);
/* Writes "10.0.0.1:4711" or "[fd00::1]:4711". */
void weft_endpoint_text(const weft_endpoint_t *point, char text[WEFT_ENDPOINT_TEXT]);

#ifdef __cplusplus
}
#endif

#endif
