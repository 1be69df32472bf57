/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs: memory and binding. */
#include "core/exec/program.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/os/os.h"

weft_status_t weft_program_allocate(weft_program_t *program)
{
    const weft_plan_t *plan = program->plan;
    program->ports = weft_os_alloc((plan->nports + 1) * sizeof(weft_port_t *), 0);
    program->tmp_chunks = plan->tmp_chunks;
    program->tmp_bytes = plan->tmp_chunks * program->geometry.chunk * program->elem;
    program->tmp = program->tmp_bytes > 0 ? weft_os_pages(program->tmp_bytes) : NULL;
    if (program->ports == NULL || (program->tmp_bytes > 0 && program->tmp == NULL)) {
        weft_program_release(program);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate %zu bytes of scratch",
                         program->tmp_bytes);
    }
    return WEFT_OK;
}

void weft_program_release(weft_program_t *program)
{
    weft_os_free(program->ports);
    if (program->tmp != NULL) {
        weft_os_pages_free(program->tmp, program->tmp_bytes);
    }
    program->ports = NULL;
    program->tmp = NULL;
}

weft_status_t weft_program_bind(weft_program_t *program, weft_links_t *links)
{
    const weft_plan_t *plan = program->plan;
    for (uint32_t i = 0; i < plan->nports; i++) {
        if (program->ports[i] == NULL) {
            const weft_plan_port_t *p = &plan->ports[i];
            program->ports[i] = weft_links_port(links, p->peer, p->channel, p->sends != 0);
            program->bound += program->ports[i] != NULL;
        }
    }
    return program->bound == plan->nports          ? WEFT_OK
           : weft_links_progress(links) == WEFT_OK ? WEFT_IN_PROGRESS
                                                   : weft_error_record()->status;
}

void weft_program_fetch_ports(const weft_program_t *program)
{
    for (uint32_t i = 0; i < program->plan->nports; i++) {
        weft_port_fetch(program->ports[i]);
    }
}

void weft_program_store_ports(const weft_program_t *program)
{
    for (uint32_t i = 0; i < program->plan->nports; i++) {
        weft_port_store(program->ports[i]);
    }
}
