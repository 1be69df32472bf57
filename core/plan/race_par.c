/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Races of a rank with one lane: only the members of a PAR are not ordered, so it is enough to know
 * which of them use the same chunk. */
#include "core/plan/race_par.h"

#include "core/plan/run_result.h"

#define SEVERAL UINT8_MAX /* more than one member */

static bool race_par_by_another(uint8_t who, uint8_t member)
{
    return who != 0 && who != member;
}

static void race_par_add_reader(uint8_t *who_p, uint8_t member)
{
    *who_p = race_par_by_another(*who_p, member) ? SEVERAL : member;
}

/* A member uses a chunk; kind is that of the operand: what IN is in place was looked up. */
static void race_par_use_chunk(weft_run_t *run, const weft_run_lane_t *lane, weft_run_use_t *use,
                               uint8_t member, uint32_t kind, bool writes)
{
    uint8_t apart = WEFT_SUSPECT | WEFT_SUSPECT_IN_PLACE;
    uint8_t in_place = run->both != NULL ? WEFT_SUSPECT_IN_PLACE : apart, found = 0;
    if (use->group != run->race.groups) {
        *use = (weft_run_use_t){.group = run->race.groups};
    }
    if (writes) {
        found |=
            race_par_by_another(use->writer, member) || race_par_by_another(use->reader, member)
                ? apart
                : 0;
        found |= race_par_by_another(use->input_reader, member) ? in_place : 0;
        use->writer = member;
    } else {
        found |= !race_par_by_another(use->writer, member) ? 0
                 : kind == WEFT_OPERAND_IN                 ? in_place
                                                           : apart;
        race_par_add_reader(kind == WEFT_OPERAND_IN ? &use->input_reader : &use->reader, member);
    }
    run->race.marks[lane->rank] |= found;
}

static void race_par_use_operand(weft_run_t *run, const weft_run_lane_t *lane, uint8_t member,
                                 const weft_run_member_t *of, uint32_t i)
{
    const weft_run_rank_t *rank = &run->ranks[lane->rank];
    bool writes = i < of->move.ndst;
    uint32_t s = writes ? i : i - of->move.ndst;
    const weft_plan_operand_t *operand = writes ? &of->move.dst[s] : &of->move.src[s];
    uint32_t kind = operand->kind;
    uint32_t base = writes ? of->dst[s] : of->src[s];
    if (kind == WEFT_OPERAND_PORT ||
        (kind == WEFT_OPERAND_IN && run->both == NULL && !run->input->in_place)) {
        return;
    }
    for (uint32_t j = 0; j < of->move.cnt; j++) {
        weft_plan_operand_t first = {.index = base & WEFT_PLAN_INDEX_MAX,
                                     .stride = operand->stride};
        uint32_t chunk = weft_plan_chunk_of(&of->move, &first, rank->chunks[kind], 0, j);
        if (kind == WEFT_OPERAND_IN) {
            chunk = weft_run_alias(run, lane->rank, chunk);
        } else if (kind == WEFT_OPERAND_TMP) {
            chunk += rank->chunks[WEFT_OPERAND_OUT];
        }
        if (chunk != WEFT_RUN_NONE) {
            race_par_use_chunk(run, lane, &run->race.uses[rank->uses_at + chunk], member, kind,
                               writes);
        }
    }
}

void weft_race_par(weft_run_t *run, const weft_run_lane_t *lane)
{
    run->race.groups++;
    for (uint32_t m = 0; m < lane->nmembers; m++) {
        const weft_run_member_t *member = &lane->members[m];
        for (uint32_t i = 0; i < member->move.ndst + member->move.nsrc; i++) {
            race_par_use_operand(run, lane, (uint8_t)(m + 1), member, i);
        }
    }
}
