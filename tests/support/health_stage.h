/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The health of one rank, without a thread, for tests of the failure detector. */
#ifndef WEFT_TESTS_HEALTH_STAGE_H
#define WEFT_TESTS_HEALTH_STAGE_H

#include "core/boot/health_state.h"

enum { STAGE_RANKS = 4 }; /* rank 3 has left, unless the test is its own */

#define STAGE_FAMILY UINT64_C(7)

/* The health of one rank, without a thread, and a listener that stands for all others. */
typedef struct stage {
    weft_boot_t boot;
    weft_boot_peer_t peers[STAGE_RANKS];
    weft_join_request_t requests[STAGE_RANKS];
    weft_health_t health;
    int listener;
    int ends[STAGE_RANKS]; /* the other ends of connections that meet() made */
} stage_t;

/* Rank 3 has left, unless it is that. */
void stage_begin(stage_t *s, uint32_t rank);
void stage_end(stage_t *s);
/* A connection to `peer`, whose other end the test has. */
weft_neighbour_t *stage_meet(stage_t *s, uint32_t peer);
/* A connection to `peer`, which was asked for a sign of life at that time, breaks. */
void stage_break_off(stage_t *s, uint32_t peer, uint64_t asked);
uint64_t stage_ago(double seconds);
void stage_look_later(stage_t *s, double seconds);
/* `peer` sends a frame, which is served. */
void stage_say(stage_t *s, uint32_t peer, uint32_t type);
/* Returns how many frames of that type came to `peer` since this was asked last. */
uint32_t stage_heard_by(stage_t *s, uint32_t peer, uint32_t type);

#endif
