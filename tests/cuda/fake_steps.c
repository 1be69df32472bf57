/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What streams and graphs consist of: points, which are passed once, and steps, which wait for a point,
 * work, and pass a point. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/cuda/fake.h"

#define PATIENCE_S 100 /* nothing at all changes for so long */

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;

/* Waiting ------------------------------------------------------------------------------------------ */

void fake_changed(void)
{
    pthread_cond_broadcast(&change);
}

void fake_wait(const char *what)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE_S;
    if (pthread_cond_timedwait(&change, &fake_lock, &end) != 0) {
        fprintf(stderr, "fake_cuda: %s has not come for %d seconds\n", what, PATIENCE_S);
        abort();
    }
}

fake_point_t *fake_point_new(uint64_t capture)
{
    fake_point_t *point = calloc(1, sizeof *point);
    point->users = 1;
    point->capture = capture;
    return point;
}

fake_point_t *fake_point_share(fake_point_t *point)
{
    if (point != NULL) {
        point->users++;
    }
    return point;
}

void fake_point_drop(fake_point_t *point)
{
    if (point != NULL && --point->users == 0) {
        free(point);
    }
}

/* Steps -------------------------------------------------------------------------------------------- */

void fake_step_do(const fake_step_t *step)
{
    struct timespec now;
    while (step->after != NULL && !step->after->passed) {
        fake_wait("an event that a stream waits for");
    }
    if (step->work != NULL) {
        pthread_mutex_unlock(&fake_lock);
        step->work(step->arg);
        pthread_mutex_lock(&fake_lock);
    }
    if (step->mark != NULL) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        step->mark->passed = true;
        step->mark->seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    }
    fake_changed();
}

fake_step_t *fake_step_new(const fake_step_t *what, const void *arg, size_t bytes)
{
    fake_step_t *step = aligned_alloc(16, (sizeof *step + bytes + 15) / 16 * 16);
    *step = *what;
    step->next = NULL;
    if (bytes > 0) {
        memcpy(step->arg, arg, bytes);
    }
    return step;
}

void fake_row_add(fake_row_t *row, fake_step_t *step)
{
    if (row->first == NULL) {
        row->first = step;
    } else {
        row->last->next = step;
    }
    row->last = step;
}

void fake_row_drop(fake_row_t *row)
{
    fake_step_t *step = row->first;
    row->first = step->next;
    fake_point_drop(step->after);
    fake_point_drop(step->mark);
    free(step);
}

/* Grids -------------------------------------------------------------------------------------------- */

typedef struct grid {
    void (*block)(const void *arg, uint32_t number);
    const void *arg;
    uint32_t next, running;
} grid_t;

static void grid_block(void *arg)
{
    grid_t *grid = arg;
    pthread_mutex_lock(&fake_lock);
    const uint32_t number = grid->next++;
    pthread_mutex_unlock(&fake_lock);
    grid->block(grid->arg, number);
    pthread_mutex_lock(&fake_lock);
    if (--grid->running == 0) {
        fake_changed();
    }
    pthread_mutex_unlock(&fake_lock);
}

void fake_blocks(void (*block)(const void *arg, uint32_t number), const void *arg, uint32_t n)
{
    grid_t grid = {.block = block, .arg = arg, .running = n};
    for (uint32_t i = 1; i < n; i++) {
        fake_crew_run(grid_block, &grid);
    }
    grid_block(&grid);
    pthread_mutex_lock(&fake_lock);
    while (grid.running > 0) {
        fake_wait("the end of a kernel");
    }
    pthread_mutex_unlock(&fake_lock);
}
