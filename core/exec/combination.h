/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The arithmetic of a MOVE: by a copy here, by the kernel, or by the caller's own operator. */
#ifndef WEFT_EXEC_COMBINATION_H
#define WEFT_EXEC_COMBINATION_H

#include "core/base/copy.h"
#include "core/exec/interpreter_state.h"
#include "core/exec/nt_tuner.h"

/* Shorter copies need no kernel. */
#define WEFT_COMBINATION_COPIES 4096u

/* Combines c->count elements, from sources to destinations. The caller has set these, with pre_mask
 * and nt_mask. `copies`: one source, no arithmetic. Errors: those of weft_combiner_run(). */
static inline weft_status_t weft_combination_run(const weft_interpreter_t *run,
                                                 const weft_plan_move_t *move, weft_combine_t *c,
                                                 bool copies)
{
    const weft_program_t *program = run->program;
    size_t bytes = c->count * program->elem;
    /* The kernel copies what goes past the caches, to several places, or is long. */
    if (copies && c->ndst == 1 && program->memory.on_host && bytes < WEFT_COMBINATION_COPIES &&
        (c->nt_mask == 0 || bytes < WEFT_NT_STORE_BYTES)) {
        weft_copy(c->dst[0], c->src[0], bytes);
        return WEFT_OK;
    }
    c->flags = (move->flags & WEFT_MOVE_FINAL) != 0 ? program->flags : 0;
    c->nranks = program->plan->nranks;
    c->scalar = run->scalar;
    if (program->user.fn != NULL && c->nsrc > 1) {
        weft_user_combine(&program->user, program->dtype, c);
        return WEFT_OK;
    }
    return weft_combiner_run(&program->combiner, c);
}

#endif
