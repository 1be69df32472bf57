/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The failure detector: signs of life, clocks, suspicion, declaring dead. */
#include "core/boot/failure_detector.h"

#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/boot/boot.h"
#include "core/boot/dissemination.h"
#include "core/boot/health_state.h"
#include "core/boot/tree_repair.h"
#include "core/os/os_folder.h"

/* A gap of more than this many beats in our own loop says that we slept, not the others. */
#define DETECTOR_STALL_BEATS 4
/* A suspect whose leaving is not known is dead when this has passed. */
#define DETECTOR_SUSPECT_NS (2 * WEFT_NS_PER_S)
/* So soon if its process has ended, while nobody is known to leave: two neighbours of each other in
 * the tree have died, and nobody is left who saw it. Or if it does not listen any more: its parent
 * died as the last ranks joined, so it gave up, and had nobody to tell. The same for one that
 * should connect. */
#define DETECTOR_ENDED_NS (100 * WEFT_NS_PER_MS)
#define DETECTOR_ABSENT_LOOK_NS (20 * WEFT_NS_PER_MS)

/* From outside the two are the same. */
static const char detector_died[] = " died, or ended without weft_comm_destroy()";

static uint64_t detector_ns(double seconds)
{
    return seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * (double)WEFT_NS_PER_S) : 0;
}

void weft_detector_init(weft_health_t *health)
{
    weft_detector_t *detector = &health->detector;
    detector->heartbeat = detector_ns(health->boot->settings.heartbeat);
    detector->heartbeat = detector->heartbeat != 0 ? detector->heartbeat : WEFT_NS_PER_S / 2;
    detector->unresponsive = detector_ns(health->boot->settings.unresponsive);
    detector->last_look = weft_os_clock_ns();
}

uint64_t weft_detector_look(weft_health_t *health)
{
    weft_detector_t *detector = &health->detector;
    uint64_t now = weft_os_clock_ns();
    if (now - detector->last_look > DETECTOR_STALL_BEATS * detector->heartbeat) {
        for (uint32_t i = 0; i < health->neighbours.count; i++) {
            weft_neighbour_t *neighbour = &health->neighbours.list[i];
            neighbour->asked = neighbour->asked != 0 ? now : 0;
        }
        weft_membership_restart_clocks(&health->membership, now);
        health->reconnect.since = health->reconnect.since != 0 ? now : 0;
    }
    detector->last_look = now;
    return now;
}

/* Tells if a rank is left that could say something, besides this one and the silent one. */
static bool detector_has_others(const weft_health_t *health, uint32_t silent)
{
    const weft_membership_t *membership = &health->membership;
    uint32_t r = 0;
    while (r < membership->nranks &&
           (r == membership->rank || r == silent || membership->states[r] == WEFT_MEMBER_DEAD ||
            membership->states[r] == WEFT_MEMBER_LEFT)) {
        r++;
    }
    return r < membership->nranks;
}

/* Until this time of a silence that began at `since` nothing that is heard says that this rank is
 * not cut off. */
static uint64_t detector_doubt_until(const weft_health_t *health, uint64_t since)
{
    return since + health->detector.unresponsive / 4;
}

static void detector_ask(weft_health_t *health, weft_neighbour_t *neighbour)
{
    const weft_signature_t nothing = {.sequence = 0};
    uint8_t payload[WEFT_WIRE_SIGNATURE];
    weft_frame_t frame = {.type = WEFT_FRAME_ASK,
                          .bytes = sizeof payload,
                          .from = health->boot->rank,
                          .sequence = neighbour->rank};
    weft_signature_encode(&nothing, payload);
    weft_neighbour_send(&health->neighbours, neighbour, &frame, payload);
}

/* Somebody is silent since then. Others are asked for a sign of life: if they are silent as well,
 * it may be this rank that hears nobody. */
static void detector_ask_others(weft_health_t *health, uint64_t since, uint64_t now)
{
    uint64_t until = detector_doubt_until(health, since);
    if (health->detector.unresponsive > 0 && now >= until && health->detector.heard < until) {
        for (uint32_t i = 0; i < health->neighbours.count; i++) {
            weft_neighbour_t *neighbour = &health->neighbours.list[i];
            if (neighbour->asked == 0 &&
                health->membership.states[neighbour->rank] == WEFT_MEMBER_LIVE) {
                detector_ask(health, neighbour);
            }
        }
    }
}

static void detector_speak(weft_health_t *health)
{
    health->neighbours.quiet = false;
    for (uint32_t i = 0; i < health->neighbours.count; i++) {
        if (health->neighbours.list[i].fd >= 0) {
            weft_disseminate_all_to(health, &health->neighbours.list[i]);
        }
    }
}

void weft_detector_heard(weft_health_t *health)
{
    weft_health_assert_owner(health);
    health->detector.heard = health->detector.last_look;
    if (health->neighbours.quiet) {
        detector_speak(health);
    }
}

void weft_detector_declare_dead(weft_health_t *health, uint32_t rank)
{
    weft_health_assert_owner(health);
    weft_boot_set_culprit(health->boot, rank);
    weft_error_t error = *weft_error_record();
    weft_disseminate_death(health, NULL, &error);
}

void weft_detector_suspect(weft_health_t *health, uint32_t rank)
{
    weft_health_assert_owner(health);
    if (health->membership.states[rank] == WEFT_MEMBER_LIVE) {
        weft_membership_suspect(&health->membership, rank, weft_os_clock_ns());
        weft_tree_repair(health);
    }
}

void weft_detector_unreachable(weft_health_t *health, uint32_t rank, uint64_t since, uint8_t broke)
{
    weft_health_assert_owner(health);
    if (health->membership.states[rank] == WEFT_MEMBER_LIVE) {
        health->membership.breaks[rank] = broke;
        weft_membership_suspect(&health->membership, rank, since);
        weft_tree_repair(health);
    }
}

void weft_detector_trust(weft_health_t *health, uint32_t rank)
{
    weft_health_assert_owner(health);
    if (health->membership.states[rank] == WEFT_MEMBER_SUSPECT) {
        health->membership.states[rank] = WEFT_MEMBER_LIVE;
        if (health->reconnect.rank == rank) {
            health->reconnect.since = 0;
        }
    }
}

/* Declares a rank dead that has been silent since then, with the calling thread's error record. A
 * rank that hears nobody keeps that to itself: it would declare one after the other dead, and those
 * that hear it would believe it. */
static void detector_declare_silent(weft_health_t *health, uint32_t rank, uint64_t since)
{
    if (health->detector.heard < detector_doubt_until(health, since) &&
        detector_has_others(health, rank)) {
        health->neighbours.quiet = true;
    }
    weft_detector_declare_dead(health, rank);
}

static bool detector_has_ended(const weft_health_t *health, uint32_t rank)
{
    const weft_join_request_t *peer = &health->boot->requests[rank];
    return weft_neighbour_is_visible(health->boot, rank) &&
           !weft_os_process_runs(peer->pid, peer->started);
}

static void detector_declare_died(weft_health_t *health, uint32_t rank, int cause)
{
    char who[128];
    weft_boot_rank_text(health->boot, rank, who, sizeof who);
    weft_fail(WEFT_ERR_PEER_DEAD, cause, "%s%s", who, detector_died);
    weft_detector_declare_dead(health, rank);
}

/* The network may have done it. A process that died has no listener either. Its silence began
 * before the connection broke, if it had not answered a question. */
static void detector_look_again(weft_health_t *health, uint32_t rank, uint64_t since, int cause)
{
    weft_membership_t *membership = &health->membership;
    weft_log(WEFT_LOG_INFO, "health", "rank %u: the control connection to rank %u broke: %s",
             health->boot->rank, rank, strerror(cause));
    membership->breaks[rank] = WEFT_BREAK_NEW;
    if (weft_membership_parent(membership, membership->rank) == rank) {
        weft_tree_repair_seek(health, rank, since);
    }
    weft_tree_repair(health);
    membership->since[rank] = membership->since[rank] != 0 ? since : 0;
}

void weft_detector_stream_ended(weft_health_t *health, weft_neighbour_t *neighbour, int cause)
{
    uint32_t rank = neighbour->rank;
    uint8_t state = health->membership.states[rank];
    /* A rank that leaves closes the connections that are not complete yet, at either end; the
     * message that it left comes another way. */
    bool half_made = neighbour->fresh && (health->leaving || health->membership.leavers);
    bool broken = cause != 0 && !half_made && !detector_has_ended(health, rank);
    bool orderly = state == WEFT_MEMBER_LEFT || state == WEFT_MEMBER_DEAD ||
                   health->detection_ended || (health->leaving && !broken);
    bool fresh = neighbour->fresh, missed = health->missed;
    uint64_t since = neighbour->asked != 0 ? neighbour->asked : weft_os_clock_ns();
    health->missed |= health->leaving && state == WEFT_MEMBER_LEFT &&
                      (cause != 0 || weft_os_unacknowledged(neighbour->fd) > 0);
    weft_neighbour_close(neighbour);
    health->taken |= health->leaving && state == WEFT_MEMBER_LIVE && cause == 0 && !fresh &&
                     !detector_has_ended(health, rank);
    if (orderly) {
        if (health->missed && !missed) {
            weft_tree_repair(health);
        }
        return;
    }
    if (broken) {
        detector_look_again(health, rank, since, cause);
    } else if (fresh) {
        weft_detector_suspect(health, rank);
    } else {
        detector_declare_died(health, rank, cause);
    }
}

/* It may have left, and the word of that be held up behind the cut that broke its connection, or
 * behind another one. Who leaves cannot ask any more. */
void weft_detector_refused(weft_health_t *health, uint32_t rank)
{
    weft_health_assert_owner(health);
    weft_membership_t *membership = &health->membership;
    bool awaited = membership->states[rank] == WEFT_MEMBER_LIVE &&
                   weft_neighbours_find(&health->neighbours, rank) == NULL;
    bool known = membership->breaks[rank] != WEFT_BREAK_NONE && !health->leaving;
    if (awaited && known) {
        membership->breaks[rank] = WEFT_BREAK_REFUSED;
        membership->since[rank] = membership->since[rank] != 0 ? weft_os_clock_ns() : 0;
    }
    weft_detector_suspect(health, rank);
}

void weft_detector_beat(weft_health_t *health, weft_neighbour_t *neighbour)
{
    weft_frame_t frame = {.type = WEFT_FRAME_BEAT, .from = health->boot->rank};
    weft_health_assert_owner(health);
    if (!health->neighbours.muted) {
        weft_neighbour_send(&health->neighbours, neighbour, &frame, NULL);
    }
}

uint64_t weft_detector_next(const weft_health_t *health)
{
    const weft_membership_t *membership = &health->membership;
    bool soon = membership->awaited + membership->suspects > 0, waits = soon;
    for (uint32_t i = 0; i < health->neighbours.count; i++) {
        waits |= health->neighbours.list[i].asked != 0;
        soon |= health->neighbours.list[i].doubted;
    }
    uint64_t pause = health->detector.heartbeat;
    if (soon && pause > DETECTOR_ABSENT_LOOK_NS) {
        pause = DETECTOR_ABSENT_LOOK_NS;
    }
    return waits ? health->detector.last_look + pause : WEFT_NEVER;
}

/* All above us as far as `rank` are lost. */
static void detector_pass_over(weft_health_t *health, uint32_t rank)
{
    const weft_membership_t *membership = &health->membership;
    uint32_t me = membership->rank, parent = weft_membership_parent(membership, me);
    while (membership->states[rank] == WEFT_MEMBER_LIVE && parent != rank && parent != me) {
        weft_detector_unreachable(health, parent, weft_os_clock_ns(), WEFT_BREAK_UNREACHABLE);
        parent = weft_membership_parent(membership, me);
    }
}

void weft_detector_doubt(weft_health_t *health, uint32_t rank)
{
    const weft_membership_t *membership = &health->membership;
    uint32_t parent = weft_membership_parent(membership, membership->rank);
    weft_neighbour_t *neighbour = weft_neighbours_find(&health->neighbours, parent);
    weft_health_assert_owner(health);
    if (membership->states[rank] != WEFT_MEMBER_LIVE || parent == rank) {
        return;
    }
    if (neighbour == NULL) {
        detector_pass_over(health, rank);
        return;
    }
    neighbour->doubted = true;
    neighbour->doubter = rank;
    detector_ask(health, neighbour);
}

/* Neighbours that others have lost, and that do not answer here. */
static void detector_judge_doubted(weft_health_t *health, uint64_t now)
{
    for (uint32_t i = 0; i < health->neighbours.count; i++) {
        weft_neighbour_t *neighbour = &health->neighbours.list[i];
        if (neighbour->fd >= 0 && neighbour->doubted &&
            now > neighbour->asked + health->detector.unresponsive / 2) {
            neighbour->doubted = false;
            detector_pass_over(health, neighbour->doubter);
            return; /* neighbours may have moved */
        }
    }
}

/* Neighbours that are connected and do not answer. */
static void detector_judge_silent(weft_health_t *health, uint64_t now)
{
    uint64_t limit = health->detector.unresponsive;
    for (uint32_t i = 0; limit > 0 && !health->detection_ended && i < health->neighbours.count;
         i++) {
        const weft_neighbour_t *neighbour = &health->neighbours.list[i];
        uint32_t rank = neighbour->rank;
        if (neighbour->fd >= 0 && neighbour->asked != 0 && now > neighbour->asked + limit &&
            health->membership.states[rank] == WEFT_MEMBER_LIVE) {
            char who[128];
            weft_boot_rank_text(health->boot, rank, who, sizeof who);
            weft_fail(WEFT_ERR_PEER_UNRESPONSIVE, 0,
                      "%s is connected but has not answered for %.1f s (option boot.unresponsive)",
                      who, (double)limit / 1e9);
            detector_declare_silent(health, rank, neighbour->asked);
        } else if (neighbour->fd >= 0 && neighbour->asked != 0) {
            detector_ask_others(health, neighbour->asked, now);
        }
    }
}

/* What is known of a rank that is absent. */
typedef struct absence {
    bool suspect;     /* it does not answer where it should be */
    bool unreachable; /* nothing comes back from there */
    bool refused;     /* nobody listens there */
    bool ended;       /* its process, while nobody is known to leave */
    bool closed;      /* its listener, likewise */
    bool silent;      /* only time tells: nothing is known of it, or what others know is late */
} absence_t;

static void detector_declare_absent(weft_health_t *health, uint32_t rank, const absence_t *absence)
{
    char who[128];
    weft_boot_rank_text(health->boot, rank, who, sizeof who);
    if (absence->ended || detector_has_ended(health, rank)) {
        weft_fail(WEFT_ERR_PEER_DEAD, 0, "%s%s", who, detector_died);
    } else if (absence->closed) {
        weft_fail(WEFT_ERR_PEER_DEAD, 0, "%s gave up: it does not listen any more", who);
    } else if (absence->suspect && !absence->unreachable) {
        weft_fail(WEFT_ERR_PEER_DEAD, 0, "%s died: nobody listens at its address", who);
    } else {
        weft_fail(WEFT_ERR_PEER_UNRESPONSIVE, 0, "%s %s", who,
                  absence->unreachable ? "cannot be reached (option boot.unresponsive)"
                  : health->membership.breaks[rank] != WEFT_BREAK_NONE
                      ? "did not connect again after its control connection broke, or its parent "
                        "in the tree was lost"
                      : "did not connect again after its parent in the tree left");
        detector_declare_silent(health, rank, health->membership.since[rank]);
        return;
    }
    weft_detector_declare_dead(health, rank);
}

/* Looks at a rank that has been absent for `ns`. That its process has ended says nothing to a rank
 * that is cut off: it may have left, and only others know. To ask whether it listens is a
 * connection, so that is done in the rhythm of `asks`. */
static absence_t detector_look_at_absent(const weft_health_t *health, uint32_t rank, uint64_t ns,
                                         bool asks)
{
    const weft_membership_t *membership = &health->membership;
    absence_t absence = {.suspect = membership->states[rank] == WEFT_MEMBER_SUSPECT,
                         .unreachable = weft_membership_is_unreachable(membership, rank),
                         .refused = membership->breaks[rank] == WEFT_BREAK_REFUSED};
    bool cut = weft_tree_is_cut(health);
    if (ns >= DETECTOR_ENDED_NS && !membership->leavers && !cut) {
        absence.ended = detector_has_ended(health, rank);
        absence.closed = !absence.ended && asks && !weft_neighbour_listens(health->boot, rank);
    }
    absence.silent =
        !absence.ended && !absence.closed && (!absence.suspect || absence.unreachable || cut);
    return absence;
}

/* How long a rank that is absent has to be heard of; 0: for ever. No word comes that a suspect has
 * left to a rank that is cut off, or seeks its parent: for others its time begins when that is
 * over. */
static uint64_t detector_absence_limit(const weft_health_t *health, const absence_t *absence)
{
    return absence->ended || absence->closed ? DETECTOR_ENDED_NS
           : absence->silent                 ? health->detector.unresponsive
           : absence->refused                ? 1
                                             : DETECTOR_SUSPECT_NS;
}

/* A neighbour that does not answer is given up itself, but where nobody ever is. */
static bool detector_owes_answer(const weft_health_t *health, const weft_neighbour_t *neighbour,
                                 uint64_t now)
{
    return neighbour->asked != 0 &&
           (health->detector.unresponsive > 0 || now < neighbour->asked + WEFT_HEALTH_AWAY_NS);
}

/* That a suspect has left may be known to a neighbour, and held up by a cut of which nobody has
 * heard yet. It comes before the answer to a question that is put now. True: all that were asked
 * since then have answered. */
static bool detector_has_inquired(weft_health_t *health, uint64_t since, uint64_t now)
{
    bool answered = true, asks = health->detector.inquired <= since;
    for (uint32_t i = 0; i < health->neighbours.count; i++) {
        weft_neighbour_t *neighbour = &health->neighbours.list[i];
        if (neighbour->fd < 0 || neighbour->ended_sending ||
            health->membership.states[neighbour->rank] != WEFT_MEMBER_LIVE) {
            continue;
        }
        if (asks) {
            detector_ask(health, neighbour);
        }
        answered &= !detector_owes_answer(health, neighbour, now);
    }
    health->detector.inquired = asks ? now : health->detector.inquired;
    return answered;
}

/* A suspect of which nothing was heard may have lost its connection before it said a word on it,
 * and wait for us as we for it. It is asked once: one that lives connects, or is connected to. */
static void detector_ask_suspect(weft_health_t *health, uint32_t rank)
{
    weft_log(WEFT_LOG_INFO, "health",
             "rank %u: nothing is heard of rank %u; asking whether it lives", health->boot->rank,
             rank);
    weft_detector_trust(health, rank);
    health->membership.breaks[rank] = WEFT_BREAK_NEW;
    weft_tree_repair(health);
}

/* Ranks that should have connected or answered. A rank that is declared dead or trusted again may
 * drop out of the list, and others may come to its end. */
static void detector_judge_absent(weft_health_t *health, uint64_t now)
{
    const weft_membership_t *membership = &health->membership;
    bool asks = now >= health->detector.ask_again;
    if (weft_tree_is_cut(health)) {
        health->detector.cut = now;
    }
    for (uint32_t i = 0; !health->detection_ended && i < membership->ndoubts;) {
        uint32_t rank = membership->doubts[i];
        uint64_t ns = now > membership->since[rank] ? now - membership->since[rank] : 0;
        absence_t absence = detector_look_at_absent(health, rank, ns, asks);
        uint64_t limit = detector_absence_limit(health, &absence);
        bool early = limit == DETECTOR_SUSPECT_NS && now - health->detector.cut < limit;
        bool due = limit > 0 && ns > 0 && ns >= limit && !early;
        bool known = !absence.suspect || absence.ended || absence.closed ||
                     membership->breaks[rank] != WEFT_BREAK_NONE;
        if (due && !known) {
            detector_ask_suspect(health, rank);
        } else if (due && (absence.silent ||
                           detector_has_inquired(health, membership->since[rank], now))) {
            detector_declare_absent(health, rank, &absence);
        } else if (ns > 0) {
            detector_ask_others(health, membership->since[rank], now);
        }
        i += i < membership->ndoubts && membership->doubts[i] == rank;
    }
    if (asks) {
        health->detector.ask_again = now + DETECTOR_ENDED_NS;
    }
}

void weft_detector_step(weft_health_t *health, uint64_t now)
{
    weft_health_assert_owner(health);
    detector_judge_doubted(health, now);
    detector_judge_silent(health, now);
    detector_judge_absent(health, now);
    if (health->neighbours.quiet && !detector_has_others(health, health->boot->rank)) {
        detector_speak(health); /* whoever was stopped, and goes on, shall hear it */
    }
}
