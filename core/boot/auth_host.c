/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host table of control connections: services of the core, each found from the table itself. */
#include "core/boot/auth_host.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/boot/auth.h"
#include "core/os/os.h"

static const weft_auth_host_t *auth_host_of(const weft_host_t *host)
{
    return (const weft_auth_host_t *)host;
}

static void auth_host_log(const weft_host_t *host, weft_log_level_t level, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    weft_log(level, "boot", "%s: %s", auth_host_of(host)->name, text);
}

static weft_status_t auth_host_set_error(const weft_host_t *host, weft_status_t status,
                                         int os_errno, const char *format, ...)
{
    va_list args;
    (void)host;
    va_start(args, format);
    weft_fail_v(status, os_errno, format, args);
    va_end(args);
    return status;
}

static uint64_t auth_host_clock_ns(const weft_host_t *host)
{
    (void)host;
    return weft_os_clock_ns();
}

static weft_status_t auth_host_client_begin(const weft_host_t *host, weft_auth_state_t *state,
                                            const uint8_t label[WEFT_AUTH_LABEL],
                                            uint8_t hello[WEFT_AUTH_HELLO])
{
    return weft_auth_client_begin(auth_host_of(host)->key, state, label, hello);
}

static weft_status_t auth_host_server_reply(const weft_host_t *host, weft_auth_state_t *state,
                                            const uint8_t hello[WEFT_AUTH_HELLO],
                                            uint8_t reply[WEFT_AUTH_REPLY])
{
    return weft_auth_server_reply(auth_host_of(host)->key, state, hello, reply);
}

static weft_status_t auth_host_client_finish(const weft_host_t *host, weft_auth_state_t *state,
                                             const uint8_t reply[WEFT_AUTH_REPLY],
                                             uint8_t proof[WEFT_AUTH_PROOF])
{
    return weft_auth_client_finish(auth_host_of(host)->key, state, reply, proof);
}

static weft_status_t auth_host_server_check(const weft_host_t *host, weft_auth_state_t *state,
                                            const uint8_t proof[WEFT_AUTH_PROOF],
                                            uint8_t label[WEFT_AUTH_LABEL])
{
    return weft_auth_server_check(auth_host_of(host)->key, state, proof, label);
}

static const void *auth_host_get_service(const weft_host_t *host, const char *name)
{
    static const weft_auth_service_t auth = {
        .size = sizeof auth,
        .client_begin = auth_host_client_begin,
        .server_reply = auth_host_server_reply,
        .client_finish = auth_host_client_finish,
        .server_check = auth_host_server_check,
    };
    (void)host;
    return strcmp(name, WEFT_SERVICE_AUTH) == 0 ? &auth : NULL;
}

void weft_auth_host_init(weft_auth_host_t *self, const char *name, const uint8_t key[32])
{
    self->host = (weft_host_t){
        .size = sizeof self->host,
        .log_level = (uint32_t)weft_log_level(),
        .log = auth_host_log,
        .set_error = auth_host_set_error,
        .clock_ns = auth_host_clock_ns,
        .get_service = auth_host_get_service,
    };
    self->name = name;
    memcpy(self->key, key, sizeof self->key);
}

void weft_auth_host_fini(weft_auth_host_t *self)
{
    sodium_memzero(self->key, sizeof self->key);
}
