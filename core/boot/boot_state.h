/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of weft_boot_t, for the files of this folder. Control connections form a binary tree
 * over the ranks: the parent of r is (r − 1) / 2. */
#ifndef WEFT_BOOT_BOOT_STATE_H
#define WEFT_BOOT_BOOT_STATE_H

#include "core/boot/boot_types.h"
#include "core/boot/connector.h"
#include "core/boot/control_listener.h"
#include "core/boot/join_request.h"
#include "core/config/settings.h"
#include "core/os/os.h"

typedef struct weft_health weft_health_t;
typedef struct weft_root_client weft_root_client_t;

#define WEFT_TREE_PARENT 0 /* index of the link to the parent; children follow */
#define WEFT_TREE_LINKS 3

typedef struct weft_tree_link {
    int fd; /* −1: none, or it broke */
    uint32_t rank;
    bool torn;      /* a frame was sent in part: nothing may follow it */
    bool reset;     /* sending has found so */
    bool fresh;     /* made again, and the other end has not yet said on it what it has taken */
    bool quiet;     /* it holds something that is not for this wait */
    bool part;      /* likewise, but it may become something else with its next bytes */
    uint32_t made;  /* so many times */
    uint32_t sent;  /* over this connection: the frames of the exchanges before this one */
    uint32_t took;  /* its frames of the exchanges before this one */
    uint64_t broke; /* when, if it is not there since; else 0 */
    uint64_t seen;  /* when the child answered a knock since then; 0: it has not yet */
    weft_connector_t *connector; /* to make it again, or see whether a child lives; NULL: idle */
} weft_tree_link_t;

/* A frame of an exchange that was sent: tree_record.h. */
typedef struct weft_tree_record weft_tree_record_t;

struct weft_boot {
    weft_boot_settings_t settings; /* without its strings */
    uint32_t rank, nranks;
    uint32_t hosts;
    uint32_t sequence; /* exchanges so far */
    uint64_t comm_id;
    uint64_t until; /* deadline of the whole initialisation */
    uint8_t key[WEFT_BOOT_KEY];
    uint8_t tree_key[WEFT_BOOT_KEY];
    bool failed; /* the initialisation did, and the neighbours were told */
    weft_boot_peer_t *peers;
    weft_join_request_t *requests; /* of all ranks: where each rank's listener and process is */
    weft_control_listener_t listener;
    weft_tree_link_t links[WEFT_TREE_LINKS]; /* until the health thread owns the connections */
    weft_tree_record_t *records;             /* oldest first */
    weft_root_client_t *root;                /* during the first exchange; else NULL */
    weft_health_t *prepared;                 /* the health channel, until it starts */
    weft_health_t *health;                   /* once it has */
};

/* The root knows who is missing, so its answer is awaited a little beyond our own deadline. */
static inline uint64_t weft_boot_grace_until(const weft_boot_t *boot)
{
    const uint64_t grace = WEFT_NS_PER_S / 2;
    return boot->until > WEFT_NEVER - grace ? WEFT_NEVER : boot->until + grace;
}

static inline uint32_t weft_tree_parent(uint32_t rank)
{
    return rank == 0 ? 0 : (rank - 1) / 2;
}

/* The rank at the other end of a link to a child; there may be none. */
static inline uint32_t weft_tree_child(uint32_t rank, uint32_t link)
{
    return 2 * rank + link;
}

#endif
