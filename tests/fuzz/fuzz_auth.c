/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The handshake that opens every connection, seen from both ends. The other end is a stranger who
 * sends anything, or one who changes some bytes on the wire: nobody is let in whose bytes are not
 * those that the holder of the key sent. */
#include <sodium.h>

#include "../support/foreign_hello.h"
#include "core/base/error.h"
#include "core/boot/auth.h"
#include "fuzz.h"

static const uint8_t key[32] = {1, 2, 3};

/* Changes some bytes of a message. */
static bool change(const uint8_t **data, size_t *bytes, uint8_t *message, size_t length)
{
    uint8_t count, where[2], by, before[WEFT_AUTH_HELLO + WEFT_AUTH_REPLY + WEFT_AUTH_PROOF];
    FUZZ_NEED(length <= sizeof before);
    memcpy(before, message, length);
    fuzz_take(data, bytes, &count, 1);
    for (count %= 4; count > 0; count--) {
        fuzz_take(data, bytes, where, sizeof where);
        fuzz_take(data, bytes, &by, 1);
        message[((size_t)where[0] << 8 | where[1]) % length] ^= by;
    }
    return memcmp(before, message, length) != 0;
}

static void stranger(const uint8_t *data, size_t bytes)
{
    uint8_t hello[WEFT_AUTH_HELLO], reply[WEFT_AUTH_REPLY], proof[WEFT_AUTH_PROOF];
    uint8_t label[WEFT_AUTH_LABEL] = {0};
    weft_auth_state_t server, client;
    uint8_t none[32] = {9};
    fuzz_take(&data, &bytes, hello, sizeof hello);
    fuzz_take(&data, &bytes, proof, sizeof proof);
    FUZZ_NEED(weft_auth_server_reply(key, &server, hello, reply) != WEFT_OK ||
              weft_auth_server_check(key, &server, proof, label) != WEFT_OK);
    /* One who has another key. */
    FUZZ_NEED(weft_auth_client_begin(none, &client, label, hello) == WEFT_OK);
    FUZZ_NEED(weft_auth_server_reply(key, &server, hello, reply) != WEFT_OK);
    fuzz_take(&data, &bytes, reply, sizeof reply);
    FUZZ_NEED(weft_auth_client_finish(none, &client, reply, proof) != WEFT_OK);
}

/* Steps that come twice, or too early. */
static void out_of_order(const uint8_t *data, size_t bytes)
{
    static const uint8_t label[WEFT_AUTH_LABEL] = {4};
    uint8_t hello[WEFT_AUTH_HELLO], reply[WEFT_AUTH_REPLY], proof[WEFT_AUTH_PROOF];
    uint8_t got[WEFT_AUTH_LABEL];
    weft_auth_state_t server = {.opaque = {0}}, client = server;
    FUZZ_NEED(weft_auth_client_begin(key, &client, label, hello) == WEFT_OK);
    while (bytes > 0) {
        bool waits = weft_auth_server_label(&server, got);
        switch (fuzz_byte(&data, &bytes) % 4) {
        case 0:
            FUZZ_NEED(weft_auth_server_reply(key, &server, hello, reply) == WEFT_OK);
            FUZZ_NEED(weft_auth_server_label(&server, got) && memcmp(got, label, sizeof got) == 0);
            break;
        case 1:
            fuzz_take(&data, &bytes, proof, sizeof proof);
            FUZZ_NEED(weft_auth_server_check(key, &server, proof, got) == WEFT_ERR_AUTH);
            FUZZ_NEED(!weft_auth_server_label(&server, got));
            break;
        case 2:
            fuzz_take(&data, &bytes, reply, sizeof reply);
            FUZZ_NEED(weft_auth_client_finish(key, &client, reply, proof) == WEFT_ERR_AUTH);
            break;
        default: /* each end takes the other's words */
            FUZZ_NEED(!waits || weft_auth_client_finish(key, &server, reply, proof) != WEFT_OK);
            FUZZ_NEED(weft_auth_server_check(key, &client, proof, got) != WEFT_OK);
        }
    }
}

/* What a label says is what it was made from, and another purpose has another key. */
static void labels(const uint8_t *data, size_t bytes)
{
    uint8_t label[WEFT_AUTH_LABEL], one[32], two[32];
    uint32_t rank, back;
    fuzz_take(&data, &bytes, &rank, sizeof rank);
    fuzz_take(&data, &bytes, label, sizeof label);
    if (weft_auth_label_read(label, "data", &back)) {
        uint8_t again[WEFT_AUTH_LABEL];
        weft_auth_label_make(again, "data", back);
        FUZZ_NEED(memcmp(again, label, sizeof label) == 0);
    }
    char *purpose = fuzz_text(data, bytes);
    weft_auth_label_make(label, purpose, rank);
    FUZZ_NEED(weft_auth_label_read(label, purpose, &back) && back == rank);
    FUZZ_NEED(weft_auth_label_read(label, "data", &back) == (strcmp(purpose, "data") == 0));
    weft_auth_derive(key, purpose, one);
    weft_auth_derive(key, "data", two);
    FUZZ_NEED((memcmp(one, two, sizeof one) == 0) == (strcmp(purpose, "data") == 0));
    free(purpose);
}

/* Ends of two builds, which hold the key and speak other versions: both say so, and nobody is let
 * in. */
static void foreign(const uint8_t *data, size_t bytes)
{
    static const uint8_t label[WEFT_AUTH_LABEL] = {4};
    uint8_t hello[WEFT_AUTH_HELLO], reply[WEFT_AUTH_REPLY], proof[WEFT_AUTH_PROOF];
    uint8_t got[WEFT_AUTH_LABEL];
    weft_auth_state_t server, client;
    uint16_t lowest, highest;
    fuzz_take(&data, &bytes, &lowest, sizeof lowest);
    fuzz_take(&data, &bytes, &highest, sizeof highest);
    bool ours = lowest <= WEFT_WIRE_VERSION && highest >= WEFT_WIRE_VERSION;
    FUZZ_NEED(weft_auth_client_begin(key, &client, label, hello) == WEFT_OK);
    foreign_refusal(key, lowest, hello, reply);
    bool changed = change(&data, &bytes, reply, sizeof reply);
    FUZZ_NEED(weft_auth_client_finish(key, &client, reply, proof) ==
              (changed ? WEFT_ERR_AUTH : WEFT_ERR_PROTO));
    FUZZ_NEED(changed || strstr(weft_error_record()->text, "another build") != NULL);
    foreign_hello(key, lowest, highest, hello);
    FUZZ_NEED(weft_auth_server_reply(key, &server, hello, reply) == WEFT_OK);
    FUZZ_NEED(weft_auth_server_label(&server, got) == ours);
    FUZZ_NEED(weft_auth_server_refused(&server, got) == !ours);
    FUZZ_NEED(memcmp(got, label, sizeof got) == 0);
    fuzz_take(&data, &bytes, proof, sizeof proof);
    FUZZ_NEED(weft_auth_server_check(key, &server, proof, got) ==
              (ours ? WEFT_ERR_AUTH : WEFT_ERR_PROTO));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static void (*const others[])(const uint8_t *, size_t) = {stranger, out_of_order, labels};
    uint8_t label[WEFT_AUTH_LABEL], got[WEFT_AUTH_LABEL];
    uint8_t hello[WEFT_AUTH_HELLO], reply[WEFT_AUTH_REPLY], proof[WEFT_AUTH_PROOF];
    weft_auth_state_t server, client;
    FUZZ_NEED(sodium_init() >= 0);
    uint8_t kind = fuzz_byte(&data, &bytes);
    if (kind % 4 == 0) {
        others[kind / 4 % 3](data, bytes);
        return 0;
    }
    if (kind == 7) {
        foreign(data, bytes);
        return 0;
    }
    fuzz_take(&data, &bytes, label, sizeof label);
    FUZZ_NEED(weft_auth_client_begin(key, &client, label, hello) == WEFT_OK);
    bool changed = change(&data, &bytes, hello, sizeof hello);
    bool in = weft_auth_server_reply(key, &server, hello, reply) == WEFT_OK;
    if (in) {
        changed |= change(&data, &bytes, reply, sizeof reply);
        in = weft_auth_client_finish(key, &client, reply, proof) == WEFT_OK;
    }
    if (in) {
        changed |= change(&data, &bytes, proof, sizeof proof);
        in = weft_auth_server_check(key, &server, proof, got) == WEFT_OK;
    }
    FUZZ_NEED(in == !changed);
    FUZZ_NEED(!in || memcmp(label, got, sizeof label) == 0);
    return 0;
}
