/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The consensuses of a family. The health thread serves the words of others and the deaths. What
 * was decided stays for the next consensus of the same voters: a rank that goes on still answers
 * those that have not heard it.
 *
 * It stays until this rank leaves the communicator. To the other voters that is a death: they wait
 * for no word of this rank any more, and find the decision with those that are left, or alone,
 * since all that lived had taken it. So whoever drops its records must have told the others that it
 * leaves, and a communicator that has failed is no exception (weft_comm_tell_leave).
 *
 * One that this rank has given up, before it was decided, stays like the others, and goes on with
 * what the rank contributed. The rank hears the decision when it makes the call again.
 *
 * Everything here is guarded by the family's lock, but `ended`. */
#ifndef WEFT_COMM_CONSENSUS_RECORDS_H
#define WEFT_COMM_CONSENSUS_RECORDS_H

#include "core/comm/consensus.h"
#include "core/comm/family.h"

typedef struct weft_consensus_record {
    struct weft_consensus_record *next;
    weft_family_t *family; /* no reference: the record is the family's */
    uint64_t key;          /* of this consensus, equal on all voters */
    uint64_t base, call;   /* kind and voters, and how many calls of that kind were before */
    uint64_t comm_id;
    uint64_t bits;         /* that this rank contributed */
    uint32_t *family_rank; /* per voter */
    weft_consensus_t machine;
    bool awaited;           /* a thread waits for it */
    _Atomic uint32_t ended; /* decided, this rank is taken for dead, or it gave up; a futex */
} weft_consensus_record_t;

/* The tables of a family. ERR_RESOURCE. */
weft_status_t weft_consensus_prepare(weft_family_survival_t *survival, uint32_t nranks);
void weft_consensus_forget(weft_family_survival_t *survival);

/* Gives the record to the family, and leaves out who is gone. The caller starts the machine. */
void weft_consensus_add(weft_consensus_record_t *record);
/* Returns the record with that key, or NULL. */
weft_consensus_record_t *weft_consensus_find(const weft_family_t *family, uint64_t key);
/* A thread waits again for one that this rank had given up. */
void weft_consensus_resume(weft_consensus_record_t *record);
/* Frees one that was not given to the family. */
void weft_consensus_free_record(weft_consensus_record_t *record);
/* Wakes the waiting thread if the machine has decided. */
void weft_consensus_look(weft_consensus_record_t *record);

/* Lets the thread go that waits for a consensus of communicator comm_id. */
void weft_consensus_stop_waiting(weft_family_t *family, uint64_t comm_id);

/* This rank has left communicator comm_id, and told the others: drops what is kept of it, but not
 * a consensus for which a thread waits. */
void weft_consensus_leave(weft_family_t *family, uint64_t comm_id);

/* News of the health channel: rank `rank` of the family left communicator comm_id; 0: it left the
 * family, or died. Thread: the health thread. */
void weft_consensus_note_end(weft_family_t *family, uint64_t comm_id, uint32_t rank);
void weft_consensus_note_word(weft_family_t *family, uint64_t key, uint32_t from,
                              const weft_word_t *word);

#endif
