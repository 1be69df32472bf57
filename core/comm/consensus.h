/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A consensus of voters that may die: each contributes a word of bits, and all that live end with
 * one value, the bit-and of contributions and the list of those that are gone. The lowest voter
 * that is not known to be gone leads, in two phases, as in the agreement of ULFM (Herault,
 * Bouteiller, Bosilca, Gamell, Teranishi, Parashar, Dongarra: Practical scalable consensus for
 * pseudo-synchronous distributed systems, SC'15), here with a flat collection:
 *
 *   1. Everybody that lives sends the leader its vote. With the vote it promises to take no
 *      proposal of a lower leader any more.
 *   2. The leader proposes. Whoever takes the proposal says so by voting again. When all that live
 *      have taken it the leader decides, and tells.
 *
 * A new leader asks again. A value that was decided had been taken by all that lived, so the votes
 * show it, and the leader proposes what the highest of the earlier leaders did. That somebody is
 * gone is final and every voter hears of it in the end; words may be lost, doubled and
 * overtake each other, if those that wait repeat them (weft_consensus_repeat). Nothing here waits
 * or knows of time, so a test can go through all interleavings.
 *
 * Thread: one at a time. */
#ifndef WEFT_COMM_CONSENSUS_H
#define WEFT_COMM_CONSENSUS_H

#include "core/boot/wire.h"

#define WEFT_CONSENSUS_NOBODY UINT32_MAX

/* Where words go. */
typedef struct weft_consensus_outlet {
    void (*send)(void *arg, uint32_t to, const weft_word_t *word);
    void *arg;
} weft_consensus_outlet_t;

typedef struct weft_consensus {
    uint32_t count, me;
    weft_consensus_outlet_t out;
    uint8_t *flags; /* per voter: what is known of it */
    uint32_t leader;
    uint32_t taken; /* the leader whose proposal is in `value`; NOBODY */
    bool leads, proposes, decided;
    /* This voter's contribution, then the proposal that it took, then the decision. */
    weft_consensus_value_t value;
    /* Of a leader, over the votes: who proposed what is in `found`, or NOBODY; the bits of all. */
    uint32_t found_taken;
    weft_consensus_value_t found;
    uint64_t bits;
    weft_missing_t awaited; /* of others: for whom the leader waits, as it said last */
} weft_consensus_t;

/* ERR_RESOURCE; weft_consensus_fini() is due in any case. */
weft_status_t weft_consensus_init(weft_consensus_t *c, uint32_t count, uint32_t me,
                                  weft_consensus_outlet_t out);
void weft_consensus_fini(weft_consensus_t *c);

/* Before the start: the voter is gone. `known`: all voters know that by an earlier
 * decision, and it is not listed again. */
void weft_consensus_leave_out(weft_consensus_t *c, uint32_t who, bool known);

void weft_consensus_start(weft_consensus_t *c, uint64_t bits);
/* After the start: the voter is gone. */
void weft_consensus_note_gone(weft_consensus_t *c, uint32_t who);
/* Serves a word of another voter. Words that make no sense are ignored. */
void weft_consensus_serve(weft_consensus_t *c, uint32_t from, const weft_word_t *word);
/* Says again what may have been lost. */
void weft_consensus_repeat(weft_consensus_t *c);

/* Lists for whom the consensus waits, as far as this voter knows. */
void weft_consensus_awaited(const weft_consensus_t *c, weft_missing_t *list);

#endif
