/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads that wait for work: as many as were ever needed at once, reused. */
#ifndef TESTS_DEVICE_CREW_H
#define TESTS_DEVICE_CREW_H

#include <weft/plugin/host.h>

typedef struct crew crew_t;

/* A piece of work. Memory of it is not touched once it has run. */
typedef struct crew_work {
    void (*run)(void *arg, uint32_t number);
    void *arg;
} crew_work_t;

crew_t *crew_create(const weft_host_t *host);
/* Waits for work under way. NULL is allowed. */
void crew_destroy(crew_t *crew);
/* Runs work->run(arg, 0 … n−1), each on a thread of its own. ERR_RESOURCE: nothing was started. */
weft_status_t crew_start(crew_t *crew, const crew_work_t *work, uint32_t n);

#endif
