/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The workspace: memory that grows to the largest run. */
#include "core/exec/workspace.h"

#include <errno.h>
#include <inttypes.h>

#include "core/base/error.h"
#include "core/os/os.h"

static weft_status_t workspace_fail(uint64_t bytes)
{
    return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate %" PRIu64 " bytes to run a plan",
                     bytes);
}

/* Replaces *memory_p by `bytes` bytes, unless it has as many. */
static weft_status_t workspace_grow(void **memory_p, uint64_t *has_p, uint64_t bytes)
{
    if (*has_p >= bytes) {
        return WEFT_OK;
    }
    void *larger = weft_os_alloc(bytes, 64);
    if (larger == NULL) {
        return workspace_fail(bytes);
    }
    weft_os_free(*memory_p);
    *memory_p = larger;
    *has_p = bytes;
    return WEFT_OK;
}

static weft_status_t workspace_grow_scratch(weft_workspace_t *workspace, uint64_t bytes)
{
    if (workspace->scratch_bytes >= bytes) {
        return WEFT_OK;
    }
    uint8_t *larger = weft_os_pages(bytes);
    if (larger == NULL) {
        return workspace_fail(bytes);
    }
    if (workspace->scratch != NULL) {
        weft_os_pages_free(workspace->scratch, workspace->scratch_bytes);
    }
    workspace->scratch = larger;
    workspace->scratch_bytes = bytes;
    return WEFT_OK;
}

weft_status_t weft_workspace_reserve(weft_workspace_t *workspace,
                                     const weft_workspace_needs_t *needs)
{
    void *lanes = workspace->lanes, *members = workspace->members, *finished = workspace->finished;
    uint64_t n = needs->lanes;
    weft_status_t status =
        workspace_grow(&lanes, &workspace->lanes_bytes, n * sizeof *workspace->lanes);
    if (status == WEFT_OK) {
        status = workspace_grow(&members, &workspace->members_bytes,
                                n * needs->width * sizeof *workspace->members);
    }
    if (status == WEFT_OK) {
        status = workspace_grow(&finished, &workspace->finished_bytes,
                                n * needs->length * sizeof *workspace->finished);
    }
    if (status == WEFT_OK) {
        status = workspace_grow_scratch(workspace, needs->scratch_bytes);
    }
    workspace->lanes = lanes;
    workspace->members = members;
    workspace->finished = finished;
    workspace->user = NULL;
    return status;
}

void weft_workspace_fini(weft_workspace_t *workspace)
{
    weft_os_free(workspace->lanes);
    weft_os_free(workspace->members);
    weft_os_free(workspace->finished);
    if (workspace->scratch != NULL) {
        weft_os_pages_free(workspace->scratch, workspace->scratch_bytes);
    }
    *workspace = (weft_workspace_t){.user = NULL};
}
