/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The handshake that opens every connection. Wire layout:
 *
 *   hello  magic 8 | lowest, highest version 2 + 2 | zero 4 | nonce 32 | label 64 | seal 16
 *   reply  nonce 32 | MAC 32 over the hello and this nonce
 *   proof  MAC 32 over the hello and the reply's nonce
 *
 * A byte from the acceptor follows the proof, which the SDK's handshake sends.
 *
 * An acceptor that does not speak the version of a good hello answers with a refusal, in place of
 * the reply: its own versions 2 + 2 | zeros 28 | MAC 32 of another role. So both ends can say which
 * versions met. What the refusal needs never changes: magic, versions, nonce, label and seal of the
 * hello.
 *
 * The seal is a MAC over the hello. It lets the acceptor stay silent to strangers. A recorded hello
 * passes it, but never the proof, which covers the fresh nonce of the acceptor. */
#include "core/boot/auth.h"

#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/boot/wire.h"
#include "core/os/os.h"

#define NONCE 32
#define MAC 32
#define SEAL 16
#define SEALED (WEFT_AUTH_HELLO - SEAL)
#define LABEL_RANK_AT 32 /* in a label: the purpose, zeros, the rank, zeros */

/* Every MAC covers the label of the role first: a message that is sent back to its sender, or
 * presented as another one, never fits. */
static const char *const role_hello = "weft hello";
static const char *const role_reply = "weft reply";
static const char *const role_proof = "weft proof";
static const char *const role_refusal = "weft refusal";

static const uint8_t magic[8] = {'W', 'E', 'F', 'T', 0x0d, 0x0a, 0x1a, 0x0a};

enum stage {
    STAGE_NONE = 0,
    STAGE_GREETED = 0x67726565,
    STAGE_REPLIED = 0x7265706c,
    STAGE_REFUSED = 0x72656675
};

typedef struct hello {
    uint8_t magic[8];
    uint8_t versions[4]; /* lowest and highest, big endian */
    uint8_t zero[4];
    uint8_t nonce[NONCE];
    uint8_t label[WEFT_AUTH_LABEL];
    uint8_t seal[SEAL];
} hello_t;

typedef struct reply {
    uint8_t nonce[NONCE];
    uint8_t mac[MAC];
} reply_t;

/* The content of weft_auth_state_t. Both keep the hello, the acceptor also the proof that it
 * expects. */
typedef struct state {
    uint64_t stage;
    hello_t hello;
    uint8_t proof[MAC];
} state_t;

_Static_assert(sizeof(hello_t) == WEFT_AUTH_HELLO, "wire size");
_Static_assert(sizeof(reply_t) == WEFT_AUTH_REPLY, "wire size");
_Static_assert(sizeof(state_t) <= sizeof(weft_auth_state_t), "fits the caller's memory");
_Static_assert(WEFT_AUTH_PROOF == MAC, "wire size");

/* sodium_init() takes a lock each time, which stays locked in a child of fork() where a thread was
 * in it. */
weft_status_t weft_auth_start(void)
{
    static _Atomic bool started;
    if (!atomic_load(&started)) {
        if (sodium_init() < 0) {
            return weft_fail(WEFT_ERR_SYSTEM, 0, "libsodium cannot start");
        }
        atomic_store(&started, true);
    }
    return WEFT_OK;
}

/* mac = BLAKE2b(key; role, hello, nonce); nonce may be NULL. */
static void auth_mac(const uint8_t key[32], const char *role, const uint8_t *hello,
                     size_t hello_bytes, const uint8_t *nonce, uint8_t *mac, size_t mac_bytes)
{
    crypto_generichash_state hash;
    crypto_generichash_init(&hash, key, 32, mac_bytes);
    crypto_generichash_update(&hash, (const uint8_t *)role, strlen(role) + 1);
    crypto_generichash_update(&hash, hello, hello_bytes);
    if (nonce != NULL) {
        crypto_generichash_update(&hash, nonce, NONCE);
    }
    crypto_generichash_final(&hash, mac, mac_bytes);
    sodium_memzero(&hash, sizeof hash);
}

static void auth_put_versions(uint8_t versions[4])
{
    weft_put_u16(versions, WEFT_WIRE_VERSION);
    weft_put_u16(versions + 2, WEFT_WIRE_VERSION);
}

static bool auth_has_our_version(const uint8_t versions[4])
{
    return weft_get_u16(versions) <= WEFT_WIRE_VERSION &&
           weft_get_u16(versions + 2) >= WEFT_WIRE_VERSION;
}

/* `who` holds the key, or another one who does has said it before. */
static weft_status_t auth_version_differs(const char *who, const uint8_t versions[4])
{
    uint32_t lowest = weft_get_u16(versions), highest = weft_get_u16(versions + 2);
    char range[24] = "";
    if (highest != lowest) {
        snprintf(range, sizeof range, " to %u", highest);
    }
    return weft_fail(WEFT_ERR_PROTO, 0,
                     "another build of weft: the %s speaks version %u%s of its connections, this "
                     "side version %d; all ranks need the same build",
                     who, lowest, range, WEFT_WIRE_VERSION);
}

static void auth_save_state(weft_auth_state_t *out, state_t *state)
{
    memset(out, 0, sizeof *out);
    memcpy(out->opaque, state, sizeof *state);
    sodium_memzero(state, sizeof *state);
}

/* Copies the state and wipes it: each step can be made once, whatever its outcome. */
static weft_status_t auth_take_state(weft_auth_state_t *in, enum stage stage, state_t *state)
{
    memcpy(state, in->opaque, sizeof *state);
    sodium_memzero(in, sizeof *in);
    if (state->stage != stage) {
        sodium_memzero(state, sizeof *state);
        return weft_fail(WEFT_ERR_AUTH, 0, "handshake step out of order");
    }
    return WEFT_OK;
}

weft_status_t weft_auth_client_begin(const uint8_t key[32], weft_auth_state_t *state,
                                     const uint8_t label[WEFT_AUTH_LABEL],
                                     uint8_t hello[WEFT_AUTH_HELLO])
{
    hello_t h;
    memset(&h, 0, sizeof h);
    auth_put_versions(h.versions);
    weft_status_t status = weft_auth_start();
    if (status == WEFT_OK) {
        status = weft_os_random(h.nonce, sizeof h.nonce);
    }
    if (status != WEFT_OK) {
        return status;
    }
    memcpy(h.magic, magic, sizeof magic);
    memcpy(h.label, label, sizeof h.label);
    auth_mac(key, role_hello, (const uint8_t *)&h, SEALED, NULL, h.seal, sizeof h.seal);
    memcpy(hello, &h, sizeof h);
    state_t s = {.stage = STAGE_GREETED, .hello = h};
    auth_save_state(state, &s);
    return WEFT_OK;
}

static weft_status_t auth_check_hello(const uint8_t key[32], const hello_t *h)
{
    static const uint8_t zero[sizeof h->zero];
    if (memcmp(h->magic, magic, sizeof magic) != 0 || memcmp(h->zero, zero, sizeof h->zero) != 0) {
        return weft_fail(WEFT_ERR_PROTO, 0, "handshake: this is no hello of weft");
    }
    uint8_t seal[SEAL];
    auth_mac(key, role_hello, (const uint8_t *)h, SEALED, NULL, seal, sizeof seal);
    if (sodium_memcmp(seal, h->seal, sizeof seal) != 0) {
        return weft_fail(WEFT_ERR_AUTH, 0, "handshake: the hello was made with another key");
    }
    return WEFT_OK;
}

/* A peer tries more than once, and so do others of its build: each version is told once. */
static void auth_log_refusal(const uint8_t versions[4])
{
    static _Atomic uint32_t told;
    uint32_t these = weft_get_u32(versions);
    if (atomic_exchange(&told, these) != these) {
        (void)auth_version_differs("peer", versions);
        weft_log(WEFT_LOG_WARN, "boot", "refused a peer: %s", weft_error_record()->text);
    }
}

weft_status_t weft_auth_server_reply(const uint8_t key[32], weft_auth_state_t *state,
                                     const uint8_t hello[WEFT_AUTH_HELLO],
                                     uint8_t reply[WEFT_AUTH_REPLY])
{
    hello_t h;
    reply_t r;
    memcpy(&h, hello, sizeof h);
    memset(&r, 0, sizeof r);
    sodium_memzero(state, sizeof *state);
    weft_status_t status = weft_auth_start();
    if (status == WEFT_OK) {
        status = auth_check_hello(key, &h);
    }
    const bool ours = auth_has_our_version(h.versions);
    if (status == WEFT_OK && ours) {
        status = weft_os_random(r.nonce, sizeof r.nonce);
    }
    if (status != WEFT_OK) {
        return status;
    }
    state_t s = {.stage = ours ? STAGE_REPLIED : STAGE_REFUSED, .hello = h};
    if (!ours) {
        auth_put_versions(r.nonce);
        auth_log_refusal(h.versions);
    }
    auth_mac(key, ours ? role_reply : role_refusal, hello, WEFT_AUTH_HELLO, r.nonce, r.mac,
             sizeof r.mac);
    memcpy(reply, &r, sizeof r);
    auth_mac(key, role_proof, hello, WEFT_AUTH_HELLO, r.nonce, s.proof, sizeof s.proof);
    auth_save_state(state, &s);
    return WEFT_OK;
}

/* What came in place of the reply of a holder of the key. */
static weft_status_t auth_not_replied(const uint8_t key[32], const state_t *s, const reply_t *r)
{
    uint8_t mac[MAC];
    auth_mac(key, role_refusal, (const uint8_t *)&s->hello, sizeof s->hello, r->nonce, mac,
             sizeof mac);
    return sodium_memcmp(mac, r->mac, sizeof mac) == 0
               ? auth_version_differs("acceptor", r->nonce)
               : weft_fail(WEFT_ERR_AUTH, 0, "handshake: the acceptor does not hold our key");
}

weft_status_t weft_auth_client_finish(const uint8_t key[32], weft_auth_state_t *state,
                                      const uint8_t reply[WEFT_AUTH_REPLY],
                                      uint8_t proof[WEFT_AUTH_PROOF])
{
    state_t s;
    reply_t r;
    uint8_t mac[MAC];
    weft_status_t status = auth_take_state(state, STAGE_GREETED, &s);
    if (status != WEFT_OK) {
        return status;
    }
    memcpy(&r, reply, sizeof r);
    auth_mac(key, role_reply, (const uint8_t *)&s.hello, sizeof s.hello, r.nonce, mac, sizeof mac);
    if (sodium_memcmp(mac, r.mac, sizeof mac) != 0) {
        status = auth_not_replied(key, &s, &r);
    } else {
        auth_mac(key, role_proof, (const uint8_t *)&s.hello, sizeof s.hello, r.nonce, proof,
                 WEFT_AUTH_PROOF);
    }
    sodium_memzero(&s, sizeof s);
    sodium_memzero(mac, sizeof mac);
    return status;
}

weft_status_t weft_auth_server_check(const uint8_t key[32], weft_auth_state_t *state,
                                     const uint8_t proof[WEFT_AUTH_PROOF],
                                     uint8_t label[WEFT_AUTH_LABEL])
{
    (void)key; /* server_reply() has computed the proof that must come */
    state_t s;
    uint8_t refused[WEFT_AUTH_LABEL];
    if (weft_auth_server_refused(state, refused)) {
        sodium_memzero(state, sizeof *state);
        return WEFT_ERR_PROTO;
    }
    weft_status_t status = auth_take_state(state, STAGE_REPLIED, &s);
    if (status != WEFT_OK) {
        return status;
    }
    if (sodium_memcmp(s.proof, proof, WEFT_AUTH_PROOF) != 0) {
        status = weft_fail(WEFT_ERR_AUTH, 0, "handshake: the connector does not hold our key");
    } else {
        memcpy(label, s.hello.label, WEFT_AUTH_LABEL);
    }
    sodium_memzero(&s, sizeof s);
    return status;
}

/* The label of a state that waits at `stage`. */
static bool auth_label_at(const weft_auth_state_t *state, enum stage stage,
                          uint8_t label[WEFT_AUTH_LABEL])
{
    state_t s;
    memcpy(&s, state->opaque, sizeof s);
    bool waits = s.stage == stage;
    if (waits) {
        memcpy(label, s.hello.label, WEFT_AUTH_LABEL);
    }
    sodium_memzero(&s, sizeof s);
    return waits;
}

bool weft_auth_server_label(const weft_auth_state_t *state, uint8_t label[WEFT_AUTH_LABEL])
{
    return auth_label_at(state, STAGE_REPLIED, label);
}

bool weft_auth_server_refused(const weft_auth_state_t *state, uint8_t label[WEFT_AUTH_LABEL])
{
    state_t s;
    if (!auth_label_at(state, STAGE_REFUSED, label)) {
        return false;
    }
    memcpy(&s, state->opaque, sizeof s);
    (void)auth_version_differs("peer", s.hello.versions);
    return true;
}

void weft_auth_derive(const uint8_t key[32], const char *purpose, uint8_t derived[32])
{
    /* The hash works without libsodium's start too, only slower; it fails only for bad sizes, and
     * these are constants. */
    (void)weft_auth_start();
    (void)crypto_generichash(derived, 32, (const uint8_t *)purpose, strlen(purpose), key, 32);
}

void weft_auth_label_make(uint8_t label[WEFT_AUTH_LABEL], const char *purpose, uint32_t rank)
{
    memset(label, 0, WEFT_AUTH_LABEL);
    memcpy(label, purpose, strlen(purpose) < LABEL_RANK_AT ? strlen(purpose) : LABEL_RANK_AT);
    weft_put_u32(label + LABEL_RANK_AT, rank);
}

bool weft_auth_label_read(const uint8_t label[WEFT_AUTH_LABEL], const char *purpose, uint32_t *rank)
{
    uint8_t expected[WEFT_AUTH_LABEL];
    *rank = weft_get_u32(label + LABEL_RANK_AT);
    weft_auth_label_make(expected, purpose, *rank);
    return memcmp(expected, label, WEFT_AUTH_LABEL) == 0;
}
