/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of prepared programs: a hash table with chains, and a ring that a clock's hand goes
 * around to find programs that were not called lately (F. Corbató, 1968). A hit writes one byte of
 * the program's own; a list by last use would write two neighbours. */
#include "core/comm/programs.h"

#include <assert.h>
#include <string.h>

#include "core/os/os.h"

static_assert(sizeof(weft_program_key_t) == 16, "no bytes that are not in a field");

static uint32_t programs_hash(const weft_program_key_t *key)
{
    uint64_t words[2];
    memcpy(words, key, sizeof words);
    uint64_t h = words[0] * UINT64_C(0x9e3779b97f4a7c15) ^ words[1];
    h = (h ^ h >> 32) * UINT64_C(0xff51afd7ed558ccd);
    return (uint32_t)(h >> 32);
}

static bool programs_key_equal(const weft_program_key_t *a, const weft_program_key_t *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

weft_program_key_t weft_programs_key(const weft_programs_t *programs, const weft_args_t *args)
{
    return (weft_program_key_t){.count = args->count,
                                .root = args->root,
                                .coll = (uint8_t)args->coll,
                                .dtype = (uint8_t)args->dtype,
                                .op = (uint8_t)args->op,
                                .whole = programs->whole};
}

void weft_programs_init(weft_programs_t *programs, uint64_t limit)
{
    programs->chains = NULL;
    programs->nchains = WEFT_PROGRAMS_CHAINS;
    programs->limit = limit;
}

static inline weft_prepared_t *programs_first(const weft_programs_t *programs,
                                              const weft_program_key_t *key)
{
    weft_prepared_t *const *chains = programs->chains != NULL ? programs->chains : programs->few;
    return chains[programs_hash(key) & (programs->nchains - 1)];
}

static weft_prepared_t **programs_chain(weft_programs_t *programs, const weft_program_key_t *key)
{
    weft_prepared_t **chains = programs->chains != NULL ? programs->chains : programs->few;
    return &chains[programs_hash(key) & (programs->nchains - 1)];
}

weft_prepared_t *weft_programs_find(const weft_programs_t *programs, const weft_args_t *args)
{
    weft_program_key_t key = weft_programs_key(programs, args);
    weft_prepared_t *found = programs_first(programs, &key);
    while (found != NULL && !programs_key_equal(&found->key, &key)) {
        found = found->chained;
    }
    if (found != NULL) {
        found->called = true;
    }
    return found;
}

/* Memory --------------------------------------------------------------------------------------- */

static uint64_t programs_bytes_of(const weft_prepared_t *prepared)
{
    return sizeof *prepared + weft_program_bytes(&prepared->program);
}

void weft_prepared_free(weft_prepared_t *prepared)
{
    if (prepared != NULL) {
        weft_interpreter_fini(&prepared->run);
        weft_program_release(&prepared->program);
        weft_bundle_plan_destroy(prepared->bundle);
        weft_os_free(prepared);
    }
}

/* Takes the program behind the hand out of the table. */
static void programs_drop_next(weft_programs_t *programs)
{
    weft_prepared_t *prepared = programs->hand->ringed;
    weft_prepared_t **position = programs_chain(programs, &prepared->key);
    while (*position != prepared) {
        position = &(*position)->chained;
    }
    *position = prepared->chained;
    programs->hand->ringed = prepared->ringed;
    programs->count--;
    programs->hand = programs->count > 0 ? programs->hand : NULL;
    programs->bytes -= programs_bytes_of(prepared);
    if (prepared->references == 0) {
        weft_prepared_free(prepared);
        return;
    }
    prepared->retired = programs->retired;
    programs->retired = prepared;
}

/* Moves the hand to a program that was not called since it last came by, and drops it. */
static void programs_drop_one(weft_programs_t *programs)
{
    while (programs->hand->ringed->called) {
        programs->hand = programs->hand->ringed;
        programs->hand->called = false;
    }
    programs_drop_next(programs);
}

/* Doubles the chains. Without memory they only become longer. */
static void programs_grow(weft_programs_t *programs)
{
    uint32_t n = programs->nchains * 2;
    weft_prepared_t **chains = weft_os_alloc(n * sizeof(weft_prepared_t *), 0);
    if (chains == NULL) {
        return;
    }
    weft_os_free(programs->chains);
    programs->chains = chains;
    programs->nchains = n;
    weft_prepared_t *each = programs->hand;
    for (uint32_t i = 0; i < programs->count; i++, each = each->ringed) {
        weft_prepared_t **chain = programs_chain(programs, &each->key);
        each->chained = *chain;
        *chain = each;
    }
}

void weft_programs_insert(weft_programs_t *programs, weft_prepared_t *prepared)
{
    uint64_t bytes = programs_bytes_of(prepared);
    while (programs->count > 0 && programs->bytes + bytes > programs->limit) {
        programs_drop_one(programs);
    }
    if (programs->count == programs->nchains) {
        programs_grow(programs);
    }
    weft_prepared_t **chain = programs_chain(programs, &prepared->key);
    prepared->chained = *chain;
    *chain = prepared;
    /* The hand comes to it last. */
    prepared->ringed = programs->hand != NULL ? programs->hand->ringed : prepared;
    if (programs->hand != NULL) {
        programs->hand->ringed = prepared;
    }
    programs->hand = prepared;
    programs->count++;
    programs->bytes += bytes;
    programs->prepared++;
}

void weft_programs_free_retired(weft_programs_t *programs, const weft_prepared_t *prepared)
{
    weft_prepared_t **position = &programs->retired;
    while (*position != NULL && *position != prepared) {
        position = &(*position)->retired;
    }
    if (*position != NULL) {
        weft_prepared_t *retired = *position;
        *position = retired->retired;
        weft_prepared_free(retired);
    }
}

void weft_programs_fini(weft_programs_t *programs)
{
    weft_prepared_t *next = programs->hand;
    for (uint32_t i = 0; i < programs->count; i++) {
        weft_prepared_t *prepared = next;
        next = prepared->ringed;
        weft_prepared_free(prepared);
    }
    while (programs->retired != NULL) {
        weft_prepared_t *prepared = programs->retired;
        programs->retired = prepared->retired;
        weft_prepared_free(prepared);
    }
    weft_os_free(programs->chains);
    weft_workspace_fini(&programs->workspace);
}
