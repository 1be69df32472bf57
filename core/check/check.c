/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making the layer of a plugin, and its host services. */
#include "core/check/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/check/check_algo.h"
#include "core/check/check_kernel.h"
#include "core/check/check_layer.h"
#include "core/check/check_net.h"
#include "core/check/check_tuner.h"
#include "core/check/check_watch.h"
#include "core/os/crash.h"
#include "core/os/os.h"

/* Host services -------------------------------------------------------------------------------- */

static weft_status_t check_host_set_error(const weft_host_t *host, weft_status_t status,
                                          int os_errno, const char *format, ...)
{
    char text[512];
    const weft_check_t *check = weft_check_of(host);
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (status >= 0) {
        return weft_check_breach(check, "set_error", "it is given the status of a failure",
                                 "the plugin gave %d and the text \"%.80s\"", (int)status, text);
    }
    weft_call_note_t note = weft_call_now();
    return check->given->set_error(check->given, status, os_errno, "%s: %s: %s", check->plugin.name,
                                   note.method != NULL ? note.method : "a thread", text);
}

static void *check_host_alloc(const weft_host_t *host, size_t bytes, size_t align)
{
    weft_check_t *check = weft_check_of(host);
    if ((align & (align - 1)) != 0) {
        (void)weft_check_breach(check, "alloc", "the alignment is 0 or a power of two",
                                "the plugin asked for an alignment of %zu", align);
        return NULL;
    }
    void *memory = check->given->alloc(check->given, bytes, align);
    if (memory != NULL) {
        atomic_fetch_add(&check->allocations, 1);
    }
    return memory;
}

static void check_host_free(const weft_host_t *host, void *memory)
{
    weft_check_t *check = weft_check_of(host);
    if (memory != NULL) {
        atomic_fetch_sub(&check->allocations, 1);
    }
    check->given->free(check->given, memory);
}

/* The layer ------------------------------------------------------------------------------------ */

weft_status_t weft_check_create(const weft_plugin_t *plugin, const char *path,
                                const weft_host_t *host, double patience, weft_check_t **check_p)
{
    weft_check_t *check = weft_os_alloc(sizeof *check, 0);
    if (check == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to check plugin %s", plugin->name);
    }
    check->host = *host; /* its services find the plugin by `core`, which is the same */
    check->host.set_error = check_host_set_error;
    check->host.alloc = check_host_alloc;
    check->host.free = check_host_free;
    check->given = host;
    check->plugin = *plugin;
    check->path = path;
    check->patience_ns = (uint64_t)(patience * 1e9);
    switch (plugin->kind) {
    case WEFT_KIND_NET:
        weft_check_net(check, plugin->ops);
        break;
    case WEFT_KIND_KERNEL:
        weft_check_kernel(check, plugin->ops);
        break;
    case WEFT_KIND_TUNER:
        weft_check_tuner(check, plugin->ops);
        break;
    case WEFT_KIND_ALGO:
        weft_check_algo(check, plugin->ops);
        break;
    default:
        break;
    }
    weft_crash_install();
    weft_check_watch_start(patience);
    *check_p = check;
    return WEFT_OK;
}

void weft_check_destroy(weft_check_t *check)
{
    if (check != NULL) {
        weft_check_watch_stop();
        weft_os_free(check);
    }
}

const weft_plugin_t *weft_check_plugin(const weft_check_t *check)
{
    return &check->plugin;
}

const weft_host_t *weft_check_host(const weft_check_t *check)
{
    return &check->host;
}

uint32_t weft_check_breaches(void)
{
    return weft_check_count();
}
