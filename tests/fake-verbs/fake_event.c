/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Asynchronous events. The descriptor is a semaphore, so that it blocks, polls and reads as the
 * real one does. */
#include "fake_world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SETTLE_S 5

void descriptor_raise(int fd)
{
    uint64_t one = 1;
    if (write(fd, &one, sizeof one) != (ssize_t)sizeof one) {
        fprintf(stderr, "fake verbs: a descriptor of events failed\n");
        abort();
    }
}

void event_raise(vcontext_t *context, const struct ibv_async_event *event)
{
    if (context->nevents == EVENTS_MAX) {
        fprintf(stderr, "fake verbs: too many events\n");
        abort();
    }
    descriptor_raise(context->verbs.context.async_fd);
    context->events[context->nevents++] = *event;
}

/* The kernel drops what was not told yet when an object goes. */
void event_forget(struct ibv_context *verbs, const void *object)
{
    vcontext_t *context = context_of(verbs);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < context->nevents; i++) {
        enum ibv_event_type type = context->events[i].event_type;
        bool port = (type >= IBV_EVENT_DEVICE_FATAL && type <= IBV_EVENT_SM_CHANGE) ||
                    type == IBV_EVENT_GID_CHANGE || type == IBV_EVENT_CLIENT_REREGISTER;
        uint64_t one;
        if (!port && (const void *)context->events[i].element.qp == object) {
            ssize_t ignored = read(verbs->async_fd, &one, sizeof one);
            (void)ignored;
        } else {
            context->events[kept++] = context->events[i];
        }
    }
    context->nevents = kept;
}

void event_settle(const uint32_t *got, const uint32_t *acknowledged, const char *what)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += SETTLE_S;
    while (*got != *acknowledged) {
        if (pthread_cond_timedwait(&world.acked, &world.lock, &end) != 0) {
            fprintf(stderr, "fake verbs: %s is destroyed with unacknowledged events\n", what);
            abort();
        }
    }
}

static uint32_t *counter_of(const struct ibv_async_event *event)
{
    switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
        return &((vcq_t *)event->element.cq)->asyncs_got;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        return &((vqp_t *)event->element.qp)->asyncs_got;
    default:
        return NULL;
    }
}

int ibv_get_async_event(struct ibv_context *verbs, struct ibv_async_event *event)
{
    vcontext_t *context = context_of(verbs);
    uint64_t one;
    if (read(verbs->async_fd, &one, sizeof one) != (ssize_t)sizeof one) {
        return -1;
    }
    world_enter();
    bool some = context->nevents > 0;
    if (some) {
        *event = context->events[0];
        context->nevents--;
        memmove(context->events, context->events + 1, context->nevents * sizeof *event);
        uint32_t *got = counter_of(event);
        if (got != NULL) {
            (*got)++;
        }
    } else {
        descriptor_raise(verbs->async_fd); /* of an adapter that is gone */
    }
    world_leave();
    errno = EAGAIN;
    return some ? 0 : -1;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    world_enter();
    if (event->event_type == IBV_EVENT_CQ_ERR) {
        event->element.cq->async_events_completed++;
    } else if (counter_of(event) != NULL) {
        event->element.qp->events_completed++;
    }
    pthread_cond_broadcast(&world.acked);
    world_leave();
}
