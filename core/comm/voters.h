/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The voters of a consensus of a communicator: its ranks, but those that the callers exclude,
 * in their order. They are taken from a communicator that may have failed, and outlive it. */
#ifndef WEFT_COMM_VOTERS_H
#define WEFT_COMM_VOTERS_H

#include "core/comm/side_calls.h"

struct weft_consensus_record;

/* A rank that takes part in the first two consensuses of a call needs no memory on the way. */
enum { WEFT_VOTERS_SPARES = 2 };

typedef struct weft_voters {
    weft_side_call_t side; /* the call of theirs that this rank is in */
    weft_family_t *family; /* a reference */
    uint32_t root;         /* WEFT_ROOT_…: which call it is, in the flight record */
    bool late_told;
    char place[WEFT_FAILURE_PLACE]; /* of the communicator, in what is told */
    uint64_t began;                 /* when this rank called it */
    uint64_t comm_id;
    uint64_t base; /* equal for all calls of this kind by these voters, on all of them */
    uint64_t call; /* how many such calls of this rank were decided before */
    bool open;     /* it is not decided yet: whoever makes it again takes it up */
    bool voted;    /* this rank has contributed to the latest consensus of the call … */
    bool resumed;  /* … in an earlier attempt, which it gave up */
    uint32_t of;   /* ranks of the communicator */
    uint32_t rank; /* of the caller, in it */
    uint32_t count, me;
    uint32_t *ranks;       /* per voter: in the communicator */
    uint32_t *family_rank; /* per voter */
    bool *settled;         /* per voter: a decision says that it is gone */
    struct weft_consensus_record *spares[WEFT_VOTERS_SPARES]; /* for consensuses to come, or NULL */
} weft_voters_t;

/* What the caller gave: whom to leave out. */
typedef struct weft_voters_wish {
    const char *call;
    uint32_t root;            /* WEFT_ROOT_…: the same for flight records */
    const uint32_t *excluded; /* ranks of the communicator */
    uint32_t count;
} weft_voters_wish_t;

/* Fills *p from the communicator; weft_voters_fini() is due after OK. ERR_ARG: a rank out of
 * range, or the caller excludes itself. ERR_STATE: also, another thread has taken them.
 * ERR_RESOURCE. Thread: any.
 *
 * A call that ends before it is decided, here or later, does not count: this rank may make it again
 * and meets the others there. */
weft_status_t weft_voters_take(weft_comm_t *comm, const weft_voters_wish_t *wish, weft_voters_t *p);
void weft_voters_fini(weft_voters_t *p);

/* Returns a record of these voters for one more consensus, and fills up the spare ones if it can.
 * NULL: ERR_RESOURCE. The caller owns it. */
struct weft_consensus_record *weft_voters_record(weft_voters_t *p);

/* Tells if `left` of `of` ranks may go on where a majority is asked for. `has_first`: rank 0 is
 * one of them. Of two groups without a common rank it is true for one at most. */
static inline bool weft_voters_are_majority(uint32_t left, uint32_t of, bool has_first)
{
    return left > of - left || (left == of - left && has_first);
}

#endif
