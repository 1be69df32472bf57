/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See streams.h. */
#include "tests/support/streams.h"

#include <stdio.h>
#include <string.h>

#include "core/os/os.h"

void *const streams_handle = NULL;
const weft_call_t streams_call = {.size = sizeof streams_call, .stream = &streams_handle};

void streams_fill(int32_t *buffer, uint32_t rank, int32_t base)
{
    for (int32_t i = 0; i < STREAMS_COUNT; i++) {
        buffer[i] = base + i * (int32_t)(rank + 1);
    }
}

bool streams_is_sum(const int32_t *buffer, uint32_t n, int32_t base)
{
    for (int32_t i = 0; i < STREAMS_COUNT; i++) {
        if (buffer[i] != base * (int32_t)n + i * (int32_t)(n * (n + 1) / 2)) {
            return false;
        }
    }
    return true;
}

static bool is_like(const weft_error_t *error, weft_status_t status, weft_status_t wanted,
                    const char *words)
{
    bool like = status == wanted && strstr(error->text, words) != NULL;
    if (!like) {
        fprintf(stderr, "%s: \"%s\", not \"%s\"\n", weft_status_name(status), error->text, words);
    }
    return like;
}

bool streams_told(weft_status_t status, weft_status_t wanted, const char *words)
{
    weft_error_t error = {.size = sizeof error};
    weft_last_error(&error);
    return is_like(&error, status, wanted, words);
}

bool streams_failed(weft_comm_t *comm, weft_status_t wanted, const char *words)
{
    weft_error_t error = {.size = sizeof error};
    uint64_t deadline = weft_os_clock_ns() + 10 * WEFT_NS_PER_S;
    while (weft_comm_error(comm, &error) == WEFT_OK && error.status == WEFT_OK &&
           weft_os_clock_ns() < deadline) {
        weft_os_sleep_ns(100000);
    }
    return is_like(&error, error.status, wanted, words);
}

void streams_meet(void)
{
    static weft_os_mutex_t lock;
    static uint32_t met;
    weft_os_lock(&lock);
    uint32_t round = met++ / 2;
    weft_os_unlock(&lock);
    for (bool together = false; !together;) {
        weft_os_lock(&lock);
        together = met >= 2 * (round + 1);
        weft_os_unlock(&lock);
        weft_os_sleep_ns(50000);
    }
}
