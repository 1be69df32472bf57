/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lanes in a model: two devices that move slices from one to the other, one thread each. In place
 * of platform.h its words have the orders that they have on a device, where looks and stores are
 * relaxed and fences stand between them. A part of 16 bytes is one word here, so its data is small.
 * A model defines HEADER_BYTES, the most bytes of a payload in a header, and WORDS_BYTES, the most
 * in flagged words. All others are in slots. */
#ifndef WEFT_TESTS_MEMORY_MODEL_DEVICE_H
#define WEFT_TESTS_MEMORY_MODEL_DEVICE_H

#define KERNEL_CUDA_DEVICE_PLATFORM_H
#define KERNEL_CUDA_DEVICE_DEVICE_COMBINE_H

#include <stdatomic.h>
#include <string.h>

#include "model.h"
#include "plugins/kernel-cuda/device/arith.h"
#include <weft/plugin/kernel.h>

#define DEVICE_WARP 32u
#define DEVICE_COUNT(what, word) ((void)0)
#define DEVICE_PART_BITS 16
#define CUDA_VECTOR 16u

static inline uint64_t device_poll64(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void device_acquire_fence(void)
{
    atomic_thread_fence(memory_order_acq_rel);
}

static inline uint64_t device_glance64(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline uint64_t device_read64(const uint64_t *word)
{
    return *word;
}

static inline void device_publish_fence(void)
{
    atomic_thread_fence(memory_order_acq_rel);
}

static inline void device_publish64(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static inline uint32_t device_look32(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void device_note32(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static inline void device_note64(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static inline void device_copy32(void *to, const void *from)
{
    for (uint32_t i = 0; i < 4; i++) {
        ((uint64_t *)to)[i] = ((const uint64_t *)from)[i];
    }
}

static inline void device_word_store(uint64_t *at, uint64_t data, uint64_t flag)
{
    __atomic_store_n(at, data << DEVICE_PART_BITS | flag, __ATOMIC_RELAXED);
}

static inline void device_part_load(const uint64_t *at, uint64_t *low, uint64_t *high)
{
    const uint64_t part = __atomic_load_n(at, __ATOMIC_RELAXED);
    *low = part >> DEVICE_PART_BITS;
    *high = part & ((1u << DEVICE_PART_BITS) - 1);
}

/* No model has flagged lines. */
static inline void device_line_store(uint64_t *at, uint64_t low, uint64_t high)
{
    (void)at, (void)low, (void)high;
}

static inline int device_line_look(const uint64_t *part, uint64_t flag)
{
    (void)part, (void)flag;
    return 0;
}

static inline void device_line_meet(void)
{
}

static inline int device_line_vote(int here)
{
    return here;
}

static inline uint32_t device_worker(void)
{
    return 0;
}

static inline uint32_t device_workers(void)
{
    return 1;
}

static inline uint32_t device_leader_copies(void)
{
    return 1;
}

static inline void device_barrier(void)
{
}

static inline void device_pause(uint32_t round)
{
    (void)round;
    model_turn();
}

/* A unit is not there yet. */
static inline void device_pause_units(uint32_t round)
{
    (void)round;
#ifdef WEFT_GENMC
    __VERIFIER_assume(0);
#else
    model_turn();
#endif
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
