/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The prepared programs of a communicator, by plan key, so that a repeated call costs a look-up,
 * however many different calls a loop makes. Their memory is bounded; those that were not called
 * lately go first. The thread that owns the communicator makes all calls. */
#ifndef WEFT_COMM_PROGRAMS_H
#define WEFT_COMM_PROGRAMS_H

#include "core/comm/args.h"
#include "core/comm/bundle_plan.h"
#include "core/exec/nt_tuner.h"
#include "core/exec/interpreter.h"

/* Chains of the hash table before it grows. Power of two. */
#define WEFT_PROGRAMS_CHAINS 64u

/* What identifies a prepared call. */
typedef struct weft_program_key {
    uint64_t count;
    uint32_t root;
    uint8_t coll, dtype, op;
    uint8_t whole; /* chosen with whole runs in mind */
} weft_program_key_t;

typedef struct weft_prepared {
    weft_program_key_t key;
    struct weft_prepared *chained; /* next of the same chain */
    bool called;                   /* since the hand of the clock passed it */
    bool tunes_nt;                 /* slices are large enough for a choice */
    double seconds;                /* that the cost model predicts for a call */
    uint32_t references;           /* runs and captures that use it */
    weft_bundle_plan_t *bundle;    /* sends and receives of a device; NULL: a collective */
    weft_program_t program;
    weft_interpreter_t run;
    weft_nt_tuner_t nt_tuner;
    struct weft_prepared *ringed;  /* next in the ring of the clock */
    struct weft_prepared *retired; /* next of those that were dropped while in use */
} weft_prepared_t;

typedef struct weft_programs {
    weft_prepared_t *few[WEFT_PROGRAMS_CHAINS];
    weft_prepared_t **chains; /* NULL: `few` */
    uint32_t nchains;         /* power of two; 0: WEFT_PROGRAMS_CHAINS */
    uint32_t count;
    weft_prepared_t *hand;    /* ring of all programs; the one behind it is asked first to go */
    weft_prepared_t *retired; /* freed with their last reference */
    uint64_t bytes;           /* of the programs in the table */
    uint64_t limit;           /* of bytes: option exec.program_memory */
    uint64_t prepared;        /* programs inserted so far */
    uint64_t made;            /* of these for the making of the communicator itself */
    bool whole;    /* devices may do whole runs, as there are windows; equal on all ranks */
    uint32_t most; /* channels of a program; 0: no limit but the family's */
    weft_workspace_t workspace;
} weft_programs_t;

/* Makes an empty table in zeroed memory. */
void weft_programs_init(weft_programs_t *programs, uint64_t limit);

/* Returns the plan key of a call. args->count of a vector collective is the size of its class. */
weft_program_key_t weft_programs_key(const weft_programs_t *programs, const weft_args_t *args);

/* Returns the program that was prepared for such a call, or NULL. */
weft_prepared_t *weft_programs_find(const weft_programs_t *programs, const weft_args_t *args);

/* Takes the program, which is not in the table, and drops others until all fit into the limit; a
 * single one may be larger. What is dropped is freed once nothing retains it. */
void weft_programs_insert(weft_programs_t *programs, weft_prepared_t *prepared);

/* Frees the program if it was dropped. */
void weft_programs_free_retired(weft_programs_t *programs, const weft_prepared_t *prepared);

/* Keeps the program alive although it may be dropped; lets it go. */
static inline void weft_programs_retain(weft_prepared_t *prepared)
{
    prepared->references++;
}
static inline void weft_programs_release(weft_programs_t *programs, weft_prepared_t *prepared)
{
    weft_assert(prepared->references > 0);
    if (--prepared->references == 0 && programs->retired != NULL) {
        weft_programs_free_retired(programs, prepared);
    }
}

/* Frees one that was not inserted; NULL is allowed. */
void weft_prepared_free(weft_prepared_t *prepared);
void weft_programs_fini(weft_programs_t *programs);

#endif
