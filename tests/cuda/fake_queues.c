/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hardware queues, and calls that wait for the context. A device has few queues and gives them to
 * its streams in turn, those of each priority apart. A queue issues its steps in the order in which
 * they were put, each once all before it in its own stream have been done and the event it waits
 * for has come: until then it keeps back the steps of all other streams of the queue. */
#include <stdlib.h>

#include "tests/cuda/fake.h"

enum { QUEUES_PRIORITIES = 2, QUEUES_MOST = 32 };

struct fake_queue {
    uint32_t number;
    uint64_t put, issued; /* steps so far */
};

static struct {
    fake_queue_t queue[QUEUES_MOST];
    uint32_t streams;
} shared[FAKE_DEVICES][QUEUES_PRIORITIES];

/* Where each stream has a queue of its own. */
typedef struct own_queue {
    fake_queue_t queue;
    struct own_queue *next;
} own_queue_t;

static own_queue_t *own;
static uint64_t steps;              /* of the process so far */
static uint32_t waiters;            /* calls that wait for the context */
static const char *waiter = "none"; /* the name of one */

fake_queue_t *fake_queue_of(int device, int priority)
{
    if (fake_cuda.strict.connections == 0) {
        own_queue_t *made = calloc(1, sizeof *made);
        made->next = own;
        own = made;
        return &made->queue;
    }
    const uint32_t urgent = priority < 0;
    const uint32_t number = shared[device][urgent].streams++ % fake_cuda.strict.connections;
    fake_queue_t *queue = &shared[device][urgent].queue[number];
    queue->number = number + urgent * QUEUES_MOST;
    return queue;
}

void fake_queues_free(void)
{
    while (own != NULL) {
        own_queue_t *gone = own;
        own = gone->next;
        free(gone);
    }
}

uint32_t fake_queue_number(const fake_queue_t *queue)
{
    return queue->number;
}

void fake_queue_put(fake_queue_t *queue, fake_step_t *step)
{
    step->number = ++steps;
    step->ticket = queue->put++;
}

void fake_queue_issue(fake_queue_t *queue, fake_step_t *step)
{
    while (queue->issued != step->ticket) {
        fake_wait("the turn of a step in its hardware queue");
    }
    while (step->after != NULL && !step->after->passed) {
        fake_wait("an event that a stream waits for");
    }
    queue->issued++;
    step->issued = true;
    fake_changed();
}

void fake_queue_admit(const fake_queue_t *queue)
{
    const uint32_t depth = fake_cuda.strict.depth;
    while (waiters > 0) {
        fake_wait("the end of a call that waits for the context, before which nobody can launch,");
    }
    while (depth > 0 && queue->put - queue->issued >= depth) {
        fake_wait("room for a launch in a full hardware queue");
    }
}

void fake_context_wait(uint32_t kind, const char *call)
{
    char what[128];
    if ((fake_cuda.strict.waits & kind) == 0) {
        return;
    }
    snprintf(what, sizeof what, "the end of all kernels, for which %s waits,", call);
    pthread_mutex_lock(&fake_lock);
    const uint64_t last = steps;
    waiters++;
    waiter = call;
    while (fake_streams_busy(last)) {
        fake_wait(what);
    }
    waiters--;
    fake_changed();
    pthread_mutex_unlock(&fake_lock);
}

void fake_queues_tell(FILE *file)
{
    if (waiters > 0) {
        fprintf(file, "fake_cuda: %u calls wait for the context, one is %s\n", waiters, waiter);
    }
}
