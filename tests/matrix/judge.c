/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What ranks came to, beside what their cell promises. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "trial.h"

typedef struct judgement {
    const trial_t *trial;
    const cell_t *cell;
    outcome_t *outcome;
    uint32_t going_on; /* bits: ranks that should go on together */
} judgement_t;

/* The first fault that is found counts. */
__attribute__((format(printf, 2, 3))) static void find(const judgement_t *j, const char *format,
                                                       ...)
{
    if (j->outcome->why[0] == '\0') {
        va_list args;
        va_start(args, format);
        vsnprintf(j->outcome->why, sizeof j->outcome->why, format, args);
        va_end(args);
    }
}

static double ms_after(const judgement_t *j, uint64_t at)
{
    return ((double)at - (double)j->trial->board->struck_at) / 1e6;
}

static void note_ms(const judgement_t *j, double ms)
{
    j->outcome->ms = ms > j->outcome->ms ? ms : j->outcome->ms;
    if (ms > j->cell->bar * j->trial->slack * 1e3) {
        find(j, "took %.0f ms, the bar is %.0f ms", ms, j->cell->bar * j->trial->slack * 1e3);
    }
}

static bool is_gone(const judgement_t *j, uint32_t rank)
{
    return rank == j->trial->victim && (j->cell->fault == KILLED || j->cell->fault == HOST_GONE);
}

/* Whose errors count: not the victim's own, which may be anything. */
static bool counts(const judgement_t *j, uint32_t rank)
{
    return rank != j->trial->victim || (j->cell->promise != NAMED);
}

static void check_right(const judgement_t *j, uint32_t rank, const record_t *record)
{
    if (atomic_load(&record->failed_at) != 0) {
        find(j, "rank %u: %s in %s: %s", rank, weft_status_name(record->error.status),
             moment_name(record->failed_in), record->error.text);
    } else if (record->members != j->going_on) {
        find(j, "rank %u is in a communicator of ranks 0x%x, not 0x%x", rank, record->members,
             j->going_on);
    }
}

/* Of a link that is cut either end may be named. */
static bool is_cut(const judgement_t *j)
{
    return j->cell->fault == RESET || j->cell->promise == SIDES || j->cell->promise == ONE_SIDE;
}

/* A rank, in this communicator or another, or where nobody answers. */
static bool names_somebody(const weft_error_t *error)
{
    return error->peer >= 0 || error->peer_pid > 0 || strstr(error->text, "10.77.0.") != NULL ||
           strstr(error->text, "ranks ") != NULL;
}

/* The victim: its number in the communicator that failed, which may be a child, or its process. */
static bool names_victim(const judgement_t *j, const weft_error_t *error)
{
    uint32_t victim = j->trial->victim;
    if (j->cell->promise == EITHER && error->status == WEFT_ERR_REVOKED) {
        return true; /* by the victim, or by one that has heard of its failure before */
    }
    if (j->cell->moment == SHRINK && error->peer < 0) {
        return true; /* the others need not have heard who it is when the shrink fails */
    }
    /* The process of rank 0 is also the root of the join, and not known as rank 0 then. */
    return error->peer_pid == j->trial->pids[victim] ||
           (j->cell->moment != SPLIT && error->peer == (int32_t)victim) ||
           (victim == 0 && j->cell->moment == JOIN &&
            strstr(error->text, "the process that made the unique id") != NULL);
}

/* A survivor's error has the type and names the rank that it should. */
static void check_named(const judgement_t *j, uint32_t rank, const record_t *record)
{
    uint64_t failed_at = atomic_load(&record->failed_at);
    const weft_error_t *error = &record->error;
    bool own = rank == j->trial->victim || j->cell->promise == REFUSED;
    if (failed_at == 0) {
        find(j, "rank %u heard nothing", rank);
        return;
    }
    if (failed_at < atomic_load(&j->trial->board->struck_at)) {
        find(j, "rank %u failed before the fault: %s", rank, error->text);
    }
    if (ms_after(j, failed_at) > j->outcome->ms) {
        snprintf(j->outcome->status, sizeof j->outcome->status, "%s",
                 weft_status_name(error->status));
    }
    if ((j->cell->statuses >> -error->status & 1) == 0) {
        find(j, "rank %u: %s: %s", rank, weft_status_name(error->status), error->text);
    } else if (is_cut(j) ? !names_somebody(error) && !names_victim(j, error)
                         : !own && !names_victim(j, error)) {
        find(j, "rank %u names rank %d, not %u: %s", rank, error->peer, j->trial->victim,
             error->text);
    }
    note_ms(j, ms_after(j, failed_at));
}

static void check_again(const judgement_t *j, uint32_t rank, const record_t *record)
{
    uint64_t again_at = atomic_load(&record->again_at);
    double ms = ms_after(j, again_at);
    if (again_at == 0) {
        find(j, "rank %u did not go on: %s", rank, weft_status_name(record->gave_up));
    } else if (record->members != j->going_on) {
        find(j, "rank %u goes on with ranks 0x%x, not 0x%x", rank, record->members, j->going_on);
    } else {
        j->outcome->again_ms = ms > j->outcome->again_ms ? ms : j->outcome->again_ms;
        j->outcome->went_on++;
    }
}

/* With a quorum the side of rank 0 goes on, if half of the ranks are there; the other does not. */
static void check_sides(judgement_t *j, uint32_t rank, const record_t *record)
{
    uint32_t half = MATRIX_RANKS / 2;
    check_named(j, rank, record);
    if (rank < half) {
        j->going_on = (1u << half) - 1;
        check_again(j, rank, record);
    } else if (atomic_load(&record->again_at) != 0) {
        find(j, "rank %u goes on, too, without a quorum", rank);
    }
}

/* Whoever goes on does it in one communicator. */
static void check_together(judgement_t *j, uint32_t rank, const record_t *record)
{
    uint64_t failed_at = atomic_load(&record->failed_at);
    if (j->cell->moment < SHRINK) {
        check_named(j, rank, record);
    } else {
        note_ms(j, ms_after(j, failed_at != 0 ? failed_at : atomic_load(&record->again_at)));
    }
    if (atomic_load(&record->again_at) == 0) {
        return;
    }
    if (j->outcome->went_on == 0) {
        j->going_on = record->members;
    }
    check_again(j, rank, record);
}

/* At these moments nobody has an error: a shrink goes on without the victim, and who leaves needs
 * nobody. */
static void check_late_moments(judgement_t *j, uint32_t rank, const record_t *record)
{
    bool side = j->cell->promise == SIDES;
    if (j->cell->moment == LEAVE) {
        if (atomic_load(&record->failed_at) != 0) {
            find(j, "rank %u: %s in %s: %s", rank, weft_status_name(record->error.status),
                 moment_name(record->failed_in), record->error.text);
        }
        note_ms(j, ms_after(j, atomic_load(&record->ended_at)));
        return;
    }
    if (side && rank >= MATRIX_RANKS / 2) {
        if (atomic_load(&record->again_at) != 0) {
            find(j, "rank %u goes on, too, without a quorum", rank);
        }
        return;
    }
    if (side) {
        j->going_on = (1u << MATRIX_RANKS / 2) - 1;
    }
    check_again(j, rank, record);
    note_ms(j, ms_after(j, atomic_load(&record->again_at)));
}

static void check_rank(judgement_t *j, uint32_t rank, bool goes_on)
{
    const record_t *record = &j->trial->board->records[rank];
    if (!is_gone(j, rank) && atomic_load(&record->ended_at) == 0) {
        find(j, "rank %u did not end, it is in %s", rank,
             moment_name((moment_t)(atomic_load(&record->moment) - 1)));
    }
    if (record->wrong[0] != '\0') {
        find(j, "rank %u: %s", rank, record->wrong);
    }
    if (goes_on) {
        check_right(j, rank, record);
        note_ms(j, (double)record->longest / 1e6);
    } else if (!counts(j, rank)) {
        if (atomic_load(&record->again_at) != 0 && j->cell->moment < LEAVE) {
            find(j, "rank %u goes on, too", rank);
        }
    } else if (j->cell->promise == ONE_SIDE && j->cell->moment != JOIN &&
               j->cell->moment != LEAVE) {
        check_together(j, rank, record);
    } else if (j->cell->moment == JOIN) {
        check_named(j, rank, record);
    } else if (j->cell->moment >= SHRINK && j->cell->promise != EITHER) {
        check_late_moments(j, rank, record);
    } else if (j->cell->promise == SIDES) {
        check_sides(j, rank, record);
    } else {
        check_named(j, rank, record);
        check_again(j, rank, record);
    }
}

static bool any_failed(const trial_t *trial)
{
    for (uint32_t r = 0; r < MATRIX_RANKS; r++) {
        if (atomic_load(&trial->board->records[r].failed_at) != 0) {
            return true;
        }
    }
    return false;
}

void judge(const trial_t *trial, outcome_t *outcome)
{
    uint32_t all = (1u << MATRIX_RANKS) - 1;
    const cell_t *cell = trial->cell;
    judgement_t j = {.trial = trial, .cell = cell, .outcome = outcome, .going_on = all};
    bool goes_on = cell->promise == GOES_ON || (cell->promise == EITHER && !any_failed(trial));
    if (cell->promise == NAMED) {
        j.going_on &= ~(1u << trial->victim);
    }
    for (uint32_t r = 0; r < MATRIX_RANKS; r++) {
        check_rank(&j, r, goes_on);
    }
    if (atomic_load(&trial->board->impostor) != 0) {
        find(&j, "the second process of a rank was let in");
    }
    if (cell->fault == FORK && atomic_load(&trial->board->fork_now[trial->victim]) == 3) {
        find(&j, "the forked child could use the communicator");
    }
}
