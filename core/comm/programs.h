/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The prepared programs of a communicator, by plan key, so that a repeated call costs a
 * look-up. */
#ifndef WEFT_COMM_PROGRAMS_H
#define WEFT_COMM_PROGRAMS_H

#include "core/comm/args.h"
#include "core/exec/nt_tuner.h"
#include "core/exec/interpreter.h"

#define WEFT_PROGRAMS 64 /* per communicator, power of two */

/* Identifies a prepared call. */
/* What identifies a prepared call. */
typedef struct weft_program_key {
    uint64_t count;
    uint32_t root;
    uint8_t coll, dtype, op, used;
} weft_program_key_t;

typedef struct weft_prepared {
    weft_program_key_t key;
    weft_program_t program;
    weft_interpreter_t run;
    weft_nt_tuner_t nt_tuner;
    bool tunes_nt;                 /* slices are large enough for a choice */
    uint32_t references;           /* runs in streams and captures that use it */
    struct weft_prepared *retired; /* next of those that lost their entry while in use */
} weft_prepared_t;

typedef struct weft_programs {
    weft_prepared_t *entry[WEFT_PROGRAMS];
    weft_prepared_t *retired; /* freed with their last reference */
} weft_programs_t;

/* Returns the plan key of a call. args->count of a vector collective is the size of its class. */
weft_program_key_t weft_programs_key(const weft_args_t *args);

/* Returns the program that was prepared for such a call, or NULL. */
weft_prepared_t *weft_programs_find(const weft_programs_t *programs, const weft_args_t *args);

/* Takes the program; the one whose entry it gets is freed once nothing uses it. The caller is not
 * running that one. */
void weft_programs_insert(weft_programs_t *programs, weft_prepared_t *prepared);

/* Keeps the program alive, whatever takes its entry; lets it go. */
void weft_programs_retain(weft_prepared_t *prepared);
void weft_programs_release(weft_programs_t *programs, weft_prepared_t *prepared);

/* Frees one that was not inserted; NULL is allowed. */
void weft_prepared_free(weft_prepared_t *prepared);
void weft_programs_fini(weft_programs_t *programs);

#endif
