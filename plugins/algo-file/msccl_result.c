/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the run of a program left in the outputs: the root of a rooted collective, and whether every
 * chunk is what the collective says. */
#include "msccl_result.h"

#include "msccl_sets.h"
#include "msccl.h"
#include "msccl_place.h"

static const msccl_cell_t *msccl_result_output_cell(const msccl_program_t *program, uint32_t gpu,
                                                    uint32_t chunk)
{
    uint32_t place = msccl_out_place(program, gpu, chunk);
    return &program->cells[program->gpus[gpu].cells + place];
}

/* The set that a chunk of the output must hold, and its name. */
static uint32_t msccl_result_expected(const msccl_program_t *program, uint32_t gpu, uint32_t chunk,
                                      uint32_t *name_p)
{
    uint32_t k = program->k, all = program->n + 1;
    *name_p = chunk;
    switch (program->coll) {
    case WEFT_REDUCE_SCATTER:
        *name_p = gpu * k + chunk;
        return all;
    case WEFT_ALL_GATHER:
        return chunk / k + 1;
    case WEFT_ALL_TO_ALL:
        *name_p = gpu * k + chunk % k;
        return chunk / k + 1;
    case WEFT_BROADCAST:
        return program->root + 1;
    default:
        return all;
    }
}

static bool msccl_result_holds(const msccl_program_t *program, uint32_t gpu, uint32_t set)
{
    for (uint32_t chunk = 0; chunk < program->out_size; chunk++) {
        const msccl_cell_t *cell = msccl_result_output_cell(program, gpu, chunk);
        if (cell->set != set || cell->name != chunk) {
            return false;
        }
    }
    return true;
}

static bool msccl_result_is_root(const msccl_program_t *program, uint32_t gpu)
{
    if (program->coll == WEFT_REDUCE) {
        return msccl_result_holds(program, gpu, program->n + 1);
    }
    for (uint32_t g = 0; g < program->n; g++) {
        if (g != gpu && !msccl_result_holds(program, g, gpu + 1)) {
            return false;
        }
    }
    return true;
}

weft_status_t msccl_result_root(msccl_program_t *program)
{
    uint32_t roots = 0;
    for (uint32_t g = 0; g < program->n; g++) {
        if (msccl_result_is_root(program, g)) {
            program->root = roots++ == 0 ? g : program->root;
        }
    }
    if (roots == 1) {
        return WEFT_OK;
    }
    bool reduces = program->coll == WEFT_REDUCE;
    return msccl_fail(program, program->gpus[0].line,
                      roots == 0 ? "no gpu can be the root: there is none %s"
                                 : "more than one gpu could be the root: there is more than one %s",
                      reduces ? "whose output is the reduction of all inputs"
                              : "whose input is the output of all the others");
}

static weft_status_t msccl_result_fail_wrong(const msccl_program_t *program, uint32_t gpu,
                                             uint32_t chunk, const msccl_sets_t *sets)
{
    const msccl_cell_t *cell = msccl_result_output_cell(program, gpu, chunk);
    uint32_t name, want = msccl_result_expected(program, gpu, chunk, &name),
                   line = program->gpus[gpu].line;
    if (cell->set == 0) {
        return msccl_fail(program, line, "gpu %u: o[%u] is never written", gpu, chunk);
    }
    if (cell->name != name) {
        return msccl_fail(program, line, "gpu %u: o[%u] ends as chunk %u, expected chunk %u", gpu,
                          chunk, cell->name, name);
    }
    if (want == program->n + 1) {
        return msccl_fail(program, line, "gpu %u: o[%u] ends without the contribution of gpu %u",
                          gpu, chunk, msccl_sets_missing(sets, cell->set));
    }
    return msccl_fail(program, line, "gpu %u: o[%u] ends with data of gpu %u, expected gpu %u", gpu,
                      chunk, cell->set - 1, want - 1);
}

weft_status_t msccl_result_check(msccl_program_t *program, const msccl_sets_t *sets)
{
    for (uint32_t g = 0; g < program->n; g++) {
        program->gpus[g].copies = false;
        for (uint32_t chunk = 0; chunk < program->out_size; chunk++) {
            const msccl_cell_t *cell = msccl_result_output_cell(program, g, chunk);
            uint32_t name, want = msccl_result_expected(program, g, chunk, &name);
            if (program->coll == WEFT_REDUCE && g != program->root) {
                break;
            }
            if (cell->set != want || cell->name != name) {
                return msccl_result_fail_wrong(program, g, chunk, sets);
            }
            program->gpus[g].copies = program->gpus[g].copies || !cell->written;
        }
    }
    return WEFT_OK;
}
