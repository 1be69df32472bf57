/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the chunks of a program's buffers lie. A program for in-place calls has one memory for
 * input and output; in a plan, IN can only be read. So a chunk is read from IN until it is written
 * for the first time, and what is written goes to OUT, or to TMP where the chunk is no output: its
 * shadow. */
#include "msccl_place.h"

#include "msccl.h"

static bool msccl_place_is_root(const msccl_program_t *program, uint32_t gpu)
{
    return program->root == MSCCL_NONE || program->root == gpu;
}

/* Chunks before those of the scratch buffer. */
static uint32_t msccl_place_scratch_at(const msccl_program_t *program)
{
    uint32_t in = program->in_size, out = program->out_size;
    return !program->alias ? in + out : in > out ? in : out;
}

uint32_t msccl_place(const msccl_program_t *program, uint32_t gpu, uint32_t buffer, uint32_t offset)
{
    if (buffer == MSCCL_TMP) {
        return msccl_place_scratch_at(program) + offset;
    }
    if (!program->alias) {
        return buffer == MSCCL_IN ? offset : program->in_size + offset;
    }
    bool part = (buffer == MSCCL_IN && program->coll == WEFT_ALL_GATHER) ||
                (buffer == MSCCL_OUT && program->coll == WEFT_REDUCE_SCATTER);
    return part ? gpu * program->k + offset : offset;
}

uint32_t msccl_places(const msccl_program_t *program, uint32_t gpu)
{
    return msccl_place_scratch_at(program) + program->gpus[gpu].chunks[MSCCL_TMP];
}

uint32_t msccl_out_place(const msccl_program_t *program, uint32_t gpu, uint32_t chunk)
{
    return msccl_place(program, gpu, MSCCL_OUT, chunk);
}

uint32_t msccl_in_chunk(const msccl_program_t *program, uint32_t gpu, uint32_t place)
{
    uint32_t size = program->alias ? msccl_place_scratch_at(program) : program->in_size;
    if (place >= size || (program->coll == WEFT_BROADCAST && !msccl_place_is_root(program, gpu))) {
        return MSCCL_NONE;
    }
    if (program->alias && program->coll == WEFT_ALL_GATHER) {
        return place / program->k == gpu ? place % program->k : MSCCL_NONE;
    }
    return place;
}

uint32_t msccl_out_chunk(const msccl_program_t *program, uint32_t gpu, uint32_t place)
{
    uint32_t first = program->alias ? 0 : program->in_size;
    if (place < first || place >= msccl_place_scratch_at(program) ||
        (program->coll == WEFT_REDUCE && !msccl_place_is_root(program, gpu))) {
        return MSCCL_NONE;
    }
    if (program->alias && program->coll == WEFT_REDUCE_SCATTER) {
        return place / program->k == gpu ? place % program->k : MSCCL_NONE;
    }
    return place - first;
}

uint32_t msccl_tmp_chunk(const msccl_program_t *program, uint32_t place)
{
    uint32_t first = msccl_place_scratch_at(program);
    return place >= first ? place - first : MSCCL_NONE;
}

uint32_t msccl_tmp_chunks(const msccl_program_t *program, uint32_t gpu)
{
    return program->gpus[gpu].chunks[MSCCL_TMP] + program->gpus[gpu].nshadows;
}
