/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Matching of adapters by name and port. */
#include "ib_filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/sdk/choice.h>

/* ":PORT" stands behind the name. Port 0 is any. */
static bool ib_filter_fits(const weft_choice_word_t *word, const char *name, uint32_t port)
{
    const char *colon = memchr(word->text, ':', word->length);
    size_t length = colon != NULL ? (size_t)(colon - word->text) : word->length;
    char *end;
    if (length == 0 || !weft_choice_fits(word, length, name)) {
        return false;
    }
    return colon == NULL || port == 0 ||
           (strtoul(colon + 1, &end, 10) == port && end == word->text + word->length);
}

bool ib_filter_admits(const char *text, const char *name, uint32_t port)
{
    weft_choice_t choice;
    weft_choice_word_t word;
    bool chooses = false, chosen = false, left_out = false;
    weft_choice_parse(text, &choice);
    for (const char *at = choice.words; weft_choice_next(&choice, &at, &word);) {
        bool fits = ib_filter_fits(&word, name, port);
        chooses = chooses || !word.exclude;
        chosen = chosen || (!word.exclude && fits);
        left_out = left_out || (word.exclude && fits);
    }
    return !left_out && (chosen || !chooses);
}

bool ib_filter_exact(const char *text, const char *name, uint32_t port)
{
    weft_choice_t choice;
    weft_choice_word_t word;
    bool exact = false;
    weft_choice_parse(text, &choice);
    for (const char *at = choice.words; !exact && weft_choice_next(&choice, &at, &word);) {
        exact = word.exact && !word.exclude && ib_filter_fits(&word, name, port);
    }
    return exact;
}

/* The number of the first word that chooses the name. */
static uint32_t ib_filter_place(const char *text, const char *name)
{
    weft_choice_t choice;
    weft_choice_word_t word;
    uint32_t place = 0;
    weft_choice_parse(text, &choice);
    for (const char *at = choice.words; weft_choice_next(&choice, &at, &word); place++) {
        if (!word.exclude && ib_filter_fits(&word, name, 0)) {
            return place;
        }
    }
    return UINT32_MAX;
}

bool ib_filter_before(const char *text, const char *one, const char *two)
{
    uint32_t first = ib_filter_place(text, one), second = ib_filter_place(text, two);
    return first != second ? first < second : strverscmp(one, two) < 0;
}

bool ib_filter_word(const char *text, uint32_t number, char word[IB_FILTER_WORD], bool *excludes_p)
{
    weft_choice_t choice;
    weft_choice_word_t one;
    weft_choice_parse(text, &choice);
    const char *at = choice.words;
    bool found = weft_choice_next(&choice, &at, &one);
    for (; number > 0 && found; number--) {
        found = weft_choice_next(&choice, &at, &one);
    }
    if (found) {
        *excludes_p = one.exclude;
        snprintf(word, IB_FILTER_WORD, "%s%.*s", one.exact ? "=" : "", (int)one.length, one.text);
    }
    return found;
}
