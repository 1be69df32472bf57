/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What streams and graphs consist of: points, which are passed once, and steps, which wait for a
 * point, work, and pass a point. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/cuda/fake.h"

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;

/* Waiting -------------------------------------------------------------------------------------- */

void fake_changed(void)
{
    pthread_cond_broadcast(&change);
}

void fake_wait(const char *what)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += fake_cuda.strict.patience;
    if (pthread_cond_timedwait(&change, &fake_lock, &end) != 0) {
        fprintf(stderr, "fake_cuda: hang: %s has not come for %d seconds\n", what,
                fake_cuda.strict.patience);
        fake_queues_tell(stderr);
        fake_blocks_tell(stderr);
        fake_streams_tell(stderr);
        abort();
    }
}

void fake_linger(const uint64_t *wanted, uint64_t number)
{
    enum { LONG_S = 10 };
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += LONG_S;
    while (*wanted < number && pthread_cond_timedwait(&change, &fake_lock, &end) == 0) {
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

/* Steps ---------------------------------------------------------------------------------------- */

void fake_step_do(const fake_step_t *step)
{
    struct timespec now;
    while (step->after != NULL && !step->after->passed) {
        fake_wait("an event that a stream waits for");
    }
    if (step->work != NULL) {
        pthread_mutex_unlock(&fake_lock);
        fake_blocks_device(step->device);
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
