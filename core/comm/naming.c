/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of communicators. A name lies beside the failure of its communicator, which tells it. */
#include "core/comm/naming.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/comm/handle.h"

weft_status_t weft_naming_check(const char *call, const char *name)
{
    if (name == NULL || name[0] == '\0') {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: the name is %s", call,
                         name == NULL ? "NULL" : "empty");
    }
    for (const char *c = name; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ') {
            return weft_fail(WEFT_ERR_ARG, 0, "%s: character %d of the name is no text", call,
                             (int)(c - name) + 1);
        }
    }
    return WEFT_OK;
}

static void naming_copy(weft_comm_state_t *state, void *arg)
{
    weft_failure_name(&state->failure, arg, WEFT_COMM_NAME_BYTES);
}

static void naming_set(weft_comm_state_t *state, void *arg)
{
    weft_failure_set_name(&state->failure, arg);
}

void weft_naming_derive(weft_comm_t *parent, weft_comm_t *child, const char *format, ...)
{
    char name[2 * WEFT_COMM_NAME_BYTES] = "", part[WEFT_COMM_NAME_BYTES];
    const weft_error_t kept = *weft_error_record();
    va_list args;
    if (child == NULL ||
        weft_handle_visit(parent, "weft_comm_name", naming_copy, name) != WEFT_OK) {
        *weft_error_record() = kept;
        return;
    }
    va_start(args, format);
    vsnprintf(part, sizeof part, format, args);
    va_end(args);
    size_t used = strlen(name);
    snprintf(name + used, sizeof name - used, "/%s", part);
    (void)weft_handle_visit(child, "weft_comm_set_name", naming_set, name);
    *weft_error_record() = kept;
}

const char *weft_naming_option(const weft_comm_options_t *options)
{
    const size_t needed = offsetof(weft_comm_options_t, name) + sizeof options->name;
    return options != NULL && options->size >= needed ? options->name : NULL;
}
