/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cryptography of the handshake that opens every connection: bytes in, bytes out. It uses keyed
 * BLAKE2b of libsodium, fresh nonces on both sides, and role labels against reflection. The service
 * "weft.auth/1" of plugin/host.h is a thin wrapper around these functions and describes them. They
 * may be called from any thread and do not block. ERR_AUTH, ERR_PROTO, ERR_SYSTEM. */
#ifndef WEFT_BOOT_AUTH_H
#define WEFT_BOOT_AUTH_H

#include <stdbool.h>

#include <weft/plugin/host.h>

/* Key purposes and handshake labels of the two kinds of control connections: to the root of a join,
 * and between ranks. */
#define WEFT_PURPOSE_ROOT "root"
#define WEFT_PURPOSE_TREE "tree"

/* Starts libsodium, once a process. The functions here do that by themselves; who calls libsodium
 * does it first. */
weft_status_t weft_auth_start(void);

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

/* Gives out the label of the hello that weft_auth_server_reply() took. It is sealed but not proved:
 * the hello may have been recorded. False: `state` waits for no proof. */
bool weft_auth_server_label(const weft_auth_state_t *state, uint8_t label[WEFT_AUTH_LABEL]);

/* The same where weft_auth_server_reply() refused the version of the hello; the error record then
 * says both versions. False: it did not. */
bool weft_auth_server_refused(const weft_auth_state_t *state, uint8_t label[WEFT_AUTH_LABEL]);

/* Derives a key for another purpose: BLAKE2b-256 of `purpose` keyed with `key`. */
void weft_auth_derive(const uint8_t key[32], const char *purpose, uint8_t derived[32]);

/* Makes the handshake label of a rank for a purpose. */
void weft_auth_label_make(uint8_t label[WEFT_AUTH_LABEL], const char *purpose, uint32_t rank);
/* Gives out the rank of a label. Returns false if it is for another purpose. */
bool weft_auth_label_read(const uint8_t label[WEFT_AUTH_LABEL], const char *purpose,
                          uint32_t *rank);

#endif
