/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs: memory and binding. */
#include "core/exec/program.h"

#include <errno.h>
#include <stdalign.h>
#include <string.h>

#include "core/base/error.h"
#include "core/exec/port_export.h"
#include "core/os/os.h"

#define BLOCK_BYTES 4096u

weft_status_t weft_program_allocate(weft_program_t *program)
{
    const weft_plan_t *plan = program->plan;
    program->nports = program->channels * plan->nports;
    program->ports = weft_os_alloc((program->nports + 1) * sizeof(weft_port_t *), 0);
    program->tmp_chunks = plan->tmp_chunks;
    program->memory.tmp_bytes =
        program->channels * plan->tmp_chunks * program->segmentation.chunk * program->elem;
    program->stable = weft_os_alloc(plan->nmoves + 1, 0);
    program->landings.list = weft_os_alloc((plan->nports + 1) * sizeof *program->landings.list, 0);
    bool keeps = weft_aims_init(&program->aims, plan, program->channels);
    if (program->ports == NULL || program->stable == NULL || program->landings.list == NULL ||
        !keeps) {
        weft_program_release(program);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a program of %u ports",
                         program->nports);
    }
    weft_stable_arithmetic_t arithmetic = {.pre = program->pre, .final = program->flags != 0};
    weft_status_t status = weft_plan_stable(plan, &arithmetic, program->stable);
    return status == WEFT_OK ? weft_plan_find_landings(plan, &arithmetic, &program->landings)
                             : status;
}

void weft_program_release(weft_program_t *program)
{
    weft_os_free(program->ports);
    weft_os_free(program->stable);
    weft_aims_fini(&program->aims);
    weft_os_free(program->landings.list);
    program->ports = NULL;
    program->stable = NULL;
    program->landings.list = NULL;
}

size_t weft_program_bytes(const weft_program_t *program)
{
    return (program->nports + 1) * sizeof(weft_port_t *) + program->plan->nmoves + 1 +
           (program->plan->nports + 1) * sizeof *program->landings.list +
           weft_aims_bytes(&program->aims);
}

/* Returns the number of the connection of a port (transports.h). Chains have one NIC for both
 * directions. */
uint32_t weft_program_link(const weft_program_t *program, uint32_t i)
{
    const weft_plan_port_t *p = weft_program_port(program, i);
    uint32_t copy = i / program->plan->nports, way = p->way & ~WEFT_PLAN_WAY_BACK;
    bool out = (p->sends != 0) == ((p->way & WEFT_PLAN_WAY_BACK) == 0);
    bool ring = way != 0 && (way & WEFT_PLAN_WAY_CHAIN) == 0;
    return copy << WEFT_LINK_COPY_SHIFT | p->channel | way << WEFT_LINK_WAY_SHIFT |
           (ring && out ? WEFT_LINK_WAY_OUT : 0);
}

const weft_plan_port_t *weft_program_port(const weft_program_t *program, uint32_t i)
{
    return &program->plan->ports[i % program->plan->nports];
}

weft_status_t weft_program_bind(weft_program_t *program, weft_links_t *links)
{
    for (uint32_t i = 0; i < program->nports; i++) {
        if (program->ports[i] == NULL) {
            const weft_plan_port_t *p = weft_program_port(program, i);
            program->ports[i] =
                weft_links_port(links, p->peer, weft_program_link(program, i), p->sends != 0);
            program->bound += program->ports[i] != NULL;
        }
    }
    return program->bound == program->nports       ? WEFT_OK
           : weft_links_progress(links) == WEFT_OK ? WEFT_IN_PROGRESS
                                                   : weft_error_record()->status;
}

void weft_program_fetch_ports(const weft_program_t *program)
{
    for (uint32_t i = 0; i < program->nports; i++) {
        weft_port_fetch(program->ports[i]);
    }
}

void weft_program_store_ports(const weft_program_t *program)
{
    for (uint32_t i = 0; i < program->nports; i++) {
        weft_port_store(program->ports[i]);
    }
}

/* User operators ------------------------------------------------------------------------------- */

/* Folds block by block in a small accumulator, so that a destination may be one of the sources. */
static void program_user_fold_block(const weft_user_op_t *op, weft_dtype_t dtype,
                                    const weft_combine_t *c, size_t at, uint64_t count)
{
    alignas(64) uint8_t block[BLOCK_BYTES];
    size_t bytes = count * weft_dtype_size(dtype);
    memcpy(block, (const uint8_t *)c->src[0] + at, bytes);
    for (uint32_t i = 1; i < c->nsrc; i++) {
        op->fn(block, (const uint8_t *)c->src[i] + at, count, dtype, op->arg);
    }
    for (uint32_t i = 0; i < c->ndst; i++) {
        memcpy((uint8_t *)c->dst[i] + at, block, bytes);
    }
}

void weft_user_combine(const weft_user_op_t *op, weft_dtype_t dtype, const weft_combine_t *c)
{
    size_t elem = weft_dtype_size(dtype);
    uint64_t most = BLOCK_BYTES / elem;
    for (uint64_t done = 0; done < c->count; done += most) {
        uint64_t count = c->count - done < most ? c->count - done : most;
        program_user_fold_block(op, dtype, c, done * elem, count);
    }
}
