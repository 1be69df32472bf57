/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One slice of a MOVE on a device, from the check of its ports to the release of its slots.
 *
 * A slice of at most 32 bytes is in its header, or at the begin of a slot that an adapter reads or
 * writes. The leader handles it alone: it combines in the block's memory and writes the header of
 * the next slice, without waking another thread. Larger slices are in the slots, in windows or in
 * flagged units, and all threads move them. */
#ifndef KERNEL_CUDA_DEVICE_DEVICE_SLICE_H
#define KERNEL_CUDA_DEVICE_DEVICE_SLICE_H

#include "device_combine.h"
#include "device_flagged.h"
#include "device_port.h"
#include "device_tell.h"
#include "device_zero_copy.h"
#include "moves.h"
#include "platform.h"

/* The first port that is not ready, or −1: then everything that the ports' words speak of is here,
 * but for units that have flags of their own. Among flagged units there is no fence. */
static WEFT_DEVICE int32_t lanes_blocker(lanes_block_t *b, const lanes_run_t *run,
                                         const lanes_member_t *m, uint64_t bytes)
{
    uint32_t ndst = m->move->ndst, all = ndst + m->move->nsrc, matters = LANES_FOUND_DATA;
    for (uint32_t i = ndst; i < all; i++) {
        if (m->port[i] != NULL && !lanes_port_can_receive(b, m->port[i], b->head[i - ndst])) {
            return lanes_port_number(b, run, m->port[i]);
        }
    }
    for (uint32_t i = 0; i < ndst; i++) {
        if (m->port[i] == NULL) {
            continue;
        }
        if (!lanes_port_can_send(b, m->port[i])) {
            return lanes_port_number(b, run, m->port[i]);
        }
        b->form[i] = lanes_port_form(b, m->port[i], bytes);
        matters |=
            m->port[i]->apart == 0 || lanes_is_plain(b, b->form[i], bytes) ? LANES_FOUND_ROOM : 0;
    }
    if ((b->found & matters) != 0) {
        b->found = 0;
        device_acquire_fence();
    }
    return -1;
}

/* Copies what headers say that are not flagged: the peer can write shared memory at any time. */
static WEFT_DEVICE void lanes_take_heads(lanes_block_t *b, const lanes_member_t *m, uint64_t bytes)
{
    const uint32_t ndst = m->move->ndst;
    for (uint32_t i = 0; i < m->move->nsrc; i++) {
        const lanes_port_t *port = m->port[ndst + i];
        uint64_t *head = b->head[i];
        if (port == NULL || (port->apart != 0 && port->in_fifo == 0)) {
            continue;
        }
        const uint64_t *signature = lanes_port_signature(port);
        for (uint32_t w = 0; w < WEFT_FIFO_SIGNATURE_WORDS; w++) {
            head[WEFT_FIFO_FLAGGED_HEADER_SIGNATURE + w] = device_read64(&signature[w]);
        }
        head[WEFT_FIFO_FLAGGED_HEADER_FORM] = bytes << WEFT_FIFO_FORM_BITS | WEFT_FIFO_FORM_SLOT;
        if (bytes <= b->inlined) {
            device_copy32(head, lanes_port_inline(port));
        } else if (port->lengths == NULL) {
            const uint64_t *words = lanes_word(lanes_port_header(port), WEFT_FIFO_ZERO_COPY_WINDOW);
            head[0] = device_read64(&words[0]);
            head[1] = device_read64(&words[1]);
        }
    }
}

static WEFT_DEVICE int lanes_signatures_match(lanes_block_t *b, const lanes_run_t *run,
                                              const lanes_member_t *m)
{
    uint32_t ndst = m->move->ndst, all = ndst + m->move->nsrc;
    for (uint32_t i = ndst; i < all; i++) {
        uint64_t *theirs = &b->head[i - ndst][WEFT_FIFO_FLAGGED_HEADER_SIGNATURE], differ = 0;
        if (b->whole != 0) {
            theirs[0] &= ~(WEFT_FIFO_GREETS | WEFT_FIFO_WHOLE);
        }
        for (uint32_t w = 0; m->port[i] != NULL && w < WEFT_FIFO_SIGNATURE_WORDS; w++) {
            differ |= theirs[w] ^ lanes_signature(run, m, w);
        }
        if (differ == 0) {
            continue;
        }
        b->record->mismatch = lanes_port_number(b, run, m->port[i]);
        b->record->mismatch_run = run->number;
        for (uint32_t w = 0; w < WEFT_FIFO_SIGNATURE_WORDS; w++) {
            b->record->mine[w] = lanes_signature(run, m, w);
            b->record->theirs[w] = theirs[w];
        }
        return 0;
    }
    return 1;
}

/* Returns whether a payload of that length may come as its header says: in a slot or a window, or,
 * if the run is not whole, in flagged units for which there is room. */
static WEFT_DEVICE int lanes_head_is_valid(const lanes_block_t *b, const lanes_port_t *port,
                                           const uint64_t *head, uint64_t bytes)
{
    const uint32_t form = lanes_head_form(head);
    const uint64_t room = form == WEFT_FIFO_FORM_WORDS   ? port->flagged.words.room
                          : form == WEFT_FIFO_FORM_LINES ? port->flagged.lines.room
                          : form == WEFT_FIFO_FORM_SLOT  ? UINT64_MAX
                                                         : 0;
    return lanes_head_bytes(head) == bytes && bytes <= room &&
           (form == WEFT_FIFO_FORM_SLOT || (bytes > b->inlined && b->whole == 0));
}

/* Finds the payload of a source in a window of the peer. Returns 0 if the header is invalid. */
static WEFT_DEVICE int lanes_zero_copy_source(lanes_block_t *b, const lanes_run_t *run,
                                              const lanes_port_t *port, uint32_t i, uint64_t bytes)
{
    const uint64_t *head = b->head[i];
    const lanes_zero_copy_t at = {head[0], head[1]};
    if (!lanes_head_is_valid(b, port, head, bytes)) {
        return 0;
    }
    if (port->lengths != NULL || !lanes_is_plain(b, lanes_head_form(head), bytes) ||
        (at.window == 0 && b->whole == 0)) {
        return 1;
    }
    b->source_at[i] = lanes_zero_copy_target(port, &at, bytes, run->program.elem);
    return b->source_at[i] != NULL;
}

/* Finds the payloads of the sources, some of which may be in windows of the peers. Returns 0 if a
 * header is invalid. */
static WEFT_DEVICE int lanes_zero_copy_sources(lanes_block_t *b, const lanes_run_t *run,
                                               const lanes_member_t *m, uint64_t bytes)
{
    for (uint32_t i = 0; i < m->move->nsrc; i++) {
        const lanes_port_t *port = m->port[m->move->ndst + i];
        b->source_at[i] = NULL;
        if (port != NULL && !lanes_zero_copy_source(b, run, port, i, bytes)) {
            b->record->mismatch = lanes_port_number(b, run, port);
            b->record->mismatch_run = run->number;
            b->record->bad_zero_copy = 1;
            return 0;
        }
    }
    return 1;
}

/* Decides which destinations get a descriptor instead of a copy. The receiver also sees data that
 * another lane of this device wrote there: this lane has acquired it, and publishes its slice with
 * a fence of the whole system, which is cumulative. */
static WEFT_DEVICE void lanes_zero_copy_slice(lanes_block_t *b, const lanes_run_t *run,
                                              const lanes_member_t *m, uint64_t bytes)
{
    uint64_t offset = m->slice * run->segmentation.slice * run->program.elem;
    for (uint32_t i = 0; i < m->move->ndst; i++) {
        lanes_port_t *port = m->port[i];
        b->zero_copy[i].window = b->zero_copy[i].offset = 0;
        if (port == NULL || port->lengths != NULL || m->stable_operand == LANES_NOT_STABLE ||
            !lanes_is_plain(b, b->form[i], bytes)) {
            continue;
        }
        b->zero_copy[i] = lanes_zero_copy_make(port, m->base[m->stable_operand] + offset, bytes);
        if (b->zero_copy[i].window != 0) {
            port->zero_copied = port->next + 1;
            b->zero_copied++;
        }
    }
}

/* Fills the part of a combination that does not depend on the operands' locations. */
static WEFT_DEVICE weft_combine_t *lanes_combination(lanes_block_t *b, const lanes_run_t *run,
                                                     const lanes_member_t *m, uint64_t count)
{
    weft_combine_t *c = &b->combine;
    c->count = count;
    c->nsrc = m->move->nsrc;
    c->ndst = 0;
    c->pre_mask = m->pre_mask;
    c->nt_mask = 0;
    c->flags = lanes_is_final(run, m) ? WEFT_COMBINE_FINAL : 0;
    c->nranks = run->program.nranks;
    c->scalar = m->pre_mask != 0 ? &b->scalar : NULL;
    return c;
}

/* A function of its own: the arithmetic is large. */
static WEFT_DEVICE_CALL void lanes_combine(const weft_combine_t *c, const lanes_run_t *run,
                                           uint32_t thread, uint32_t threads)
{
    cuda_combine(run->program.dtype, run->program.op, c, thread, threads);
}

/* One more destination, unless that would copy memory onto itself. */
static WEFT_DEVICE void lanes_add_destination(weft_combine_t *c, const lanes_member_t *m,
                                              uint8_t *to)
{
    if (!(m->copies && to == c->src[0])) {
        c->dst[c->ndst++] = to;
    }
}

/* Memory for a payload of that port between flagged units and the combination; *used counts what
 * the slice has of the block's. */
static WEFT_DEVICE uint8_t *lanes_bench(lanes_block_t *b, const lanes_port_t *port, uint64_t bytes,
                                        uint64_t *used)
{
    const uint64_t at = *used;
    if (bytes > LANES_BENCH_NEAR - at) {
        return port->flagged.bench;
    }
    *used = at + ((bytes + CUDA_VECTOR - 1) & ~(uint64_t)(CUDA_VECTOR - 1));
    return (uint8_t *)b->bench + at;
}

static WEFT_DEVICE int lanes_is_word_aligned(const void *at)
{
    return ((uintptr_t)at & (sizeof(uint64_t) - 1)) == 0;
}

/* One more payload to unpack or to pack. */
static WEFT_DEVICE void lanes_transit(lanes_transit_t *t, const lanes_block_t *b,
                                      const lanes_run_t *run, const lanes_port_t *port,
                                      uint32_t form, uint64_t bytes)
{
    t->units = lanes_port_units(port, form);
    t->bytes = (uint32_t)bytes;
    t->flag = port->next + 1;
    t->form = form;
    t->port = lanes_port_number(b, run, port);
}

/* Sets up where payloads in flagged units are unpacked: where a copy goes, else aside. */
static WEFT_DEVICE void lanes_set_unpacks(lanes_block_t *b, const lanes_run_t *run,
                                          const lanes_member_t *m, uint64_t bytes, uint64_t *used)
{
    const uint64_t offset = m->slice * run->segmentation.slice * run->program.elem;
    const uint32_t ndst = m->move->ndst;
    b->transits.unpacks = 0;
    for (uint32_t i = 0; i < m->move->nsrc; i++) {
        const lanes_port_t *port = m->port[ndst + i];
        uint8_t *to = NULL;
        if (port == NULL || lanes_head_form(b->head[i]) == WEFT_FIFO_FORM_SLOT) {
            continue;
        }
        for (uint32_t d = 0; m->copies && to == NULL && d < ndst; d++) {
            uint8_t *at = m->base[d] + offset;
            to = m->port[d] == NULL && lanes_is_word_aligned(at) ? at : NULL;
        }
        to = to != NULL ? to : lanes_bench(b, port, bytes, used);
        lanes_transit_t *t = &b->transits.unpack[b->transits.unpacks++];
        lanes_transit(t, b, run, port, lanes_head_form(b->head[i]), bytes);
        t->payload = to;
        b->source_at[i] = to;
    }
}

/* Sets up from where payloads go into flagged units: all from one place, the only source of a copy
 * or one more destination of the combination. */
static WEFT_DEVICE void lanes_set_packs(lanes_block_t *b, const lanes_run_t *run,
                                        const lanes_member_t *m, uint64_t bytes, uint64_t used)
{
    weft_combine_t *c = &b->combine;
    uint8_t *from = m->copies && lanes_is_word_aligned(c->src[0]) ? (uint8_t *)c->src[0] : NULL;
    b->transits.packs = 0;
    for (uint32_t i = 0; i < m->move->ndst; i++) {
        const lanes_port_t *port = m->port[i];
        if (port == NULL || b->form[i] == WEFT_FIFO_FORM_SLOT) {
            continue;
        }
        if (from == NULL) {
            from = lanes_bench(b, port, bytes, &used);
            lanes_add_destination(c, m, from);
        }
        lanes_transit_t *t = &b->transits.pack[b->transits.packs++];
        lanes_transit(t, b, run, port, b->form[i], bytes);
        t->payload = from;
    }
}

/* The share of a thread in a slice: unpacks, combines and packs, each when all have done what is
 * before. Nothing is stored for a peer before all units have come, so a run that is stopped has
 * sent no part of a slice. On a device the leader's warp only keeps step: the leader is elsewhere
 * in the program, so its warp would pass through the whole copy twice, and all others wait for
 * it. */
static WEFT_DEVICE void lanes_share(lanes_block_t *b, const lanes_run_t *run, uint32_t works)
{
    if (b->transits.unpacks > 0) {
        for (uint32_t i = 0; works && i < b->transits.unpacks; i++) {
            lanes_unpack(b, run, &b->transits.unpack[i], device_worker(), device_workers());
        }
        device_barrier();
        if (b->transits.stopped != 0) {
            return;
        }
    }
    if (b->combine.ndst > 0) {
        if (works) {
            lanes_combine(&b->combine, run, device_worker(), device_workers());
        }
        device_barrier();
    }
    if (b->transits.packs > 0) {
        for (uint32_t i = 0; works && i < b->transits.packs; i++) {
            lanes_pack(&b->transits.pack[i], device_worker(), device_workers());
        }
        device_barrier();
    }
}

/* Combines payloads in slots, windows and flagged units, with all threads. */
static WEFT_DEVICE void lanes_combine_slots(lanes_block_t *b, const lanes_run_t *run,
                                            const lanes_member_t *m, uint64_t count, uint64_t bytes)
{
    weft_combine_t *c = lanes_combination(b, run, m, count);
    uint64_t offset = m->slice * run->segmentation.slice * run->program.elem, used = 0;
    lanes_set_unpacks(b, run, m, bytes, &used);
    for (uint32_t i = 0; i < c->nsrc; i++) {
        uint32_t at = m->move->ndst + i;
        c->src[i] = m->port[at] == NULL       ? m->base[at] + offset
                    : b->source_at[i] != NULL ? b->source_at[i]
                                              : lanes_port_payload(m->port[at]);
    }
    for (uint32_t i = 0; i < m->move->ndst; i++) {
        if (m->port[i] == NULL) {
            lanes_add_destination(c, m, m->base[i] + offset);
        } else if (b->zero_copy[i].window == 0 && b->form[i] == WEFT_FIFO_FORM_SLOT) {
            lanes_add_destination(c, m, lanes_port_payload(m->port[i]));
        }
    }
    lanes_set_packs(b, run, m, bytes, used);
    if (b->transits.unpacks + c->ndst + b->transits.packs == 0) {
        return;
    }
    device_barrier(); /* followers: see lanes_follow() */
    if (b->held.told != 0) {
        DEVICE_COUNT(HOLD, b);
        lanes_publish(b, run, m); /* the slice before, while they copy this one */
    }
    lanes_share(b, run, device_leader_copies());
}

/* Copies a payload that fits a header. All loads of a batch are under way before its first store:
 * one after the other, each would take the time of a look at the device's memory. */
#define LANES_SHORT_COPY(type, batch)                                                              \
    static WEFT_DEVICE void lanes_short_copy_##type(void *to, const void *from, uint32_t n)        \
    {                                                                                              \
        for (uint32_t at = 0; at < n; at += (batch)) {                                             \
            type word[batch];                                                                      \
            WEFT_UNROLL                                                                            \
            for (uint32_t i = 0; i < (batch); i++) {                                               \
                word[i] = at + i < n ? ((const type *)from)[at + i] : 0;                           \
            }                                                                                      \
            WEFT_UNROLL                                                                            \
            for (uint32_t i = 0; i < (batch); i++) {                                               \
                if (at + i < n) {                                                                  \
                    ((type *)to)[at + i] = word[i];                                                \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
LANES_SHORT_COPY(uint8_t, 8u)
LANES_SHORT_COPY(uint32_t, 4u)
LANES_SHORT_COPY(uint64_t, 4u)
#undef LANES_SHORT_COPY

static WEFT_DEVICE_CALL void lanes_short_copy(void *to, const void *from, uint32_t bytes)
{
    const uint32_t skew = (uint32_t)(uintptr_t)to | (uint32_t)(uintptr_t)from | bytes;
    if ((skew & 7) == 0) {
        lanes_short_copy_uint64_t(to, from, bytes / 8);
    } else if ((skew & 3) == 0) {
        lanes_short_copy_uint32_t(to, from, bytes / 4);
    } else {
        lanes_short_copy_uint8_t(to, from, bytes);
    }
}

/* Brings the sources in memory to where those in headers are. */
static WEFT_DEVICE void lanes_gather_inline(lanes_block_t *b, const lanes_run_t *run,
                                            const lanes_member_t *m, uint64_t bytes)
{
    const uint64_t offset = m->slice * run->segmentation.slice * run->program.elem;
    for (uint32_t i = 0; i < m->move->nsrc; i++) {
        const uint32_t at = m->move->ndst + i;
        if (m->port[at] == NULL) {
            lanes_short_copy(b->head[i], m->base[at] + offset, (uint32_t)bytes);
        }
    }
}

/* Combines payloads in headers; the leader does it alone, in the block's memory. */
static WEFT_DEVICE void lanes_combine_inline(lanes_block_t *b, const lanes_run_t *run,
                                             const lanes_member_t *m, uint64_t count,
                                             uint64_t bytes)
{
    const uint64_t offset = m->slice * run->segmentation.slice * run->program.elem;
    lanes_gather_inline(b, run, m, bytes);
    if (m->copies) {
        device_copy32(b->inline_out, b->head[0]);
    } else {
        weft_combine_t *c = lanes_combination(b, run, m, count);
        for (uint32_t i = 0; i < c->nsrc; i++) {
            c->src[i] = b->head[i];
        }
        c->dst[c->ndst++] = b->inline_out;
        lanes_combine(c, run, 0, 1);
    }
    for (uint32_t i = 0; i < m->move->ndst; i++) {
        if (m->port[i] == NULL) {
            lanes_short_copy(m->base[i] + offset, b->inline_out, (uint32_t)bytes);
        } else if (m->port[i]->apart == 0) {
            device_copy32(lanes_port_inline(m->port[i]), b->inline_out);
        }
    }
}

static WEFT_DEVICE_CALL uint32_t lanes_slice(lanes_block_t *b, const lanes_run_t *run,
                                             lanes_member_t *m)
{
    uint64_t count =
        lanes_clip(m->slice * run->segmentation.slice, run->segmentation.slice, m->chunk);
    uint64_t bytes = count * run->program.elem;
    b->bytes = bytes;
    int32_t blocker = lanes_blocker(b, run, m, bytes);
    if (blocker >= 0) {
        lanes_publish(b, run, m);
        b->idle.blocked = blocker;
        return LANES_BLOCKED;
    }
    lanes_take_heads(b, m, bytes);
    if (!lanes_signatures_match(b, run, m) || !lanes_zero_copy_sources(b, run, m, bytes)) {
        lanes_publish(b, run, m);
        return LANES_MISMATCH;
    }
    lanes_zero_copy_slice(b, run, m, bytes);
    if (count > 0) {
        if (bytes <= b->inlined) {
            lanes_combine_inline(b, run, m, count, bytes);
        } else {
            lanes_combine_slots(b, run, m, count, bytes);
        }
    }
    if (b->transits.stopped != 0) {
        return LANES_STOPPED;
    }
    lanes_publish(b, run, m); /* if no thread had anything to copy */
    lanes_hold(b, run, m, b->bytes);
    b->idle.moved++;
    if (++m->slice < run->segmentation.slices && b->held.behind != 0) {
        return LANES_COMPLETED; /* told while the next slice of the chunk is copied */
    }
    lanes_publish(b, run, m);
    if (m->slice == run->segmentation.slices) {
        m->done++;
        lanes_next(run, b, m);
    }
    return LANES_COMPLETED;
}

#endif
