/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Paths: which interface of this host meets which address of a peer. Thread: [any]. */
#ifndef WEFT_PLUGINS_NET_SOCKET_PATH_H
#define WEFT_PLUGINS_NET_SOCKET_PATH_H

#include "sock.h"

typedef struct sock_path {
    weft_endpoint_t from; /* port 0 */
    weft_endpoint_t to;
} sock_path_t;

/* Finds the rails between the addresses of this host and those of a peer, at most `most`: each
 * interface is used once, and each address of the peer. With `most` 0 an interface takes part whose
 * network the peer is in, and whose speed is at least half of the fastest one's as far as the
 * system tells; else interfaces without a common network meet in the order of the lists, too.
 * Returns how many there are. */
uint32_t sock_paths_find(const weft_endpoint_list_t *here, const weft_endpoint_list_t *there,
                         uint32_t most, sock_path_t paths[SOCK_RAILS_MAX]);

#endif
