/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entry points of names. */
#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/comm/call.h"
#include "core/comm/handle.h"
#include "core/comm/naming.h"

static void name_set(weft_comm_state_t *state, void *arg)
{
    weft_failure_set_name(&state->failure, *(const char **)arg);
}

weft_status_t weft_comm_set_name(weft_comm_t *comm, const char *name)
{
    weft_status_t status = weft_naming_check("weft_comm_set_name", name);
    if (status == WEFT_OK) {
        status = weft_handle_visit(comm, "weft_comm_set_name", name_set, &name);
    }
    return status == WEFT_OK ? status : weft_api_error("comm", status);
}

static void name_copy(weft_comm_state_t *state, void *arg)
{
    weft_failure_name(&state->failure, arg, WEFT_COMM_NAME_BYTES);
}

weft_status_t weft_comm_name(weft_comm_t *comm, char *text, size_t bytes)
{
    char name[WEFT_COMM_NAME_BYTES];
    if (text == NULL || bytes == 0) {
        return weft_api_error("comm", weft_fail(WEFT_ERR_ARG, 0, "weft_comm_name: no room"));
    }
    weft_status_t status = weft_handle_visit(comm, "weft_comm_name", name_copy, name);
    if (status == WEFT_OK) {
        weft_utf8_copy(text, bytes, name);
    }
    return status == WEFT_OK ? status : weft_api_error("comm", status);
}
