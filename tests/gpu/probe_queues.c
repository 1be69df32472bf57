/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams beside a full one: how many get no further, because they share its hardware queue, and
 * whether a call waits for it. A call that does not return is an answer: the waiting kernel is let
 * go then. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/gpu/line.h"
#include "tests/gpu/probe.h"

#define STUCK_US 1.5e6 /* without a call that returns */
#define SHOW_US 0.5e6  /* for launches that have returned to run */

/* The first half of the streams has the lowest priority, the second one the highest. */
typedef struct queues {
    probe_words_t *words;
    char name[96];
    int streams, least, greatest;
    cudaStream_t stream[PROBE_NOTES];
    _Atomic int made, launched; /* streams for which the call has returned */
} queues_t;

static void queues_make(queues_t *q, int i)
{
    PROBE_OK(cudaStreamCreateWithPriority(&q->stream[i], cudaStreamNonBlocking,
                                          i < q->streams / 2 ? q->least : q->greatest));
    atomic_store(&q->made, i + 1);
}

static void *queues_thread(void *arg)
{
    queues_t *q = arg;
    for (int i = 0; i < q->streams; i++) {
        const probe_job_t job = {.what = PROBE_NOTE, .step = (uint32_t)i, .words = q->words};
        if (i == atomic_load(&q->made)) {
            queues_make(q, i);
        }
        PROBE_OK(probe_launch(&job, 1, 1, q->stream[i]));
        atomic_store(&q->launched, i + 1);
    }
    return NULL;
}

/* Whether all calls return. */
static bool queues_return(queues_t *q)
{
    int seen = -1;
    for (double since = 0; atomic_load(&q->launched) < q->streams; usleep(1000)) {
        const int calls = atomic_load(&q->made) + atomic_load(&q->launched);
        if (calls == seen && probe_us() - since > STUCK_US) {
            return false;
        }
        since = calls == seen ? since : probe_us();
        seen = calls;
    }
    return true;
}

static int queues_kept(const queues_t *q, int from, int to)
{
    int kept = 0;
    for (int i = from; i < to; i++) {
        kept += __atomic_load_n(&q->words->note[i], __ATOMIC_ACQUIRE) == 0;
    }
    return kept;
}

/* Launches beside running plans must return; streams are made when there are none. */
static void queues_tell_stuck(queues_t *q)
{
    char what[224];
    const int made = atomic_load(&q->made), launched = atomic_load(&q->launched);
    const bool launches = made > launched;
    snprintf(what, sizeof what, "%s: stuck in the %s stream %d of %d%s", q->name,
             launches ? "launch into" : "creation of", launched + 1, q->streams,
             launched < q->streams / 2 ? "" : ", highest priority");
    line_answer(what, launches ? "STUCK" : "ok", launched, "launches before it");
}

static void queues_tell(queues_t *q)
{
    char what[224];
    const int half = q->streams / 2, launched = atomic_load(&q->launched),
              urgent = launched > half ? launched - half : 0, plain = launched - urgent;
    for (double end = probe_us() + SHOW_US; probe_us() < end && queues_kept(q, 0, launched) > 0;) {
        usleep(1000);
    }
    snprintf(what, sizeof what, "of %d streams %s", plain, q->name);
    line_answer(what, "ok", queues_kept(q, 0, plain), "kept back");
    snprintf(what, sizeof what, "of %d streams %s, highest priority", urgent, q->name);
    line_answer(what, "ok", queues_kept(q, half, half + urgent), "kept back");
}

static void queues_begin(queues_t *q, int streams, const char *how, bool make, bool use)
{
    const char *connections = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    const probe_job_t nothing = {.what = PROBE_NOTHING};
    cudaStream_t full = probe_stream();
    snprintf(q->name, sizeof q->name, "%s a full one, %s connections", how,
             connections != NULL ? connections : "default");
    q->words = probe_words();
    q->streams = 2 * streams <= PROBE_NOTES ? 2 * streams : PROBE_NOTES;
    PROBE_OK(cudaDeviceGetStreamPriorityRange(&q->least, &q->greatest));
    PROBE_OK(probe_launch(&nothing, 1, 1, full));
    for (int i = 0; make && i < q->streams; i++) {
        queues_make(q, i);
        if (use) {
            PROBE_OK(probe_launch(&nothing, 1, 1, q->stream[i]));
        }
    }
    PROBE_OK(cudaDeviceSynchronize());
    probe_wait_begin(q->words, full);
    PROBE_OK(probe_launch(&nothing, 1, 1, full));
}

static void queues_run(int streams, const char *how, bool make, bool use)
{
    queues_t q = {.streams = 0};
    pthread_t thread;
    struct timespec end;
    queues_begin(&q, streams, how, make, use);
    pthread_create(&thread, NULL, queues_thread, &q);
    if (!queues_return(&q)) {
        queues_tell_stuck(&q);
    }
    queues_tell(&q);
    probe_wait_end(q.words);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec++;
    if (pthread_timedjoin_np(thread, NULL, &end) != 0) {
        strncat(q.name, ", when that has ended", sizeof q.name - strlen(q.name) - 1);
        queues_tell_stuck(&q);
        _exit(0);
    }
}

void probe_queues(int streams)
{
    queues_run(streams, "used before", true, true);
}

void probe_queues_new(int streams)
{
    queues_run(streams, "made before", true, false);
}

void probe_queues_beside(int streams)
{
    queues_run(streams, "made beside", false, false);
}
