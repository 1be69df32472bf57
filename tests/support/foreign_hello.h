/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a build with another version of the wire says, to a holder of the same key. */
#ifndef WEFT_TESTS_SUPPORT_FOREIGN_HELLO_H
#define WEFT_TESTS_SUPPORT_FOREIGN_HELLO_H

#include <sodium.h>
#include <string.h>

#include "core/boot/wire.h"

static inline void foreign_mac(const uint8_t key[32], const char *role, const uint8_t *hello,
                               size_t hello_bytes, const uint8_t *more, size_t more_bytes,
                               uint8_t *mac, size_t mac_bytes)
{
    crypto_generichash_state hash;
    crypto_generichash_init(&hash, key, 32, mac_bytes);
    crypto_generichash_update(&hash, (const uint8_t *)role, strlen(role) + 1);
    crypto_generichash_update(&hash, hello, hello_bytes);
    crypto_generichash_update(&hash, more, more_bytes);
    crypto_generichash_final(&hash, mac, mac_bytes);
}

/* Makes a hello of this build into one that speaks `lowest` to `highest`. */
static inline void foreign_hello(const uint8_t key[32], uint32_t lowest, uint32_t highest,
                                 uint8_t hello[WEFT_AUTH_HELLO])
{
    weft_put_u16(hello + 8, lowest);
    weft_put_u16(hello + 10, highest);
    foreign_mac(key, "weft hello", hello, WEFT_AUTH_HELLO - 16, NULL, 0,
                hello + WEFT_AUTH_HELLO - 16, 16);
}

/* The answer to a hello that such a build refuses. */
static inline void foreign_refusal(const uint8_t key[32], uint32_t version,
                                   const uint8_t hello[WEFT_AUTH_HELLO],
                                   uint8_t reply[WEFT_AUTH_REPLY])
{
    memset(reply, 0, WEFT_AUTH_REPLY);
    weft_put_u16(reply, version);
    weft_put_u16(reply + 2, version);
    foreign_mac(key, "weft refusal", hello, WEFT_AUTH_HELLO, reply, 32, reply + 32, 32);
}

#endif
