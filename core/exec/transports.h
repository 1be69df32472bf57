/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The transports of one rank, shared by all communicators of its family: devices, listeners,
 * the addresses of all ranks, and connections that arrived before their communicator asked for
 * them. One lock guards what is shared. It is taken while links are made, never while data moves.
 * Threads of different communicators may call at the same time, except for create, choose and
 * destroy. */
#ifndef WEFT_EXEC_TRANSPORTS_H
#define WEFT_EXEC_TRANSPORTS_H

#include "core/exec/avoided.h"
#include "core/exec/early.h"
#include "core/exec/link_ways.h"
#include "core/exec/payload_location.h"
#include "core/plugin/registry.h"

_Static_assert(WEFT_AVOIDED_MAX >= WEFT_TRANSPORTS_MAX, "each can be avoided");

typedef struct weft_transports weft_transports_t;

/* Opens the devices of every listed plugin, and listens on each. A device other than the first that
 * cannot be opened is left out. ERR_PLUGIN, ERR_CONFIG if too
 * many are listed, or the transport's failure. */
weft_status_t weft_transports_create(const weft_registry_t *registry, uint32_t nranks,
                                     uint32_t rank, weft_transports_t **transports_p);
/* Closes everything. NULL is allowed. */
void weft_transports_destroy(weft_transports_t *transports);

/* Returns one more than the highest index. Not each below it has a device. */
uint32_t weft_transports_count(const weft_transports_t *transports);
const weft_transport_t *weft_transports_get(const weft_transports_t *transports, uint32_t i);

/* The connect info of a rank is what every other rank keeps of it: the addresses of its listeners.
 * Their lengths are those of the longest addresses in the job, so that a table of all ranks is no
 * larger than what is in it. */
typedef struct weft_connect_layout {
    uint8_t bytes[WEFT_TRANSPORTS_MAX]; /* of the longest address, by transport */
} weft_connect_layout_t;

/* Returns the bytes of the first `count` addresses in a connect info. */
static inline size_t weft_connect_bytes(const weft_connect_layout_t *layout, uint32_t count)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        bytes += layout->bytes[i] == 0 ? 0 : 1 + (size_t)layout->bytes[i];
    }
    return bytes;
}

/* Returns the most devices that a rank has of one plugin, at least 1. */
static inline uint32_t weft_connect_devices(const weft_connect_layout_t *layout)
{
    uint32_t most = 1;
    for (uint32_t i = WEFT_TRANSPORT_PLUGINS; i < WEFT_TRANSPORTS_MAX; i++) {
        most = layout->bytes[i] > 0 ? i / WEFT_TRANSPORT_PLUGINS + 1 : most;
    }
    return most;
}

/* Returns the lengths of this rank's addresses. */
weft_connect_layout_t weft_transports_own_layout(const weft_transports_t *transports);
/* Takes the lengths that hold for all ranks, and gives out the bytes of a connect info. ERR_PROTO:
 * they are shorter than this rank's, or longer than addresses are. */
weft_status_t weft_transports_set_layout(weft_transports_t *transports,
                                         const weft_connect_layout_t *layout, size_t *bytes_p);
/* Writes this rank's connect info, as many bytes as the layout says. */
void weft_transports_connect_info(const weft_transports_t *transports, uint8_t *info);
/* Takes over the connect info of all ranks in rank order, memory of weft_os_alloc(), also on
 * failure, and chooses the transport for each peer. Bit i of *used_p is set if transport i serves
 * some peer. ERR_LINK names the peer and the transports that cannot reach it. */
weft_status_t weft_transports_choose(weft_transports_t *transports, uint8_t *infos,
                                     uint32_t *used_p);
/* Returns the index of the first transport that serves rank `peer` of the family. */
uint32_t weft_transports_index(const weft_transports_t *transports, uint32_t peer);
/* Takes which NICs the ways of the topology use; what it points to is kept by the caller. To be
 * called on all ranks or on none. */
void weft_transports_set_ways(weft_transports_t *transports, const weft_link_ways_t *ways);
/* Returns the number of the link that a port to that rank has: OUT becomes UP, and there is no way
 * where ways choose nothing, which is inside a host, or if no rank has a second device. Equal on
 * both ranks. */
uint32_t weft_transports_number(const weft_transports_t *transports, uint32_t peer,
                                uint32_t number);
/* Returns the index of the transport for link number `number` to that rank, the first time that it
 * is tried (`tries` 0) or after as many tries on others. The devices of the serving plugin that
 * reach the device of the same index there take turns, beginning with the NIC of the link's way if
 * it is one of them, else at a device that follows from the number. The first time, those that are
 * avoided are passed over if there is another. `count_p` may be NULL; else *count_p is how many
 * devices there are. */
uint32_t weft_transports_spread(const weft_transports_t *transports, uint32_t peer, uint32_t number,
                                uint32_t tries, uint32_t *count_p);
/* Notes that a device has failed: for a minute new links of all communicators begin at others.
 * Warns once in that time; `why` is what is said. */
void weft_transports_avoid(weft_transports_t *transports, uint32_t index, const char *why);
/* Copies the address of rank `peer` of the family on transport `index`. */
void weft_transports_address(const weft_transports_t *transports, uint32_t peer, uint32_t index,
                             weft_net_address_t *address);

/* Returns the bytes of the table of addresses. */
uint64_t weft_transports_table_bytes(const weft_transports_t *transports);

/* Keeps connections for user->comm_id until the user is removed. */
void weft_transports_add_user(weft_transports_t *transports, weft_transports_user_t *user);
/* Closes the user's connections that nobody has taken. */
void weft_transports_remove_user(weft_transports_t *transports, weft_transports_user_t *user);

/* Accepts what has arrived, for any communicator of the family, and keeps it. `first`: the caller
 * has the family's first. It touches no communicator: any thread may call it. ERR_RESOURCE, or the
 * failure of a plugin. */
weft_status_t weft_transports_take_in(weft_transports_t *transports, bool first);
/* Takes out the note of a connection that is kept, over which nothing can come before its
 * communicator takes it. False: there is none. */
bool weft_transports_take_note(weft_transports_t *transports, weft_early_note_t *note);
/* Accepts what has arrived, then gives out one connection for `user`. AGAIN: none. */
weft_status_t weft_transports_accept(weft_transports_t *transports,
                                     const weft_transports_user_t *user, uint32_t *index_p,
                                     weft_net_conn_t **conn_p, weft_conn_label_t *label);

/* Takes over a connection of mapped memory whose communicator ends, with memory of this rank's
 * device that the peer may still have open, for one FIFO or both. All is given up when the peer has
 * closed the memory or is gone, at the latest with the transports. */
void weft_transports_retain(weft_transports_t *transports, uint32_t index, weft_net_conn_t *conn,
                            const weft_payload_location_t *send,
                            const weft_payload_location_t *receive);

/* The lock under which calls on a transport's shared adapter are made. */
void weft_transports_lock(weft_transports_t *transports);
void weft_transports_unlock(weft_transports_t *transports);

#endif
