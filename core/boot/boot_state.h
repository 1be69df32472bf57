/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of weft_boot_t, shared by the files that join, exchange and watch. The tree is binary
 * over the ranks: the parent of r is (r − 1) / 2. */
#ifndef WEFT_BOOT_TREE_H
#define WEFT_BOOT_TREE_H

#include "core/boot/boot.h"
#include "core/boot/join_request.h"
#include "core/boot/control_listener.h"
#include "core/boot/health.h"

typedef struct weft_health weft_health_t;

#define WEFT_TREE_PARENT 0 /* index of the link to the parent; children follow */
#define WEFT_TREE_LINKS 3

typedef struct weft_tree_link {
    int fd; /* −1 = none */
    uint32_t rank;
    bool torn; /* a frame was sent in part: nothing may follow it */
} weft_tree_link_t;

struct weft_boot {
    weft_boot_settings_t settings; /* strings are not kept */
    uint32_t rank, nranks;
    uint32_t hosts;
    uint32_t sequence; /* steps of the exchange so far */
    uint64_t comm_id;
    uint64_t until; /* deadline of the whole initialisation */
    uint8_t key[WEFT_BOOT_KEY];
    uint8_t tree_key[WEFT_BOOT_KEY];
    bool failed; /* neighbours were told */
    weft_boot_peer_t *peers;
    weft_join_request_t *requests; /* of all ranks: where each rank's listener and process is */
    weft_control_listener_t listener;
    weft_tree_link_t links[WEFT_TREE_LINKS];
    weft_health_t *health;
};

static inline uint32_t weft_tree_parent(uint32_t rank)
{
    return rank == 0 ? 0 : (rank - 1) / 2;
}

/* Completes the calling thread's record with culprit `rank` and returns its status. */
weft_status_t weft_boot_set_culprit(const weft_boot_t *boot, uint32_t rank);
/* Sends the calling thread's record to all tree neighbours, at most once. */
void weft_boot_spread_failure(weft_boot_t *boot);

/* Moves `bytes` to or from fd before `until`. `peer` is the rank named in errors. Receiving looks at
 * the neighbours meanwhile, so that a failure anywhere ends the wait. */
weft_status_t weft_boot_send(weft_boot_t *boot, weft_tree_link_t *link, const void *data,
                             size_t bytes, uint64_t until);
weft_status_t weft_boot_recv(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                             void *data, size_t bytes, uint64_t until);
/* A FAIL frame's payload becomes the calling thread's record; its status is returned. */
weft_status_t weft_boot_adopt_failure(const weft_boot_t *boot,
                                      const uint8_t payload[WEFT_WIRE_ERROR], uint32_t from);

/* Ends the health thread. */
void weft_health_stop(weft_boot_t *boot);

#endif
