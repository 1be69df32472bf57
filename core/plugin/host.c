/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The services of the core for one plugin. */
#include "core/plugin/host.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/boot/auth.h"
#include "core/os/call_note.h"
#include "core/os/os.h"
#include "core/plan/text.h"

static const weft_host_core_t *host_core_of(const weft_host_t *host)
{
    return host->core;
}

static void host_log(const weft_host_t *host, weft_log_level_t level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    weft_log_v(level, host_core_of(host)->name, format, args);
    va_end(args);
}

static weft_status_t host_set_error(const weft_host_t *host, weft_status_t status, int os_errno,
                                    const char *format, ...)
{
    va_list args;
    va_start(args, format);
    weft_fail_v(status, os_errno, format, args);
    va_end(args);
    weft_error_t *error = weft_error_record();
    snprintf(error->transport, sizeof error->transport, "%s", host_core_of(host)->name);
    return status;
}

static void *host_alloc(const weft_host_t *host, size_t bytes, size_t align)
{
    void *memory = weft_os_alloc(bytes, align);
    if (memory == NULL) {
        host_set_error(host, WEFT_ERR_RESOURCE, 0, "no memory for %zu bytes", bytes);
    }
    return memory;
}

static void host_free(const weft_host_t *host, void *memory)
{
    (void)host;
    weft_os_free(memory);
}

static uint64_t host_clock_ns(const weft_host_t *host)
{
    (void)host;
    return weft_os_clock_ns();
}

static weft_status_t host_random(const weft_host_t *host, void *out, size_t bytes)
{
    (void)host;
    return weft_os_random(out, bytes);
}

static weft_status_t host_thread_start(const weft_host_t *host, const char *name,
                                       void (*run)(void *arg), void *arg,
                                       weft_host_thread_t **thread_p)
{
    weft_os_thread_t *thread = NULL;
    (void)host;
    weft_status_t status = weft_os_thread_start(name, run, arg, &thread);
    if (status == WEFT_OK) {
        *thread_p = (weft_host_thread_t *)thread;
    }
    return status;
}

static void host_thread_join(const weft_host_t *host, weft_host_thread_t *thread)
{
    (void)host;
    weft_os_thread_join((weft_os_thread_t *)thread);
}

void weft_host_key_set(weft_host_key_t *key, const uint8_t bytes[32])
{
    memcpy(key->bytes, bytes, sizeof key->bytes);
    atomic_store_explicit(&key->is_set, true, memory_order_release);
}

static const uint8_t *host_key_of(const weft_host_t *host)
{
    return host_core_of(host)->key->bytes;
}

static weft_status_t host_auth_client_begin(const weft_host_t *host, weft_auth_state_t *state,
                                            const uint8_t label[WEFT_AUTH_LABEL],
                                            uint8_t hello[WEFT_AUTH_HELLO])
{
    return weft_auth_client_begin(host_key_of(host), state, label, hello);
}

static weft_status_t host_auth_server_reply(const weft_host_t *host, weft_auth_state_t *state,
                                            const uint8_t hello[WEFT_AUTH_HELLO],
                                            uint8_t reply[WEFT_AUTH_REPLY])
{
    return weft_auth_server_reply(host_key_of(host), state, hello, reply);
}

static weft_status_t host_auth_client_finish(const weft_host_t *host, weft_auth_state_t *state,
                                             const uint8_t reply[WEFT_AUTH_REPLY],
                                             uint8_t proof[WEFT_AUTH_PROOF])
{
    return weft_auth_client_finish(host_key_of(host), state, reply, proof);
}

static weft_status_t host_auth_server_check(const weft_host_t *host, weft_auth_state_t *state,
                                            const uint8_t proof[WEFT_AUTH_PROOF],
                                            uint8_t label[WEFT_AUTH_LABEL])
{
    return weft_auth_server_check(host_key_of(host), state, proof, label);
}

static const char *host_note_enter(const weft_host_t *host, const char *function)
{
    (void)host;
    return weft_call_deeper(function);
}

static void host_note_leave(const weft_host_t *host, const char *before)
{
    (void)host;
    weft_call_back(before);
}

static const void *host_get_service(const weft_host_t *host, const char *name)
{
    static const weft_auth_service_t auth = {
        .size = sizeof auth,
        .client_begin = host_auth_client_begin,
        .server_reply = host_auth_server_reply,
        .client_finish = host_auth_client_finish,
        .server_check = host_auth_server_check,
    };
    static const weft_call_note_service_t notes = {
        .size = sizeof notes, .enter = host_note_enter, .leave = host_note_leave};
    if (strcmp(name, WEFT_SERVICE_CALL_NOTE) == 0) {
        return &notes;
    }
    if (strcmp(name, WEFT_SERVICE_PLAN_TEXT) == 0) {
        return weft_plan_text_service();
    }
    bool keyed = atomic_load_explicit(&host_core_of(host)->key->is_set, memory_order_acquire);
    return keyed && strcmp(name, WEFT_SERVICE_AUTH) == 0 ? &auth : NULL;
}

void weft_host_fill(weft_host_t *host, weft_host_core_t *core)
{
    *host = (weft_host_t){
        .size = sizeof *host,
        .core = core,
        .log_level = (uint32_t)weft_log_level(),
        .log = host_log,
        .set_error = host_set_error,
        .alloc = host_alloc,
        .free = host_free,
        .clock_ns = host_clock_ns,
        .random = host_random,
        .thread_start = host_thread_start,
        .thread_join = host_thread_join,
        .get_service = host_get_service,
    };
}
