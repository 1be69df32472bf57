/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The handshake that opens every connection: bytes in, bytes out, no input or output of its own.
 * Keyed BLAKE2b of libsodium; fresh nonces on both sides; role labels against reflection. The plugin
 * service of host.h (WEFT_SERVICE_AUTH) is a thin wrapper around these. */
#ifndef WEFT_BOOT_AUTH_H
#define WEFT_BOOT_AUTH_H

#include <weft/plugin/host.h>

weft_status_t weft_auth_client_begin(const uint8_t key[32], weft_auth_state_t *state,
                                     const uint8_t label[WEFT_AUTH_LABEL],
                                     uint8_t hello[WEFT_AUTH_HELLO]);
weft_status_t weft_auth_server_reply(const uint8_t key[32], weft_auth_state_t *state,
                                     const uint8_t hello[WEFT_AUTH_HELLO],
                                     uint8_t reply[WEFT_AUTH_REPLY]);
weft_status_t weft_auth_client_finish(const uint8_t key[32], weft_auth_state_t *state,
                                      const uint8_t reply[WEFT_AUTH_REPLY],
                                      uint8_t proof[WEFT_AUTH_PROOF]);
weft_status_t weft_auth_server_check(const uint8_t key[32], weft_auth_state_t *state,
                                     const uint8_t proof[WEFT_AUTH_PROOF],
                                     uint8_t label[WEFT_AUTH_LABEL]);
/* Derives a key for another purpose: BLAKE2b-256 of `purpose` keyed with `key`. */
void weft_auth_derive(const uint8_t key[32], const char *purpose, uint8_t derived[32]);

#endif
