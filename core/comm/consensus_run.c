/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads that wait for a consensus. */
#include "core/comm/consensus_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/comm/consensus_records.h"
#include "core/comm/split.h"

/* What may have been lost is said again after so long, then after twice that, and so on. */
#define RUN_FIRST_NS (5 * WEFT_NS_PER_MS)
#define RUN_MOST_NS (100 * WEFT_NS_PER_MS)

/* The machine's words. The family's lock is held. */
static void run_send(void *arg, uint32_t to, const weft_word_t *word)
{
    const weft_consensus_record_t *record = arg;
    weft_health_tell(record->family->boot, record->key, record->family_rank[to], word);
}

static uint64_t run_key(const weft_voters_t *p, uint32_t round)
{
    return weft_split_mix(weft_split_mix(p->base, p->call), round);
}

/* NULL: ERR_RESOURCE. */
static weft_consensus_record_t *run_create(weft_voters_t *p, uint32_t round)
{
    weft_consensus_record_t *record = weft_voters_record(p);
    if (record != NULL) {
        record->family = p->family;
        record->base = p->base;
        record->call = p->call;
        record->comm_id = p->comm_id;
        record->key = run_key(p, round);
        record->machine.out = (weft_consensus_outlet_t){.send = run_send, .arg = record};
    }
    return record;
}

/* The call in the flight record of its communicator, if that is still there. The family's lock is
 * held, here and below. */
static weft_flight_entry_t *run_place(const weft_voters_t *p)
{
    const weft_comm_state_t *state = weft_family_find(p->family, p->comm_id);
    return state != NULL ? &state->flight->entry[WEFT_FLIGHT_VOTE] : NULL;
}

static void run_note(const weft_voters_t *p)
{
    weft_flight_entry_t *entry = run_place(p);
    if (entry == NULL) {
        return;
    }
    /* As in weft_comm_record(). */
    atomic_store_explicit(&entry->state, WEFT_FLIGHT_FREE, memory_order_relaxed);
    entry->number = weft_os_clock_ns();
    weft_os_fence_writes();
    entry->called = p->began;
    entry->ended = 0;
    entry->root = p->root;
    entry->peer = -1;
    entry->status = WEFT_IN_PROGRESS;
    entry->coll = WEFT_ALL_GATHER;
    atomic_store_explicit(&entry->state, WEFT_FLIGHT_CALLED, memory_order_release);
}

/* Once: for whom this rank has waited so long. */
static void run_tell_late(weft_voters_t *p, const char *what, uint32_t rank)
{
    const double waited = (double)(weft_os_clock_ns() - p->began) / 1e9;
    const double late = p->family->settings.boot.late;
    if (!p->late_told && late > 0 && waited > late) {
        p->late_told = true;
        weft_log(WEFT_LOG_WARN, "comm",
                 "%srank %u has waited %.1f s for rank %u in %s; it has not called it, or does not "
                 "answer",
                 p->place, p->rank, waited, rank, what);
    }
}

/* Repeats what may have been lost, and asks those that are late for a sign of life: whoever is
 * stopped is found dead so. */
static void run_repeat(weft_voters_t *p, const char *what, weft_consensus_record_t *record)
{
    const weft_signature_t nothing = {.sequence = 0};
    weft_missing_t awaited;
    uint32_t first;
    weft_os_lock(&record->family->lock);
    weft_consensus_repeat(&record->machine);
    weft_consensus_awaited(&record->machine, &awaited);
    const bool waits = !record->machine.decided && weft_missing_list(&awaited, &first, 1) > 0 &&
                       first < record->machine.count;
    weft_flight_entry_t *entry = waits ? run_place(p) : NULL;
    if (entry != NULL) {
        entry->peer = (int32_t)p->ranks[first];
    }
    if (waits) {
        weft_health_ask(record->family->boot, 0, record->family_rank[first], &nothing);
    }
    weft_os_unlock(&record->family->lock);
    if (waits) {
        run_tell_late(p, what, p->ranks[first]);
    }
}

/* Who left the communicator alone is known to it only, and it may be gone. */
static bool run_has_left(const weft_voters_t *p, const weft_comm_state_t *state, uint32_t i)
{
    return state != NULL && i != p->me && weft_peer_has_left(&state->peers[p->ranks[i]]);
}

/* The family's lock is held. */
static void run_start(const weft_voters_t *p, weft_consensus_record_t *record, uint64_t bits)
{
    const weft_comm_state_t *state = weft_family_find(p->family, p->comm_id);
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->settled[i] || run_has_left(p, state, i)) {
            weft_consensus_leave_out(&record->machine, i, p->settled[i]);
        }
    }
    record->awaited = true;
    record->bits = bits;
    weft_consensus_add(record);
    weft_consensus_start(&record->machine, bits);
    weft_consensus_look(record);
}

/* Takes up what this rank gave up. It goes on with what it said then, which others may have
 * counted. The family's lock is held. ERR_STATE: the caller says something else, so this is another
 * decision. */
static weft_status_t run_resume(weft_voters_t *p, const char *what, uint32_t round, uint64_t bits,
                                weft_consensus_record_t **record_p)
{
    weft_consensus_record_t *record = weft_consensus_find(p->family, run_key(p, round));
    p->resumed = record != NULL;
    if (p->resumed && round == 0 && record->bits != bits) {
        return weft_fail(WEFT_ERR_STATE, 0,
                         "%s: rank %u gave up a call with bits %#" PRIx64
                         ", which is not decided here; call it anew with those, before one with "
                         "bits %#" PRIx64,
                         what, p->rank, record->bits, bits);
    }
    if (p->resumed) {
        weft_consensus_resume(record);
        *record_p = record;
    }
    return WEFT_OK;
}

/* Contributes `bits`, once. ERR_RESOURCE; or the call has been ended, and contributes nothing. */
static weft_status_t run_join(weft_voters_t *p, const char *what, uint32_t round, uint64_t bits,
                              weft_consensus_record_t **record_p)
{
    weft_consensus_record_t *fresh = run_create(p, round);
    weft_error_t lack = *weft_error_record();
    *record_p = NULL;
    weft_os_lock(&p->family->lock);
    weft_status_t status = weft_side_call_has_ended(&p->side)
                               ? weft_side_call_raise(&p->side)
                               : run_resume(p, what, round, bits, record_p);
    if (status == WEFT_OK && *record_p == NULL && fresh != NULL) {
        *record_p = fresh;
        run_start(p, fresh, bits);
        fresh = NULL;
    }
    p->voted = *record_p != NULL;
    p->open = true;
    if (p->voted) {
        run_note(p);
    }
    weft_os_unlock(&p->family->lock);
    if (fresh != NULL) {
        weft_consensus_free_record(fresh);
    }
    if (status == WEFT_OK && !p->voted) {
        *weft_error_record() = lack;
        status = WEFT_ERR_RESOURCE;
    }
    return status;
}

static void run_wait(weft_voters_t *p, const char *what, weft_consensus_record_t *record,
                     uint64_t deadline)
{
    uint64_t pause = RUN_FIRST_NS, again = weft_os_clock_ns() + pause;
    while (atomic_load_explicit(&record->ended, memory_order_acquire) == 0) {
        uint64_t now = weft_os_clock_ns();
        if (now >= deadline) {
            return;
        }
        if (now >= again) {
            run_repeat(p, what, record);
            pause = 2 * pause < RUN_MOST_NS ? 2 * pause : RUN_MOST_NS;
            again = now + pause;
        }
        weft_os_futex_wait(&record->ended, 0, (again < deadline ? again : deadline) - now);
    }
}

static weft_status_t run_fail_timeout(const weft_voters_t *p, const char *what,
                                      const weft_missing_t *awaited)
{
    enum { NAMED = 16 };
    uint32_t who[NAMED], listed = weft_missing_list(awaited, who, NAMED);
    char names[160] = "";
    int used = 0;
    for (uint32_t i = 0; i < listed && i < NAMED; i++) {
        uint32_t rank = who[i] < p->count ? p->ranks[who[i]] : 0;
        used +=
            snprintf(names + used, sizeof names - (size_t)used, "%s%u", i > 0 ? ", " : "", rank);
    }
    weft_fail(WEFT_ERR_TIMEOUT, 0, "%s: not decided within %.3g s; rank %u waits for rank%s %s%s",
              what, p->family->settings.boot.init_timeout, p->rank, listed > 1 ? "s" : "", names,
              listed > NAMED ? " and more" : "");
    bool named = listed > 0 && who[0] < p->count;
    if (named) {
        (void)weft_boot_set_culprit(p->family->boot, p->family_rank[who[0]]);
    }
    weft_error_t *error = weft_error_record();
    error->comm_id = p->comm_id;
    error->rank = (int32_t)p->rank;
    error->peer = named ? (int32_t)p->ranks[who[0]] : -1;
    return WEFT_ERR_TIMEOUT;
}

weft_status_t weft_consensus_run(weft_voters_t *p, const char *what, uint32_t round, uint64_t bits,
                                 weft_consensus_value_t *value_p)
{
    weft_family_t *family = p->family;
    weft_consensus_record_t *record;
    uint64_t deadline = weft_os_deadline(family->settings.boot.init_timeout);
    weft_missing_t awaited;
    weft_status_t status = run_join(p, what, round, bits, &record);
    if (status != WEFT_OK) {
        return status;
    }
    run_wait(p, what, record, deadline);
    weft_os_lock(&family->lock);
    /* Alone among ranks that are gone it would decide at once. */
    bool declared_dead = family->survival.gone != NULL && family->survival.gone[family->rank] != 0;
    bool decided = record->machine.decided && !declared_dead;
    bool gave_up = weft_side_call_has_ended(&p->side);
    bool ended = atomic_load_explicit(&record->ended, memory_order_relaxed) != 0;
    *value_p = record->machine.value;
    weft_consensus_awaited(&record->machine, &awaited);
    record->awaited = false;
    p->open = !decided;
    weft_flight_end(run_place(p), decided   ? WEFT_OK
                                  : gave_up ? p->side.ended
                                  : ended   ? WEFT_ERR_PEER_DEAD
                                            : WEFT_ERR_TIMEOUT);
    weft_os_unlock(&family->lock);
    if (decided || gave_up) {
        return decided ? WEFT_OK : weft_side_call_raise(&p->side);
    }
    return ended ? weft_fail(WEFT_ERR_PEER_DEAD, 0,
                             "%s: the others have declared this rank, %u, dead", what, p->rank)
                 : run_fail_timeout(p, what, &awaited);
}
