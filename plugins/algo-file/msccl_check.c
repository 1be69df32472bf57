/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What can be said of a program without running it: sizes of buffers, bounds of steps, the two ends
 * of every channel. */
#include "msccl_check.h"

#include "msccl.h"

static uint32_t msccl_check_in_blocks(const msccl_program_t *program)
{
    return program->coll == WEFT_REDUCE_SCATTER || program->coll == WEFT_ALL_TO_ALL ? program->n
                                                                                    : 1;
}

static uint32_t msccl_check_out_blocks(const msccl_program_t *program)
{
    return program->coll == WEFT_ALL_GATHER || program->coll == WEFT_ALL_TO_ALL ? program->n : 1;
}

static weft_status_t check_sizes(msccl_program_t *program)
{
    uint32_t in = msccl_check_in_blocks(program), out = msccl_check_out_blocks(program),
             most = in > out ? in : out;
    if (program->loop_chunks % most != 0) {
        return msccl_fail(program, program->gpus[0].line,
                          "nchunksperloop is %u, no multiple of the %u blocks of the collective",
                          program->loop_chunks, most);
    }
    program->k = program->loop_chunks / most;
    program->in_size = program->k * in;
    program->out_size = program->k * out;
    const uint32_t sizes[] = {program->in_size, program->out_size};
    for (uint32_t g = 0; g < program->n; g++) {
        const msccl_gpu_t *gpu = &program->gpus[g];
        for (uint32_t b = MSCCL_IN; b <= MSCCL_OUT; b++) {
            if (gpu->chunks[b] != 0 && gpu->chunks[b] != sizes[b]) {
                return msccl_fail(program, gpu->line,
                                  "gpu %u: %s_chunks is %u, but nchunksperloop %u makes it %u "
                                  "(or 0 if it is not used)",
                                  g, msccl_buffer_name(b), gpu->chunks[b], program->loop_chunks,
                                  sizes[b]);
            }
        }
    }
    return WEFT_OK;
}

static weft_status_t check_range(const msccl_program_t *program, uint32_t tb, uint32_t s,
                                 const char *what, uint32_t buffer, int32_t offset)
{
    const msccl_step_t *step = &program->steps[program->tbs[tb].first + s];
    uint32_t chunks = program->gpus[program->tbs[tb].gpu].chunks[buffer];
    if (offset < 0 || (int64_t)offset + step->cnt > (int64_t)chunks) {
        return msccl_fail_step(program, tb, s, "%s is %s[%d] to %s[%lld], but %s_chunks is %u",
                               what, msccl_buffer_name(buffer), offset, msccl_buffer_name(buffer),
                               (long long)offset + step->cnt - 1, msccl_buffer_name(buffer),
                               chunks);
    }
    return WEFT_OK;
}

static weft_status_t check_dependency(const msccl_program_t *program, uint32_t tb, uint32_t s)
{
    const msccl_step_t *step = &program->steps[program->tbs[tb].first + s];
    const msccl_gpu_t *gpu = &program->gpus[program->tbs[tb].gpu];
    if (step->dep_tb < 0) {
        return WEFT_OK;
    }
    if ((uint32_t)step->dep_tb >= gpu->ntbs) {
        return msccl_fail_step(program, tb, s, "waits for tb %d, but gpu %u has %u tbs",
                               step->dep_tb, program->tbs[tb].gpu, gpu->ntbs);
    }
    const msccl_tb_t *other = &program->tbs[gpu->first + (uint32_t)step->dep_tb];
    if (step->dep_step < 0 || (uint32_t)step->dep_step >= other->nsteps) {
        return msccl_fail_step(program, tb, s, "waits for step %d of tb %d, which has %u steps",
                               step->dep_step, step->dep_tb, other->nsteps);
    }
    return WEFT_OK;
}

static weft_status_t check_step(msccl_program_t *program, uint32_t tb, uint32_t s)
{
    msccl_tb_t *at = &program->tbs[tb];
    msccl_step_t *step = &program->steps[at->first + s];
    const msccl_act_t *act = &msccl_acts[step->type];
    weft_status_t status = check_dependency(program, tb, s);
    if (status != WEFT_OK || step->type == MSCCL_NOP) {
        return status;
    }
    if ((act->sends && at->send < 0) || (act->receives && at->recv < 0)) {
        bool sends = act->sends && at->send < 0;
        return msccl_fail_step(program, tb, s, "%s, but the tb's %s is -1",
                               sends ? "sends" : "receives", sends ? "send" : "recv");
    }
    if (act->reads) {
        status = check_range(program, tb, s, "the source", step->src_buf, step->src);
    }
    if (status == WEFT_OK && act->writes) {
        status = check_range(program, tb, s, "the destination", step->dst_buf, step->dst);
    }
    if (status != WEFT_OK) {
        return status;
    }
    if ((uint32_t)step->cnt > MSCCL_MARKS_MAX - program->nmarks) {
        return msccl_fail_step(program, tb, s, "the steps move more than %u chunks",
                               MSCCL_MARKS_MAX);
    }
    step->mark = program->nmarks;
    program->nmarks += (uint32_t)step->cnt;
    at->nsends += act->sends ? (uint32_t)step->cnt : 0;
    at->nreceives += act->receives ? (uint32_t)step->cnt : 0;
    return WEFT_OK;
}

static weft_status_t check_steps(msccl_program_t *program)
{
    for (uint32_t tb = 0; tb < program->ntbs; tb++) {
        for (uint32_t s = 0; s < program->tbs[tb].nsteps; s++) {
            weft_status_t status = check_step(program, tb, s);
            if (status != WEFT_OK) {
                return status;
            }
        }
    }
    return WEFT_OK;
}

static weft_status_t check_peer(const msccl_program_t *program, const msccl_tb_t *tb, int32_t peer,
                                const char *what)
{
    if (peer >= (int32_t)program->n || peer == (int32_t)tb->gpu) {
        return msccl_fail(program, tb->line,
                          "gpu %u: %s is %d; another of the %u gpus or -1 is "
                          "expected",
                          tb->gpu, what, peer, program->n);
    }
    return WEFT_OK;
}

/* The tb of the peer that has this one's other end, or NONE. */
static uint32_t msccl_check_find_end(const msccl_program_t *program, const msccl_tb_t *tb,
                                     bool sends)
{
    int32_t peer = sends ? tb->send : tb->recv;
    const msccl_gpu_t *gpu = &program->gpus[peer];
    for (uint32_t i = 0; i < gpu->ntbs; i++) {
        const msccl_tb_t *other = &program->tbs[gpu->first + i];
        int32_t back = sends ? other->recv : other->send;
        if (back == (int32_t)tb->gpu && other->channel == tb->channel) {
            return gpu->first + i;
        }
    }
    return MSCCL_NONE;
}

static weft_status_t check_twins(const msccl_program_t *program, uint32_t tb)
{
    const msccl_tb_t *at = &program->tbs[tb];
    for (uint32_t i = program->gpus[at->gpu].first; i < tb; i++) {
        const msccl_tb_t *other = &program->tbs[i];
        if (other->channel != at->channel) {
            continue;
        }
        if ((at->send >= 0 && other->send == at->send) ||
            (at->recv >= 0 && other->recv == at->recv)) {
            bool sends = at->send >= 0 && other->send == at->send;
            return msccl_fail(
                program, at->line, "gpu %u: tb %u and tb %u both %s gpu %d on channel %u", at->gpu,
                i - program->gpus[at->gpu].first, tb - program->gpus[at->gpu].first,
                sends ? "send to" : "receive from", sends ? at->send : at->recv, at->channel);
        }
    }
    return WEFT_OK;
}

static weft_status_t check_ends(msccl_program_t *program, uint32_t tb)
{
    msccl_tb_t *at = &program->tbs[tb];
    uint32_t number = tb - program->gpus[at->gpu].first;
    at->to = at->send < 0 ? MSCCL_NONE : msccl_check_find_end(program, at, true);
    at->from = at->recv < 0 ? MSCCL_NONE : msccl_check_find_end(program, at, false);
    if (at->nsends != 0 && at->to == MSCCL_NONE) {
        return msccl_fail(program, at->line,
                          "gpu %u tb %u sends to gpu %d on channel %u, but no tb of gpu %d has "
                          "recv %u on that channel",
                          at->gpu, number, at->send, at->channel, at->send, at->gpu);
    }
    if (at->nreceives != 0 && at->from == MSCCL_NONE) {
        return msccl_fail(
            program, at->line,
            "gpu %u tb %u receives from gpu %d on channel %u, but no tb of gpu %d has "
            "send %u on that channel",
            at->gpu, number, at->recv, at->channel, at->recv, at->gpu);
    }
    uint32_t taken = at->to == MSCCL_NONE ? 0 : program->tbs[at->to].nreceives;
    if (at->nsends != taken) {
        return msccl_fail(program, at->line,
                          "gpu %u tb %u sends %u chunks to gpu %d on channel %u, which receives %u",
                          at->gpu, number, at->nsends, at->send, at->channel, taken);
    }
    return WEFT_OK;
}

static weft_status_t check_tbs(msccl_program_t *program)
{
    weft_status_t status = WEFT_OK;
    for (uint32_t tb = 0; tb < program->ntbs && status == WEFT_OK; tb++) {
        const msccl_tb_t *at = &program->tbs[tb];
        status = check_peer(program, at, at->send, "send");
        status = status != WEFT_OK ? status : check_peer(program, at, at->recv, "recv");
        status = status != WEFT_OK ? status : check_twins(program, tb);
    }
    for (uint32_t tb = 0; tb < program->ntbs && status == WEFT_OK; tb++) {
        status = check_ends(program, tb);
    }
    return status;
}

/* A program that may be called in place and names one of the two buffers only cannot mean anything
 * but one memory, whatever `outofplace` says. */
static bool msccl_check_one_memory(const msccl_program_t *program)
{
    bool named[3] = {false, false, false};
    for (uint32_t s = 0; s < program->nsteps; s++) {
        const msccl_step_t *step = &program->steps[s];
        const msccl_act_t *act = &msccl_acts[step->type];
        named[step->src_buf] = named[step->src_buf] || act->reads;
        named[step->dst_buf] = named[step->dst_buf] || act->writes;
    }
    return program->in_place && (!program->out_of_place || !named[MSCCL_IN] || !named[MSCCL_OUT]);
}

weft_status_t msccl_check(msccl_program_t *program)
{
    weft_status_t status = check_sizes(program);
    status = status != WEFT_OK ? status : check_steps(program);
    status = status != WEFT_OK ? status : check_tbs(program);
    if (status == WEFT_OK) {
        program->alias = msccl_check_one_memory(program);
    }
    return status;
}
