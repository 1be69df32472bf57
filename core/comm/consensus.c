/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state machine of a consensus. Invariant: whoever has voted for a leader takes no proposal of
 * a lower one, since its own leader never falls. */
#include "core/comm/consensus.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/os/os.h"

#define IS_GONE 1u  /* takes no part any more */
#define IS_KNOWN 2u /* all knew that before */
#define HAS_VOTED 4u
#define HAS_TAKEN 8u /* our proposal */

weft_status_t weft_consensus_init(weft_consensus_t *c, uint32_t count, uint32_t me,
                                  weft_consensus_outlet_t out)
{
    *c = (weft_consensus_t){.count = count,
                            .me = me,
                            .out = out,
                            .flags = weft_os_alloc(count, 0),
                            .taken = WEFT_CONSENSUS_NOBODY,
                            .found_taken = WEFT_CONSENSUS_NOBODY,
                            .bits = UINT64_MAX};
    return c->flags != NULL ? WEFT_OK
                            : weft_fail(WEFT_ERR_RESOURCE, ENOMEM,
                                        "no memory for a consensus of %u ranks", count);
}

void weft_consensus_fini(weft_consensus_t *c)
{
    weft_os_free(c->flags);
    c->flags = NULL;
}

static void consensus_say(const weft_consensus_t *c, uint32_t to, weft_word_kind_t kind)
{
    weft_word_t word = {
        .kind = kind, .ballot = c->leader, .taken = WEFT_CONSENSUS_NOBODY, .value = c->value};
    word.taken = kind == WEFT_WORD_VOTE ? c->taken : word.taken;
    if (kind == WEFT_WORD_WAIT) {
        weft_consensus_awaited(c, &word.value.gone);
    }
    c->out.send(c->out.arg, to, &word);
}

/* To all others that live and have not `done`. */
static void consensus_say_all(const weft_consensus_t *c, weft_word_kind_t kind, uint8_t done)
{
    for (uint32_t i = 0; i < c->count; i++) {
        if (i != c->me && (c->flags[i] & (IS_GONE | done)) == 0) {
            consensus_say(c, i, kind);
        }
    }
}

static bool consensus_all_have(const weft_consensus_t *c, uint8_t done)
{
    uint32_t i = 0;
    while (i < c->count && (c->flags[i] & (IS_GONE | done)) != 0) {
        i++;
    }
    return i == c->count;
}

static void consensus_propose(weft_consensus_t *c)
{
    c->proposes = true;
    if (c->found_taken != WEFT_CONSENSUS_NOBODY) {
        c->value = c->found;
    } else {
        c->value = (weft_consensus_value_t){.bits = c->bits};
        for (uint32_t i = 0; i < c->count; i++) {
            if ((c->flags[i] & (IS_GONE | IS_KNOWN)) == IS_GONE) {
                weft_missing_add(&c->value.gone, i);
            }
        }
    }
    c->taken = c->me;
    c->flags[c->me] |= HAS_TAKEN;
    consensus_say_all(c, WEFT_WORD_PROPOSE, 0);
}

static void consensus_lead_on(weft_consensus_t *c)
{
    if (!c->proposes && consensus_all_have(c, HAS_VOTED)) {
        consensus_propose(c);
    }
    if (c->proposes && consensus_all_have(c, HAS_TAKEN)) {
        c->decided = true;
        consensus_say_all(c, WEFT_WORD_DECIDE, 0);
    }
}

static void consensus_count_vote(weft_consensus_t *c, uint32_t from, uint32_t taken,
                                 const weft_consensus_value_t *value)
{
    if ((c->flags[from] & HAS_VOTED) != 0) {
        return;
    }
    c->flags[from] |= HAS_VOTED;
    if (taken == WEFT_CONSENSUS_NOBODY) {
        c->bits &= value->bits;
    } else if (c->found_taken == WEFT_CONSENSUS_NOBODY || taken > c->found_taken) {
        c->found_taken = taken;
        c->found = *value;
    }
}

/* After the start, and whenever there is another leader: leads, or votes. */
static void consensus_turn(weft_consensus_t *c)
{
    if (c->leader != c->me) {
        consensus_say(c, c->leader, WEFT_WORD_VOTE);
        return;
    }
    c->leads = true;
    consensus_count_vote(c, c->me, c->taken, &c->value);
    if (!consensus_all_have(c, HAS_VOTED)) {
        consensus_say_all(c, WEFT_WORD_CALL, HAS_VOTED);
    }
    consensus_lead_on(c);
}

static void consensus_find_leader(weft_consensus_t *c)
{
    while (c->leader < c->me && (c->flags[c->leader] & IS_GONE) != 0) {
        c->leader++;
    }
}

void weft_consensus_leave_out(weft_consensus_t *c, uint32_t who, bool known)
{
    if (who < c->count && who != c->me) {
        c->flags[who] |= known ? IS_GONE | IS_KNOWN : IS_GONE;
    }
}

void weft_consensus_start(weft_consensus_t *c, uint64_t bits)
{
    c->value.bits = bits;
    consensus_find_leader(c);
    consensus_turn(c);
}

void weft_consensus_note_gone(weft_consensus_t *c, uint32_t who)
{
    uint32_t before = c->leader;
    weft_consensus_leave_out(c, who, false);
    consensus_find_leader(c);
    if (!c->decided && c->leader != before) {
        consensus_turn(c);
    } else if (!c->decided && c->leads) {
        consensus_lead_on(c);
    }
}

/* Whoever leads knows that all below are gone. False: the leader is gone itself, or takes this
 * voter for gone. */
static bool consensus_follow(weft_consensus_t *c, uint32_t ballot)
{
    if (ballot < c->leader || ballot > c->me) {
        return false;
    }
    for (uint32_t i = c->leader; i < ballot; i++) {
        weft_consensus_leave_out(c, i, false);
    }
    consensus_find_leader(c);
    return true;
}

static void consensus_serve_vote(weft_consensus_t *c, uint32_t from, const weft_word_t *word)
{
    bool again = (c->flags[from] & HAS_VOTED) != 0;
    if (word->ballot != c->me) {
        return;
    }
    if (!c->leads) {
        (void)consensus_follow(c, c->me);
        consensus_turn(c);
    }
    consensus_count_vote(c, from, word->taken, &word->value);
    if (c->proposes && word->taken == c->me) {
        c->flags[from] |= HAS_TAKEN;
    } else if (c->proposes) {
        consensus_say(c, from, WEFT_WORD_PROPOSE);
    } else if (again) {
        consensus_say(c, from, WEFT_WORD_WAIT);
    }
    consensus_lead_on(c);
}

static void consensus_serve_leader(weft_consensus_t *c, const weft_word_t *word)
{
    if (!consensus_follow(c, word->ballot)) {
        return;
    }
    if (word->kind == WEFT_WORD_PROPOSE) {
        c->taken = word->ballot;
        c->value = word->value;
    }
    consensus_say(c, c->leader, WEFT_WORD_VOTE);
}

void weft_consensus_serve(weft_consensus_t *c, uint32_t from, const weft_word_t *word)
{
    if (from >= c->count || from == c->me) {
        return;
    }
    if (!c->decided && word->kind == WEFT_WORD_DECIDE) {
        c->decided = true;
        c->value = word->value;
    } else if ((c->flags[from] & IS_GONE) != 0 || word->kind == WEFT_WORD_DECIDE) {
        return;
    } else if (word->kind == WEFT_WORD_WAIT) {
        c->awaited = word->value.gone;
    } else if (c->decided) {
        consensus_say(c, from, WEFT_WORD_DECIDE);
    } else if (word->kind == WEFT_WORD_VOTE) {
        consensus_serve_vote(c, from, word);
    } else if (word->ballot == from) {
        consensus_serve_leader(c, word);
    }
}

void weft_consensus_repeat(weft_consensus_t *c)
{
    if (c->decided) {
        return;
    }
    if (!c->leads) {
        consensus_say(c, c->leader, WEFT_WORD_VOTE);
    } else if (c->proposes) {
        consensus_say_all(c, WEFT_WORD_PROPOSE, HAS_TAKEN);
    } else {
        consensus_say_all(c, WEFT_WORD_CALL, HAS_VOTED);
    }
}

void weft_consensus_awaited(const weft_consensus_t *c, weft_missing_t *list)
{
    uint8_t done = c->proposes ? HAS_TAKEN : HAS_VOTED;
    *list = (weft_missing_t){.count = 0};
    for (uint32_t i = 0; c->leads && i < c->count; i++) {
        if ((c->flags[i] & (IS_GONE | done)) == 0) {
            weft_missing_add(list, i);
        }
    }
    if (!c->leads && c->awaited.count > 0) {
        *list = c->awaited;
    } else if (!c->leads) {
        weft_missing_add(list, c->leader);
    }
}
