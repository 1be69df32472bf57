/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agreement check: hashes first, texts only when they differ. The lowest rank that differs from
 * rank 0 writes the error text, and all ranks fail with it. */
#include "core/boot/agreement.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/boot.h"
#include "core/boot/exchange.h"
#include "core/boot/tree_link.h"
#include "core/os/os.h"

#define TEXT_MOST (64 * 1024)
#define WORDS ((size_t)512)
#define WHAT "the agreement check"

/* One "key=value" line; empty at the end of the text. */
typedef struct setting {
    const char *key, *value;
    size_t key_bytes, value_bytes;
} setting_t;

static setting_t agreement_setting_at(const char *text)
{
    setting_t setting = {.key = text};
    size_t bytes = strcspn(text, "\n");
    const char *equals = memchr(text, '=', bytes);
    setting.key_bytes = equals != NULL ? (size_t)(equals - text) : bytes;
    setting.value = equals != NULL ? equals + 1 : text + bytes;
    setting.value_bytes = (size_t)(text + bytes - setting.value);
    return setting;
}

static const char *agreement_setting_next(const setting_t *line)
{
    const char *end = line->value + line->value_bytes;
    return end + (*end == '\n');
}

/* Finds the line of `text` with the key of `wanted`. Its value is NULL when there is none. */
static setting_t agreement_setting_find(const char *text, const setting_t *wanted)
{
    while (*text != '\0') {
        setting_t line = agreement_setting_at(text);
        if (line.key_bytes == wanted->key_bytes &&
            memcmp(line.key, wanted->key, line.key_bytes) == 0) {
            return line;
        }
        text = agreement_setting_next(&line);
    }
    return (setting_t){.key = wanted->key, .key_bytes = wanted->key_bytes};
}

/* Finds the first line of `a` that `b` does not have, or has with another value. */
static bool agreement_difference(const char *a, const char *b, setting_t *in_a, setting_t *in_b)
{
    while (*a != '\0') {
        *in_a = agreement_setting_at(a);
        *in_b = agreement_setting_find(b, in_a);
        if (in_b->value == NULL || in_a->value_bytes != in_b->value_bytes ||
            memcmp(in_a->value, in_b->value, in_a->value_bytes) != 0) {
            return true;
        }
        a = agreement_setting_next(in_a);
    }
    return false;
}

static void agreement_value_text(const setting_t *line, char *text, size_t bytes)
{
    if (line->value == NULL) {
        snprintf(text, bytes, "nothing");
    } else {
        snprintf(text, bytes, "\"%.*s\"", (int)(line->value_bytes < 100 ? line->value_bytes : 100),
                 line->value);
    }
}

static void agreement_describe(const weft_boot_t *boot, const char *theirs, const char *mine,
                               char *words)
{
    setting_t here = {0}, there = {0};
    char who[128], zero[128], here_text[112], there_text[112];
    weft_boot_rank_text(boot, boot->rank, who, sizeof who);
    weft_boot_rank_text(boot, 0, zero, sizeof zero);
    if (!agreement_difference(theirs, mine, &there, &here) &&
        !agreement_difference(mine, theirs, &here, &there)) {
        snprintf(words, WORDS, "%s and %s list the same settings in another order", who, zero);
        return;
    }
    agreement_value_text(&here, here_text, sizeof here_text);
    agreement_value_text(&there, there_text, sizeof there_text);
    snprintf(words, WORDS, "the ranks differ in %.*s: %s has %s, %s has %s",
             (int)(here.key_bytes < 64 ? here.key_bytes : 64), here.key, who, here_text, zero,
             there_text);
}

/* What a subtree knows of the texts: the hash of one of them, and whether all are alike. */
typedef struct agreement_hash {
    uint8_t hash[16];
    uint8_t differ;
} agreement_hash_t;

static void agreement_combine_hashes(void *into, const void *from)
{
    agreement_hash_t *a = into;
    const agreement_hash_t *b = from;
    a->differ |= b->differ | (memcmp(a->hash, b->hash, sizeof a->hash) != 0);
}

/* The lowest rank that differs from rank 0, in the byte order of the wire, and what it says. */
typedef struct agreement_objection {
    uint8_t rank[4];
    char words[WORDS];
} agreement_objection_t;

_Static_assert(sizeof(agreement_objection_t) <= WEFT_BOOT_REDUCE_MOST, "is combined as one value");

static void agreement_combine_objections(void *into, const void *from)
{
    const agreement_objection_t *other = from;
    if (memcmp(other->rank, ((agreement_objection_t *)into)->rank, sizeof other->rank) < 0) {
        memcpy(into, other, sizeof *other);
    }
}

/* All ranks fail with the objection. */
static weft_status_t agreement_fail(weft_boot_t *boot, agreement_objection_t *objection)
{
    uint32_t culprit = weft_get_u32(objection->rank);
    objection->words[WORDS - 1] = '\0';
    /* All ranks know it: there is nothing to spread. */
    boot->failed = true;
    if (culprit >= boot->nranks) {
        return weft_fail(WEFT_ERR_MISMATCH, 0, "the ranks differ in settings that are not shown");
    }
    weft_fail(WEFT_ERR_MISMATCH, 0, "%s", objection->words);
    return weft_boot_set_culprit(boot, culprit);
}

/* The ranks differ. All receive rank 0's text, and hear of the lowest rank whose text is
 * another. */
static weft_status_t agreement_explain(weft_boot_t *boot, const char *text)
{
    size_t bytes = strnlen(text, TEXT_MOST - 1);
    agreement_objection_t objection = {.words = ""};
    char *theirs = weft_os_alloc(TEXT_MOST, 0);
    if (theirs == NULL) {
        weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for " WHAT);
        weft_tree_give_up(boot);
        return WEFT_ERR_RESOURCE;
    }
    memcpy(theirs, text, bytes);
    weft_put_u32(objection.rank, UINT32_MAX);
    weft_status_t status = weft_boot_broadcast(boot, WHAT, theirs, TEXT_MOST - 1, &bytes);
    if (status == WEFT_OK) {
        theirs[bytes] = '\0';
        if (strcmp(theirs, text) != 0) {
            weft_put_u32(objection.rank, boot->rank);
            agreement_describe(boot, theirs, text, objection.words);
        }
        status = weft_boot_all_reduce(boot, WHAT, &objection, sizeof objection,
                                      agreement_combine_objections);
    }
    weft_os_free(theirs);
    return status == WEFT_OK ? agreement_fail(boot, &objection) : status;
}

weft_status_t weft_boot_agree(weft_boot_t *boot, const char *text)
{
    agreement_hash_t all = {.differ = 0};
    (void)crypto_generichash(all.hash, sizeof all.hash, (const uint8_t *)text, strlen(text), NULL,
                             0);
    weft_status_t status =
        weft_boot_all_reduce(boot, WHAT, &all, sizeof all, agreement_combine_hashes);
    return status == WEFT_OK && all.differ != 0 ? agreement_explain(boot, text) : status;
}
