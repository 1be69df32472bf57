/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A peer of control connections that holds the key and does whatever an input says: connects or
 * accepts with the right handshake, sends frames right and wrong, in one or in pieces, closes,
 * resets. What it hears is checked: the core sends good frames only. */
#ifndef WEFT_TESTS_FUZZ_HOSTILE_H
#define WEFT_TESTS_FUZZ_HOSTILE_H

#include "core/boot/connector.h"
#include "core/boot/join_request.h"
#include "core/boot/wire.h"
#include "fuzz.h"

typedef enum hostile_state {
    HOSTILE_NONE,
    HOSTILE_CONNECTING,
    HOSTILE_ACCEPTING,
    HOSTILE_OPEN,
    HOSTILE_ENDED /* the other end has closed it */
} hostile_state_t;

typedef struct hostile {
    hostile_state_t state;
    int fd; /* −1: none */
    uint32_t rank;
    uint64_t comm_id;
    weft_connector_t connector;
    weft_handshake_t handshake;
    weft_auth_host_t host; /* of the one that accepts */
    uint32_t sent;         /* bytes, since it is open */
    uint32_t heard;        /* frames */
    uint32_t in_bytes, skip;
    uint8_t in[WEFT_WIRE_LONGEST];
} hostile_t;

/* What a peer hears, once the frame is found to be good. */
typedef void (*hostile_hears_t)(hostile_t *peer, const weft_frame_t *frame, const uint8_t *payload);

/* 127.0.0.1 */
weft_os_addr_t hostile_address(uint16_t port);
void hostile_init(hostile_t *peer, uint64_t comm_id);
/* Begins to connect as `rank`, or to accept; what the peer had before is closed. */
void hostile_connect(hostile_t *peer, const uint8_t key[32], const char *purpose, uint16_t port,
                     uint32_t rank);
void hostile_accept(hostile_t *peer, const uint8_t key[32], int fd);
/* Goes on with the handshake and reads what has come. True: the handshake is under way. */
bool hostile_step(hostile_t *peer, hostile_hears_t hears);
/* Closes in order, or with a reset. */
void hostile_close(hostile_t *peer, bool reset);
void hostile_send(hostile_t *peer, const void *bytes, size_t count);
/* Sends a whole frame with its payload. */
void hostile_send_frame(hostile_t *peer, const weft_frame_t *frame, const uint8_t *payload);
/* Sends a frame of `type`, 0 for the input's, as the input says: fields, a payload that is right,
 * rubbish or changed, and perhaps not all of it. */
void hostile_send_any(hostile_t *peer, uint32_t type, const uint8_t **data, size_t *bytes);
/* A join request of this host; with addresses if `port` is not 0. */
void hostile_request(weft_join_request_t *request, uint32_t rank, uint32_t nranks, uint16_t port);

#endif
