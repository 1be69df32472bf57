/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parser and search of rules:
 *
 *   all_reduce bytes=64K..1M ranks=4 hosts=1: algo-ring slices=2 slice_bytes=32K channels=1 force
 *   any: algo-x:depth=2,mirror=1 slices=2
 *   any memory=device: algo-ring protocol=ll128
 *
 * What stands before the colon says which calls it is for, what is behind it how they run. */
#include "rules.h"

#include <stdio.h>
#include <string.h>

#include <weft/plugin/algo.h>

#include "nearest_word.h"

#define BLANKS ", \t"
#define HINT_MAX 400

typedef struct rules_word {
    const char *at;
    size_t length;
} rules_word_t;

/* A rule that is being read. */
typedef struct rules_reader {
    const weft_host_t *host;
    const char *origin;
    rules_rule_t *rule;
    uint32_t given; /* bit per condition and, behind them, per word on how */
} rules_reader_t;

static const char *const rules_memories[] = {"host", "device"};

static weft_status_t rules_refuse(const rules_reader_t *r, const char *what, rules_word_t word,
                                  const char *hint)
{
    return r->host->set_error(r->host, WEFT_ERR_CONFIG, 0, "%s: [tuner] rule: %s \"%.*s\"%s",
                              r->origin, what, (int)word.length, word.at, hint);
}

static weft_status_t rules_refuse_of(const rules_reader_t *r, const char *what, rules_word_t word,
                                     const char *const *words, uint32_t count)
{
    char hint[HINT_MAX];
    nearest_word_hint(word.at, word.length, words, count, hint, sizeof hint);
    return rules_refuse(r, what, word, hint);
}

static weft_status_t rules_note_given(rules_reader_t *r, rules_word_t word, uint32_t number)
{
    const uint32_t bit = UINT32_C(1) << number;
    if ((r->given & bit) != 0) {
        return rules_refuse(r, "given twice:", word, "");
    }
    r->given |= bit;
    return WEFT_OK;
}

static bool rules_word_is(rules_word_t word, const char *text)
{
    return strlen(text) == word.length && memcmp(text, word.at, word.length) == 0;
}

/* The next word of text, which moves behind it; length 0 at the end. */
static rules_word_t rules_next_word(const char **text_p)
{
    const char *at = *text_p + strspn(*text_p, BLANKS);
    rules_word_t word = {at, strcspn(at, BLANKS)};
    *text_p = at + word.length;
    return word;
}

/* "64K": a number with K, M or G. */
static bool rules_read_number(rules_word_t word, uint64_t *value_p)
{
    uint64_t value = 0;
    size_t i = 0;
    for (; i < word.length && word.at[i] >= '0' && word.at[i] <= '9'; i++) {
        if (value > UINT64_MAX / 16) {
            return false;
        }
        value = value * 10 + (uint64_t)(word.at[i] - '0');
    }
    bool digits = i > 0;
    if (digits && i + 1 == word.length) {
        const char *unit = strchr("KMG", word.at[i]);
        if (unit == NULL || value >> 30 != 0) {
            return false;
        }
        value <<= 10 * (word.at[i] == 'K' ? 1 : word.at[i] == 'M' ? 2 : 3);
        i++;
    }
    *value_p = value;
    return digits && i == word.length;
}

/* "4", "4..16", "4.." or "..16". */
static bool rules_read_range(rules_word_t word, rules_range_t *range)
{
    const char *dots = NULL;
    for (size_t i = 0; i + 1 < word.length && dots == NULL; i++) {
        dots = word.at[i] == '.' && word.at[i + 1] == '.' ? word.at + i : NULL;
    }
    if (dots == NULL) {
        bool good = rules_read_number(word, &range->first);
        range->last = range->first;
        return good;
    }
    rules_word_t first = {word.at, (size_t)(dots - word.at)};
    rules_word_t last = {dots + 2, word.length - first.length - 2};
    return (first.length > 0 || last.length > 0) &&
           (first.length == 0 || rules_read_number(first, &range->first)) &&
           (last.length == 0 || rules_read_number(last, &range->last)) &&
           range->first <= range->last;
}

static weft_status_t rules_read_coll(const rules_reader_t *r, rules_word_t word)
{
    const char *names[WEFT_COLL_COUNT + 1];
    uint32_t count = 0;
    for (uint32_t i = 0; i < WEFT_COLL_COUNT; i++) {
        const char *name = weft_algo_coll_text((weft_coll_t)i);
        const bool right = rules_word_is(word, name);
        if (i == WEFT_SEND_RECV) { /* A rule for it would never hold. */
            if (right) {
                return rules_refuse(r, "no collective:", word, " runs no algorithm");
            }
            continue;
        }
        if (right) {
            r->rule->coll = i;
            return WEFT_OK;
        }
        names[count++] = name;
    }
    names[count++] = "any";
    r->rule->coll = RULES_ANY;
    return rules_word_is(word, "any")
               ? WEFT_OK
               : rules_refuse_of(r, "no collective is called", word, names, count);
}

static weft_status_t rules_read_choice(const rules_reader_t *r, const char *what, rules_word_t word,
                                       const char *const *names, uint32_t count, uint32_t *value_p)
{
    for (uint32_t i = 0; i < count; i++) {
        if (rules_word_is(word, names[i])) {
            *value_p = i;
            return WEFT_OK;
        }
    }
    return rules_refuse_of(r, what, word, names, count);
}

/* Splits "key=value". */
static bool rules_split(rules_word_t word, rules_word_t *key, rules_word_t *value)
{
    const char *equals = memchr(word.at, '=', word.length);
    if (equals == NULL) {
        return false;
    }
    *key = (rules_word_t){word.at, (size_t)(equals - word.at)};
    *value = (rules_word_t){equals + 1, word.length - key->length - 1};
    return true;
}

#define RULES_CONDITIONS 5u

static weft_status_t rules_read_condition(rules_reader_t *r, rules_word_t word)
{
    static const char *const keys[RULES_CONDITIONS] = {"bytes", "ranks", "hosts", "memory",
                                                       "dtype"};
    static const char *const dtypes[] = {
#define RULES_DTYPE(value, name, bytes, text) [value] = text,
        WEFT_DTYPE_MAP(RULES_DTYPE)
#undef RULES_DTYPE
    };
    rules_word_t key = word, value = {0};
    uint32_t which = 0;
    if (!rules_split(word, &key, &value)) {
        return rules_refuse_of(r, "expected key=value, not", word, keys, RULES_CONDITIONS);
    }
    weft_status_t status =
        rules_read_choice(r, "unknown word", key, keys, RULES_CONDITIONS, &which);
    status = status == WEFT_OK ? rules_note_given(r, word, which) : status;
    if (status != WEFT_OK) {
        return status;
    }
    if (which == 3) {
        return rules_read_choice(r, "unknown value", value, rules_memories, 2, &r->rule->memory);
    }
    if (which == 4) {
        return rules_read_choice(r, "unknown value", value, dtypes, WEFT_DTYPE_COUNT,
                                 &r->rule->dtype);
    }
    rules_range_t *ranges[] = {&r->rule->bytes, &r->rule->ranks, &r->rule->hosts};
    if (!rules_read_range(value, ranges[which])) {
        return rules_refuse(r, "expected a number or a range such as 64K..1M, not", word, "");
    }
    /* Such a rule would hold for no call. */
    return which > 0 && ranges[which]->last == 0
               ? rules_refuse(r, "expected at least 1, not", word, "")
               : WEFT_OK;
}

static const char *const rules_hows[] = {"slices", "slice_bytes", "channels", "protocol", "force"};
#define RULES_HOWS 5u

/* In the order of WEFT_TUNER_PROTOCOL_*. */
static const char *const rules_protocols[] = {"", "simple", "ll", "ll128", "whole"};

const char *rules_protocol_text(uint32_t protocol)
{
    return rules_protocols[protocol];
}

static weft_status_t rules_read_protocol(const rules_reader_t *r, rules_word_t word)
{
    uint32_t which = 0;
    weft_status_t status = rules_read_choice(r, "unknown value", word, &rules_protocols[1],
                                             WEFT_TUNER_PROTOCOL_WHOLE, &which);
    r->rule->protocol = status == WEFT_OK ? which + 1 : WEFT_TUNER_PROTOCOL_BEST;
    return status;
}

static weft_status_t rules_read_how(rules_reader_t *r, rules_word_t word)
{
    const char *const *keys = rules_hows;
    rules_word_t key = word, text = {0};
    uint64_t value = 0;
    uint32_t which = 0;
    if (rules_word_is(word, "force")) {
        r->rule->force = true;
        return rules_note_given(r, word, RULES_CONDITIONS + RULES_HOWS - 1);
    }
    if (!rules_split(word, &key, &text)) {
        return rules_refuse_of(r, "expected key=value or force, not", word, keys, RULES_HOWS);
    }
    weft_status_t status = rules_read_choice(r, "unknown word", key, keys, RULES_HOWS - 1, &which);
    status = status == WEFT_OK ? rules_note_given(r, word, RULES_CONDITIONS + which) : status;
    if (status != WEFT_OK) {
        return status;
    }
    if (which == 3) {
        return rules_read_protocol(r, text);
    }
    if (!rules_read_number(text, &value) || value == 0 || value > UINT32_MAX ||
        (which == 1 && value % 64 != 0)) {
        return rules_refuse(
            r, "expected a number from 1 to 4294967295, of slice_bytes a multiple of 64, not", word,
            "");
    }
    if (which == 1) {
        r->rule->slice_bytes = value;
    } else {
        *(which == 0 ? &r->rule->slices : &r->rule->channels) = (uint32_t)value;
    }
    return WEFT_OK;
}

/* True if a comma and "x=y" follow, where x is no word of rules. */
static bool rules_goes_on(const char *text)
{
    rules_word_t key, value;
    const char *next = text + 1;
    if (*text != ',' || !rules_split(rules_next_word(&next), &key, &value)) {
        return false;
    }
    uint32_t i = 0;
    while (i < RULES_HOWS && !rules_word_is(key, rules_hows[i])) {
        i++;
    }
    return i == RULES_HOWS && key.at == text + 1;
}

/* "algo-x" or "algo-x:depth=2,mirror=1". */
static weft_status_t rules_read_algo(const rules_reader_t *r, const char **text_p)
{
    rules_word_t word = rules_next_word(text_p);
    while (memchr(word.at, ':', word.length) != NULL && rules_goes_on(*text_p)) {
        (void)rules_next_word(text_p);
        word.length = (size_t)(*text_p - word.at);
    }
    return tuner_spec_read(&r->rule->wanted, word.at, word.length)
               ? WEFT_OK
               : rules_refuse(r, "expected the name of an algorithm behind ':', not", word, "");
}

/* Reads one rule. `text` is cut at the colon. */
static weft_status_t rules_read_rule(rules_reader_t *r, char *text)
{
    char *colon = strchr(text, ':');
    if (colon == NULL) {
        return rules_refuse(r, "expected COLLECTIVE [conditions]: ALGORITHM, not",
                            (rules_word_t){text, strlen(text)}, "");
    }
    *colon = '\0';
    const char *next = text;
    weft_status_t status = rules_read_coll(r, rules_next_word(&next));
    for (rules_word_t word = rules_next_word(&next); status == WEFT_OK && word.length > 0;
         word = rules_next_word(&next)) {
        status = rules_read_condition(r, word);
    }
    next = colon + 1;
    status = status != WEFT_OK ? status : rules_read_algo(r, &next);
    for (rules_word_t word = rules_next_word(&next); status == WEFT_OK && word.length > 0;
         word = rules_next_word(&next)) {
        status = rules_read_how(r, word);
    }
    *colon = ':';
    return status;
}

/* A line is origin, tab, value. The tab becomes ": ", which the copy has room for. */
static weft_status_t rules_read_line(const weft_host_t *host, char *line, rules_rule_t *rule)
{
    char origin[512];
    char *tab = strchr(line, '\t');
    const rules_range_t all = {0, UINT64_MAX};
    snprintf(origin, sizeof origin, "%.*s", tab != NULL ? (int)(tab - line) : 0, line);
    *rule = (rules_rule_t){.text = line,
                           .coll = RULES_ANY,
                           .memory = RULES_ANY,
                           .dtype = RULES_ANY,
                           .bytes = all,
                           .ranks = all,
                           .hosts = all};
    const size_t bytes = strlen(origin),
                 cut = bytes > 140 ? bytes - 140 : 0; /* the line stands last */
    snprintf(rule->origin, sizeof rule->origin, "%s%s[tuner] rule", origin + cut,
             tab != NULL ? ": " : "");
    rules_reader_t reader = {.host = host, .origin = origin, .rule = rule};
    weft_status_t status = rules_read_rule(&reader, tab != NULL ? tab + 1 : line);
    if (tab != NULL) {
        *tab = ' ';
    }
    return status;
}

weft_status_t rules_parse(const weft_host_t *host, const char *text, rules_t *rules)
{
    uint32_t lines = 0;
    size_t bytes = strlen(text) + 1;
    *rules = (rules_t){0};
    for (const char *at = strchr(text, '\n'); at != NULL; at = strchr(at + 1, '\n')) {
        lines++;
    }
    if (lines == 0) {
        return WEFT_OK;
    }
    rules->text = host->alloc(host, bytes, 0);
    rules->list = host->alloc(host, lines * sizeof *rules->list, 0);
    if (rules->text == NULL || rules->list == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    memcpy(rules->text, text, bytes);
    char *line = rules->text;
    for (; rules->count < lines; rules->count++) {
        char *end = strchr(line, '\n');
        *end = '\0';
        weft_status_t status = rules_read_line(host, line, &rules->list[rules->count]);
        if (status != WEFT_OK) {
            return status;
        }
        line = end + 1;
    }
    return WEFT_OK;
}

void rules_destroy(const weft_host_t *host, rules_t *rules)
{
    host->free(host, rules->list);
    host->free(host, rules->text);
}

weft_status_t rules_check(const weft_host_t *host, const rules_t *rules, const char *const *algos,
                          uint32_t count)
{
    for (uint32_t i = 0; i < rules->count; i++) {
        const char *name = rules->list[i].wanted.algo;
        bool known = false;
        for (uint32_t j = 0; j < count; j++) {
            known = known || strcmp(algos[j], name) == 0;
        }
        if (!known) {
            char hint[HINT_MAX];
            nearest_word_hint(name, strlen(name), algos, count, hint, sizeof hint);
            return host->set_error(host, WEFT_ERR_CONFIG, 0,
                                   "%s: no loaded algorithm is called %s%s", rules->list[i].origin,
                                   name, hint);
        }
    }
    return WEFT_OK;
}

bool rules_is_offered(const rules_rule_t *rule, const weft_tuner_candidate_t *candidates,
                      uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (tuner_spec_is(&rule->wanted, &candidates[i])) {
            return true;
        }
    }
    return false;
}

/* How far a value is from a range, as a ratio: below 1 if the range lies below the value. */
static double rules_distance(const rules_range_t *range, uint64_t value)
{
    if (value > range->last) {
        return (double)(range->last + 1) / (double)(value + 1);
    }
    return value < range->first ? (double)(range->first + 1) / (double)(value + 1) : 1;
}

/* The nearest rules on both sides of a call, in one dimension. */
typedef struct rules_gap {
    const rules_rule_t *below, *above;
    double below_at, above_at;
} rules_gap_t;

static void rules_gap_offer(rules_gap_t *gap, const rules_rule_t *rule, double distance)
{
    if (distance < 1 && (gap->below == NULL || distance > gap->below_at)) {
        gap->below = rule;
        gap->below_at = distance;
    } else if (distance > 1 && (gap->above == NULL || distance < gap->above_at)) {
        gap->above = rule;
        gap->above_at = distance;
    }
}

static bool rules_is_about(const rules_rule_t *rule, const weft_tuner_call_t *call)
{
    return (rule->coll == RULES_ANY || rule->coll == (uint32_t)call->coll) &&
           (rule->memory == RULES_ANY || rule->memory == call->memory) &&
           (rule->dtype == RULES_ANY || rule->dtype == (uint32_t)call->dtype) &&
           call->nhosts >= rule->hosts.first && call->nhosts <= rule->hosts.last;
}

uint32_t rules_find(const rules_t *rules, const weft_tuner_call_t *call, rules_holds_fn_t holds,
                    const void *arg, const rules_rule_t *found[2])
{
    rules_gap_t gaps[2] = {{0}, {0}}; /* in bytes, in ranks */
    for (uint32_t i = 0; i < rules->count; i++) {
        const rules_rule_t *rule = &rules->list[i];
        if (!rules_is_about(rule, call) || !holds(arg, rule)) {
            continue;
        }
        double bytes = rules_distance(&rule->bytes, call->bytes);
        double ranks = rules_distance(&rule->ranks, call->nranks);
        bool here = bytes >= 1 && bytes <= 1, all = ranks >= 1 && ranks <= 1;
        if (here && all) {
            found[0] = rule;
            return 1;
        }
        if (all && !rule->force) {
            rules_gap_offer(&gaps[0], rule, bytes);
        } else if (here && !rule->force) {
            rules_gap_offer(&gaps[1], rule, ranks);
        }
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (gaps[i].below != NULL && gaps[i].above != NULL) {
            found[0] = gaps[i].below;
            found[1] = gaps[i].above;
            return 2;
        }
    }
    return 0;
}
