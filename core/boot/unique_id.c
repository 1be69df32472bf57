/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unique ids as bytes: magic 1, version (of wire.h) 1, number of addresses 1, made by rank 0 1,
 * created 4, life 4, addresses 60, secret 32, nonce 16, checksum 8. Without addresses: port 2 and
 * host 58. The checksum finds ids that were cut or damaged on their way. It is no protection. */
#include "core/boot/unique_id.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/auth.h"
#include "core/boot/wire.h"
#include "core/os/os.h"

#define MAGIC 0xd7
#define ADDRS_AT 12
#define SECRET_AT (ADDRS_AT + WEFT_ID_ADDRS * WEFT_OS_ADDR_BYTES)
#define NONCE_AT (SECRET_AT + 32)
#define SUM_AT (NONCE_AT + 16)

_Static_assert(SUM_AT == 120, "the checksum ends the id");
_Static_assert(2 + WEFT_ID_HOST == WEFT_ID_ADDRS * WEFT_OS_ADDR_BYTES, "in place of addresses");

static void unique_id_checksum(const uint8_t *bytes, uint8_t sum[8])
{
    uint8_t hash[16];
    (void)weft_auth_start(); /* ids are handled before any handshake */
    (void)crypto_generichash(hash, sizeof hash, bytes, SUM_AT, NULL, 0);
    memcpy(sum, hash, 8);
}

void weft_id_encode(const weft_id_t *id, weft_unique_id_t *out)
{
    uint8_t *p = out->bytes;
    memset(p, 0, sizeof out->bytes);
    p[0] = MAGIC;
    p[1] = WEFT_WIRE_VERSION;
    p[2] = (uint8_t)id->count;
    p[3] = id->by_rank_0;
    weft_put_u32(p + 4, id->created);
    weft_put_u32(p + 8, id->life);
    if (id->count == 0) {
        p[ADDRS_AT] = (uint8_t)(id->port >> 8);
        p[ADDRS_AT + 1] = (uint8_t)id->port;
        memcpy(p + ADDRS_AT + 2, id->host, WEFT_ID_HOST);
    }
    for (uint32_t i = 0; i < id->count; i++) {
        weft_os_addr_encode(&id->addrs[i], p + ADDRS_AT + i * WEFT_OS_ADDR_BYTES);
    }
    memcpy(p + SECRET_AT, id->secret, sizeof id->secret);
    memcpy(p + NONCE_AT, id->nonce, sizeof id->nonce);
    unique_id_checksum(p, p + SUM_AT);
}

static weft_status_t unique_id_decode_host(const uint8_t *p, weft_id_t *id)
{
    id->port = (uint16_t)(p[0] << 8 | p[1]);
    memcpy(id->host, p + 2, WEFT_ID_HOST);
    if (id->port == 0 || id->host[0] == '\0' || memchr(id->host, '\0', WEFT_ID_HOST) == NULL) {
        return weft_fail(WEFT_ERR_ARG, 0, "unique id: neither addresses nor a host");
    }
    return WEFT_OK;
}

weft_status_t weft_id_decode(const weft_unique_id_t *in, weft_id_t *id)
{
    const uint8_t *p = in->bytes;
    uint8_t sum[8];
    memset(id, 0, sizeof *id);
    unique_id_checksum(p, sum);
    if (p[0] != MAGIC || memcmp(sum, p + SUM_AT, sizeof sum) != 0) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "unique id: these bytes are no id of weft, or were damaged on their way");
    }
    if (p[1] != WEFT_WIRE_VERSION) {
        return weft_fail(
            WEFT_ERR_ARG, 0,
            "unique id: another build of weft made it: version %u, this library has version %d; "
            "all ranks need the same build",
            p[1], WEFT_WIRE_VERSION);
    }
    id->by_rank_0 = p[3] == 1;
    id->created = weft_get_u32(p + 4);
    id->life = weft_get_u32(p + 8);
    id->count = p[2];
    if (id->count > WEFT_ID_ADDRS) {
        return weft_fail(WEFT_ERR_ARG, 0, "unique id: %u addresses", id->count);
    }
    if (id->count == 0 && unique_id_decode_host(p + ADDRS_AT, id) != WEFT_OK) {
        return weft_error_record()->status;
    }
    for (uint32_t i = 0; i < id->count; i++) {
        if (weft_os_addr_decode(p + ADDRS_AT + i * WEFT_OS_ADDR_BYTES, &id->addrs[i]) != WEFT_OK ||
            id->addrs[i].family == 0) {
            return weft_fail(WEFT_ERR_ARG, 0, "unique id: address %u is malformed", i);
        }
    }
    memcpy(id->secret, p + SECRET_AT, sizeof id->secret);
    memcpy(id->nonce, p + NONCE_AT, sizeof id->nonce);
    return WEFT_OK;
}

weft_status_t weft_id_mark_rank_0(weft_unique_id_t *id)
{
    weft_id_t opened;
    weft_status_t status = weft_id_decode(id, &opened);
    if (status == WEFT_OK) {
        opened.by_rank_0 = true;
        weft_id_encode(&opened, id);
    }
    weft_id_wipe(&opened);
    return status;
}

void weft_id_to_hex(const weft_unique_id_t *id, char hex[WEFT_ID_HEX])
{
    sodium_bin2hex(hex, WEFT_ID_HEX, id->bytes, sizeof id->bytes);
}

bool weft_id_from_hex(const char *hex, weft_unique_id_t *id)
{
    weft_unique_id_t found;
    size_t bytes = 0;
    if (hex == NULL ||
        sodium_hex2bin(found.bytes, sizeof found.bytes, hex, strlen(hex), NULL, &bytes, NULL) !=
            0 ||
        bytes != sizeof found.bytes) {
        return false;
    }
    *id = found;
    return true;
}

bool weft_id_is_fixed(const weft_unique_id_t *id)
{
    weft_id_t opened;
    bool fixed = weft_id_decode(id, &opened) == WEFT_OK && opened.host[0] != '\0';
    weft_id_wipe(&opened);
    return fixed;
}

int weft_id_expired(const weft_id_t *id)
{
    return id->life != 0 && weft_os_wall_s() > (uint64_t)id->created + id->life;
}

bool weft_id_is_local(const weft_id_t *id)
{
    uint32_t i = 0;
    while (i < id->count && weft_os_addr_is_loopback(&id->addrs[i])) {
        i++;
    }
    return id->count > 0 && i == id->count;
}

void weft_id_wipe(weft_id_t *id)
{
    sodium_memzero(id, sizeof *id);
}

void weft_id_key(const weft_id_t *id, const char *purpose, uint8_t key[32])
{
    char text[80];
    char hex[sizeof id->nonce * 2 + 1];
    sodium_bin2hex(hex, sizeof hex, id->nonce, sizeof id->nonce);
    snprintf(text, sizeof text, "weft %s %s", purpose, hex);
    weft_auth_derive(id->secret, text, key);
}

uint64_t weft_id_comm(const weft_id_t *id)
{
    uint8_t key[32];
    weft_id_key(id, "communicator", key);
    uint64_t number = weft_get_u64(key);
    return number != 0 ? number : 1;
}
