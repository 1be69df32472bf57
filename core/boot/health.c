/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The health channel: calls from other threads, and the loop of its thread. */
#include "core/boot/health.h"

#include <string.h>

#include "core/base/error.h"
#include "core/boot/neighbour.h"

/* How long a leaving rank waits for its neighbours to have heard its goodbye. */
#define LEAVE_NS (100 * WEFT_NS_PER_MS)
/* A gap of more than this many beats in our own loop says that we slept, not the others. */
#define STALL_BEATS 4
#define ENTRY_DIAL 1
#define ENTRY_DOOR 2
#define ENTRY_WATCH (ENTRY_DOOR + WEFT_DOOR_ENTRIES)

static uint64_t to_ns(double seconds)
{
    return seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * (double)WEFT_NS_PER_S) : 0;
}

static void begin_leaving(weft_health_t *health)
{
    if (!health->leaving) {
        health->leaving = true;
        health->leave_until = weft_os_clock_ns() + LEAVE_NS;
        weft_kin_leave(health, health->boot->rank, NULL);
    }
}

static void free_mail(weft_mail_t *mail)
{
    while (mail != NULL) {
        weft_mail_t *next = mail->next;
        weft_os_free(mail);
        mail = next;
    }
}

/* A question or an answer of ours goes the way of all others. */
static void send_letter(weft_health_t *health, const weft_mail_t *mail)
{
    uint8_t payload[WEFT_WIRE_ANSWER];
    const char *why;
    weft_frame_t frame = {.type = WEFT_FRAME_ASK,
                          .bytes = WEFT_WIRE_SIGNATURE,
                          .from = health->boot->rank,
                          .sequence = mail->peer,
                          .number = mail->comm_id};
    if (mail->what == WEFT_MAIL_ASK) {
        weft_signature_encode(&mail->answer.signature, payload);
    } else {
        frame.type = WEFT_FRAME_ANSWER;
        frame.bytes = WEFT_WIRE_ANSWER;
        weft_answer_encode(&mail->answer, payload);
    }
    (void)weft_watch_route(health, &frame, payload, &why);
}

static void read_mail(weft_health_t *health, const weft_mail_t *mail)
{
    switch (mail->what) {
    case WEFT_MAIL_OPEN:
        weft_notes_replay(health, mail->comm_id);
        break;
    case WEFT_MAIL_REPORT:
        weft_notes_failed(health, NULL, mail->comm_id, &mail->error, false);
        break;
    case WEFT_MAIL_LEFT:
        weft_notes_left(health, NULL, mail->comm_id, health->boot->rank, mail->sequence);
        break;
    case WEFT_MAIL_GOODBYE:
        weft_kin_leave(health, health->boot->rank, NULL);
        break;
    default:
        send_letter(health, mail);
        break;
    }
}

static void read_inbox(weft_health_t *health)
{
    weft_os_wake_clear(health->wake);
    weft_os_lock(&health->mutex);
    weft_inbox_t taken = health->inbox;
    health->inbox = (weft_inbox_t){.stop = taken.stop};
    weft_os_unlock(&health->mutex);
    for (const weft_mail_t *mail = taken.first; mail != NULL; mail = mail->next) {
        read_mail(health, mail);
    }
    free_mail(taken.first);
    if (taken.stop) {
        begin_leaving(health);
    }
}

static uint32_t prepare(weft_health_t *health, uint64_t *until)
{
    struct pollfd *entries = health->entries;
    entries[0] = (struct pollfd){.fd = health->wake, .events = POLLIN};
    entries[ENTRY_DIAL] = (struct pollfd){.fd = -1};
    if (health->dialing) {
        weft_connector_prepare(&health->connector, &entries[ENTRY_DIAL], until);
    }
    weft_control_listener_prepare(&health->boot->listener, entries + ENTRY_DOOR, until);
    for (uint32_t i = 0; i < health->count; i++) {
        const weft_watch_t *watch = &health->watches[i];
        short events = watch->out_at < watch->out_end ? POLLIN | POLLOUT : POLLIN;
        struct pollfd *pair = &entries[ENTRY_WATCH + 2 * i];
        pair[0] = (struct pollfd){.fd = watch->fd, .events = events};
        pair[1] = (struct pollfd){.fd = watch->process, .events = POLLIN};
    }
    return ENTRY_WATCH + 2 * health->count;
}

/* The connections that were polled: nothing is added to the tables meanwhile. */
static void serve_watches(weft_health_t *health)
{
    const struct pollfd *entries = health->entries + ENTRY_WATCH;
    for (uint32_t i = 0; i < health->count; i++) {
        weft_watch_t *watch = &health->watches[i];
        if (watch->fd >= 0 && entries[2 * i].revents != 0) {
            weft_watch_flush(watch);
            weft_watch_read(health, watch);
        }
        if (watch->fd >= 0 && watch->process >= 0 && entries[2 * i + 1].revents != 0) {
            weft_watch_process_ended(health, watch);
        }
    }
}

static void forget_closed(weft_health_t *health)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < health->count; i++) {
        if (health->watches[i].fd >= 0) {
            if (kept != i) {
                health->watches[kept] = health->watches[i];
            }
            kept++;
        }
    }
    health->count = kept;
}

static void beat(weft_health_t *health, uint64_t now)
{
    weft_frame_t frame = {.type = WEFT_FRAME_BEAT, .from = health->boot->rank};
    if (now >= health->next_beat) {
        weft_watch_flood(health, NULL, &frame, NULL);
        health->next_beat = now + health->heartbeat;
    }
}

static void judge_silence(weft_health_t *health, uint64_t now)
{
    for (uint32_t i = 0; health->unresponsive > 0 && !health->over && i < health->count; i++) {
        const weft_watch_t *watch = &health->watches[i];
        if (watch->fd >= 0 && now > watch->heard + health->unresponsive &&
            health->kin[watch->rank] == WEFT_KIN_LIVE) {
            char who[128];
            weft_boot_rank_text(health->boot, watch->rank, who, sizeof who);
            weft_fail(WEFT_ERR_PEER_UNRESPONSIVE, 0,
                      "%s is connected but has not answered for %.1f s (option boot.unresponsive)",
                      who, (double)health->unresponsive / 1e9);
            weft_watch_blame(health, watch->rank);
        }
    }
}

/* Time now. If we slept, or had no processor, the silence may be ours: all clocks start anew. */
static uint64_t look(weft_health_t *health)
{
    uint64_t now = weft_os_clock_ns();
    if (now - health->last_look > STALL_BEATS * health->heartbeat) {
        for (uint32_t i = 0; i < health->count; i++) {
            health->watches[i].heard = now;
        }
        for (uint32_t i = 0; i < health->boot->nranks; i++) {
            health->since[i] = health->since[i] != 0 ? now : 0;
        }
    }
    health->last_look = now;
    return now;
}

/* Neighbours close when they have heard our goodbye; then nothing is left to do. */
static bool may_leave(weft_health_t *health, uint64_t now)
{
    if (!health->leaving) {
        return false;
    }
    for (uint32_t i = 0; i < health->count; i++) {
        weft_watch_t *watch = &health->watches[i];
        if (!watch->ended_sending && watch->out_at == watch->out_end) {
            weft_os_shutdown(watch->fd);
            watch->ended_sending = true;
        }
    }
    return now >= health->leave_until ||
           (health->count == 0 && (health->over || (!health->dialing && health->awaited == 0)));
}

static void health_run(void *arg)
{
    weft_health_t *health = arg;
    health->last_look = weft_os_clock_ns();
    for (;;) {
        struct pollfd listener[WEFT_DOOR_ENTRIES];
        uint64_t until = health->leaving && health->leave_until < health->next_beat
                             ? health->leave_until
                             : health->next_beat;
        uint32_t entries = prepare(health, &until);
        weft_os_poll(health->entries, entries, until);
        memcpy(listener, health->entries + ENTRY_DOOR, sizeof listener);
        look(health);
        serve_watches(health);
        weft_control_listener_step(&health->boot->listener, listener, weft_kin_enter, health);
        read_inbox(health);
        weft_kin_step(health);
        uint64_t now = look(health);
        beat(health, now);
        judge_silence(health, now);
        weft_kin_judge(health, now);
        forget_closed(health);
        if (may_leave(health, now)) {
            return;
        }
    }
}

static void health_destroy(weft_health_t *health)
{
    for (uint32_t i = 0; i < health->count; i++) {
        weft_watch_close(&health->watches[i]);
    }
    weft_kin_fini(health);
    weft_notes_fini(health);
    free_mail(health->inbox.first);
    weft_os_close(health->wake);
    weft_os_free(health->watches);
    weft_os_free(health->entries);
    weft_os_free(health);
}

weft_status_t weft_health_start(weft_boot_t *boot, const weft_health_callbacks_t *events, void *arg)
{
    if (boot->nranks == 1) {
        return WEFT_OK;
    }
    if (boot->health != NULL || boot->failed) {
        return weft_fail(WEFT_ERR_STATE, 0, "the health channel cannot start %s",
                         boot->failed ? "after a failure" : "twice");
    }
    weft_health_t *health = weft_os_alloc(sizeof *health, 0);
    if (health == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for the health channel");
    }
    health->boot = boot;
    health->events = *events;
    health->arg = arg;
    health->wake = -1;
    health->heartbeat = to_ns(boot->settings.heartbeat);
    health->heartbeat = health->heartbeat != 0 ? health->heartbeat : WEFT_NS_PER_S / 2;
    health->unresponsive = to_ns(boot->settings.unresponsive);
    weft_status_t status = weft_kin_init(health);
    if (status == WEFT_OK) {
        status = weft_notes_init(health);
    }
    if (status == WEFT_OK) {
        status = weft_os_wake_open(&health->wake);
    }
    for (uint32_t i = 0; status == WEFT_OK && i < WEFT_TREE_LINKS; i++) {
        if (boot->links[i].fd >= 0) {
            status = weft_watch_add(health, boot->links[i].fd, boot->links[i].rank);
            boot->links[i].fd = -1;
        }
    }
    if (status == WEFT_OK) {
        boot->health = health; /* Events may post mail. */
        status = weft_os_thread_start("weft-health", health_run, health, &health->thread);
    }
    if (status != WEFT_OK) {
        boot->health = NULL;
        health_destroy(health);
    }
    return status;
}

void weft_health_stop(weft_boot_t *boot)
{
    weft_health_t *health = boot->health;
    weft_os_lock(&health->mutex);
    health->inbox.stop = true;
    weft_os_unlock(&health->mutex);
    weft_os_wake(health->wake);
    weft_os_thread_join(health->thread);
    health_destroy(health);
    boot->health = NULL;
}

/* Without memory the mail is lost: others then learn by their deadlines. */
static void post(weft_boot_t *boot, const weft_mail_t *mail)
{
    weft_health_t *health = boot->health;
    if (health == NULL) {
        return;
    }
    weft_mail_t *copy = weft_os_alloc(sizeof *copy, 0);
    if (copy == NULL) {
        return;
    }
    *copy = *mail;
    copy->next = NULL;
    bool repeated = mail->what == WEFT_MAIL_ASK || mail->what == WEFT_MAIL_ANSWER;
    weft_os_lock(&health->mutex);
    weft_inbox_t *inbox = &health->inbox;
    bool full = repeated && inbox->asks == WEFT_INBOX_ASKS;
    if (!full) {
        inbox->asks += repeated;
        *(inbox->last != NULL ? &inbox->last->next : &inbox->first) = copy;
        inbox->last = copy;
    }
    weft_os_unlock(&health->mutex);
    if (full) {
        weft_os_free(copy);
    }
    weft_os_wake(health->wake);
}

void weft_health_open(weft_boot_t *boot, uint64_t comm_id)
{
    post(boot, &(weft_mail_t){.what = WEFT_MAIL_OPEN, .comm_id = comm_id});
}

void weft_health_report(weft_boot_t *boot, uint64_t comm_id, const weft_error_t *error)
{
    post(boot, &(weft_mail_t){.what = WEFT_MAIL_REPORT, .comm_id = comm_id, .error = *error});
}

void weft_health_ask(weft_boot_t *boot, uint64_t comm_id, uint32_t peer,
                     const weft_signature_t *mine)
{
    if (peer < boot->nranks) {
        post(boot, &(weft_mail_t){.what = WEFT_MAIL_ASK,
                                  .comm_id = comm_id,
                                  .peer = peer,
                                  .answer = {.signature = *mine}});
    }
}

void weft_health_answer(weft_boot_t *boot, uint64_t comm_id, uint32_t peer,
                        const weft_answer_t *answer)
{
    if (peer < boot->nranks) {
        post(boot,
             &(weft_mail_t){
                 .what = WEFT_MAIL_ANSWER, .comm_id = comm_id, .peer = peer, .answer = *answer});
    }
}

void weft_health_leave_comm(weft_boot_t *boot, uint64_t comm_id, uint64_t sequence)
{
    post(boot, &(weft_mail_t){.what = WEFT_MAIL_LEFT, .comm_id = comm_id, .sequence = sequence});
}

void weft_health_leave_family(weft_boot_t *boot)
{
    post(boot, &(weft_mail_t){.what = WEFT_MAIL_GOODBYE});
}
