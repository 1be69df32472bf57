/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of the health thread, shared by its files: health.c (calls from outside, the loop),
 * watch.c (connections and frames), kin.c (who left, and who connects to whom then). All but the
 * inbox belongs to the thread. notes.c: what is known of communicators and of dead ranks. */
#ifndef WEFT_BOOT_WATCH_H
#define WEFT_BOOT_WATCH_H

#include "core/boot/connector.h"
#include "core/boot/boot_state.h"
#include "core/os/os.h"

#define WEFT_INBOX_ASKS 64
#define WEFT_NOTES 1024 /* failures and goodbyes that are remembered, and four for each rank */

/* A wish of another thread: a frame to be made, or OPEN. */
typedef struct weft_mail {
    struct weft_mail *next;
    enum {
        WEFT_MAIL_OPEN,
        WEFT_MAIL_REPORT,
        WEFT_MAIL_ASK,
        WEFT_MAIL_ANSWER,
        WEFT_MAIL_LEFT,
        WEFT_MAIL_GOODBYE
    } what;
    uint32_t peer;
    uint64_t comm_id;
    uint64_t sequence;    /* LEFT */
    weft_answer_t answer; /* ANSWER; ASK: its signature */
    weft_error_t error;   /* REPORT */
} weft_mail_t;

/* What other threads asked for, until the thread takes it. */
typedef struct weft_inbox {
    bool stop;
    uint32_t
        asks; /* of them in the list; beyond WEFT_INBOX_ASKS they are dropped: asks are repeated */
    weft_mail_t *first, *last;
} weft_inbox_t;

/* Remembered of a communicator: its failure, or the goodbye of one rank. */
typedef struct weft_note {
    uint64_t comm_id;
    uint64_t sequence; /* LEFT */
    uint32_t type;     /* WEFT_FRAME_FAIL, WEFT_FRAME_LEFT; 0: empty */
    uint32_t from;
    weft_error_t *error; /* FAIL */
} weft_note_t;

/* Remembered of a dead rank, for good. */
typedef struct weft_verdict {
    struct weft_verdict *next;
    weft_error_t error;
} weft_verdict_t;

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
 * known yet whether it left. DEAD: there is a verdict. */
typedef enum weft_kin { WEFT_KIN_LIVE = 0, WEFT_KIN_LEFT, WEFT_KIN_GONE, WEFT_KIN_DEAD } weft_kin_t;

struct weft_health {
    weft_boot_t *boot;
    weft_health_callbacks_t events;
    void *arg;
    int wake;
    weft_os_thread_t *thread;
    weft_os_mutex_t mutex; /* guards inbox */
    weft_inbox_t inbox;

    weft_watch_t *watches;
    uint32_t count, room;
    struct pollfd *entries; /* wake, connector, listener, two for each watch */

    uint8_t *kin;           /* weft_kin_t of every rank */
    uint64_t *since;        /* GONE, or LIVE and awaited: since when; 0 = not awaited */
    uint32_t awaited, gone; /* how many of each */
    bool dialing;
    uint32_t dialed;
    weft_connector_t connector;

    weft_note_t *notes; /* a ring */
    uint32_t notes_room;
    uint32_t noted; /* so far */
    weft_verdict_t *verdicts;
    bool over;      /* the join failed, or the verdict is about us: nothing more is judged here */
    bool condemned; /* the verdict is about us: others go round us, so we pass nothing on */
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
/* Rank error->peer is dead: floods, tells our own side, and closes the gap in the tree. */
void weft_watch_condemn(weft_health_t *health, const weft_watch_t *except,
                        const weft_error_t *error);
/* The same for a verdict of this thread about `rank`, from the record of weft_fail(). */
void weft_watch_blame(weft_health_t *health, uint32_t rank);
/* An ASK or ANSWER: serves it, or passes it on towards rank frame->sequence. */
weft_status_t weft_watch_route(weft_health_t *health, const weft_frame_t *frame,
                               const uint8_t *payload, const char **why);

/* notes.c */
/* Communicator comm_id failed: floods what is new, and tells our own side if `deliver`. */
void weft_notes_failed(weft_health_t *health, const weft_watch_t *except, uint64_t comm_id,
                       const weft_error_t *error, bool deliver);
/* Rank `from` left communicator comm_id. */
void weft_notes_left(weft_health_t *health, const weft_watch_t *except, uint64_t comm_id,
                     uint32_t from, uint64_t sequence);
weft_status_t weft_notes_init(weft_health_t *health);
/* Keeps a verdict; false without memory. */
bool weft_notes_verdict(weft_health_t *health, const weft_error_t *error);
/* Tells a neighbour everything. */
void weft_notes_send(weft_health_t *health, weft_watch_t *watch);
/* Tells our own side all that concerns comm_id. */
void weft_notes_replay(weft_health_t *health, uint64_t comm_id);
void weft_notes_fini(weft_health_t *health);

/* kin.c */
weft_status_t weft_kin_init(weft_health_t *health);
void weft_kin_fini(weft_health_t *health);
/* Rank left the family; heard from `from` (NULL: ourselves). */
void weft_kin_leave(weft_health_t *health, uint32_t rank, const weft_watch_t *from);
/* Connects and waits to be connected as who is alive demands. */
void weft_kin_rearrange(weft_health_t *health);
/* A rank came through the listener because its parent left. */
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
