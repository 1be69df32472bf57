/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A listening socket that strangers may knock at. It holds a bounded number of unauthenticated
 * connections in place, reads fixed sizes, allocates nothing, drops the oldest when it is full and
 * closes every failure the same silent way. What comes out has proved that it holds the key. */
#ifndef WEFT_BOOT_DOOR_H
#define WEFT_BOOT_DOOR_H

#include <weft/plugin/host.h>

#include "core/os/socket.h"

#define WEFT_DOOR_SLOTS 64
#define WEFT_DOOR_ENTRIES (1 + WEFT_DOOR_SLOTS) /* poll entries that a listener uses */
#define WEFT_HANDSHAKE_NS (UINT64_C(2) * 1000000000)

typedef struct weft_control_listener_slot {
    int fd;         /* −1 = free */
    uint32_t bytes; /* received of the message that is due */
    bool replied;   /* the proof is due, else the hello */
    uint64_t until;
    uint8_t message[WEFT_AUTH_HELLO];
    weft_auth_state_t auth;
} weft_control_listener_slot_t;

typedef struct weft_control_listener {
    int listener;
    uint16_t port;
    uint8_t key[32];
    const char *name; /* for the log */
    uint64_t pause;   /* no accepting before this time */
    uint64_t next_log;
    uint64_t refused; /* since the last log line */
    bool parting;     /* ranks are leaving, and give up connections half made: no reason to warn */
    weft_control_listener_slot_t slots[WEFT_DOOR_SLOTS];
} weft_control_listener_t;

/* Called for each connection that authenticated: it owns the descriptor from then on. */
typedef void (*weft_control_listener_enter_t)(void *arg, int fd,
                                              const uint8_t label[WEFT_AUTH_LABEL]);

weft_status_t weft_control_listener_open(weft_control_listener_t *listener, const char *name,
                                         const uint8_t key[32]);
void weft_control_listener_close(weft_control_listener_t *listener);

/* Fills WEFT_DOOR_ENTRIES entries; lowers *until to the time at which weft_control_listener_step() must come. */
void weft_control_listener_prepare(const weft_control_listener_t *listener, struct pollfd *entries,
                                   uint64_t *until);
/* Serves what the poll of these entries found, and deadlines. */
void weft_control_listener_step(weft_control_listener_t *listener, const struct pollfd *entries,
                                weft_control_listener_enter_t enter, void *arg);

#endif
