/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A consensus of up to eight voters, of which some say anything: words get lost, are doubled and
 * overtake each other. Every word of a right voter can be sent, and all that it decides is a value.
 * Where all are right, nobody decides otherwise than the others, also of those that die, and where
 * nothing is lost at the end, all that live decide. */
#include "core/comm/consensus.h"
#include "fuzz.h"

#define VOTERS 8
#define WORDS 128

typedef struct letter {
    uint32_t from, to;
    weft_word_t word;
} letter_t;

typedef struct world {
    uint32_t count;
    uint32_t hostile, gone; /* voters, as bits */
    weft_consensus_t machine[VOTERS];
    letter_t letters[WORDS]; /* the oldest are lost */
    uint32_t sent;
} world_t;

static world_t world;

static bool is_right(uint32_t who)
{
    return ((world.hostile | world.gone) >> who & 1) == 0;
}

static void put(uint32_t from, uint32_t to, const weft_word_t *word)
{
    world.letters[world.sent++ % WORDS] = (letter_t){from, to, *word};
}

/* Of a right voter: it survives the wire. */
static void send(void *arg, uint32_t to, const weft_word_t *word)
{
    uint8_t bytes[WEFT_WIRE_WORD];
    weft_word_t read;
    const char *why = NULL;
    uint32_t from = (uint32_t)((const weft_consensus_t *)arg - world.machine);
    FUZZ_NEED(to < world.count && to != from);
    weft_word_encode(word, bytes);
    FUZZ_NEED(weft_word_decode(bytes, world.count, &read, &why) == WEFT_OK);
    put(from, to, &read);
}

static void deliver(uint32_t at)
{
    const letter_t letter = world.letters[at % WORDS];
    if (world.sent > 0 && at < world.sent && is_right(letter.to)) {
        weft_consensus_serve(&world.machine[letter.to], letter.from, &letter.word);
    }
}

static void note_gone(uint32_t who, uint32_t by)
{
    if (is_right(by)) {
        weft_consensus_note_gone(&world.machine[by], who);
    }
}

/* A word of a hostile voter, as far as the wire lets it through. */
static void say_anything(uint32_t from, const uint8_t **data, size_t *bytes)
{
    uint8_t message[WEFT_WIRE_WORD], fields[4];
    weft_word_t word;
    const char *why = NULL;
    fuzz_take(data, bytes, fields, sizeof fields);
    memset(&word, 0, sizeof word);
    word.kind = fields[0] % 8;
    word.ballot = fields[0] >> 3 & 7;
    word.taken = fields[1] >= 64 ? UINT32_MAX : fields[1] & 7;
    word.value.bits = fields[2];
    for (uint32_t i = 0; i < 8; i++) {
        if ((fields[3] >> i & 1) != 0) {
            weft_missing_add(&word.value.gone, i);
        }
    }
    weft_word_encode(&word, message);
    if (weft_word_decode(message, world.count, &word, &why) == WEFT_OK) {
        for (uint32_t to = 0; to < world.count; to++) {
            put(from, to, &word);
        }
    }
}

static void act(const uint8_t **data, size_t *bytes)
{
    uint8_t op = fuzz_byte(data, bytes);
    uint32_t who = (op >> 3) % world.count;
    switch (op % 8) {
    case 0: /* dies, if it is not the last one: each hears of it on its own */
        if (__builtin_popcount(world.gone) + 1 < (int)world.count) {
            world.gone |= 1u << who;
        }
        break;
    case 1:
        who = fuzz_byte(data, bytes) % world.count;
        if ((world.gone >> who & 1) != 0) {
            note_gone(who, (op >> 3) % world.count);
        }
        break;
    case 2:
        if (is_right(who)) {
            weft_consensus_repeat(&world.machine[who]);
        }
        break;
    case 3:
        if ((world.hostile >> who & 1) != 0) {
            say_anything(who, data, bytes);
        }
        break;
    default: /* the last ones first, or an old one again */
        deliver(world.sent - 1 - (op >> 2));
    }
}

/* In the end all hear of deaths, and what is said again arrives. */
static void settle(void)
{
    for (uint32_t round = 0; round < 4 * VOTERS; round++) {
        for (uint32_t i = 0; i < world.count; i++) {
            for (uint32_t who = 0; who < world.count; who++) {
                if ((world.gone >> who & 1) != 0) {
                    note_gone(who, i);
                }
            }
            uint32_t before = world.sent;
            if (is_right(i)) {
                weft_consensus_repeat(&world.machine[i]);
            }
            while (before < world.sent) {
                deliver(before++);
            }
        }
    }
}

static void judge(void)
{
    const weft_consensus_t *first = NULL;
    weft_missing_t awaited;
    for (uint32_t i = 0; i < world.count; i++) {
        const weft_consensus_t *c = &world.machine[i];
        weft_consensus_awaited(c, &awaited);
        if (world.hostile != 0) {
            continue;
        }
        FUZZ_NEED(c->decided || !is_right(i));
        if (!c->decided) {
            continue;
        }
        first = first != NULL ? first : c;
        FUZZ_NEED(c->value.bits == first->value.bits &&
                  memcmp(&c->value.gone, &first->value.gone, sizeof c->value.gone) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t how = fuzz_byte(&data, &bytes);
    bytes = bytes < 512 ? bytes : 512;
    world = (world_t){.count = 2 + how % (VOTERS - 1)};
    world.hostile = fuzz_byte(&data, &bytes) & ((1u << world.count) - 1);
    uint8_t out = fuzz_byte(&data, &bytes), known = fuzz_byte(&data, &bytes);
    for (uint32_t i = 0; i < world.count; i++) {
        weft_consensus_t *c = &world.machine[i];
        FUZZ_NEED(weft_consensus_init(c, world.count, i, (weft_consensus_outlet_t){send, c}) ==
                  WEFT_OK);
    }
    /* Some were gone before: at the hostile end of things each knows of others. */
    world.gone = world.hostile == 0 ? out & known & ((1u << world.count) - 1) : 0;
    for (uint32_t i = 0; i < world.count; i++) {
        for (uint32_t who = 0; who < world.count; who++) {
            if ((world.gone >> who & 1) != 0) {
                weft_consensus_leave_out(&world.machine[i], who, (how & 128) != 0);
            }
        }
    }
    for (uint32_t i = 0; i < world.count; i++) {
        if (is_right(i)) {
            weft_consensus_start(&world.machine[i], ~(UINT64_C(1) << (i + (how >> 5))));
        }
    }
    while (bytes > 0) {
        act(&data, &bytes);
    }
    settle();
    judge();
    for (uint32_t i = 0; i < world.count; i++) {
        weft_consensus_fini(&world.machine[i]);
    }
    return 0;
}
