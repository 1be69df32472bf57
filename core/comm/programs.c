/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of prepared programs. */
#include "core/comm/programs.h"

#include "core/os/os.h"

static uint32_t programs_index(const weft_program_key_t *key)
{
    uint64_t h = key->count * UINT64_C(0x9e3779b97f4a7c15) + key->root;
    h ^= (uint64_t)key->coll << 40 ^ (uint64_t)key->dtype << 48 ^ (uint64_t)key->op << 56;
    h *= UINT64_C(0xff51afd7ed558ccd);
    return (uint32_t)(h >> 32) & (WEFT_PROGRAMS - 1);
}

static bool programs_key_equal(const weft_program_key_t *a, const weft_program_key_t *b)
{
    return a->count == b->count && a->root == b->root && a->coll == b->coll &&
           a->dtype == b->dtype && a->op == b->op;
}

weft_program_key_t weft_programs_key(const weft_args_t *args)
{
    return (weft_program_key_t){.count = args->count,
                                .root = args->root,
                                .coll = (uint8_t)args->coll,
                                .dtype = (uint8_t)args->dtype,
                                .op = (uint8_t)args->op,
                                .used = 1};
}

weft_prepared_t *weft_programs_find(const weft_programs_t *programs, const weft_args_t *args)
{
    weft_program_key_t key = weft_programs_key(args);
    weft_prepared_t *found = programs->entry[programs_index(&key)];
    return found != NULL && programs_key_equal(&found->key, &key) ? found : NULL;
}

void weft_prepared_free(weft_prepared_t *prepared)
{
    if (prepared != NULL) {
        weft_interpreter_fini(&prepared->run);
        weft_program_release(&prepared->program);
        weft_os_free(prepared);
    }
}

void weft_programs_insert(weft_programs_t *programs, weft_prepared_t *prepared)
{
    weft_prepared_t **entry = &programs->entry[programs_index(&prepared->key)];
    weft_prepared_t *old = *entry;
    *entry = prepared;
    if (old == NULL || old->references == 0) {
        weft_prepared_free(old);
        return;
    }
    old->retired = programs->retired;
    programs->retired = old;
}

void weft_programs_retain(weft_prepared_t *prepared)
{
    prepared->references++;
}

void weft_programs_release(weft_programs_t *programs, weft_prepared_t *prepared)
{
    weft_prepared_t **position = &programs->retired;
    weft_assert(prepared->references > 0);
    prepared->references--;
    while (*position != NULL && *position != prepared) {
        position = &(*position)->retired;
    }
    if (prepared->references == 0 && *position != NULL) {
        *position = prepared->retired;
        weft_prepared_free(prepared);
    }
}

void weft_programs_fini(weft_programs_t *programs)
{
    for (uint32_t i = 0; i < WEFT_PROGRAMS; i++) {
        weft_prepared_free(programs->entry[i]);
    }
    while (programs->retired != NULL) {
        weft_prepared_t *prepared = programs->retired;
        programs->retired = prepared->retired;
        weft_prepared_free(prepared);
    }
}
