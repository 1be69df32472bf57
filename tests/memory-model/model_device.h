/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lanes in a model: two devices that move slices from one to the other, one thread each. Words have
 * the orders that they have on a device, where looks and stores are relaxed and fences stand
 * between them. A part of 16 bytes is one word here, so its data is small. No model has flagged
 * lines. A model defines HEADER_BYTES, the most bytes of a payload in a header, and WORDS_BYTES,
 * the most in flagged words. All others are in slots. */
#ifndef WEFT_TESTS_MEMORY_MODEL_DEVICE_H
#define WEFT_TESTS_MEMORY_MODEL_DEVICE_H

#define KERNEL_CUDA_DEVICE_DEVICE_COMBINE_H

#include <stdatomic.h>

#include "model.h"
#include <weft/plugin/kernel.h>

#define DEVICE_LOOK_ORDER __ATOMIC_RELAXED
#define DEVICE_PUBLISH_ORDER __ATOMIC_RELAXED
#define DEVICE_FENCE() atomic_thread_fence(memory_order_acq_rel)
#define DEVICE_PART_BITS 16
#define DEVICE_STORE_PART(at, low, high, line)                                                     \
    __atomic_store_n(at, (low) << DEVICE_PART_BITS | (high), __ATOMIC_RELAXED)
#define DEVICE_LOAD_PART(at, low, high) model_part_load(at, low, high)
#ifdef WEFT_GENMC
#define DEVICE_PAUSE(round) ((void)(round), __VERIFIER_assume(0)) /* no execution looks in vain */
#else
#define DEVICE_PAUSE(round) ((void)(round), model_turn())
#endif
#define CUDA_VECTOR 16u

static inline void model_part_load(const uint64_t *at, uint64_t *low, uint64_t *high)
{
    const uint64_t part = __atomic_load_n(at, __ATOMIC_RELAXED);
    *low = part >> DEVICE_PART_BITS;
    *high = part & ((1u << DEVICE_PART_BITS) - 1);
}

/* Copies words. */
static inline void cuda_combine(uint32_t dtype, uint32_t op, const weft_combine_t *c,
                                uint32_t thread, uint32_t threads)
{
    (void)dtype, (void)op, (void)thread, (void)threads;
    for (uint32_t i = 0; i < c->ndst; i++) {
        for (uint64_t at = 0; at < c->count; at++) {
            ((uint64_t *)c->dst[i])[at] = ((const uint64_t *)c->src[0])[at];
        }
    }
}

#include "plugins/kernel-cuda/device/device_slice.h"

#define SLICES 2u

/* Memory of the receiver's device, but for `released`. One slot. */
static struct {
    uint64_t fifo[(WEFT_FIFO_HEADERS + WEFT_FIFO_HEADER_BYTES) / sizeof(uint64_t)];
    uint64_t header[WEFT_FIFO_FLAGGED_HEADER_BYTES / sizeof(uint64_t)];
    uint64_t released;
    uint64_t units[2];
    uint64_t slot;
} fifo;
static uint64_t in[SLICES], out[SLICES];

/* A rank: the state of a lane with one MOVE and one port. */
typedef struct device_rank {
    lanes_run_t run;
    lanes_block_t block;
    lanes_record_t record;
    lanes_notice_t notices[LANES_NOTICES];
    uint32_t stop;
    weft_lanes_move_t move;
    lanes_member_t member;
    lanes_port_t port;
    lanes_end_t end;
} device_rank_t;

static device_rank_t sender, receiver;

static void device_open(device_rank_t *rank, uint32_t sends)
{
    rank->run.program.elem = sizeof in[0];
    rank->run.program.nports = 1;
    rank->run.segmentation.slice = 1;
    rank->run.segmentation.slices = SLICES + 1; /* no chunk ends */
    rank->run.stop = &rank->stop;
    rank->run.notices = rank->notices;
    rank->block.record = &rank->record;
    rank->block.tables.ports = &rank->port;
    rank->block.inlined = HEADER_BYTES;
    rank->block.found = 0;
    rank->block.held.told = 0;
    rank->move.ndst = rank->move.nsrc = 1;
    rank->member.move = &rank->move;
    rank->member.port[sends != 0 ? 0 : 1] = &rank->port;
    rank->member.base[sends != 0 ? 1 : 0] = (uint8_t *)(sends != 0 ? in : out);
    rank->member.chunk = SLICES + 1;
    rank->member.slice = 0;
    rank->member.copies = 1;
    rank->member.stable_operand = LANES_NOT_STABLE;
    rank->port.fifo = (uint8_t *)fifo.fifo;
    rank->port.headers = (uint8_t *)fifo.header;
    rank->port.released = &fifo.released;
    rank->port.payloads = (uint8_t *)&fifo.slot;
    rank->port.end = &rank->end;
    rank->port.next = rank->port.found = rank->port.looks = 0;
    rank->port.limit = rank->port.slots = 1;
    rank->port.apart = 1;
    rank->port.sends = sends;
    rank->port.flagged.words.memory = (uint8_t *)fifo.units;
    rank->port.flagged.words.room = WORDS_BYTES;
    rank->port.flagged.words_most = WORDS_BYTES;
}

static void model_begin(void)
{
    device_open(&sender, 1);
    device_open(&receiver, 0);
    for (uint32_t i = 0; i < SLICES; i++) {
        in[i] = 100 + i;
        out[i] = 0;
    }
    for (uint32_t i = 0; i < sizeof fifo.header / sizeof fifo.header[0]; i++) {
        device_note64(&fifo.header[i], 0);
    }
    device_note64(&fifo.released, 0);
    device_note64(&fifo.units[0], 0);
}

static void *model_move(device_rank_t *rank)
{
    for (uint32_t i = 0; i < SLICES; i++) {
        model_await(lanes_slice(&rank->block, &rank->run, &rank->member) == LANES_COMPLETED);
        /* As a look in vain does, for a slice that is held. */
        lanes_publish(&rank->block, &rank->run, &rank->member);
    }
    return NULL;
}

static void *model_send(void *arg)
{
    (void)arg;
    return model_move(&sender);
}

static void *model_receive(void *arg)
{
    (void)arg;
    return model_move(&receiver);
}

static void model_end(void)
{
    for (uint32_t i = 0; i < SLICES; i++) {
        model_assert(out[i] == 100 + i);
    }
}

MODEL_PLAY(model_send, model_receive)

#endif
