/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See meeting.h. */
#include "core/plan/meeting.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/stable.h"

typedef struct meeting {
    const weft_plan_t *plan;
    uint32_t slots;
    uint32_t told;      /* peers that were sent something */
    uint32_t *messages; /* by port: chunks of a pass */
    uint8_t *marks;     /* by MOVE: WEFT_STABLE_* */
    uint32_t times;     /* of the loop around; 0: there is none */
} meeting_t;

/* One port to each other rank, and one from it. */
static bool meeting_is_complete(const meeting_t *m)
{
    const weft_plan_t *plan = m->plan;
    uint64_t seen[2] = {0, 0};
    if (plan->nlanes != 1 || plan->nports != 2 * (plan->nranks - 1)) {
        return false;
    }
    for (uint32_t p = 0; p < plan->nports; p++) {
        seen[plan->ports[p].sends != 0] |= UINT64_C(1) << plan->ports[p].peer;
    }
    uint64_t others = (UINT64_MAX >> (64 - plan->nranks)) & ~(UINT64_C(1) << plan->rank);
    return seen[0] == others && seen[1] == others;
}

static bool meeting_receives(const weft_plan_view_t *move)
{
    bool found = false;
    for (uint32_t s = 0; s < move->nsrc; s++) {
        found = found || move->src[s].kind == WEFT_OPERAND_PORT;
    }
    return found;
}

/* Counts the messages of a MOVE that sends, and looks at those that are the first of their port. */
static bool meeting_send(meeting_t *m, uint32_t index)
{
    weft_plan_view_t move = weft_plan_view(m->plan, index);
    bool plain = m->times == 0 && move.cnt == 1 && move.nafter == 0 && move.nsrc == 1 &&
                 move.src[0].kind == WEFT_OPERAND_IN;
    bool good = true;
    for (uint32_t d = 0; d < move.ndst && good; d++) {
        if (move.dst[d].kind == WEFT_OPERAND_PORT) {
            uint32_t *count = &m->messages[move.dst[d].index];
            good = (m->marks[index] & WEFT_STABLE_APART) != 0 && (*count > 0 || plain);
            m->told += *count == 0;
            *count += move.cnt * (m->times == 0 ? 1 : m->times);
            good = good && *count <= m->slots;
        }
    }
    return good;
}

/* The MOVEs of one instruction: they progress together, so what they send waits for none of
 * them. */
static bool meeting_instruction(meeting_t *m, const weft_code_t *code, uint32_t members)
{
    bool good = true, receives = false;
    for (uint32_t i = 0; i < members && good; i++) {
        weft_plan_view_t move = weft_plan_view(m->plan, code[i].n);
        receives = receives || meeting_receives(&move);
        good = meeting_send(m, code[i].n);
    }
    return good && (!receives || m->told == m->plan->nranks - 1);
}

static bool meeting_lane(meeting_t *m)
{
    const weft_plan_lane_t *lane = &m->plan->lanes[0];
    bool good = meeting_is_complete(m);
    for (uint32_t pc = 0; pc < lane->ncode && good; pc++) {
        const weft_code_t *code = &lane->code[pc];
        if (code->opcode == WEFT_CODE_LOOP) {
            m->times = code->n;
        } else if (code->opcode == WEFT_CODE_END) {
            m->times = 0;
        } else if (code->opcode == WEFT_CODE_PAR) {
            good = meeting_instruction(m, code + 1, code->n);
            pc += code->n;
        } else if (code->opcode == WEFT_CODE_MOVE) {
            good = meeting_instruction(m, code, 1);
        }
    }
    return good;
}

static weft_status_t meeting_judge(const weft_plan_t *plan, uint32_t slots, bool *good_p)
{
    /* IN is sent as it is: programs that multiply it first do not meet. */
    const weft_stable_arithmetic_t arithmetic = {.pre = false, .final = true};
    meeting_t m = {.plan = plan, .slots = slots};
    m.messages = weft_os_alloc((plan->nports + 1) * sizeof *m.messages, 0);
    m.marks = weft_os_alloc(plan->nmoves + 1, 0);
    weft_status_t status = WEFT_OK;
    if (m.messages == NULL || m.marks == NULL) {
        status = weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot count the messages of %u ports",
                           plan->nports);
    } else {
        status = weft_plan_stable(plan, &arithmetic, m.marks);
    }
    *good_p = status == WEFT_OK && meeting_lane(&m);
    weft_os_free(m.messages);
    weft_os_free(m.marks);
    return status;
}

weft_status_t weft_plan_meets(weft_plan_t *const *plans, uint32_t nranks, uint32_t slots,
                              bool *meets_p)
{
    weft_status_t status = WEFT_OK;
    bool good = nranks >= 2 && nranks <= WEFT_MEETING_RANKS;
    for (uint32_t rank = 0; rank < nranks && good && status == WEFT_OK; rank++) {
        status = meeting_judge(plans[rank], slots, &good);
    }
    *meets_p = good && status == WEFT_OK;
    return status;
}
