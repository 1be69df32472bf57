/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See offer_auth.h. */
#include "offer_auth.h"

#include <pthread.h>
#include <string.h>

#include "core/boot/auth.h"
#include "core/os/os.h"

static pthread_mutex_t auth_lock = PTHREAD_MUTEX_INITIALIZER;
static bool auth_made;
static uint8_t auth_secret[OFFER_SECRET];
static weft_host_t auth_host;
static const void *(*auth_next)(const weft_host_t *host, const char *name);
static _Thread_local uint8_t connector_secret[OFFER_SECRET];

weft_status_t offer_auth_secret(uint8_t secret[OFFER_SECRET])
{
    pthread_mutex_lock(&auth_lock);
    weft_status_t status = auth_made ? WEFT_OK : weft_os_random(auth_secret, sizeof auth_secret);
    auth_made = status == WEFT_OK;
    memcpy(secret, auth_secret, sizeof auth_secret);
    pthread_mutex_unlock(&auth_lock);
    return status;
}

void offer_auth_use(const uint8_t *secret)
{
    if (secret != NULL) {
        memcpy(connector_secret, secret, sizeof connector_secret);
    } else {
        memset(connector_secret, 0, sizeof connector_secret);
    }
}

static void auth_key_of(const uint8_t secret[OFFER_SECRET], uint8_t key[32])
{
    uint8_t wide[32] = {0};
    memcpy(wide, secret, OFFER_SECRET);
    weft_auth_derive(wide, "nccl-net", key);
}

static weft_status_t auth_client_begin(const weft_host_t *host, weft_auth_state_t *state,
                                       const uint8_t label[WEFT_AUTH_LABEL],
                                       uint8_t hello[WEFT_AUTH_HELLO])
{
    uint8_t key[32];
    (void)host;
    auth_key_of(connector_secret, key);
    return weft_auth_client_begin(key, state, label, hello);
}

static weft_status_t auth_client_finish(const weft_host_t *host, weft_auth_state_t *state,
                                        const uint8_t reply[WEFT_AUTH_REPLY],
                                        uint8_t proof[WEFT_AUTH_PROOF])
{
    uint8_t key[32];
    (void)host;
    auth_key_of(connector_secret, key);
    return weft_auth_client_finish(key, state, reply, proof);
}

static weft_status_t auth_server_reply(const weft_host_t *host, weft_auth_state_t *state,
                                       const uint8_t hello[WEFT_AUTH_HELLO],
                                       uint8_t reply[WEFT_AUTH_REPLY])
{
    uint8_t key[32], secret[OFFER_SECRET];
    (void)host;
    weft_status_t status = offer_auth_secret(secret);
    auth_key_of(secret, key);
    return status == WEFT_OK ? weft_auth_server_reply(key, state, hello, reply) : status;
}

static weft_status_t auth_server_check(const weft_host_t *host, weft_auth_state_t *state,
                                       const uint8_t proof[WEFT_AUTH_PROOF],
                                       uint8_t label[WEFT_AUTH_LABEL])
{
    uint8_t key[32], secret[OFFER_SECRET];
    (void)host;
    weft_status_t status = offer_auth_secret(secret);
    auth_key_of(secret, key);
    return status == WEFT_OK ? weft_auth_server_check(key, state, proof, label) : status;
}

static const void *auth_get_service(const weft_host_t *host, const char *name)
{
    static const weft_auth_service_t auth = {
        .size = sizeof auth,
        .client_begin = auth_client_begin,
        .server_reply = auth_server_reply,
        .client_finish = auth_client_finish,
        .server_check = auth_server_check,
    };
    return strcmp(name, WEFT_SERVICE_AUTH) == 0 ? &auth : auth_next(host, name);
}

const weft_host_t *offer_auth_host(const weft_host_t *host)
{
    auth_host = *host;
    auth_next = host->get_service;
    auth_host.get_service = auth_get_service;
    return &auth_host;
}
