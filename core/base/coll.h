/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The facts of each collective: one table, filled from WEFT_COLL_MAP (weft/types.h). Functions take
 * a number below WEFT_COLL_COUNT unless they say otherwise. */
#ifndef WEFT_BASE_COLL_H
#define WEFT_BASE_COLL_H

#include <stdbool.h>

#include <weft/plugin/plan.h>

typedef struct weft_coll_facts {
    const char *name; /* "all_reduce" */
    const char *call; /* "weft_all_reduce": the entry point, for messages */
    weft_coll_t base; /* collective whose plans it runs; itself for most */
    bool reduces;     /* takes an operator */
    bool rooted;      /* takes a root */
    bool vectors;     /* a vector collective: takes a count for each block */
    bool in_blocks;   /* IN has a block for each rank, not one block */
    bool out_blocks;  /* OUT has */
    bool in_at_root;  /* only the root has an IN buffer */
    bool out_at_root; /* only the root has an OUT buffer */
} weft_coll_facts_t;

extern const weft_coll_facts_t weft_coll_table[WEFT_COLL_COUNT];

static inline bool weft_coll_reduces(weft_coll_t coll)
{
    return weft_coll_table[coll].reduces;
}

static inline bool weft_coll_is_rooted(weft_coll_t coll)
{
    return weft_coll_table[coll].rooted;
}

static inline bool weft_coll_has_vectors(weft_coll_t coll)
{
    return weft_coll_table[coll].vectors;
}

/* True if each pair of ranks has a count of its own, which no other rank knows; false for any other
 * number, too. */
static inline bool weft_coll_has_pairs(weft_coll_t coll)
{
    return coll == WEFT_ALL_TO_ALL_V || coll == WEFT_GATHER_V || coll == WEFT_SCATTER_V;
}

/* Returns the name of the entry point; send_recv has two, and "weft_send_recv" is neither. */
static inline const char *weft_coll_call(weft_coll_t coll)
{
    return weft_coll_table[coll].call;
}

/* Returns the base collective, whose plans `coll` runs: the one with equal counts for a vector
 * collective, all_reduce for a barrier. */
static inline weft_coll_t weft_coll_base(weft_coll_t coll)
{
    return weft_coll_table[coll].base;
}

/* True if algorithms write plans for it; false for any other number, too. send_recv is its own base
 * and has no plan. */
static inline bool weft_coll_has_plan(weft_coll_t coll)
{
    return (unsigned)coll < WEFT_COLL_COUNT && weft_coll_base(coll) == coll &&
           coll != WEFT_SEND_RECV;
}

/* True if a rank that is the root or not has an IN buffer, an OUT buffer. */
static inline bool weft_coll_has_input(weft_coll_t coll, bool is_root)
{
    return is_root || !weft_coll_table[coll].in_at_root;
}

static inline bool weft_coll_has_output(weft_coll_t coll, bool is_root)
{
    return is_root || !weft_coll_table[coll].out_at_root;
}

/* True if the buffer, IN or OUT, has a block for each rank. */
static inline bool weft_coll_has_blocks(weft_coll_t coll, weft_operand_kind_t buffer)
{
    const weft_coll_facts_t *facts = &weft_coll_table[coll];
    return buffer == WEFT_OPERAND_IN ? facts->in_blocks : facts->out_blocks;
}

static inline bool weft_coll_has_any_blocks(weft_coll_t coll)
{
    return weft_coll_table[coll].in_blocks || weft_coll_table[coll].out_blocks;
}

/* Returns the blocks of IN or OUT as the table in weft/plugin/plan.h says, on ranks that have the
 * buffer. */
static inline uint32_t weft_coll_blocks(weft_coll_t coll, uint32_t nranks,
                                        weft_operand_kind_t buffer)
{
    return weft_coll_has_blocks(coll, buffer) ? nranks : 1;
}

/* Which part of the other buffer a rank's IN and OUT are in a call in place. */
typedef enum weft_in_place {
    WEFT_IN_PLACE_SAME,     /* IN and OUT are one buffer */
    WEFT_IN_PLACE_IN_OUT,   /* IN is the rank's own block of OUT */
    WEFT_IN_PLACE_OUT_IN,   /* OUT is the rank's own block of IN */
    WEFT_IN_PLACE_ONE_SIDED /* the rank does not have both buffers */
} weft_in_place_t;

static inline weft_in_place_t weft_coll_in_place(weft_coll_t coll, bool is_root)
{
    const weft_coll_facts_t *facts = &weft_coll_table[coll];
    if (facts->rooted && !is_root) {
        return WEFT_IN_PLACE_ONE_SIDED;
    }
    return facts->in_blocks == facts->out_blocks ? WEFT_IN_PLACE_SAME
           : facts->out_blocks                   ? WEFT_IN_PLACE_IN_OUT
                                                 : WEFT_IN_PLACE_OUT_IN;
}

#endif
