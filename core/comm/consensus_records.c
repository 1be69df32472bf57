/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The records of consensuses that a family keeps. */
#include "core/comm/consensus_records.h"

#include <errno.h>

#include "core/base/error.h"

weft_status_t weft_consensus_prepare(weft_family_survival_t *survival, uint32_t nranks)
{
    if (nranks > 1) {
        survival->gone = weft_os_alloc(nranks, 0);
    }
    return nranks == 1 || survival->gone != NULL
               ? WEFT_OK
               : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %u ranks", nranks);
}

void weft_consensus_free_record(weft_consensus_record_t *record)
{
    weft_consensus_fini(&record->machine);
    weft_os_free(record->family_rank);
    weft_os_free(record);
}

void weft_consensus_forget(weft_family_survival_t *survival)
{
    while (survival->records != NULL) {
        weft_consensus_record_t *record = survival->records;
        survival->records = record->next;
        weft_consensus_free_record(record);
    }
    weft_os_free(survival->gone);
}

static void records_end(weft_consensus_record_t *record)
{
    atomic_store_explicit(&record->ended, 1, memory_order_release);
    weft_os_futex_wake(&record->ended);
}

void weft_consensus_look(weft_consensus_record_t *record)
{
    if (record->machine.decided) {
        records_end(record);
    }
}

void weft_consensus_stop_waiting(weft_family_t *family, uint64_t comm_id)
{
    weft_os_mutex_assert_held(&family->lock);
    for (weft_consensus_record_t *r = family->survival.records; r != NULL; r = r->next) {
        if (r->comm_id == comm_id && r->awaited) {
            records_end(r);
        }
    }
}

/* Whoever contributes to a call knows the decisions of the one before, and so do all that live: the
 * ones before that are of no use to anybody. */
static void records_prune(weft_family_survival_t *survival, const weft_consensus_record_t *newest)
{
    weft_consensus_record_t **at = &survival->records;
    while (*at != NULL) {
        weft_consensus_record_t *record = *at;
        if (record->base == newest->base && record->call + 1 < newest->call && !record->awaited) {
            *at = record->next;
            weft_consensus_free_record(record);
        } else {
            at = &record->next;
        }
    }
}

void weft_consensus_leave(weft_family_t *family, uint64_t comm_id)
{
    weft_os_lock(&family->lock);
    weft_consensus_record_t **at = &family->survival.records;
    while (*at != NULL) {
        weft_consensus_record_t *record = *at;
        if (record->comm_id == comm_id && !record->awaited) {
            *at = record->next;
            weft_consensus_free_record(record);
        } else {
            at = &record->next;
        }
    }
    weft_os_unlock(&family->lock);
}

void weft_consensus_add(weft_consensus_record_t *record)
{
    weft_family_survival_t *survival = &record->family->survival;
    weft_os_mutex_assert_held(&record->family->lock);
    records_prune(survival, record);
    for (uint32_t i = 0; survival->gone != NULL && i < record->machine.count; i++) {
        if (survival->gone[record->family_rank[i]] != 0) {
            weft_consensus_leave_out(&record->machine, i, false);
        }
    }
    if (survival->gone != NULL && survival->gone[record->family->rank] != 0) {
        atomic_store_explicit(&record->ended, 1, memory_order_release);
    }
    record->next = survival->records;
    survival->records = record;
}

weft_consensus_record_t *weft_consensus_find(const weft_family_t *family, uint64_t key)
{
    weft_os_mutex_assert_held(&family->lock);
    weft_consensus_record_t *record = family->survival.records;
    while (record != NULL && record->key != key) {
        record = record->next;
    }
    return record;
}

void weft_consensus_resume(weft_consensus_record_t *record)
{
    const weft_family_t *family = record->family;
    bool dead = family->survival.gone != NULL && family->survival.gone[family->rank] != 0;
    weft_os_mutex_assert_held(&family->lock);
    record->awaited = true;
    atomic_store_explicit(&record->ended, record->machine.decided || dead, memory_order_release);
}

/* News ----------------------------------------------------------------------------------------- */

/* Returns the voter with that rank of the family, or `count`. */
static uint32_t records_find(const weft_consensus_record_t *record, uint32_t rank)
{
    uint32_t i = 0;
    while (i < record->machine.count && record->family_rank[i] != rank) {
        i++;
    }
    return i;
}

void weft_consensus_note_end(weft_family_t *family, uint64_t comm_id, uint32_t rank)
{
    weft_os_mutex_assert_held(&family->lock);
    if (comm_id == 0 && family->survival.gone != NULL && rank < family->nranks) {
        family->survival.gone[rank] = 1;
    }
    for (weft_consensus_record_t *r = family->survival.records; r != NULL; r = r->next) {
        if (comm_id != 0 && comm_id != r->comm_id) {
            continue;
        }
        if (comm_id == 0 && rank == family->rank) {
            records_end(r);
        } else {
            weft_consensus_note_gone(&r->machine, records_find(r, rank));
            weft_consensus_look(r);
        }
    }
}

void weft_consensus_note_word(weft_family_t *family, uint64_t key, uint32_t from,
                              const weft_word_t *word)
{
    weft_consensus_record_t *record = weft_consensus_find(family, key);
    if (record != NULL) {
        weft_consensus_serve(&record->machine, records_find(record, from), word);
        weft_consensus_look(record);
    }
}
