/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which vector collectives a plan serves: does every slice stay with one block of the job?
 *
 * A vector collective runs a plan with blocks of different lengths, so that some pieces have fewer
 * slices than the proof counted, or none. It relies on this: if pushes and the pops that match them
 * are left out of a plan that comes to its end, the rest comes to its end too.
 *
 * Proof. The plan ends, so its events have an acyclic order made of the program order of each
 * stream, `after`, BAR, push(j) → pop(j) of each queue, and pop(j−S) → push(j), which is its depth.
 * Leave out events such that push(j) goes if and only if pop(j) goes: that is so if both ends of a
 * queue decide by the length of the same block. What remains of the first four kinds of edges is in
 * the old order. Let the m-th remaining slice of a queue be the old slice j(m). The new depth asks
 * for pop(j(m−S)) → push(j(m)). As j grows strictly, j(m−S) ≤ j(m)−S, so in the old order
 * pop(j(m−S)) is not after pop(j(m)−S), which is before push(j(m)). So each new edge is implied by
 * old ones, the new order is acyclic, and lanes that execute it never wait for each other in a
 * ring.
 *
 * A rank that passes a block on, from port to port, does not know its length. It learns it from the
 * message of the first pass, which is never left out, and decides by it from then on. So all ends
 * of the queues on the way decide alike, and the proof holds. Such a rank also learns how many
 * passes it has, while its other lanes end sooner; so nothing in its plan may wait for another
 * lane.
 *
 * That is about the end of a plan. Where two streams of a rank use a chunk, and a message shows
 * their order, it may be one that is left out: such a plan does not serve (verify_judge_marked()).
 * The vector collectives whose counts all ranks know leave nothing out, and pass empty slices. */
#include "core/plan/run_vector.h"

uint32_t weft_run_extent(const weft_plan_t *plan, uint32_t kind, uint32_t chunk)
{
    bool in = kind == WEFT_OPERAND_IN;
    uint32_t block = plan->k == 1 ? chunk : chunk / plan->k;
    switch (plan->coll) {
    case WEFT_REDUCE_SCATTER:
    case WEFT_SCATTER:
        return in ? block : plan->rank;
    case WEFT_ALL_GATHER:
    case WEFT_GATHER:
        return in ? plan->rank : block;
    case WEFT_ALL_TO_ALL:
        return in ? plan->rank * plan->nranks + block : block * plan->nranks + plan->rank;
    default:
        return 0;
    }
}

static weft_vector_t run_vector_of_pairs(const weft_run_t *run)
{
    weft_vector_t vector = WEFT_VECTOR_PAIRS;
    for (uint32_t rank = 0; rank < run->n; rank++) {
        const weft_plan_facts_t *facts = &run->facts[rank];
        if (!facts->direct && !facts->passes_on) {
            return WEFT_VECTOR_NONE;
        }
        vector = facts->direct ? vector : WEFT_VECTOR_PASSED;
    }
    return vector;
}

weft_vector_t weft_run_vector(const weft_run_t *run)
{
    if (run->memory.packed > 1) {
        return WEFT_VECTOR_NONE; /* chunks of a message are equally long */
    }
    switch (run->input->plans[0]->coll) {
    case WEFT_REDUCE_SCATTER:
    case WEFT_ALL_GATHER:
        return WEFT_VECTOR_BLOCKS;
    case WEFT_ALL_TO_ALL:
    case WEFT_GATHER:
    case WEFT_SCATTER:
        return run_vector_of_pairs(run);
    default:
        return WEFT_VECTOR_NONE;
    }
}
