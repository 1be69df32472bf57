/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The event log: a ring of events and a list of deaths. */
#include "core/boot/event_log.h"

#include "core/base/error.h"
#include "core/os/os.h"

#define LOG_EVENTS 1024 /* and four for each rank */

weft_status_t weft_event_log_init(weft_event_log_t *log, uint32_t nranks)
{
    *log = (weft_event_log_t){.room = LOG_EVENTS + 4 * nranks};
    log->events = weft_os_alloc(log->room * sizeof *log->events, 0);
    return log->events != NULL
               ? WEFT_OK
               : weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for the health channel");
}

void weft_event_log_fini(weft_event_log_t *log)
{
    while (log->deaths != NULL) {
        weft_logged_death_t *death = log->deaths;
        log->deaths = death->next;
        weft_os_free(death);
    }
    for (uint32_t i = 0; log->events != NULL && i < log->room; i++) {
        weft_os_free(log->events[i].error);
    }
    weft_os_free(log->events);
    log->events = NULL;
}

const weft_logged_event_t *weft_event_log_find(const weft_event_log_t *log, uint32_t type,
                                               uint64_t comm_id, uint32_t rank)
{
    for (uint32_t i = 0; i < log->room; i++) {
        const weft_logged_event_t *event = &log->events[i];
        if (event->type == type && event->comm_id == comm_id &&
            (type == WEFT_FRAME_FAIL || event->rank == rank)) {
            return event;
        }
    }
    return NULL;
}

static weft_logged_event_t *event_log_add(weft_event_log_t *log, const weft_logged_event_t *event)
{
    weft_logged_event_t *slot = &log->events[log->added++ % log->room];
    weft_os_free(slot->error);
    *slot = *event;
    return slot;
}

const weft_logged_event_t *weft_event_log_add_failure(weft_event_log_t *log, uint64_t comm_id,
                                                      const weft_error_t *error)
{
    weft_logged_event_t event = {.type = WEFT_FRAME_FAIL, .comm_id = comm_id};
    event.error = weft_os_alloc(sizeof *event.error, 0);
    if (event.error != NULL) {
        *event.error = *error;
    }
    return event_log_add(log, &event);
}

const weft_logged_event_t *weft_event_log_add_leave(weft_event_log_t *log, uint64_t comm_id,
                                                    uint32_t rank, uint64_t sequence)
{
    weft_logged_event_t event = {
        .type = WEFT_FRAME_LEAVE_COMM, .rank = rank, .comm_id = comm_id, .sequence = sequence};
    return event_log_add(log, &event);
}

void weft_event_log_add_death(weft_event_log_t *log, const weft_error_t *error)
{
    weft_logged_death_t *death = weft_os_alloc(sizeof *death, 0);
    if (death != NULL) {
        death->error = *error;
        death->next = log->deaths;
        log->deaths = death;
    }
}
