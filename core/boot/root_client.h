/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The connection of a joining rank to the root of its unique id. It begins before all else that a
 * rank does to join, because from its first message on the root knows of the rank, and from its end
 * that the rank died. One that breaks, because the network resets it or is away, is made again: the
 * rank says what it had said, and the root knows it by its request.
 *
 * Thread: the one that joins. */
#ifndef WEFT_BOOT_ROOT_CLIENT_H
#define WEFT_BOOT_ROOT_CLIENT_H

#include "core/boot/boot_state.h"
#include "core/boot/connector.h"

struct weft_root_client {
    weft_boot_t *boot;
    weft_id_t id;
    weft_join_request_t mine;
    int fd;                /* −1 = not connected */
    weft_status_t reached; /* of the connector */
    bool ended;            /* it closed and did not say why */
    bool told;             /* it said why the join failed */
    bool waits;            /* it knows that this rank waits for neighbours */
    bool welcomed, ready;  /* it has said so, and we have */
    bool reset;            /* sending has found that the connection broke */
    bool seeks;            /* it broke, and `connector` makes it again */
    uint32_t again;        /* how often the connection broke and was made again */
    uint32_t got;
    uint8_t message[WEFT_WIRE_MOST]; /* as far as received */
    weft_connector_t connector;
};

/* Begins to connect, and sends the first message if that does not take long. Does not block. */
void weft_root_client_begin(weft_root_client_t *client, weft_boot_t *boot, const weft_id_t *id);
/* Blocks until the root has acknowledged our proof. ERR_PEER_DEAD, ERR_STATE: the id is stale;
 * ERR_AUTH, ERR_TIMEOUT, ERR_RESOURCE, ERR_SYSTEM. */
weft_status_t weft_root_client_reach(weft_root_client_t *client);

/* Say that this rank joins; that its connections of the tree stand; that it needs the root no more,
 * its end is the tree's to judge (the root may have ended already). ERR_PEER_DEAD: the root is
 * gone; of the last one only ERR_ABORTED, or that waiting failed. */
weft_status_t weft_root_client_register(weft_root_client_t *client,
                                        const weft_join_request_t *mine);
weft_status_t weft_root_client_ready(weft_root_client_t *client);
weft_status_t weft_root_client_joined(weft_root_client_t *client);
/* Says, once, that this rank waits for a neighbour: whoever is missed then is not this one. */
void weft_root_client_waits(weft_root_client_t *client);
/* Tells the root the calling thread's error, so that the others hear the cause and not a death.
 * Blocks for half a second at most, if the root has not been reached yet. */
void weft_root_client_give_up(weft_root_client_t *client);

/* Blocks until all ranks have registered, and the requests of the neighbours in the tree are here.
 * Else the failure that the root tells; ERR_PEER_DEAD, ERR_TIMEOUT, ERR_PROTO. */
weft_status_t weft_root_client_welcome(weft_root_client_t *client);
/* Fills one poll entry and lowers *until to the time at which the next function must be called. */
void weft_root_client_prepare(const weft_root_client_t *client, struct pollfd *entry,
                              uint64_t *until);
/* After the welcome: OK, or the failure that the root has told meanwhile. Does not block. */
weft_status_t weft_root_client_step(weft_root_client_t *client);
/* The same while the first exchange is under way: the root may end. */
weft_status_t weft_root_client_watch(weft_root_client_t *client);
/* For a rank that misses another: waits half a second for the root to say why. IN_PROGRESS: it does
 * not know. */
weft_status_t weft_root_client_failure(weft_root_client_t *client);

/* Closes and wipes. */
void weft_root_client_end(weft_root_client_t *client);

#endif
