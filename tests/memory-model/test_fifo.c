/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages through a FIFO of two slots in shared memory: each comes once, whole, in order, and no
 * slot is written before its message was read.
 * Sources: core/exec/mapped_port.h */
#include "core/exec/mapped_port.h"
#include "model.h"

#define SLOTS 2u
#define MESSAGES 4u

static struct {
    weft_fifo_control_t control;
    weft_slot_header_t header[SLOTS];
} fifo;
static uint64_t slot[SLOTS];
static weft_mapped_port_t sender, receiver;

static void fifo_open(weft_mapped_port_t *mapped, bool sends)
{
    mapped->port.next = 0;
    mapped->port.limit = SLOTS;
    mapped->port.mask = SLOTS - 1;
    mapped->port.kind = WEFT_PORT_MAPPED;
    mapped->port.slots = SLOTS;
    mapped->port.sends = sends;
    mapped->headers = fifo.header;
    mapped->header_stride = sizeof fifo.header[0];
    mapped->header_mask = SLOTS - 1;
    mapped->control = &fifo.control;
    mapped->small_bytes = UINT64_MAX;
}

static void model_begin(void)
{
    fifo_open(&sender, true);
    fifo_open(&receiver, false);
    atomic_store_explicit(&fifo.control.released, 0, memory_order_relaxed);
    for (uint32_t i = 0; i < SLOTS; i++) {
        atomic_store_explicit(&fifo.header[i].sequence, 0, memory_order_relaxed);
    }
}

static void *model_send(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < MESSAGES; i++) {
        model_await(weft_mapped_port_can_send(&sender.port, 100));
        slot[weft_port_slot(&sender.port)] = 100 + i;
        const weft_signature_t signature = {.count = i};
        weft_mapped_port_send(&sender.port, &signature, 100, NULL);
    }
    return NULL;
}

static void *model_receive(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < MESSAGES; i++) {
        model_await(weft_mapped_port_can_receive(&receiver.port));
        model_assert(slot[weft_port_slot(&receiver.port)] == 100 + i);
        model_assert(weft_mapped_port_header(&receiver.port)->signature.count == i);
        weft_mapped_port_release(&receiver.port);
    }
    return NULL;
}

static void model_end(void)
{
}

MODEL_PLAY(model_send, model_receive)
