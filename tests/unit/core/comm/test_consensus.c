/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A model check of the consensus: all interleavings of starts, words, deaths and the news of
 * deaths, for few voters. The network keeps every word that was ever said and may deliver it at any
 * time, again and again, or never: loss, doubling and overtaking are all in it. A death stands for
 * a rank that leaves its communicator, too: it answers nobody any more, decided or not. States are
 * compared by a hash of 64 bits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/comm/consensus.h"
#include "tests/support/part.h"
#include "tests/support/unit.h"

enum { MOST = 4, WORDS = 256 };

typedef struct said {
    uint32_t from, to;
    weft_word_t word;
} said_t;

typedef struct world {
    weft_consensus_t c[MOST];
    uint8_t flags[MOST][MOST];
    bool started[MOST], dead[MOST];
    uint32_t deaths;
} world_t;

/* Words that were said, in the order of their first time. Each has a number for good, so that a
 * world is its machines and a set of numbers. */
typedef struct model {
    uint32_t count, deaths_most;
    uint64_t seen_room, seen, decisions;
    uint64_t *hashes;
    said_t book[8192];
    uint32_t booked;
} model_t;

typedef struct state {
    world_t world;
    uint16_t words[WORDS]; /* of the book, ascending */
    uint32_t nwords;
} state_t;

static model_t model;

typedef struct speaker {
    state_t *state;
    uint32_t from;
} speaker_t;

/* What matters of a word; the rest is zero, so that words can be compared. */
static uint16_t book_word(uint32_t from, uint32_t to, const weft_word_t *word)
{
    said_t said;
    memset(&said, 0, sizeof said);
    said.from = from;
    said.to = to;
    said.word.kind = word->kind;
    said.word.ballot = word->ballot;
    said.word.taken = word->taken;
    said.word.value.bits = word->value.bits;
    said.word.value.gone = word->value.gone;
    uint32_t at = 0;
    while (at < model.booked && memcmp(&model.book[at], &said, sizeof said) != 0) {
        at++;
    }
    if (at == model.booked) {
        assert_true(model.booked < sizeof model.book / sizeof *model.book);
        model.book[model.booked++] = said;
    }
    return (uint16_t)at;
}

static void speak(void *arg, uint32_t to, const weft_word_t *word)
{
    const speaker_t *speaker = arg;
    state_t *s = speaker->state;
    if (word->kind == WEFT_WORD_WAIT) {
        return; /* changes nothing but the text of an error */
    }
    uint16_t number = book_word(speaker->from, to, word);
    uint32_t at = 0;
    while (at < s->nwords && s->words[at] < number) {
        at++;
    }
    if (at < s->nwords && s->words[at] == number) {
        return;
    }
    assert_true(s->nwords < WORDS);
    memmove(&s->words[at + 1], &s->words[at], (s->nwords - at) * sizeof *s->words);
    s->words[at] = number;
    s->nwords++;
}

/* The hash of all that decides what can come. Pointers and what is left of earlier words in unused
 * fields are not. */
static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) + UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 31;
}

static uint64_t mix_value(uint64_t h, const weft_consensus_value_t *value)
{
    return mix(mix(mix(h, value->bits), value->gone.count),
               (uint64_t)value->gone.first << 8 | value->gone.bits[0]);
}

static uint64_t hash_of(const state_t *s)
{
    uint64_t h = 0;
    for (uint32_t i = 0; i < model.count; i++) {
        const weft_consensus_t *c = &s->world.c[i];
        uint32_t flags;
        memcpy(&flags, s->world.flags[i], sizeof flags);
        h = mix(h, (uint64_t)s->world.started[i] << 1 | s->world.dead[i]);
        if (s->world.dead[i] && !c->decided) {
            continue; /* only what it said counts */
        }
        h = mix(h, (uint64_t)flags << 32 | c->leader << 3 | (uint32_t)c->leads << 2 |
                       (uint32_t)c->proposes << 1 | (uint32_t)c->decided);
        h = mix(h, (uint64_t)c->taken << 32 | c->found_taken);
        h = mix_value(mix_value(mix(h, c->bits), &c->value), &c->found);
    }
    for (uint32_t i = 0; i < s->nwords; i++) {
        h = mix(h, s->words[i]);
    }
    return h != 0 ? h : 1;
}

/* False: it was there. */
static bool add_hash(uint64_t hash)
{
    uint64_t at = hash & (model.seen_room - 1);
    while (model.hashes[at] != 0 && model.hashes[at] != hash) {
        at = (at + 1) & (model.seen_room - 1);
    }
    if (model.hashes[at] == hash) {
        return false;
    }
    model.hashes[at] = hash;
    model.seen++;
    assert_true(model.seen < model.seen_room / 4 * 3);
    return true;
}

/* Copies do not share what the machines point to. */
static void bind(state_t *s, speaker_t *speakers)
{
    for (uint32_t i = 0; i < model.count; i++) {
        speakers[i] = (speaker_t){s, i};
        s->world.c[i].flags = s->world.flags[i];
        s->world.c[i].out = (weft_consensus_outlet_t){speak, &speakers[i]};
    }
}

static uint64_t contribution(uint32_t i)
{
    return ~(UINT64_C(1) << i);
}

/* Decisions are equal, those of the dead too; they hold the bits of all that live, and list none of
 * them. */
static void check_safe(const state_t *s)
{
    const weft_consensus_value_t *decision = NULL;
    for (uint32_t i = 0; i < model.count; i++) {
        const weft_consensus_t *c = &s->world.c[i];
        if (!c->decided) {
            continue;
        }
        model.decisions++;
        if (decision != NULL) {
            assert_int_equal(decision->bits, c->value.bits);
            assert_memory_equal(&decision->gone, &c->value.gone, sizeof decision->gone);
        }
        decision = &c->value;
    }
    for (uint32_t i = 0; decision != NULL && i < model.count; i++) {
        bool listed = false;
        uint32_t gone[MOST];
        uint32_t ngone = weft_missing_list(&decision->gone, gone, MOST);
        for (uint32_t g = 0; g < ngone; g++) {
            listed = listed || gone[g] == i;
        }
        assert_false(listed && !s->world.dead[i]);
        assert_true(listed || (decision->bits >> i & 1) == 0);
    }
}

/* Nothing can happen any more but deaths and words of the dead, which may be lost. */
static void check_ended(const state_t *s)
{
    for (uint32_t i = 0; i < model.count; i++) {
        assert_true(s->world.dead[i] || s->world.c[i].decided);
    }
}

static void explore(const state_t *s);

/* Goes on from a copy that was changed. True: it is another state. */
static bool go_on(const state_t *before, state_t *after)
{
    bool other = hash_of(after) != hash_of(before);
    if (other && add_hash(hash_of(after))) {
        explore(after);
    }
    return other;
}

static state_t *copy_of(const state_t *s, speaker_t *speakers)
{
    state_t *copy = malloc(sizeof *copy);
    assert_non_null(copy);
    *copy = *s;
    bind(copy, speakers);
    return copy;
}

static bool try_start(const state_t *s, uint32_t i)
{
    speaker_t speakers[MOST];
    if (s->world.started[i] || s->world.dead[i]) {
        return false;
    }
    state_t *next = copy_of(s, speakers);
    next->world.started[i] = true;
    weft_consensus_start(&next->world.c[i], contribution(i));
    bool moved = go_on(s, next);
    free(next);
    return moved;
}

static void try_death(const state_t *s, uint32_t i)
{
    speaker_t speakers[MOST];
    if (s->world.dead[i] || s->world.deaths == model.deaths_most) {
        return;
    }
    state_t *next = copy_of(s, speakers);
    next->world.dead[i] = true;
    next->world.deaths++;
    (void)go_on(s, next);
    free(next);
}

static bool try_news(const state_t *s, uint32_t i, uint32_t of)
{
    speaker_t speakers[MOST];
    if (i == of || s->world.dead[i] || !s->world.dead[of]) {
        return false;
    }
    state_t *next = copy_of(s, speakers);
    if (next->world.started[i]) {
        weft_consensus_note_gone(&next->world.c[i], of);
    } else {
        weft_consensus_leave_out(&next->world.c[i], of, false);
    }
    bool moved = go_on(s, next);
    free(next);
    return moved;
}

/* True: a word of the living moved something. A word to a rank that has not begun is lost, and said
 * again. */
static bool try_word(const state_t *s, uint16_t number)
{
    speaker_t speakers[MOST];
    const said_t *said = &model.book[number];
    if (s->world.dead[said->to] || !s->world.started[said->to]) {
        return false;
    }
    state_t *next = copy_of(s, speakers);
    weft_consensus_serve(&next->world.c[said->to], said->from, &said->word);
    bool moved = go_on(s, next);
    free(next);
    return moved && !s->world.dead[said->from];
}

static void explore(const state_t *s)
{
    bool moved = false;
    check_safe(s);
    for (uint32_t i = 0; i < model.count; i++) {
        moved |= try_start(s, i);
        try_death(s, i);
        for (uint32_t of = 0; of < model.count; of++) {
            moved |= try_news(s, i, of);
        }
    }
    for (uint32_t i = 0; i < s->nwords; i++) {
        moved |= try_word(s, s->words[i]);
    }
    if (!moved) {
        check_ended(s);
    }
}

static void check_all(uint32_t count, uint32_t deaths, uint32_t log_room)
{
    speaker_t speakers[MOST];
    state_t first;
    memset(&first, 0, sizeof first);
    model.count = count;
    model.deaths_most = deaths;
    model.seen = model.decisions = 0;
    model.booked = 0;
    model.seen_room = UINT64_C(1) << log_room;
    model.hashes = calloc(model.seen_room, sizeof *model.hashes);
    assert_non_null(model.hashes);
    for (uint32_t i = 0; i < count; i++) {
        weft_consensus_init(&first.world.c[i], count, i, (weft_consensus_outlet_t){0});
        weft_consensus_fini(&first.world.c[i]);
    }
    bind(&first, speakers);
    add_hash(hash_of(&first));
    explore(&first);
    print_message("%u voters, %u deaths: %llu states, %u words\n", count, deaths,
                  (unsigned long long)model.seen, model.booked);
    assert_true(model.decisions > 0);
    free(model.hashes);
}

static void two_and_three_agree_in_every_interleaving(void **unused)
{
    (void)unused;
    check_all(1, 0, 12);
    check_all(2, 1, 16);
    check_all(3, 1, 16);
    check_all(3, 2, 16);
}

static void four_agree_in_every_interleaving(void **unused)
{
    (void)unused;
    check_all(4, 1, 16);
    check_all(4, 2, 18);
    if (PARTS == 1) {
        check_all(4, 3, 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_and_three_agree_in_every_interleaving),
        cmocka_unit_test(four_agree_in_every_interleaving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
