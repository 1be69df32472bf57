/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each thing has a mark that its writer changes first, and another one or the same that it sets
 * last:
 *
 *   an operation     state FREE, then its number    state CALLED; DONE once the end is noted
 *   a run of calls   -                              the number of runs, behind the run itself
 *   a communicator   life UNUSED, then its opening  life OPEN; FAILED once the failure is noted */
#include "tools/flight_settle.h"

#include <string.h>

/* What is noted of an end before the state says so is none yet. */
static void settle_entry(const weft_flight_entry_t *before, weft_flight_entry_t *entry,
                         const weft_flight_entry_t *after)
{
    if (before->state == WEFT_FLIGHT_FREE || after->state == WEFT_FLIGHT_FREE ||
        before->number != after->number) {
        *entry = (weft_flight_entry_t){.state = WEFT_FLIGHT_FREE, .peer = -1};
        return;
    }
    entry->state = before->state;
    if (entry->state == WEFT_FLIGHT_CALLED) {
        entry->ended = 0;
        entry->status = WEFT_IN_PROGRESS;
    }
}

/* Of the runs that `before` has, the oldest may have been overwritten until `after`, and one more
 * may just be. It gets a number that no call has reached, so that it is found for none. */
static void settle_history(const weft_history_t *before, weft_history_t *history,
                           const weft_history_t *after)
{
    const uint32_t added = after->runs - before->runs;
    history->runs = before->runs;
    history->last = before->last;
    for (uint32_t i = 0; i <= added && i < WEFT_HISTORY; i++) {
        history->run[(before->runs + i) & (WEFT_HISTORY - 1)].sequence = history->last + 1;
    }
}

static void settle_failure(weft_flight_comm_t *comm)
{
    if (comm->life != WEFT_FLIGHT_FAILED) {
        comm->failed = comm->failed_sequence = 0;
        comm->status = WEFT_OK;
        comm->culprit = -1;
        memset(comm->failure, 0, sizeof comm->failure);
    }
}

static bool settle_comm(const weft_flight_comm_t *before, weft_flight_comm_t *comm,
                        const weft_flight_comm_t *after)
{
    if (before->life == WEFT_FLIGHT_UNUSED || after->life == WEFT_FLIGHT_UNUSED ||
        before->opened != after->opened) {
        comm->life = WEFT_FLIGHT_UNUSED;
        return true;
    }
    comm->life = before->life;
    comm->called = before->called;
    comm->completed = before->completed;
    comm->next = before->next;
    settle_failure(comm);
    settle_history(&before->history, &comm->history, &after->history);
    for (uint32_t i = 0; i < WEFT_FLIGHT_PLACES; i++) {
        settle_entry(&before->entry[i], &comm->entry[i], &after->entry[i]);
    }
    return memcmp(before->name, after->name, sizeof before->name) == 0;
}

bool flight_settle(const weft_flight_record_t *before, weft_flight_record_t *record,
                   const weft_flight_record_t *after)
{
    bool settled = true;
    for (uint32_t i = 0; i < WEFT_FLIGHT_COMMS; i++) {
        settled = settle_comm(&before->comm[i], &record->comm[i], &after->comm[i]) && settled;
    }
    return settled;
}
