/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cuda_flight.h. */
#include "cuda_flight.h"

#include <pthread.h>

/* Of the process, not of an instance: instances share the context (decision 76). `launching` is
 * held by readers for a launch, by a writer for a pause. One pause waits for another: the last
 * instance to end finds what it left behind. */
static pthread_rwlock_t launching = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t pausing = PTHREAD_MUTEX_INITIALIZER;

static struct {
    pthread_mutex_t lock;
    cuda_flight_t *first;
} flights = {.lock = PTHREAD_MUTEX_INITIALIZER};

void cuda_flight_add(cuda_flight_t *flight)
{
    pthread_mutex_lock(&flights.lock);
    flight->next = flights.first;
    flights.first = flight;
    pthread_mutex_unlock(&flights.lock);
}

void cuda_flight_remove(cuda_flight_t *flight)
{
    pthread_mutex_lock(&flights.lock);
    cuda_flight_t **at = &flights.first;
    while (*at != NULL && *at != flight) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = flight->next;
    }
    pthread_mutex_unlock(&flights.lock);
}

void cuda_flight_launch_begin(void)
{
    pthread_rwlock_rdlock(&launching);
}

void cuda_flight_launch_end(void)
{
    pthread_rwlock_unlock(&launching);
}

/* A device that has failed runs nothing. */
static bool cuda_flight_is_done(const cuda_context_driver_t *driver, const cuda_flight_t *flight)
{
    cuda_context_t saved;
    if (flight->captured || cuda_context_enter(driver, flight->device, &saved) != cudaSuccess) {
        return false;
    }
    cudaError_t error = cudaStreamQuery(flight->own);
    if (error == cudaSuccess && flight->recorded) {
        error = cudaEventQuery(flight->last);
    }
    cuda_context_leave(&saved);
    return error != cudaErrorNotReady;
}

void cuda_flight_resume(void)
{
    pthread_rwlock_unlock(&launching);
    pthread_mutex_unlock(&pausing);
}

bool cuda_flight_pause(const cuda_context_driver_t *driver)
{
    bool done = true;
    pthread_mutex_lock(&pausing);
    if (pthread_rwlock_trywrlock(&launching) != 0) {
        pthread_mutex_unlock(&pausing);
        return false;
    }
    pthread_mutex_lock(&flights.lock);
    for (const cuda_flight_t *f = flights.first; f != NULL && done; f = f->next) {
        done = cuda_flight_is_done(driver, f);
    }
    pthread_mutex_unlock(&flights.lock);
    if (!done) {
        cuda_flight_resume();
    }
    return done;
}
