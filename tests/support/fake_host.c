/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host services for tests: allocation with seeded failures, captured errors and logs, threads. */
#include "fake_host.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "fake_auth.h"

static fake_host_t *fake_of(const weft_host_t *host)
{
    return host->core;
}

static void fake_log(const weft_host_t *host, weft_log_level_t level, const char *format, ...)
{
    fake_host_t *fake = fake_of(host);
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    pthread_mutex_lock(&fake->lock);
    size_t used = strlen(fake->log);
    if (used + strlen(line) + 2 > sizeof fake->log) {
        used = 0;
    }
    snprintf(fake->log + used, sizeof fake->log - used, "%s\n", line);
    pthread_mutex_unlock(&fake->lock);
    if (fake->verbose) {
        fprintf(stderr, "%s: log %d: %s\n", fake->name, (int)level, line);
    }
}

static weft_status_t fake_set_error(const weft_host_t *host, weft_status_t status, int os_errno,
                                    const char *format, ...)
{
    fake_host_t *fake = fake_of(host);
    char text[512];
    va_list args;
    va_start(args, format);
    int used = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (os_errno != 0 && used >= 0 && (size_t)used < sizeof text) {
        snprintf(text + used, sizeof text - (size_t)used, ": %s", strerror(os_errno));
    }
    pthread_mutex_lock(&fake->lock);
    fake->error_status = status;
    memcpy(fake->error, text, sizeof text);
    pthread_mutex_unlock(&fake->lock);
    atomic_fetch_add(&fake->errors, 1);
    if (fake->verbose) {
        fprintf(stderr, "%s: error %d: %s\n", fake->name, (int)status, text);
    }
    return status;
}

static void *fake_alloc(const weft_host_t *host, size_t bytes, size_t align)
{
    fake_host_t *fake = fake_of(host);
    uint64_t number = atomic_fetch_add(&fake->allocs, 1) + 1;
    void *memory = NULL;
    if (number != atomic_load(&fake->fail_at)) {
        size_t least = align > _Alignof(max_align_t) ? align : _Alignof(max_align_t);
        if (posix_memalign(&memory, least, bytes > 0 ? bytes : 1) != 0) {
            memory = NULL;
        }
    }
    if (memory == NULL) {
        fake_set_error(host, WEFT_ERR_RESOURCE, 0, "allocation %llu of %zu bytes failed",
                       (unsigned long long)number, bytes);
        return NULL;
    }
    memset(memory, 0, bytes);
    atomic_fetch_add(&fake->live, 1);
    return memory;
}

static void fake_free(const weft_host_t *host, void *memory)
{
    if (memory != NULL) {
        atomic_fetch_sub(&fake_of(host)->live, 1);
        free(memory);
    }
}

static uint64_t fake_clock_ns(const weft_host_t *host)
{
    (void)host;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static weft_status_t fake_random(const weft_host_t *host, void *out, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = getrandom((uint8_t *)out + done, bytes - done, 0);
        if (got < 0) {
            return fake_set_error(host, WEFT_ERR_SYSTEM, 0, "no randomness");
        }
        done += (size_t)got;
    }
    return WEFT_OK;
}

struct weft_host_thread {
    pthread_t id;
    void (*run)(void *arg);
    void *arg;
};

static void *fake_thread_main(void *arg)
{
    weft_host_thread_t *thread = arg;
    thread->run(thread->arg);
    return NULL;
}

static weft_status_t fake_thread_start(const weft_host_t *host, const char *name,
                                       void (*run)(void *arg), void *arg,
                                       weft_host_thread_t **thread_p)
{
    weft_host_thread_t *thread = fake_alloc(host, sizeof *thread, 0);
    if (thread == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    thread->run = run;
    thread->arg = arg;
    int error = pthread_create(&thread->id, NULL, fake_thread_main, thread);
    if (error != 0) {
        fake_free(host, thread);
        return fake_set_error(host, WEFT_ERR_RESOURCE, error, "cannot start thread %s", name);
    }
    *thread_p = thread;
    return WEFT_OK;
}

static void fake_thread_join(const weft_host_t *host, weft_host_thread_t *thread)
{
    pthread_join(thread->id, NULL);
    fake_free(host, thread);
}

static const void *fake_get_service(const weft_host_t *host, const char *name)
{
    bool auth = strcmp(name, WEFT_SERVICE_AUTH) == 0 && !fake_of(host)->no_auth;
    return auth ? &fake_auth_service : NULL;
}

void fake_host_init(fake_host_t *fake, const char *name)
{
    memset(fake, 0, sizeof *fake);
    fake->name = name;
    fake->verbose = false;
    memset(fake->key, 0x5a, sizeof fake->key);
    pthread_mutex_init(&fake->lock, NULL);
    fake->host = (weft_host_t){
        .size = sizeof fake->host,
        .core = fake,
        .log_level = WEFT_LOG_DEBUG,
        .log = fake_log,
        .set_error = fake_set_error,
        .alloc = fake_alloc,
        .free = fake_free,
        .clock_ns = fake_clock_ns,
        .random = fake_random,
        .thread_start = fake_thread_start,
        .thread_join = fake_thread_join,
        .get_service = fake_get_service,
    };
}

void fake_host_fini(fake_host_t *fake)
{
    pthread_mutex_destroy(&fake->lock);
}

void fake_host_take_error(fake_host_t *fake, char *text, size_t bytes)
{
    pthread_mutex_lock(&fake->lock);
    snprintf(text, bytes, "%s", fake->error);
    fake->error[0] = '\0';
    fake->error_status = WEFT_OK;
    pthread_mutex_unlock(&fake->lock);
}
