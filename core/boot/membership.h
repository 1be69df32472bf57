/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Membership: the state of every rank of the family, and the control tree that follows from it. The
 * tree is a pure function of the states: the parent of a rank is its nearest ancestor that is live;
 * when none of its ancestors is, the lowest live rank. Parents are lower ranks under every view of
 * the states, so there is never a cycle, and equal views make one tree.
 *
 * Thread: the health thread's. */
#ifndef WEFT_BOOT_MEMBERSHIP_H
#define WEFT_BOOT_MEMBERSHIP_H

#include "core/boot/neighbour.h"

/* A suspect does not answer where it should be. Either it has left and its message is on the way,
 * or it died. To be declared dead is final, and one that has left may be: by a rank that could not
 * hear of it. */
typedef enum weft_member_state {
    WEFT_MEMBER_LIVE = 0, /* as far as is known */
    WEFT_MEMBER_LEFT,     /* left the family in order */
    WEFT_MEMBER_SUSPECT,
    WEFT_MEMBER_DEAD,
} weft_member_state_t;

/* The connection of a rank to us broke, by an error of the network, or cannot be made: it may be
 * well. */
typedef enum weft_member_break {
    WEFT_BREAK_NONE = 0,    /* or there is a new connection */
    WEFT_BREAK_NEW,         /* nobody has looked yet whether it listens */
    WEFT_BREAK_SEEN,        /* somebody has looked */
    WEFT_BREAK_UNREACHABLE, /* nothing comes back from its address; it is looked for */
    WEFT_BREAK_STILL,       /* its kernel answers, it does not, and it never was connected to */
    WEFT_BREAK_REFUSED,     /* nobody listens at its address: it has left, or died */
} weft_member_break_t;

typedef struct weft_membership {
    uint32_t rank, nranks;
    uint8_t *states;  /* weft_member_state_t of every rank */
    uint64_t *since;  /* a suspect, or a live rank that should connect to us: since when; else 0 */
    uint8_t *breaks;  /* weft_member_break_t of every rank */
    uint32_t *doubts; /* the ranks whose `since` is not 0; room for all, taken when needed */
    uint32_t ndoubts;
    uint32_t awaited; /* live ranks that should connect to us and have not yet */
    uint32_t suspects;
    uint32_t lowest; /* no rank below it is live, or ever will be */
    bool leavers;    /* some rank has left: others may do so now */
} weft_membership_t;

/* ERR_RESOURCE. */
weft_status_t weft_membership_init(weft_membership_t *membership, uint32_t rank, uint32_t nranks);
/* Bytes of one rank in it. */
size_t weft_membership_bytes_per_rank(void);
void weft_membership_fini(weft_membership_t *membership);

/* The parent of `rank`; `rank` itself when it has none. */
uint32_t weft_membership_parent(const weft_membership_t *membership, uint32_t rank);
/* The rank to which a frame for `target` goes next; our own rank when there is no way. */
uint32_t weft_membership_next_hop(const weft_membership_t *membership, uint32_t target);

/* A live rank becomes a suspect, which it has been since then; weft_membership_update() is due. */
void weft_membership_suspect(weft_membership_t *membership, uint32_t rank, uint64_t since);
/* Whether it is a suspect from whose address nothing comes back, or which stands still. */
bool weft_membership_is_unreachable(const weft_membership_t *membership, uint32_t rank);
/* Whether its connection to us broke, and it is being looked for: it has not been found since. */
bool weft_membership_is_away(const weft_membership_t *membership, uint32_t rank);
/* Finds out anew who is awaited, after a state or a neighbour has changed. Looks at the ranks that
 * were awaited or suspect, and at those below the gaps that this rank closes; not at all. */
void weft_membership_update(weft_membership_t *membership, const weft_neighbours_t *neighbours);
/* Restarts the clocks of all that are awaited or suspect. */
void weft_membership_restart_clocks(weft_membership_t *membership, uint64_t now);
/* Restarts those of the suspects that may have left: somebody is here now who may know it. */
void weft_membership_hear_again(weft_membership_t *membership, uint64_t now);

#endif
