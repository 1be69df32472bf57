/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernel plugins under core.check. Their instances go to the core as they are, for the extensions
 * of devices take them and are not looked at. */
#include "core/check/check_kernel.h"

#include <stdbool.h>
#include <string.h>

#include "core/check/check_combine.h"
#include "core/check/check_table.h"

static weft_status_t kernel_create(const weft_host_t *host, const void *config,
                                   weft_kernel_t **kernel_p)
{
    weft_check_t *check = weft_check_of(host);
    weft_kernel_t *kernel = NULL;
    weft_check_call_t call = weft_check_enter(check, "create");
    weft_status_t status = weft_check_end(&call, check->own.kernel->create(host, config, &kernel),
                                          WEFT_CHECK_FAILURES);
    if (status == WEFT_OK && kernel == NULL) {
        return weft_check_breach(check, "create", "OK: it has stored the object",
                                 "it returned OK and no object");
    }
    status = status == WEFT_OK ? weft_check_table_add(kernel, check) : status;
    if (status == WEFT_OK) {
        weft_check_made(check);
        *kernel_p = kernel;
    }
    return status;
}

static void kernel_destroy(weft_kernel_t *kernel)
{
    weft_check_t *check = weft_check_table_find(kernel);
    if (check != NULL) {
        weft_check_call_t call = weft_check_enter(check, "destroy");
        weft_check_table_remove(kernel);
        check->own.kernel->destroy(kernel);
        weft_check_leave(&call);
        weft_check_gone(check);
        weft_check_combine_forget(check);
    }
}

static weft_status_t kernel_props(weft_kernel_t *kernel, weft_kernel_props_t *props)
{
    size_t size = props->size;
    weft_check_t *check = weft_check_table_find(kernel);
    weft_check_call_t call = weft_check_enter(check, "props");
    weft_status_t status =
        weft_check_end(&call, check->own.kernel->props(kernel, props), WEFT_CHECK_FAILURES);
    if (status != WEFT_OK) {
        return status;
    }
    if (props->size != size) {
        return weft_check_breach(check, "props", "it fills props->size bytes",
                                 "it changed props->size from %zu to %zu", size, props->size);
    }
    if (memchr(props->variant, 0, sizeof props->variant) == NULL) {
        return weft_check_breach(check, "props", "variant is a text", "found no end of variant");
    }
    if (props->memory_kind == 0 || (props->memory_kind & (props->memory_kind - 1)) != 0) {
        return weft_check_breach(check, "props", "one WEFT_MEMORY_*", "found memory_kind 0x%x",
                                 props->memory_kind);
    }
    if (props->bandwidth == 0) {
        return weft_check_breach(check, "props", "bytes per second that a sum stores",
                                 "found bandwidth 0");
    }
    return WEFT_OK;
}

static weft_status_t kernel_select(weft_kernel_t *kernel, weft_dtype_t dtype, weft_op_t op,
                                   weft_combine_fn_t *fn_p)
{
    weft_check_t *check = weft_check_table_find(kernel);
    weft_kernel_props_t props = {.size = sizeof props};
    weft_combine_fn_t fn = NULL;
    weft_check_call_t call = weft_check_enter(check, "select");
    weft_status_t status = weft_check_end(&call, check->own.kernel->select(kernel, dtype, op, &fn),
                                          WEFT_CHECK_FAILURES);
    if (status == WEFT_OK && fn == NULL) {
        return weft_check_breach(check, "select", "OK: it has stored the function",
                                 "it returned OK and no function");
    }
    if (status != WEFT_OK) {
        return status;
    }
    /* What lies on a device cannot be compared here. */
    bool on_host = check->own.kernel->props(kernel, &props) == WEFT_OK &&
                   props.memory_kind == WEFT_MEMORY_HOST;
    *fn_p = on_host ? weft_check_combine(check, dtype, op, fn) : fn;
    return WEFT_OK;
}

static weft_status_t kernel_combine_status(weft_kernel_t *kernel)
{
    weft_check_t *check = weft_check_table_find(kernel);
    weft_check_call_t call = weft_check_enter(check, "combine_status");
    return weft_check_end(&call, check->own.kernel->combine_status(kernel), WEFT_CHECK_FAILURES);
}

static const void *kernel_get_extension(weft_kernel_t *kernel, const char *name)
{
    weft_check_t *check = weft_check_table_find(kernel);
    weft_check_call_t call = weft_check_enter(check, "get_extension");
    const void *table = check->own.kernel->get_extension(kernel, name);
    weft_check_leave(&call);
    return table;
}

void weft_check_kernel(weft_check_t *check, const weft_kernel_ops_t *own)
{
    check->own.kernel = own;
    check->table.kernel = (weft_kernel_ops_t){
        .size = sizeof check->table.kernel,
        .create = kernel_create,
        .destroy = kernel_destroy,
        .props = kernel_props,
        .select = kernel_select,
        .get_extension =
            WEFT_HAS(own, weft_kernel_ops_t, get_extension) ? kernel_get_extension : NULL,
        .arithmetic = WEFT_HAS(own, weft_kernel_ops_t, arithmetic) ? own->arithmetic : NULL,
        .presume = WEFT_HAS(own, weft_kernel_ops_t, presume) ? own->presume : NULL,
        .combine_status =
            WEFT_HAS(own, weft_kernel_ops_t, combine_status) ? kernel_combine_status : NULL,
    };
    check->plugin.ops = &check->table.kernel;
}
