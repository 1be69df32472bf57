/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OS seam: time and randomness. */
#include <errno.h>
#include <sys/random.h>
#include <time.h>

#include "core/base/error.h"
#include "core/os/os.h"

uint64_t weft_os_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * WEFT_NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t weft_os_wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec;
}

uint64_t weft_os_wall_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / WEFT_NS_PER_MS;
}

uint64_t weft_os_deadline_after(uint64_t now, double seconds)
{
    if (!(seconds > 0) || seconds > 1e9) {
        return WEFT_NEVER;
    }
    return now + (uint64_t)(seconds * (double)WEFT_NS_PER_S);
}

uint64_t weft_os_deadline(double seconds)
{
    return weft_os_deadline_after(weft_os_clock_ns(), seconds);
}

void weft_os_sleep_ns(uint64_t ns)
{
    struct timespec t = {.tv_sec = (time_t)(ns / WEFT_NS_PER_S),
                         .tv_nsec = (long)(ns % WEFT_NS_PER_S)};
    while (nanosleep(&t, &t) != 0 && errno == EINTR) {
    }
}

weft_status_t weft_os_random(void *out, size_t bytes)
{
    uint8_t *p = out;
    while (bytes > 0) {
        ssize_t got = getrandom(p, bytes, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return weft_fail(WEFT_ERR_SYSTEM, errno, "cannot get random bytes");
        }
        p += got;
        bytes -= (size_t)got;
    }
    return WEFT_OK;
}
