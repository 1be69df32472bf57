/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of an abstract run: all lanes of all ranks over bounded queues, with numbers instead of
 * data. The verifier runs it with values and races, the cost model with chains only. Private to
 * core/plan.
 *
 * A value is an element of the field of integers modulo 2^61−1. Every input slice of every rank and
 * pass has its own random value, MOVE adds, FINAL multiplies by a secret factor: a lost, doubled,
 * misplaced or stale contribution shows with probability 1−2^−61. So does one that is in the value
 * so often that the field cannot tell, by the count of all contributions. A tree is a hash of the
 * expression that made the value, in which the order and the grouping of operands count. */
#ifndef WEFT_PLAN_RUN_STATE_H
#define WEFT_PLAN_RUN_STATE_H

#include "core/plan/cost.h"
#include "core/plan/cursor.h"
#include "core/plan/facts.h"
#include "core/plan/hash.h"
#include "core/plan/verdict.h"

#define WEFT_RUN_NONE WEFT_PLAN_NO_CHUNK
#define WEFT_RUN_PASSES 2

/* Most contributions that are counted; more are as many. */
#define WEFT_RUN_MANY ((UINT32_C(1) << 30) - 1)

/* A value in memory, a hash of the expression that made it, and the number of inputs in it. tag 0:
 * never written, otherwise 1 + the pass that wrote it. */
typedef struct weft_run_cell {
    uint64_t value, tree;
    uint32_t tag : 2, count : 30;
    uint32_t pc;
} weft_run_cell_t;

_Static_assert(sizeof(weft_run_cell_t) == 24, "a large proof has millions of cells");

/* The longest chain of MOVEs up to a point: MOVEs, messages waited for, ends of edges that chunks
 * and messages pass, and operands touched. */
typedef struct weft_run_chain {
    uint32_t moves, touched;
    uint32_t hops[WEFT_LEVELS], ends[WEFT_LEVELS], messages[WEFT_LEVELS];
} weft_run_chain_t;

/* An edge between hosts weighs as much as so many inside, where the longest chain is sought before
 * figures are known. */
#define WEFT_RUN_BETWEEN 8u

/* A value on its way. A message is a slot, or as many in a row as it packs chunks. */
typedef struct weft_run_slot {
    uint64_t value, tree;
    weft_run_chain_t chain;
    uint32_t count, pass, piece, slice;
    uint32_t extent;      /* block of the job, for vector collectives */
    uint32_t next;        /* next slot of its queue, or of the free list */
    uint32_t part, parts; /* number of the value in its message, values there */
} weft_run_slot_t;

/* A list of slots, taken from one stock that all queues share, so that no more memory is touched
 * than is in use at the same time. The clocks of a queue form a ring of `room` positions, one for a
 * message: S, or fewer if fewer are ever pushed. */
typedef struct weft_run_queue {
    uint32_t ring_at, room;               /* clocks: first position, positions */
    uint32_t head, used, peak;            /* oldest message, number of messages, most of them */
    uint32_t first, last, values;         /* slots in use, and their number */
    uint32_t sender, receiver;            /* lanes of the run */
    uint8_t sender_waits, receiver_waits; /* member, plus one, that sleeps until this changes */
} weft_run_queue_t;

/* The ranks that a queue connects, for messages. */
typedef struct weft_run_way {
    uint32_t from, to, channel;
    uint32_t level; /* weft_level_t; 0 where nobody asks for the cost */
} weft_run_way_t;

/* A MOVE in progress: its operands, resolved for this iteration. */
typedef struct weft_run_member {
    weft_plan_view_t move;
    uint32_t pc;
    uint32_t dst[WEFT_MOVE_MAX], src[WEFT_MOVE_MAX]; /* chunk, or queue for ports */
    uint32_t like;                                   /* chunk of move.like */
    uint32_t piece;
    uint32_t extent;       /* of the chunk in progress */
    uint32_t chunk, slice; /* next to move; of a packed MOVE chunk 0, and `cnt` in the end */
    weft_run_chain_t chain;
} weft_run_member_t;

typedef struct weft_run_lane {
    const weft_plan_t *plan;
    weft_cursor_t cursor;
    uint32_t lane;
    uint32_t rank;     /* of the run */
    uint32_t name;     /* rank to print */
    uint32_t nmembers; /* 0: the instruction at pc has not begun */
    bool par;          /* pc is a PAR */
    bool queued, done;
    bool clocked;     /* it has clocks; race.c */
    uint64_t retry;   /* members that may move */
    uint32_t over;    /* members that have finished */
    bool wait_inside; /* it sleeps for another lane of its rank */
    weft_run_chain_t chain;
    weft_run_member_t *members;
    weft_run_chain_t *ends; /* of finished instructions, by pc, if lanes wait for them */
    uint32_t context;       /* number of its first stream in the rank */
    uint32_t code_at;       /* of its first instruction in the rank */
} weft_run_lane_t;

typedef struct weft_run_rank {
    uint32_t first_lane;
    uint32_t first_port;
    uint32_t windows; /* of OUT: lanes may be in different passes */
    uint32_t waiters; /* lanes that wait for another lane of the rank */
    uint32_t lanes_over[WEFT_RUN_PASSES];
    uint32_t chunks[4];              /* of IN, OUT and TMP, by kind */
    uint64_t cells[4];               /* first cell of OUT and TMP, by kind */
    uint64_t leaf;                   /* hash of its input */
    uint32_t contexts;               /* streams of the rank */
    uint32_t ends;                   /* instructions that others may wait for */
    uint32_t width;                  /* words of a clock */
    uint32_t tracked;                /* 1 + first component, 0 = accesses are not looked at */
    uint64_t clocks_at, accesses_at; /* first word */
    uint64_t owns_at;                /* first in race.owns */
    uint64_t uses_at;                /* first chunk of OUT in race.uses; TMP follows */
} weft_run_rank_t;

/* The members of the PAR in progress that use a chunk, each as number plus one; 0: none. */
typedef struct weft_run_use {
    uint32_t group;
    uint8_t writer, reader, input_reader;
} weft_run_use_t;

/* State of the rank's own input to one of its results, as long as only one copy exists. */
typedef enum weft_run_own_state {
    WEFT_OWN_UNREAD,
    WEFT_OWN_MOVES,
    WEFT_OWN_HELD,
    WEFT_OWN_SENT,
    WEFT_OWN_COPIED
} weft_run_own_state_t;

typedef struct weft_run_own {
    weft_run_own_state_t state;
    uint64_t cell;          /* HELD: there */
    uint32_t context, time; /* SENT: by that stream, and when */
} weft_run_own_t;

/* Marks of a rank about which a run without clocks through queues cannot decide. */
#define WEFT_SUSPECT 1u          /* two streams use a chunk, and their order is not known */
#define WEFT_SUSPECT_IN_PLACE 2u /* … if IN and OUT overlap */

/* Vector clocks; core/plan/race.c. */
typedef struct weft_run_race {
    bool through_queues; /* clocks travel with slices: exact and expensive */
    uint32_t dims;       /* then: components of all tracked ranks */
    uint32_t *clocks;
    uint64_t slots_at;    /* first word */
    uint32_t *accesses;   /* per cell of a tracked rank */
    weft_run_own_t *owns; /* per slice of IN that comes back in OUT, of a tracked rank */
    uint32_t carries;     /* number plus one of the own input that the step in progress has read */
    weft_run_use_t *uses; /* per chunk of a rank whose only lane has PARs */
    uint8_t *marks;       /* by rank: WEFT_SUSPECT_* */
    uint32_t groups;      /* PARs so far */
} weft_run_race_t;

/* All queues, and the slots that they share. */
typedef struct weft_run_queues {
    weft_run_queue_t *list;
    weft_run_way_t *ways; /* by queue */
    uint32_t *of_port;    /* by first_port + port */
    uint32_t count;
    weft_run_slot_t *slot;
    uint32_t free_slot;  /* first of the free ones, plus one */
    uint32_t fresh_slot; /* first that was never used */
} weft_run_queues_t;

/* Lanes that may be able to move: a ring of lane numbers. */
typedef struct weft_run_work {
    uint32_t *lanes;
    uint32_t at, used;
} weft_run_work_t;

/* Expected results, and fingerprints of how they were made; see run_result.h. */
typedef struct weft_run_results {
    uint64_t factor;  /* of FINAL */
    uint64_t *sums;   /* expected folds, by pass, IN chunk and slice */
    uint64_t *trees;  /* of the first rank that finished, by OUT chunk and slice */
    uint64_t *prints; /* fingerprint by rank */
    bool has_trees;
    uint64_t one_tree; /* of the first element */
} weft_run_results_t;

/* Memory of all lanes, and its size. */
typedef struct weft_run_memory {
    weft_run_member_t *members;
    weft_run_chain_t *ends;
    uint32_t *finished;
    uint64_t nports, nmembers, nends, ncells, nslots;
    uint64_t nmessages; /* positions of the clocks of all queues */
    uint32_t packed;    /* most chunks of a message */
} weft_run_memory_t;

typedef struct weft_run_trail weft_run_trail_t;

typedef struct weft_run {
    const weft_verify_input_t *input;
    const weft_plan_facts_t *facts; /* by rank */
    const uint64_t *port_chunks;    /* by first_port + port */
    weft_verify_report_t *report;
    weft_verify_report_t *both; /* of the call in place, if a run out of place decides on both */
    uint32_t n, slots, slices, passes;
    bool values;  /* false: chains only */
    bool reduces; /* its collective does */
    weft_run_rank_t *ranks;
    weft_run_lane_t *lanes;
    uint32_t nlanes, lanes_done;
    weft_run_cell_t *cells;
    weft_run_queues_t queues;
    weft_run_work_t work;
    weft_run_memory_t memory;
    weft_run_results_t results;
    weft_run_race_t race;
    weft_run_trail_t *trail; /* NULL: nobody asks where values come from; trail.h */
    uint64_t steps;
    weft_run_chain_t chain;
    weft_vector_t vector; /* vector collectives served, as far as the run has come */
} weft_run_t;

/* Puts a lane that may be able to move into the ring. */
static inline void weft_run_wake(weft_run_t *run, uint32_t index)
{
    weft_run_lane_t *lane = &run->lanes[index];
    if (lane->queued || lane->done) {
        return;
    }
    lane->queued = true;
    uint32_t at = run->work.at + run->work.used;
    run->work.lanes[at >= run->nlanes ? at - run->nlanes : at] = index;
    run->work.used++;
}

static inline uint64_t weft_run_weight(const weft_run_chain_t *chain)
{
    uint64_t inside = 2 * (uint64_t)chain->hops[0] + chain->ends[0];
    uint64_t between = 2 * (uint64_t)chain->hops[1] + chain->ends[1];
    return 4 * (inside + WEFT_RUN_BETWEEN * between) + chain->touched;
}

/* Of two chains of one weight. */
static inline bool weft_run_is_wider(const weft_run_chain_t *a, const weft_run_chain_t *b)
{
    uint32_t ends = a->ends[0] + a->ends[1], others = b->ends[0] + b->ends[1];
    uint32_t hops = a->hops[0] + a->hops[1], waits = b->hops[0] + b->hops[1];
    return ends != others             ? ends > others
           : hops != waits            ? hops > waits
           : a->ends[1] != b->ends[1] ? a->ends[1] > b->ends[1]
                                      : a->hops[1] > b->hops[1];
}

/* The later of two chains: by MOVEs, and by what they carry. The result does not depend on
 * which of the two is passed first. */
static inline void weft_run_lengthen(weft_run_chain_t *chain, const weft_run_chain_t *other)
{
    if (other->moves > chain->moves) {
        chain->moves = other->moves;
    }
    uint64_t one = weft_run_weight(other), two = weft_run_weight(chain);
    if (one > two || (one == two && weft_run_is_wider(other, chain))) {
        uint32_t moves = chain->moves;
        *chain = *other;
        chain->moves = moves;
    }
}

/* The tree of what a rank puts in. */
static inline uint64_t weft_run_leaf(uint32_t rank)
{
    return weft_hash_add(UINT64_C(0x6c656166), rank);
}

static inline weft_run_slot_t *weft_run_front(weft_run_t *run, uint32_t queue)
{
    return &run->queues.slot[run->queues.list[queue].first];
}

static inline uint32_t weft_run_back_index(const weft_run_queue_t *queue)
{
    uint32_t at = queue->head + queue->used;
    return at >= queue->room ? at - queue->room : at;
}

/* The chunk that an operand of the MOVE, starting at chunk `base`, has reached. */
static inline uint32_t weft_run_chunk_now(const weft_run_t *run, const weft_run_lane_t *lane,
                                          const weft_run_member_t *member,
                                          const weft_plan_operand_t *operand, uint32_t base)
{
    uint32_t chunk = base + member->chunk, chunks = run->ranks[lane->rank].chunks[operand->kind];
    if (weft_plan_packs(&member->move)) {
        weft_plan_operand_t first = {.index = base & WEFT_PLAN_INDEX_MAX,
                                     .stride = operand->stride};
        return weft_plan_chunk_of(&member->move, &first, chunks, 0, member->chunk);
    }
    return chunk >= chunks ? chunk - chunks : chunk;
}

/* The cell of a chunk of OUT or TMP, for the slice in progress. */
static inline uint64_t weft_run_cell_of(const weft_run_t *run, const weft_run_lane_t *lane,
                                        const weft_run_member_t *member, uint32_t kind,
                                        uint32_t chunk)
{
    const weft_run_rank_t *rank = &run->ranks[lane->rank];
    uint64_t at = chunk;
    if (kind == WEFT_OPERAND_OUT && rank->windows != 1) {
        at += (uint64_t)lane->cursor.pass * rank->chunks[WEFT_OPERAND_OUT];
    }
    return rank->cells[kind] + at * run->slices + member->slice;
}

#endif
