/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SDK: the authentication handshake of both ends over a non-blocking stream socket. It moves the
 * messages of the service "weft.auth/1" (plugin/host.h); the caller owns the socket and decides
 * when to try again. Messages have a fixed size, and nothing is allocated. The acceptor answers the
 * proof with one byte: a connector without that byte is not in, whatever it has sent.
 *
 * Thread: one call at a time per handshake. Nothing here blocks. */
#ifndef WEFT_SDK_HANDSHAKE_H
#define WEFT_SDK_HANDSHAKE_H

#include <stdbool.h>

#include <weft/plugin/host.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One handshake under way, at either end. All zeros is the start of the acceptor's side. */
typedef struct weft_handshake {
    weft_auth_state_t auth;
    uint8_t message[WEFT_AUTH_HELLO]; /* being sent or received */
    uint32_t bytes;                   /* length of the message */
    uint32_t done;                    /* bytes of it that have been moved */
    uint32_t step;
    uint64_t fingerprint; /* acceptor: of a good hello; a connector sends each hello once */
} weft_handshake_t;

/* Starts the connector's side; weft_handshake_connect() advances it. The acceptor gets `label`
 * under the proof. Returns ERR_STATE if the host has no authentication service, ERR_SYSTEM if there
 * is no randomness. */
weft_status_t weft_handshake_begin(const weft_host_t *host, weft_handshake_t *handshake,
                                   const uint8_t label[WEFT_AUTH_LABEL]);

/* Advances the connector's side. Returns OK (the acceptor has acknowledged the proof), IN_PROGRESS,
 * ERR_AUTH (the acceptor holds another secret), ERR_PROTO, ERR_SYSTEM, or ERR_LINK: the acceptor
 * closed the stream. It may have had no time or no place for us, so begin again on a new
 * connection, after a pause, before you give up. */
weft_status_t weft_handshake_connect(const weft_host_t *host, weft_handshake_t *handshake, int fd);

/* Advances the acceptor's side. Returns OK and the connector's label when the acknowledgement is
 * sent, IN_PROGRESS, or a failure: then close the socket without a word, so that all failures look
 * the same to the peer. */
weft_status_t weft_handshake_accept(const weft_host_t *host, weft_handshake_t *handshake, int fd,
                                    uint8_t label[WEFT_AUTH_LABEL]);

/* True after the acceptor's side has seen a good hello: the peer holds the secret, or has recorded
 * a hello of somebody who does. */
bool weft_handshake_was_greeted(const weft_handshake_t *handshake);

/* True while not a byte has come. */
bool weft_handshake_said_nothing(const weft_handshake_t *handshake);

/* True for a good hello after which not a byte came. A connector that lives and gives its attempt
 * up may send one byte before it closes, so the end of a stream that fell silent is that of a peer
 * that died, or was cut off. */
bool weft_handshake_fell_silent(const weft_handshake_t *handshake);

/* Sends or receives the rest of a record of a fixed size; *done_p counts its bytes that have been
 * moved and starts at 0. Returns OK, IN_PROGRESS, or ERR_LINK with errno in place (0: the peer
 * closed the stream). Sets no error text. */
weft_status_t weft_record_send(int fd, const void *record, uint32_t bytes, uint32_t *done_p);
weft_status_t weft_record_receive(int fd, void *record, uint32_t bytes, uint32_t *done_p);

#ifdef __cplusplus
}
#endif

#endif
