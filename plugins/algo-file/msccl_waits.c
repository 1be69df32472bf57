/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The waits of a step. The format has one wait per step and nops that carry more; a MOVE has up to
 * fifteen. Waiting for a nop means waiting for what it waits for and
 * for the last step before it that is no nop. Of several waits for one tb the last one counts. */
#include "msccl_waits.h"

#include "msccl.h"

static const msccl_tb_t *msccl_waits_tb_of(const msccl_program_t *program, uint32_t gpu,
                                           uint32_t tb)
{
    return &program->tbs[program->gpus[gpu].first + tb];
}

static void msccl_waits_want(uint32_t wanted[MSCCL_LANES_MAX], const msccl_step_t *step)
{
    uint32_t end = (uint32_t)step->dep_step + 1;
    if (step->dep_tb >= 0 && wanted[step->dep_tb] < end) {
        wanted[step->dep_tb] = end;
    }
}

/* Walks back from step wanted − 1 to the last one that is no nop; `done` is how far it was walked
 * before. Returns the steps looked at. */
static uint32_t msccl_waits_walk_back(const msccl_program_t *program, const msccl_tb_t *tb,
                                      uint32_t done, uint32_t end, uint32_t wanted[MSCCL_LANES_MAX],
                                      uint32_t *last_p)
{
    uint32_t at = end;
    for (; at > done; at--) {
        const msccl_step_t *step = &program->steps[tb->first + at - 1];
        if (step->type != MSCCL_NOP) {
            *last_p = at;
            break;
        }
        msccl_waits_want(wanted, step);
    }
    return end - at + 1;
}

/* Invariant: steps up to done[t] of tb t are covered by the waits found so far. */
static uint32_t msccl_waits_resolve(const msccl_program_t *program, uint32_t gpu,
                                    uint32_t wanted[MSCCL_LANES_MAX],
                                    uint32_t steps[MSCCL_LANES_MAX], uint64_t *walked_p)
{
    uint32_t done[MSCCL_LANES_MAX] = {0}, count = 0;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t t = 0; t < program->gpus[gpu].ntbs; t++) {
            if (wanted[t] <= done[t]) {
                continue;
            }
            uint32_t end = wanted[t];
            more = true;
            *walked_p += msccl_waits_walk_back(program, msccl_waits_tb_of(program, gpu, t), done[t],
                                               end, wanted, &steps[t]);
            done[t] = end;
        }
    }
    for (uint32_t t = 0; t < program->gpus[gpu].ntbs; t++) {
        count += steps[t] != 0;
    }
    return count;
}

uint32_t msccl_waits(const msccl_program_t *program, uint32_t gpu, uint32_t tb, uint32_t at,
                     uint32_t steps[MSCCL_LANES_MAX], uint64_t *walked_p)
{
    uint32_t wanted[MSCCL_LANES_MAX] = {0};
    const msccl_tb_t *here = msccl_waits_tb_of(program, gpu, tb);
    for (uint32_t t = 0; t < MSCCL_LANES_MAX; t++) {
        steps[t] = 0;
    }
    msccl_waits_want(wanted, &program->steps[here->first + at]);
    for (uint32_t s = at; s > 0 && program->steps[here->first + s - 1].type == MSCCL_NOP; s--) {
        msccl_waits_want(wanted, &program->steps[here->first + s - 1]);
        ++*walked_p;
    }
    uint32_t count = msccl_waits_resolve(program, gpu, wanted, steps, walked_p);
    count -= steps[tb] != 0; /* a lane is in order anyway */
    steps[tb] = 0;
    return count;
}
