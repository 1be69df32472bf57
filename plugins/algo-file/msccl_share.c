/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scratch between passes. Lanes run ahead of each other into the next pass, and the format has no
 * order from one pass to the next: a lane could write what another still reads. Two passes are
 * played again in the order of the run with vector clocks (C. Fidge, 1988; F. Mattern, 1989), one
 * component per tb. Where a use of scratch in the second pass is not after what other tbs do with
 * it in the first, the tbs of that gpu that share scratch will meet at the end of each pass. That a
 * full queue makes its sender wait is left out, as it depends on the depth. */
#include "msccl_share.h"

#include <string.h>

#include "msccl.h"
#include "msccl_emit.h"
#include "msccl_place.h"

#define CLOCK_WORDS_MAX (UINT64_C(1) << 24) /* 64 MiB; above it, tbs meet wherever they share */

typedef struct replay {
    msccl_program_t *program;
    const uint32_t *order; /* tb of each chunk or nop that the run executed */
    uint32_t norder;
    uint32_t *clocks; /* of tbs, then of values in queues, then of steps that others wait for */
    uint64_t values, ends; /* first clock of these */
    uint32_t *queues;      /* of tbs: its first value */
    uint32_t *targets;     /* of steps: 1 + place among the steps waited for; 0: none */
    uint32_t ntargets;
    uint32_t *steps, *chunks, *pushed, *popped; /* progress of tbs */
    /* Of scratch in the first pass: when each tb of its gpu last read and last wrote each chunk. */
    uint32_t *uses;
    uint32_t *gpu_uses; /* of gpus: the first one */
} replay_t;

static uint32_t *msccl_share_clock_at(const replay_t *replay, uint64_t row)
{
    return replay->clocks + row * replay->program->ntbs;
}

static void msccl_share_merge(const replay_t *replay, uint32_t *into, const uint32_t *from)
{
    for (uint32_t i = 0; i < replay->program->ntbs; i++) {
        into[i] = from[i] > into[i] ? from[i] : into[i];
    }
}

static void msccl_share_copy(const replay_t *replay, uint32_t *into, const uint32_t *from)
{
    memcpy(into, from, replay->program->ntbs * sizeof *into);
}

/* Lanes that use a chunk of scratch which others use too, whether in order or not. */
static void share_step(msccl_program_t *program, uint32_t tb, const msccl_step_t *step,
                       uint8_t *owners)
{
    msccl_gpu_t *gpu = &program->gpus[program->tbs[tb].gpu];
    uint32_t lane = tb - gpu->first;
    uint32_t chunks = step->type == MSCCL_NOP ? 0 : (uint32_t)step->cnt;
    for (uint32_t chunk = 0; chunk < chunks; chunk++) {
        uint32_t use[2];
        msccl_scratch_of(program, tb, step, chunk, use);
        for (int i = 0; i < 2; i++) {
            uint8_t *owner = use[i] != MSCCL_NONE ? &owners[use[i]] : NULL;
            if (owner != NULL && *owner != 0 && *owner != lane + 1) {
                gpu->meet |= UINT64_C(1) << lane | UINT64_C(1) << (*owner - 1);
            } else if (owner != NULL) {
                *owner = (uint8_t)(lane + 1);
            }
        }
    }
}

static weft_status_t share_gpus(msccl_program_t *program, bool *any_p)
{
    const weft_host_t *host = program->host;
    *any_p = false;
    for (uint32_t g = 0; g < program->n; g++) {
        uint8_t *owners = host->alloc(host, (size_t)msccl_tmp_chunks(program, g) + 1, 0);
        if (owners == NULL) {
            return WEFT_ERR_RESOURCE;
        }
        program->gpus[g].meet = 0;
        for (uint32_t t = 0; t < program->gpus[g].ntbs; t++) {
            const msccl_tb_t *tb = &program->tbs[program->gpus[g].first + t];
            for (uint32_t s = 0; s < tb->nsteps; s++) {
                share_step(program, program->gpus[g].first + t, &program->steps[tb->first + s],
                           owners);
            }
        }
        *any_p = *any_p || program->gpus[g].meet != 0;
        host->free(host, owners);
    }
    return WEFT_OK;
}

static void msccl_share_find_targets(replay_t *replay)
{
    const msccl_program_t *program = replay->program;
    for (uint32_t tb = 0; tb < program->ntbs; tb++) {
        const msccl_tb_t *at = &program->tbs[tb];
        for (uint32_t s = 0; s < at->nsteps; s++) {
            const msccl_step_t *step = &program->steps[at->first + s];
            if (step->dep_tb >= 0) {
                uint32_t other = program->gpus[at->gpu].first + (uint32_t)step->dep_tb;
                uint32_t *target =
                    &replay->targets[program->tbs[other].first + (uint32_t)step->dep_step];
                *target = *target != 0 ? *target : ++replay->ntargets;
            }
        }
    }
}

/* 0: too much. */
static uint64_t msccl_share_count_words(replay_t *replay, uint64_t *uses_p)
{
    const msccl_program_t *program = replay->program;
    uint64_t sends = 0, uses = 0;
    for (uint32_t tb = 0; tb < program->ntbs; tb++) {
        replay->queues[tb] = (uint32_t)sends;
        sends += program->tbs[tb].nsends;
    }
    for (uint32_t g = 0; g < program->n; g++) {
        replay->gpu_uses[g] = (uint32_t)uses;
        uses += (uint64_t)msccl_tmp_chunks(program, g) * program->gpus[g].ntbs * 2;
    }
    replay->values = program->ntbs;
    replay->ends = replay->values + sends;
    uint64_t words = (replay->ends + replay->ntargets) * program->ntbs;
    *uses_p = uses;
    return words > CLOCK_WORDS_MAX || uses > CLOCK_WORDS_MAX ? 0 : words;
}

static void msccl_share_replay_fini(replay_t *replay)
{
    const weft_host_t *host = replay->program->host;
    host->free(host, replay->clocks);
    host->free(host, replay->queues);
    host->free(host, replay->targets);
    host->free(host, replay->steps);
    host->free(host, replay->uses);
    host->free(host, replay->gpu_uses);
}

/* *room_p: false if it would take too much memory. */
static weft_status_t msccl_share_replay_init(replay_t *replay, bool *room_p)
{
    const msccl_program_t *program = replay->program;
    const weft_host_t *host = program->host;
    uint64_t uses = 0;
    replay->queues = host->alloc(host, program->ntbs * sizeof(uint32_t), 0);
    replay->steps = host->alloc(host, 4 * (size_t)program->ntbs * sizeof(uint32_t), 0);
    replay->targets = host->alloc(host, program->nsteps * sizeof(uint32_t), 0);
    replay->gpu_uses = host->alloc(host, program->n * sizeof(uint32_t), 0);
    if (replay->queues == NULL || replay->steps == NULL || replay->targets == NULL ||
        replay->gpu_uses == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    replay->chunks = replay->steps + program->ntbs;
    replay->pushed = replay->chunks + program->ntbs;
    replay->popped = replay->pushed + program->ntbs;
    msccl_share_find_targets(replay);
    uint64_t words = msccl_share_count_words(replay, &uses);
    *room_p = words != 0;
    if (words == 0) {
        return WEFT_OK;
    }
    replay->clocks = host->alloc(host, words * sizeof(uint32_t), 0);
    replay->uses = host->alloc(host, (uses + 1) * sizeof(uint32_t), 0);
    return replay->clocks == NULL || replay->uses == NULL ? WEFT_ERR_RESOURCE : WEFT_OK;
}

/* In the first pass remembers the use, in the second returns whether it is after all uses of the
 * first by others that it must not meet. Only tb `tb`'s own component tells of its time. */
static bool msccl_share_use_chunk(replay_t *replay, uint32_t tb, uint32_t chunk, bool writes,
                                  uint32_t pass)
{
    const msccl_program_t *program = replay->program;
    const msccl_tb_t *at = &program->tbs[tb];
    const msccl_gpu_t *gpu = &program->gpus[at->gpu];
    const uint32_t *clock = msccl_share_clock_at(replay, tb);
    uint32_t *uses = replay->uses + replay->gpu_uses[at->gpu] + (size_t)chunk * gpu->ntbs * 2;
    if (pass == 0) {
        uses[2 * (tb - gpu->first) + (uint32_t)writes] = clock[tb];
        return true;
    }
    for (uint32_t t = 0; t < gpu->ntbs; t++) {
        uint32_t known = clock[gpu->first + t];
        if (uses[2 * t + 1] > known || (writes && uses[2 * t] > known)) {
            return false;
        }
    }
    return true;
}

static bool msccl_share_use_scratch(replay_t *replay, uint32_t tb, const msccl_step_t *step,
                                    uint32_t pass)
{
    uint32_t use[2];
    bool good = true;
    msccl_scratch_of(replay->program, tb, step, replay->chunks[tb], use);
    for (uint32_t writes = 0; writes < 2; writes++) {
        if (use[writes] != MSCCL_NONE) {
            good = msccl_share_use_chunk(replay, tb, use[writes], writes == 1, pass) && good;
        }
    }
    return good;
}

/* One chunk of one step, or a nop. */
static bool msccl_share_play(replay_t *replay, uint32_t tb, uint32_t pass)
{
    const msccl_program_t *program = replay->program;
    const msccl_tb_t *at = &program->tbs[tb];
    uint32_t index = at->first + replay->steps[tb];
    const msccl_step_t *step = &program->steps[index];
    uint32_t *clock = msccl_share_clock_at(replay, tb);
    bool good = true;
    if (replay->chunks[tb] == 0 && step->dep_tb >= 0) {
        uint32_t other = program->gpus[at->gpu].first + (uint32_t)step->dep_tb;
        uint32_t target = program->tbs[other].first + (uint32_t)step->dep_step;
        msccl_share_merge(replay, clock,
                          msccl_share_clock_at(replay, replay->ends + replay->targets[target] - 1));
    }
    if (msccl_acts[step->type].receives) {
        msccl_share_merge(replay, clock,
                          msccl_share_clock_at(replay, replay->values + replay->queues[at->from] +
                                                           replay->popped[tb]++));
    }
    clock[tb]++;
    if (step->type != MSCCL_NOP) {
        good = msccl_share_use_scratch(replay, tb, step, pass);
    }
    if (msccl_acts[step->type].sends) {
        msccl_share_copy(replay,
                         msccl_share_clock_at(replay, replay->values + replay->queues[tb] +
                                                          replay->pushed[tb]++),
                         clock);
    }
    if (step->type == MSCCL_NOP || ++replay->chunks[tb] == (uint32_t)step->cnt) {
        if (replay->targets[index] != 0) {
            msccl_share_copy(
                replay, msccl_share_clock_at(replay, replay->ends + replay->targets[index] - 1),
                clock);
        }
        replay->chunks[tb] = 0;
        replay->steps[tb]++;
    }
    return good;
}

static void msccl_share_play_passes(replay_t *replay)
{
    msccl_program_t *program = replay->program;
    for (uint32_t g = 0; g < program->n; g++) {
        program->gpus[g].safe = true;
    }
    for (uint32_t pass = 0; pass < 2; pass++) {
        memset(replay->steps, 0, 4 * (size_t)program->ntbs * sizeof *replay->steps);
        for (uint32_t i = 0; i < replay->norder; i++) {
            msccl_gpu_t *gpu = &program->gpus[program->tbs[replay->order[i]].gpu];
            gpu->safe = msccl_share_play(replay, replay->order[i], pass) && gpu->safe;
        }
    }
    for (uint32_t g = 0; g < program->n; g++) {
        program->gpus[g].meet = program->gpus[g].safe ? 0 : program->gpus[g].meet;
    }
}

weft_status_t msccl_share(msccl_program_t *program, const uint32_t *order, uint32_t norder)
{
    bool any = false, room = false;
    weft_status_t status = share_gpus(program, &any);
    if (status != WEFT_OK || !any) {
        return status;
    }
    replay_t replay = {.program = program, .order = order, .norder = norder};
    status = msccl_share_replay_init(&replay, &room);
    if (status == WEFT_OK && room) {
        msccl_share_play_passes(&replay);
    }
    msccl_share_replay_fini(&replay);
    return status;
}
