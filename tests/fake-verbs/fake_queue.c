/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Completion queues and their channels. Completions of one queue of one queue pair keep their
 * order; all else may be mixed by fake_reorder(). */
#include "fake_world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
    vchannel_t *channel = NULL;
    world_enter();
    int cause = script_make(FAKE_CREATE_CHANNEL, context);
    int fd = cause == 0 ? eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE) : -1;
    cause = cause == 0 && fd < 0 ? errno : cause;
    if (cause == 0) {
        channel = world_alloc(sizeof *channel);
        channel->base = (struct ibv_comp_channel){.context = context, .fd = fd};
        context_of(context)->users++;
        world.live.channels++;
    }
    world_leave();
    errno = cause;
    return channel != NULL ? &channel->base : NULL;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *base)
{
    vchannel_t *channel = (vchannel_t *)base;
    world_enter();
    int cause = base->refcnt > 0 ? EBUSY : 0;
    if (cause == 0) {
        context_of(base->context)->users--;
        world.live.channels--;
        close(base->fd);
        free(channel->ready);
        free(channel);
    }
    world_leave();
    return cause;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                             struct ibv_comp_channel *channel, int vector)
{
    vcq_t *cq = NULL;
    world_enter();
    int cause = script_make(FAKE_CREATE_CQ, context);
    if (cause == 0 && (cqe < 1 || cqe > device_of(context)->spec.attr.max_cqe || vector < 0 ||
                       vector >= context->num_comp_vectors)) {
        cause = EINVAL;
    }
    if (cause == 0) {
        cq = world_alloc(sizeof *cq);
        cq->base.context = context;
        cq->base.channel = channel;
        cq->base.cq_context = cq_context;
        cq->base.cqe = cqe;
        device_of(context)->vectors |= UINT64_C(1) << vector % 64;
        cq->room = (uint32_t)cqe;
        cq->entries = world_alloc((cq->room + 1) * sizeof *cq->entries);
        if (channel != NULL) {
            channel->refcnt++;
        }
        context_of(context)->users++;
        world.live.cqs++;
    }
    world_leave();
    errno = cause;
    return cq != NULL ? &cq->base : NULL;
}

/* Takes events of the queue that nobody got yet out of its channel. */
static void channel_forget(vchannel_t *channel, const vcq_t *cq)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < channel->count; i++) {
        uint64_t one;
        if (channel->ready[i] == cq) {
            ssize_t ignored = read(channel->base.fd, &one, sizeof one);
            (void)ignored;
        } else {
            channel->ready[kept++] = channel->ready[i];
        }
    }
    channel->count = kept;
}

int ibv_destroy_cq(struct ibv_cq *base)
{
    vcq_t *cq = (vcq_t *)base;
    world_enter();
    int cause = cq->users > 0 ? EBUSY : 0;
    if (cause == 0) {
        event_forget(base->context, cq);
        event_settle(&cq->asyncs_got, &base->async_events_completed, "a completion queue");
        event_settle(&cq->events_got, &base->comp_events_completed, "a completion queue");
        if (base->channel != NULL) {
            channel_forget((vchannel_t *)base->channel, cq);
            base->channel->refcnt--;
        }
        context_of(base->context)->users--;
        world.live.cqs--;
        free(cq->entries);
        free(cq);
    }
    world_leave();
    return cause;
}

void queue_notify(vcq_t *cq)
{
    vchannel_t *channel = (vchannel_t *)cq->base.channel;
    if (!cq->armed || cq->count == 0 || channel == NULL) {
        return;
    }
    cq->armed = false;
    if (channel->count == channel->room) {
        channel->room = channel->room == 0 ? 4 : 2 * channel->room;
        vcq_t **ready = world_alloc(channel->room * sizeof(vcq_t *));
        if (channel->count > 0) {
            memcpy(ready, channel->ready, channel->count * sizeof(vcq_t *));
        }
        free(channel->ready);
        channel->ready = ready;
    }
    channel->ready[channel->count++] = cq;
    descriptor_raise(channel->base.fd);
}

int ibv_get_cq_event(struct ibv_comp_channel *base, struct ibv_cq **cq_p, void **context_p)
{
    vchannel_t *channel = (vchannel_t *)base;
    uint64_t one;
    if (read(base->fd, &one, sizeof one) != (ssize_t)sizeof one) {
        return -1;
    }
    world_enter();
    bool some = channel->count > 0;
    if (some) {
        vcq_t *cq = channel->ready[0];
        channel->count--;
        memmove(channel->ready, channel->ready + 1, channel->count * sizeof(vcq_t *));
        cq->events_got++;
        *cq_p = &cq->base;
        *context_p = cq->base.cq_context;
    } else {
        descriptor_raise(base->fd); /* of an adapter that is gone */
    }
    world_leave();
    errno = EAGAIN;
    return some ? 0 : -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned count)
{
    world_enter();
    cq->comp_events_completed += count;
    pthread_cond_broadcast(&world.acked);
    world_leave();
}

int queue_arm(struct ibv_cq *cq, int solicited_only)
{
    world_enter();
    int cause = script_call(FAKE_REQ_NOTIFY);
    /* A write is not solicited, so that kind of notification would tell of nothing. */
    ((vcq_t *)cq)->armed = cause == 0 && solicited_only == 0;
    world_leave();
    return cause;
}

/* A completion too many loses it and breaks the queue, as with a real adapter. */
void queue_push(vcq_t *cq, const vcqe_t *entry)
{
    if (cq->count == cq->room) {
        struct ibv_async_event event = {.element = {.cq = &cq->base},
                                        .event_type = IBV_EVENT_CQ_ERR};
        if (!cq->overrun) {
            event_raise(context_of(cq->base.context), &event);
        }
        cq->overrun = true;
        return;
    }
    cq->entries[cq->count++] = *entry;
    if (!entry->qp->held[entry->recv ? 1 : 0]) {
        queue_notify(cq);
    }
}

void queue_drop(vcq_t *cq, const vqp_t *qp)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < cq->count; i++) {
        if (cq->entries[i].qp != qp) {
            cq->entries[kept++] = cq->entries[i];
        }
    }
    cq->count = kept;
}

static bool entry_first(const vcq_t *cq, uint32_t index)
{
    const vcqe_t *entry = &cq->entries[index];
    for (uint32_t i = 0; i < index; i++) {
        if (cq->entries[i].qp == entry->qp && cq->entries[i].recv == entry->recv) {
            return false;
        }
    }
    return true;
}

/* The completion to give out next, or `count`: the oldest, or any that is the oldest of its
 * queue. */
static uint32_t queue_pick(const vcq_t *cq)
{
    uint32_t chosen = cq->count, seen = 0;
    for (uint32_t i = 0; i < cq->count; i++) {
        const vcqe_t *entry = &cq->entries[i];
        if (entry->qp->held[entry->recv ? 1 : 0]) {
            continue;
        }
        if (world.reorder == 0) {
            return i;
        }
        if (entry_first(cq, i)) {
            world.reorder = world.reorder * 1664525u + 1013904223u;
            world.reorder += world.reorder == 0 ? 1 : 0;
            seen++;
            chosen = (world.reorder >> 16) % seen == 0 ? i : chosen;
        }
    }
    return chosen;
}

int queue_poll(struct ibv_cq *base, int max, struct ibv_wc *list)
{
    vcq_t *cq = (vcq_t *)base;
    int count = 0;
    world_enter();
    int cause = script_call(FAKE_POLL_CQ);
    engine_run();
    while (cause == 0 && count < max) {
        uint32_t at = queue_pick(cq);
        if (at == cq->count) {
            break;
        }
        const vcqe_t *entry = &cq->entries[at];
        list[count++] = entry->wc;
        if (entry->recv) {
            entry->qp->recv_head = entry->end;
        } else {
            entry->qp->send_head = entry->end;
        }
        cq->count--;
        memmove(&cq->entries[at], &cq->entries[at + 1], (cq->count - at) * sizeof *entry);
    }
    bool broken = cq->overrun && count == 0;
    world_leave();
    return cause != 0 || broken ? -1 : count;
}
