/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls with a note, and reports. */
#include "core/check/check_layer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/os/os.h"

#define REPORTS_MOST 10u
/* No right plugin takes so long in a call that does not block, if it gets a core. */
#define SLOW_NS WEFT_NS_PER_S

static _Atomic uint32_t breaches;

uint32_t weft_check_count(void)
{
    return atomic_load_explicit(&breaches, memory_order_relaxed);
}

weft_status_t weft_check_breach(const weft_check_t *check, const char *method, const char *contract,
                                const char *found, ...)
{
    char text[256];
    va_list args;
    va_start(args, found);
    vsnprintf(text, sizeof text, found, args);
    va_end(args);
    const char *name = check->plugin.name;
    (void)weft_fail(WEFT_ERR_PLUGIN, 0, "%s: %s: %s; the contract says: %s (%s)", name, method,
                    text, contract, check->path);
    weft_error_t *error = weft_error_record();
    snprintf(error->transport, sizeof error->transport, "%s", name);
    if (weft_check_count() < REPORTS_MOST) {
        weft_log(WEFT_LOG_ERROR, "check", "%s", error->text);
    }
    /* Who sees the count may end the process: the line is out by then. */
    atomic_fetch_add(&breaches, 1);
    return WEFT_ERR_PLUGIN;
}

weft_check_call_t weft_check_enter(weft_check_t *check, const char *method)
{
    return (weft_check_call_t){.check = check,
                               .method = method,
                               .before = weft_call_enter(check->plugin.name, method),
                               .begun = weft_os_clock_ns()};
}

void weft_check_leave(const weft_check_call_t *call)
{
    uint64_t took = weft_os_clock_ns() - call->begun;
    weft_call_leave(call->before);
    if (took > SLOW_NS && atomic_exchange(&call->check->slow_told, 1) == 0) {
        weft_log(WEFT_LOG_WARN, "check", "%s: %s took %.1f s (%s)", call->check->plugin.name,
                 call->method, (double)took / 1e9, call->check->path);
    }
}

/* The reason that the plugin gave by set_error(), or the core for a service that failed. */
static bool check_has_reason(const weft_check_t *check, weft_status_t status)
{
    const weft_error_t *error = weft_error_record();
    return error->status == status &&
           (error->transport[0] == '\0' || strcmp(error->transport, check->plugin.name) == 0);
}

/* The status stays: what the core does about it depends on it. */
static weft_status_t check_without_reason(const weft_check_call_t *call, weft_status_t status)
{
    (void)weft_check_breach(call->check, call->method, "its cause is recorded by set_error()",
                            "it failed with %s and gave no reason", weft_status_name(status));
    weft_error_record()->status = status;
    return status;
}

weft_status_t weft_check_end(const weft_check_call_t *call, weft_status_t status, unsigned allowed)
{
    weft_check_leave(call);
    if (status == WEFT_OK ||
        (status == WEFT_IN_PROGRESS && (allowed & WEFT_CHECK_IN_PROGRESS) != 0) ||
        (status == WEFT_AGAIN && (allowed & WEFT_CHECK_AGAIN) != 0) ||
        weft_status_is_failure(status)) {
        return status < 0 && !check_has_reason(call->check, status)
                   ? check_without_reason(call, status)
                   : status;
    }
    return weft_check_breach(call->check, call->method,
                             (allowed & WEFT_CHECK_IN_PROGRESS) != 0 ? "OK, IN_PROGRESS or an error"
                             : (allowed & WEFT_CHECK_AGAIN) != 0     ? "OK, AGAIN or an error"
                                                                     : "OK or an error",
                             "it returned %d", (int)status);
}

void weft_check_made(weft_check_t *check)
{
    atomic_fetch_add(&check->instances, 1);
}

void weft_check_gone(weft_check_t *check)
{
    int64_t left = atomic_load(&check->allocations);
    if (atomic_fetch_sub(&check->instances, 1) == 1 && left != 0) {
        (void)weft_check_breach(
            check, "destroy", "it frees the instance", "of its memory %lld piece%s %s",
            (long long)(left < 0 ? -left : left), left == 1 || left == -1 ? " was" : "s were",
            left > 0 ? "not freed" : "freed twice");
    }
}

uint64_t weft_check_sum(uint64_t sum, const void *data, uint64_t bytes)
{
    const uint8_t *at = data;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        sum = (sum ^ word) * UINT64_C(0x100000001b3);
        sum ^= sum >> 29;
    }
    for (; bytes > 0; bytes--, at++) {
        sum = (sum ^ *at) * UINT64_C(0x100000001b3);
    }
    return sum;
}
