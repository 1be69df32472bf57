/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cuda_side.h. */
#include "cuda_side.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "cuda_errors.h"
#include "cuda_kept.h"

#define SIDES_LEAST 2

/* Of the process: combinations do not know their instance. */
static struct {
    pthread_mutex_t lock; /* never held while the driver is called */
    cuda_side_t *all;
    cuda_side_user_t *users;
} sides = {.lock = PTHREAD_MUTEX_INITIALIZER};

cudaError_t cuda_stream_urgent(cudaStream_t *stream)
{
    int least = 0, greatest = 0;
    cudaError_t error = cudaDeviceGetStreamPriorityRange(&least, &greatest);
    return error == cudaSuccess
               ? cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, greatest)
               : error;
}

void cuda_side_open(cuda_side_user_t *user, int device)
{
    pthread_mutex_lock(&sides.lock);
    *user = (cuda_side_user_t){.next = sides.users, .device = device};
    sides.users = user;
    pthread_mutex_unlock(&sides.lock);
}

/* How many instances the device has, and how many side streams. Under the lock. */
static uint32_t side_users(int device)
{
    uint32_t count = 0;
    for (const cuda_side_user_t *user = sides.users; user != NULL; user = user->next) {
        count += user->device == device;
    }
    return count;
}

static uint32_t side_streams(int device)
{
    uint32_t count = 0;
    for (const cuda_side_t *side = sides.all; side != NULL; side = side->next) {
        count += side->device == device;
    }
    return count;
}

static void side_unlink(const cuda_side_t *side)
{
    cuda_side_t **at = &sides.all;
    while (*at != side) {
        at = &(*at)->next;
    }
    *at = side->next;
}

int cuda_side_some_device(void)
{
    pthread_mutex_lock(&sides.lock);
    const int device = sides.users != NULL ? sides.users->device : 0;
    pthread_mutex_unlock(&sides.lock);
    return device;
}

/* Nobody has the lock, or the stream, whose device is current. What is still late goes on in the
 * driver, and in its room. */
static void side_free(cuda_side_t *side)
{
    /* After a failure its work may just be ending. */
    cudaError_t error =
        side->late ? cudaStreamQuery(side->stream) : cuda_stream_settle(side->stream, NULL);
    const bool late = error == cudaErrorNotReady;
    error = cudaStreamDestroy(side->stream);
    (void)error;
    if (!late) {
        cuda_kept_put(side->device, CUDA_KEPT_HOST, side->room, CUDA_SIDE_ROOM);
    }
    free(side);
}

/* An idle one of a device that no instance uses, out of the list, or NULL. */
static cuda_side_t *side_without_users(void)
{
    pthread_mutex_lock(&sides.lock);
    cuda_side_t *side = sides.all;
    while (side != NULL && ((side->taken && !side->late) || side_users(side->device) > 0)) {
        side = side->next;
    }
    if (side != NULL) {
        side_unlink(side);
    }
    pthread_mutex_unlock(&sides.lock);
    return side;
}

/* A stream that is left where its device cannot be made current is the driver's until the process
 * ends. */
static void side_free_there(cuda_side_t *side, const cuda_context_driver_t *driver)
{
    cuda_context_t saved;
    if (cuda_context_enter(driver, side->device, &saved) != cudaSuccess) {
        free(side);
        return;
    }
    side_free(side);
    cuda_context_leave(&saved);
}

void cuda_side_close(cuda_side_user_t *user, const cuda_context_driver_t *driver)
{
    cuda_side_user_t **at = &sides.users;
    cuda_side_t *left;
    pthread_mutex_lock(&sides.lock);
    while (*at != user) {
        at = &(*at)->next;
    }
    *at = user->next;
    pthread_mutex_unlock(&sides.lock);
    while ((left = side_without_users()) != NULL) {
        side_free_there(left, driver);
    }
}

static cuda_side_t *side_take_idle(int device)
{
    pthread_mutex_lock(&sides.lock);
    cuda_side_t *side = sides.all;
    while (side != NULL && (side->device != device || side->taken)) {
        side = side->next;
    }
    if (side != NULL) {
        side->taken = true;
    }
    pthread_mutex_unlock(&sides.lock);
    return side;
}

/* Gives `side` back as late, and makes the late one behind it the caller's; NULL as `side`: the
 * first one. Returns NULL if there is none. In one step: without it `side` might be freed in
 * between. */
static cuda_side_t *side_next_late(int device, cuda_side_t *side)
{
    pthread_mutex_lock(&sides.lock);
    cuda_side_t *next = side != NULL ? side->next : sides.all;
    if (side != NULL) {
        side->late = true;
    }
    while (next != NULL && (next->device != device || !next->late)) {
        next = next->next;
    }
    if (next != NULL) {
        next->late = false;
    }
    pthread_mutex_unlock(&sides.lock);
    return next;
}

/* One whose work was late and has ended since, or NULL. */
static cuda_side_t *side_take_ended(int device)
{
    cuda_side_t *side = side_next_late(device, NULL);
    while (side != NULL && cudaStreamQuery(side->stream) == cudaErrorNotReady) {
        side = side_next_late(device, side);
    }
    return side;
}

static cudaError_t side_fill(cuda_side_t *side)
{
    uint64_t bytes = CUDA_SIDE_ROOM;
    cudaError_t error = cuda_stream_urgent(&side->stream);
    if (error != cudaSuccess) {
        return error;
    }
    side->room = cuda_kept_take(side->device, CUDA_KEPT_HOST, &bytes);
    if (side->room == NULL) {
        error = cudaHostAlloc((void **)&side->room, CUDA_SIDE_ROOM,
                              cudaHostAllocPortable | cudaHostAllocMapped);
    }
    if (error != cudaSuccess) {
        (void)cudaStreamDestroy(side->stream);
    }
    return error;
}

static cudaError_t side_make(int device, cuda_side_t **side_p)
{
    cuda_side_t *made = malloc(sizeof *made); /* it may outlive the instance and its host */
    if (made == NULL) {
        return cudaErrorMemoryAllocation;
    }
    *made = (cuda_side_t){.device = device, .taken = true};
    cudaError_t error = side_fill(made);
    if (error != cudaSuccess) {
        free(made);
        return error;
    }
    pthread_mutex_lock(&sides.lock);
    made->next = sides.all;
    sides.all = made;
    pthread_mutex_unlock(&sides.lock);
    *side_p = made;
    return cudaSuccess;
}

/* How many side streams the device should have more. */
static uint32_t side_lack(int device)
{
    pthread_mutex_lock(&sides.lock);
    const uint32_t users = side_users(device), there = side_streams(device);
    pthread_mutex_unlock(&sides.lock);
    const uint32_t wanted = users > SIDES_LEAST ? users : SIDES_LEAST;
    return wanted > there ? wanted - there : 0;
}

cudaError_t cuda_side_prepare(int device)
{
    cudaError_t error = cudaSuccess;
    for (uint32_t lack = side_lack(device); lack > 0 && error == cudaSuccess; lack--) {
        cuda_side_t *side = NULL;
        error = side_make(device, &side);
        cuda_side_put(side);
    }
    return error;
}

static uint64_t side_clock_ns(const weft_host_t *host)
{
    struct timespec now;
    if (host != NULL) {
        return host->clock_ns(host);
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool side_has_none(int device)
{
    pthread_mutex_lock(&sides.lock);
    const bool none = side_streams(device) == 0;
    pthread_mutex_unlock(&sides.lock);
    return none;
}

cudaError_t cuda_side_take(int device, const weft_host_t *host, cuda_side_t **side_p)
{
    *side_p = side_take_idle(device);
    if (*side_p == NULL && side_has_none(device)) {
        return side_make(device, side_p);
    }
    for (const uint64_t begin = side_clock_ns(host); *side_p == NULL;) {
        *side_p = side_take_ended(device);
        if (*side_p == NULL && side_clock_ns(host) - begin >= CUDA_SIDE_LATE_NS) {
            return cudaErrorNotReady;
        }
        if (*side_p == NULL) {
            sched_yield();
            *side_p = side_take_idle(device);
        }
    }
    return cudaSuccess;
}

void cuda_side_put(cuda_side_t *side)
{
    if (side != NULL) {
        pthread_mutex_lock(&sides.lock);
        side->taken = false;
        pthread_mutex_unlock(&sides.lock);
    }
}

cudaError_t cuda_stream_settle(cudaStream_t stream, const weft_host_t *host)
{
    const uint64_t begin = side_clock_ns(host);
    cudaError_t error = cudaStreamQuery(stream);
    while (error == cudaErrorNotReady && side_clock_ns(host) - begin < CUDA_SIDE_LATE_NS) {
        sched_yield();
        error = cudaStreamQuery(stream);
    }
    return error;
}

void cuda_side_end(cuda_side_t *side, cudaError_t error)
{
    if (side != NULL && error == cudaErrorNotReady) {
        pthread_mutex_lock(&sides.lock);
        side->late = true;
        pthread_mutex_unlock(&sides.lock);
    } else {
        cuda_side_put(side);
    }
}

weft_status_t cuda_side_failed(const weft_kernel_t *kernel, cudaError_t error, const char *what)
{
    if (error != cudaErrorNotReady) {
        return cuda_failed(kernel, error, what);
    }
    return kernel->host->set_error(
        kernel->host, WEFT_ERR_TIMEOUT, 0,
        "%s on CUDA device %d is not done after %u s: a kernel that waits may be in front of "
        "it in its hardware queue (set CUDA_DEVICE_MAX_CONNECTIONS=32 before CUDA starts), or "
        "long copies of other threads",
        what, kernel->device, (unsigned)(CUDA_SIDE_LATE_NS / 1000000000));
}

weft_status_t cuda_side_settle(const weft_kernel_t *kernel, cuda_side_t *side, cudaError_t error,
                               const char *what)
{
    error = error == cudaSuccess ? cuda_stream_settle(side->stream, kernel->host) : error;
    cuda_side_end(side, error);
    return error == cudaSuccess ? WEFT_OK : cuda_side_failed(kernel, error, what);
}
