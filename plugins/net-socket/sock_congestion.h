/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The congestion control of the sockets (TCP_CONGESTION). BBR sends at a rate that it estimates, by
 * timers. Between near hosts 256 KiB took more than twice as long with it (decision 105). So near
 * connections use a control that sends as acknowledgements come, and far ones the system's. */
#ifndef WEFT_PLUGINS_NET_SOCKET_CONGESTION_H
#define WEFT_PLUGINS_NET_SOCKET_CONGESTION_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/plugin/host.h>

#define SOCK_CONGESTION_NAME 16 /* bytes of a name with its end: the kernel's TCP_CA_NAME_MAX */

typedef struct sock_congestion {
    char all[SOCK_CONGESTION_NAME]; /* that new sockets get; empty: they keep the system's */
    char far[SOCK_CONGESTION_NAME]; /* that far connections go back to; empty: they keep theirs */
    uint32_t far_us;                /* round trip from which on a connection is far */
} sock_congestion_t;

/* Finds what `wanted` means here: "auto", "system", or the name of a control. ERR_CONFIG, with the
 * names that there are, if the kernel does not have it or does not let this user choose it. */
weft_status_t sock_congestion_find(const weft_host_t *host, const char *wanted,
                                   sock_congestion_t *found);

/* True if a socket with this control of the system is better off with another one. */
bool sock_congestion_paces(const char *system);

/* Sets it on a socket that is not connected. What a listener accepts inherits it. */
void sock_congestion_set(const sock_congestion_t *congestion, int fd);

/* Looks at the round trip of a new connection. */
void sock_congestion_settle(const sock_congestion_t *congestion, int fd);

#endif
