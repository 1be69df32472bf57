/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Log lines. One write per line, so that lines of several processes do not mix. */
#include "core/base/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "core/base/utf8.h"

/* How long a line waits for room. Less than a neighbour waits for a sign of life, because the
 * thread that gives them logs, too. */
#define LOG_PATIENCE_NS 100000000

static _Atomic uint32_t max_level = WEFT_LOG_WARN;
static _Atomic uint32_t dropped; /* lines, since the last one that was written */
static _Atomic bool stuck;       /* the last line found no room: the next one does not wait */
static _Atomic bool timed;       /* lines begin with the time of day */

void weft_log_set_level(weft_log_level_t level)
{
    atomic_store_explicit(&max_level, (uint32_t)level, memory_order_relaxed);
}

weft_log_level_t weft_log_level(void)
{
    return (weft_log_level_t)atomic_load_explicit(&max_level, memory_order_relaxed);
}

void weft_log_set_timed(bool on)
{
    atomic_store_explicit(&timed, on, memory_order_relaxed);
}

/* "2026-12-01 01:35:02.123 ", in the zone of this process; nothing unless it is wanted. */
static size_t log_put_time(char *line, size_t bytes)
{
    struct timespec now;
    struct tm local;
    if (!atomic_load_explicit(&timed, memory_order_relaxed) ||
        clock_gettime(CLOCK_REALTIME, &now) != 0 || localtime_r(&now.tv_sec, &local) == NULL) {
        return 0;
    }
    const size_t at = strftime(line, bytes, "%Y-%m-%d %H:%M:%S", &local);
    return at + (size_t)snprintf(line + at, bytes - at, ".%03ld ", now.tv_nsec / 1000000);
}

/* Begins a line, which has room for any component. */
static size_t log_put_head(char *line, size_t bytes, weft_log_level_t level, const char *component)
{
    static const char *const names[] = {"error", "warn", "info", "debug", "trace"};
    const size_t at = log_put_time(line, bytes);
    const int used = snprintf(line + at, bytes - at, "weft[%d] %s %s: ", (int)getpid(),
                              names[level <= WEFT_LOG_TRACE ? level : WEFT_LOG_TRACE], component);
    return used > 0 && (size_t)used < bytes - at ? at + (size_t)used : at;
}

/* True if a write does not block. Where poll(2) tells of room in a pipe there is a page of it,
 * which several processes may fill at the same time with a line each. */
static bool log_has_room(void)
{
    struct pollfd log = {.fd = STDERR_FILENO, .events = POLLOUT};
    const bool was_stuck = atomic_load_explicit(&stuck, memory_order_relaxed);
    const struct timespec patience = {.tv_nsec = was_stuck ? 0 : LOG_PATIENCE_NS};
    sigset_t all; /* wait until then: one that comes often would end the waiting each time */
    sigfillset(&all);
    const bool room = ppoll(&log, 1, &patience, &all) > 0;
    if (room == was_stuck) {
        atomic_store_explicit(&stuck, !room, memory_order_relaxed);
    }
    return room;
}

/* The signal that a pipe without a reader sends is for this thread: it is kept from it, and taken
 * back unless one of the program's own was there before. */
bool weft_log_put(const char *line, size_t bytes)
{
    if (!log_has_room()) {
        return false;
    }
    sigset_t broken, before, pending;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    sigemptyset(&pending);
    (void)pthread_sigmask(SIG_BLOCK, &broken, &before);
    (void)sigpending(&pending);
    const ssize_t written = write(STDERR_FILENO, line, bytes);
    if (written < 0 && errno == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
        (void)sigtimedwait(&broken, NULL, &(struct timespec){.tv_sec = 0});
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return written >= 0;
}

/* Lines that failed for another reason than room, such as a full disk, are counted as well. */
static void log_tell_dropped(void)
{
    char line[192];
    const uint32_t lines = atomic_exchange_explicit(&dropped, 0, memory_order_relaxed);
    if (lines == 0) {
        return;
    }
    const size_t at = log_put_head(line, sizeof line, WEFT_LOG_WARN, "log");
    const int used = snprintf(line + at, sizeof line - at,
                              "lines that could not be written, and were dropped: %u\n", lines);
    if (!weft_log_put(line, at + (size_t)used)) {
        atomic_fetch_add_explicit(&dropped, lines, memory_order_relaxed);
    }
}

void weft_log_v(weft_log_level_t level, const char *component, const char *format, va_list args)
{
    if (level > weft_log_level()) {
        return;
    }
    char line[1024];
    size_t at = log_put_head(line, sizeof line, level, component);
    const int used = vsnprintf(line + at, sizeof line - at - 1, format, args);
    at += used > 0 ? (size_t)used : 0;
    if (at > sizeof line - 2) {
        at = sizeof line - 2;
    }
    line[at] = '\0';
    weft_utf8_clean(line);
    line[at] = '\n';
    log_tell_dropped();
    if (!weft_log_put(line, at + 1)) {
        atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
    }
}

void weft_log(weft_log_level_t level, const char *component, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    weft_log_v(level, component, format, args);
    va_end(args);
}
