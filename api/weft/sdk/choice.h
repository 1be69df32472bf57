/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SDK: lists of names in options, and a choice among names by such a list. Names are apart by
 * commas, blanks, or both: "eth0,ib0", "eth0, ib0" and "eth0 ib0" are the same list. Thread:
 * any. */
#ifndef WEFT_SDK_CHOICE_H
#define WEFT_SDK_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_CHOICE_BREAKS ", \t" /* what may stand between names */

/* A choice among names, as text: each word is the beginning of a name ("eth") or a whole name
 * ("=eth0"). A word with "^" before it leaves out what it fits; the others choose, and where there
 * are none all is chosen. "^" or "=" at the very beginning holds for all words. */
typedef struct weft_choice {
    const char *words; /* after the signs for all; points into the parsed text */
    bool exclude;
    bool exact;
    const char *option; /* what errors call it: "[net-socket] devices"; NULL: nothing */
} weft_choice_t;

/* A word of a choice. */
typedef struct weft_choice_word {
    const char *text; /* without its signs; not ended by a zero byte */
    size_t length;
    bool exclude, exact;
} weft_choice_word_t;

/* Takes a sign, with what stands before it and behind it: a sign belongs to the next name. */
static inline bool weft_choice_sign(const char **at_p, char sign)
{
    const char *at = *at_p + strspn(*at_p, WEFT_CHOICE_BREAKS);
    const bool found = *at == sign;
    *at_p = found ? at + 1 + strspn(at + 1, WEFT_CHOICE_BREAKS) : at;
    return found;
}

/* Parses a choice. Every text is one. `text` must outlive the choice. Its option is NULL; whoever
 * knows it stores it then. */
static inline void weft_choice_parse(const char *text, weft_choice_t *choice)
{
    choice->words = text;
    choice->option = NULL;
    choice->exclude = weft_choice_sign(&choice->words, '^');
    choice->exact = weft_choice_sign(&choice->words, '=');
}

/* Takes the next word and moves `*at_p`, which is choice->words at first, behind it. Returns false
 * at the end. */
static inline bool weft_choice_next(const weft_choice_t *choice, const char **at_p,
                                    weft_choice_word_t *word)
{
    word->exclude = weft_choice_sign(at_p, '^') || choice->exclude;
    word->exact = weft_choice_sign(at_p, '=') || choice->exact;
    word->text = *at_p;
    word->length = strcspn(word->text, WEFT_CHOICE_BREAKS);
    *at_p = word->text + word->length;
    return word->length > 0;
}

/* Tells whether the word, or its first `length` bytes, is the name or its beginning. */
static inline bool weft_choice_fits(const weft_choice_word_t *word, size_t length, const char *name)
{
    const size_t whole = strlen(name);
    return (word->exact ? length == whole : length <= whole) &&
           memcmp(word->text, name, length) == 0;
}

#ifdef __cplusplus
}
#endif

#endif
