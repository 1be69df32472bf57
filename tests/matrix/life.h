/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of a rank: it joins, makes a first call, calls on, splits, shrinks and leaves. Every
 * result is compared. What it comes to is on a board that all processes of the cell share. */
#ifndef TESTS_MATRIX_LIFE_H
#define TESTS_MATRIX_LIFE_H

#include <stdatomic.h>

#include <weft/weft.h>

#include "matrix.h"

#define LIFE_SETTINGS 12u

/* What a rank leaves on the board. Times are of the monotonic clock, in ns; 0: never. */
typedef struct record {
    _Atomic uint32_t moment; /* 1 + the one that it has begun */
    _Atomic uint32_t rounds; /* of the middle */
    _Atomic uint64_t failed_at, again_at, ended_at;
    weft_error_t error; /* the first one */
    moment_t failed_in;
    uint64_t longest;         /* call that ended after the fault, counted from the fault */
    uint32_t members;         /* bits: who is in its last communicator */
    weft_status_t gave_up;    /* why it did not go on after a failure */
    char wrong[MATRIX_WORDS]; /* empty: all numbers are right */
} record_t;

typedef struct board {
    weft_unique_id_t id;
    _Atomic uint32_t has_id;
    _Atomic uint32_t wired;               /* hosts have their networks */
    _Atomic uint32_t apart[MATRIX_RANKS]; /* the rank is in a network namespace of its own */
    _Atomic uint64_t struck_at;
    _Atomic uint32_t released;               /* who was held back goes on */
    _Atomic uint32_t stop;                   /* the middle ends */
    _Atomic uint32_t over;                   /* all have ended that can */
    _Atomic int64_t clock_ns[MATRIX_RANKS];  /* what its clock of the day is ahead */
    _Atomic uint32_t pause_ms[MATRIX_RANKS]; /* before its next call */
    _Atomic uint32_t fork_now[MATRIX_RANKS]; /* 1: asked for; 2: done, right; 3: done, wrong */
    _Atomic uint32_t impostor;               /* 1 + how often the second of a rank was let in */
    record_t records[MATRIX_RANKS];
} board_t;

typedef struct life {
    const cell_t *cell;
    board_t *board;
    uint32_t rank;
    uint32_t victim, late; /* ranks: whom the fault hits, and who is held back at its moment */
    const char *settings[LIFE_SETTINGS];
    uint32_t nsettings;
    bool own_host; /* the rank gets a network namespace of its own */
} life_t;

/* Lives, and ends the process. */
_Noreturn void life_run(const life_t *life);

#endif
