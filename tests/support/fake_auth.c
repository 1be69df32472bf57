/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Challenge and answer over keyed hashes of (role, hello, nonce of the acceptor). The hello holds
 * magic, nonce of the connector and label. */
#include "fake_auth.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "fake_host.h"

#define NONCE 32
#define LABEL_AT 40

static const char magic[8] = {'f', 'a', 'k', 'e', 'a', 'u', 't', 'h'};

/* What a handshake has to remember, inside weft_auth_state_t. */
typedef struct auth_memory {
    uint8_t hello[WEFT_AUTH_HELLO];
    uint8_t nonce[NONCE];
} auth_memory_t;

static_assert(sizeof(auth_memory_t) <= WEFT_AUTH_STATE, "state too small");
static_assert(NONCE + 32 == WEFT_AUTH_REPLY, "reply is nonce and hash");
static_assert(LABEL_AT + WEFT_AUTH_LABEL <= WEFT_AUTH_HELLO, "hello too small");

static void auth_hash(const weft_host_t *host, const auth_memory_t *memory, char role,
                      uint8_t hash[32])
{
    const fake_host_t *fake = host->core;
    crypto_generichash_state state;
    crypto_generichash_init(&state, fake->key, sizeof fake->key, 32);
    crypto_generichash_update(&state, (const uint8_t *)&role, 1);
    crypto_generichash_update(&state, (const uint8_t *)memory, sizeof *memory);
    crypto_generichash_final(&state, hash, 32);
}

static weft_status_t auth_client_begin(const weft_host_t *host, weft_auth_state_t *state,
                                       const uint8_t label[WEFT_AUTH_LABEL],
                                       uint8_t hello[WEFT_AUTH_HELLO])
{
    auth_memory_t memory = {{0}, {0}};
    memcpy(memory.hello, magic, sizeof magic);
    memcpy(memory.hello + LABEL_AT, label, WEFT_AUTH_LABEL);
    weft_status_t status = host->random(host, memory.hello + sizeof magic, NONCE);
    if (status != WEFT_OK) {
        return status;
    }
    memcpy(hello, memory.hello, WEFT_AUTH_HELLO);
    memcpy(state, &memory, sizeof memory);
    return WEFT_OK;
}

static weft_status_t auth_server_reply(const weft_host_t *host, weft_auth_state_t *state,
                                       const uint8_t hello[WEFT_AUTH_HELLO],
                                       uint8_t reply[WEFT_AUTH_REPLY])
{
    auth_memory_t memory = {{0}, {0}};
    memcpy(memory.hello, hello, WEFT_AUTH_HELLO);
    if (memcmp(hello, magic, sizeof magic) != 0) {
        return host->set_error(host, WEFT_ERR_PROTO, 0, "not a hello");
    }
    weft_status_t status = host->random(host, memory.nonce, NONCE);
    if (status != WEFT_OK) {
        return status;
    }
    memcpy(reply, memory.nonce, NONCE);
    auth_hash(host, &memory, 's', reply + NONCE);
    memcpy(state, &memory, sizeof memory);
    return WEFT_OK;
}

static weft_status_t auth_client_finish(const weft_host_t *host, weft_auth_state_t *state,
                                        const uint8_t reply[WEFT_AUTH_REPLY],
                                        uint8_t proof[WEFT_AUTH_PROOF])
{
    auth_memory_t memory;
    uint8_t expected[32];
    memcpy(&memory, state, sizeof memory);
    sodium_memzero(state, sizeof *state);
    memcpy(memory.nonce, reply, NONCE);
    auth_hash(host, &memory, 's', expected);
    if (sodium_memcmp(expected, reply + NONCE, sizeof expected) != 0) {
        return host->set_error(host, WEFT_ERR_AUTH, 0, "acceptor does not hold the key");
    }
    auth_hash(host, &memory, 'c', proof);
    return WEFT_OK;
}

static weft_status_t auth_server_check(const weft_host_t *host, weft_auth_state_t *state,
                                       const uint8_t proof[WEFT_AUTH_PROOF],
                                       uint8_t label[WEFT_AUTH_LABEL])
{
    auth_memory_t memory;
    uint8_t expected[32];
    memcpy(&memory, state, sizeof memory);
    sodium_memzero(state, sizeof *state);
    auth_hash(host, &memory, 'c', expected);
    if (sodium_memcmp(expected, proof, sizeof expected) != 0) {
        return host->set_error(host, WEFT_ERR_AUTH, 0, "connector does not hold the key");
    }
    memcpy(label, memory.hello + LABEL_AT, WEFT_AUTH_LABEL);
    return WEFT_OK;
}

const weft_auth_service_t fake_auth_service = {
    .size = sizeof(weft_auth_service_t),
    .client_begin = auth_client_begin,
    .server_reply = auth_server_reply,
    .client_finish = auth_client_finish,
    .server_check = auth_server_check,
};
