/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The event log: a ring of events with a hash table over it, and a list of deaths. */
#include "core/boot/event_log.h"

#include "core/base/error.h"
#include "core/os/os.h"

#define LOG_EVENTS 1024 /* and four for each rank */
#define LOG_LEAST 16u

static uint32_t event_log_room(uint32_t nranks)
{
    return LOG_EVENTS + 4 * nranks;
}

static uint64_t event_log_bytes_of(uint64_t held)
{
    return held * (sizeof(weft_logged_event_t) + sizeof(uint32_t));
}

uint64_t weft_event_log_bytes(const weft_event_log_t *log)
{
    return event_log_bytes_of(log->held);
}

uint64_t weft_event_log_most_bytes(uint32_t nranks)
{
    uint64_t held = LOG_LEAST;
    while (held < event_log_room(nranks)) {
        held *= 2;
    }
    return event_log_bytes_of(held);
}

void weft_event_log_fini(weft_event_log_t *log)
{
    while (log->deaths != NULL) {
        weft_logged_death_t *death = log->deaths;
        log->deaths = death->next;
        weft_os_free(death);
    }
    for (uint32_t i = 0; i < weft_event_log_count(log); i++) {
        weft_os_free(log->events[i].detail);
    }
    weft_os_free(log->events);
    weft_os_free(log->chains);
    *log = (weft_event_log_t){.events = NULL};
}

/* The failure of a communicator is one event, whoever reports it. */
static uint32_t event_log_owner(uint32_t type, uint32_t rank)
{
    return type == WEFT_FRAME_FAIL ? 0 : rank;
}

static uint32_t *event_log_chain(const weft_event_log_t *log, uint32_t type, uint64_t comm_id,
                                 uint32_t rank)
{
    uint64_t key = comm_id ^ ((uint64_t)event_log_owner(type, rank) << 32 | type);
    uint64_t hash = (key ^ key >> 29) * UINT64_C(0x9e3779b97f4a7c15);
    return &log->chains[hash >> 32 & (log->held - 1)];
}

static void event_log_link(weft_event_log_t *log, uint32_t position)
{
    weft_logged_event_t *event = &log->events[position];
    uint32_t *chain = event_log_chain(log, event->type, event->comm_id, event->rank);
    event->next = *chain;
    *chain = position + 1;
}

static void event_log_unlink(weft_event_log_t *log, uint32_t position)
{
    const weft_logged_event_t *event = &log->events[position];
    uint32_t *at = event_log_chain(log, event->type, event->comm_id, event->rank);
    while (*at != position + 1) {
        at = &log->events[*at - 1].next;
    }
    *at = event->next;
}

/* Room for twice as many as now. */
static bool event_log_grow(weft_event_log_t *log)
{
    weft_event_log_t old = *log;
    uint32_t held = old.held == 0 ? LOG_LEAST : 2 * old.held;
    weft_logged_event_t *events = weft_os_alloc(held * sizeof *events, 0);
    uint32_t *chains = weft_os_alloc(held * sizeof *chains, 0);
    if (events == NULL || chains == NULL) {
        weft_os_free(events);
        weft_os_free(chains);
        return false;
    }
    log->events = events;
    log->chains = chains;
    log->held = held;
    for (uint32_t i = 0; i < old.added; i++) {
        events[i] = old.events[i];
        event_log_link(log, i);
    }
    weft_os_free(old.events);
    weft_os_free(old.chains);
    return true;
}

weft_status_t weft_event_log_init(weft_event_log_t *log, uint32_t nranks)
{
    *log = (weft_event_log_t){.room = event_log_room(nranks)};
    log->deaths_end = &log->deaths;
    return event_log_grow(log) ? WEFT_OK
                               : weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for events");
}

const weft_logged_event_t *weft_event_log_find(const weft_event_log_t *log, uint32_t type,
                                               uint64_t comm_id, uint32_t rank)
{
    uint32_t owner = event_log_owner(type, rank);
    uint32_t at = *event_log_chain(log, type, comm_id, rank);
    while (at != 0) {
        const weft_logged_event_t *event = &log->events[at - 1];
        if (event->type == type && event->comm_id == comm_id &&
            event_log_owner(type, event->rank) == owner) {
            return event;
        }
        at = event->next;
    }
    return NULL;
}

static void event_log_add(weft_event_log_t *log, const weft_logged_event_t *event)
{
    if (log->added == log->held && log->held < log->room && !event_log_grow(log)) {
        log->room = log->held;
    }
    uint32_t position = log->added % log->room;
    if (log->added >= log->room) {
        event_log_unlink(log, position);
        weft_os_free(log->events[position].detail);
    }
    log->events[position] = *event;
    log->added++;
    event_log_link(log, position);
}

void weft_event_log_add_failure(weft_event_log_t *log, uint64_t comm_id, const weft_error_t *error,
                                const weft_missing_t *missing)
{
    weft_logged_event_t event = {.type = WEFT_FRAME_FAIL, .comm_id = comm_id};
    event.failure = weft_os_alloc(sizeof *event.failure, 0);
    if (event.failure != NULL) {
        event.failure->error = *error;
    }
    if (event.failure != NULL && missing != NULL) {
        event.failure->missing = *missing;
    }
    event_log_add(log, &event);
}

void weft_event_log_add_leave(weft_event_log_t *log, uint64_t comm_id, uint32_t rank,
                              const weft_leave_t *leave)
{
    weft_logged_event_t event = {.type = WEFT_FRAME_LEAVE_COMM,
                                 .rank = rank,
                                 .comm_id = comm_id,
                                 .sequence = leave->sequence};
    event.run = leave->run.length > 0 ? weft_os_alloc(sizeof *event.run, 0) : NULL;
    if (event.run != NULL) {
        *event.run = leave->run;
    }
    event_log_add(log, &event);
}

weft_leave_t weft_logged_leave(const weft_logged_event_t *event)
{
    weft_leave_t leave = {.sequence = event->sequence};
    if (event->run != NULL) {
        leave.run = *event->run;
    }
    return leave;
}

void weft_event_log_add_death(weft_event_log_t *log, const weft_error_t *error)
{
    weft_logged_death_t *death = weft_os_alloc(sizeof *death, 0);
    if (death != NULL) {
        *death = (weft_logged_death_t){.events_before = log->added, .error = *error};
        *log->deaths_end = death;
        log->deaths_end = &death->next;
    }
}

const weft_logged_death_t *weft_event_log_death(const weft_event_log_t *log, uint32_t rank)
{
    const weft_logged_death_t *death = log->deaths;
    while (death != NULL && death->error.peer != (int32_t)rank) {
        death = death->next;
    }
    return death;
}

weft_event_cursor_t weft_event_log_walk(const weft_event_log_t *log)
{
    return (weft_event_cursor_t){
        .log = log, .death = log->deaths, .event = log->added - weft_event_log_count(log)};
}

bool weft_event_log_next(weft_event_cursor_t *at, weft_event_step_t *step)
{
    const weft_event_log_t *log = at->log;
    *step = (weft_event_step_t){.event = NULL};
    if (at->death != NULL && (at->death->events_before <= at->event || at->event == log->added)) {
        step->death = at->death;
        at->death = at->death->next;
    } else if (at->event != log->added) {
        step->event = &log->events[at->event++ % log->room];
    } else {
        return false;
    }
    return true;
}
