/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of the health thread, shared by its files: health.c (calls from outside, the loop),
 * watch.c (connections and frames), kin.c (who left, and who connects to whom then). All but the
 * inbox belongs to the thread. */
#ifndef WEFT_BOOT_WATCH_H
#define WEFT_BOOT_WATCH_H

#include "core/boot/dial.h"
#include "core/boot/tree.h"
#include "core/os/os.h"

#define WEFT_INBOX_ASKS 16

/* What other threads asked for, until the thread takes it. */
typedef struct weft_inbox {
    bool stop, goodbye, report;
    uint64_t sequence; /* of the goodbye */
    weft_error_t error;
    uint32_t
        asks; /* filled entries; when all are filled the newest is dropped: asks are repeated */
    struct {
        uint32_t peer;
        weft_signature_t mine;
    } ask[WEFT_INBOX_ASKS];
} weft_inbox_t;

typedef struct weft_watch {
    int fd;      /* −1 = ended, removed at the end of the step */
    int process; /* readable when the peer's process has ended; −1 = cannot be watched */
    uint32_t rank;
    bool ended_sending;
    bool
        fresh; /* made by us while ranks leave, and not a word yet: the peer may never have seen it */
    uint64_t heard; /* when the last bytes came */
    uint32_t in_bytes;
    uint8_t in[2 * WEFT_WIRE_MOST];
    uint8_t *out;
    size_t out_at, out_end, out_room;
} weft_watch_t;

/* LIVE: as far as we know. LEFT: said goodbye. GONE: nobody answers where it should be, and it is not
 * known yet whether it left. */
typedef enum weft_kin { WEFT_KIN_LIVE = 0, WEFT_KIN_LEFT, WEFT_KIN_GONE } weft_kin_t;

struct weft_health {
    weft_boot_t *boot;
    weft_health_events_t events;
    void *arg;
    int wake;
    weft_os_thread_t *thread;
    weft_os_mutex_t mutex; /* guards inbox */
    weft_inbox_t inbox;

    weft_watch_t *watches;
    uint32_t count, room;
    struct pollfd *entries; /* wake, dial, door, two for each watch */

    uint8_t *kin;           /* weft_kin_t of every rank */
    uint64_t *left_at;      /* LEFT: operations it had done */
    uint64_t *since;        /* GONE, or LIVE and awaited: since when; 0 = not awaited */
    uint32_t awaited, gone; /* how many of each */
    bool dialing;
    uint32_t dialed;
    weft_dial_t dial;

    bool failed;
    weft_error_t failure;
    bool leaving;
    uint64_t leave_until;
    uint64_t heartbeat, unresponsive; /* ns; unresponsive 0 = never */
    uint64_t next_beat;
    uint64_t last_look; /* at the clock, by this thread */
};

/* watch.c */
weft_status_t weft_watch_add(weft_health_t *health, int fd, uint32_t rank);
weft_watch_t *weft_watch_find(weft_health_t *health, uint32_t rank);
/* To one, or to all but one (may be NULL). */
void weft_watch_send(weft_health_t *health, weft_watch_t *watch, const weft_frame_t *frame,
                     const uint8_t *payload);
void weft_watch_flood(weft_health_t *health, const weft_watch_t *except, const weft_frame_t *frame,
                      const uint8_t *payload);
void weft_watch_read(weft_health_t *health, weft_watch_t *watch);
void weft_watch_flush(weft_watch_t *watch);
/* The peer's process has ended, although its connection may be held open by a child of it. */
void weft_watch_process_ended(weft_health_t *health, weft_watch_t *watch);
void weft_watch_close(weft_watch_t *watch);
/* The communicator has failed: floods, and tells our own side unless it is the one that knows. */
void weft_watch_fail(weft_health_t *health, const weft_watch_t *except, const weft_error_t *error,
                     bool deliver);
/* The same for a verdict of this thread about `rank`, from the record of weft_fail(). */
void weft_watch_blame(weft_health_t *health, uint32_t rank);
void weft_watch_ask(weft_health_t *health, uint32_t from, uint32_t target,
                    const weft_signature_t *signature);

/* kin.c */
weft_status_t weft_kin_init(weft_health_t *health);
void weft_kin_fini(weft_health_t *health);
/* Rank left after `sequence` operations; heard from `from` (NULL: ourselves). */
void weft_kin_leave(weft_health_t *health, uint32_t rank, uint64_t sequence,
                    const weft_watch_t *from);
/* A rank came through the door because its parent left. */
void weft_kin_enter(void *arg, int fd, const uint8_t label[WEFT_AUTH_LABEL]);
/* Goes on connecting to the new parent, if there is one. */
void weft_kin_step(weft_health_t *health);
/* `rank` does not answer where it should be: it has left, and its goodbye is on the way, or it died. */
void weft_kin_gone(weft_health_t *health, uint32_t rank);
/* Verdicts about ranks that ought to have come. */
void weft_kin_judge(weft_health_t *health, uint64_t now);
/* Rank to which a frame for `target` goes next; our own rank if there is no way. */
uint32_t weft_kin_hop(const weft_health_t *health, uint32_t target);

#endif
