/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A sender takes back memory that its peer reads in place, and its program writes there: the peer
 * learns that what it has read may be anything.
 * Sources: core/exec/zero_copy.h, core/exec/zero_copy.c */
#include "core/exec/zero_copy.c"
#include "model.h"

static weft_fifo_control_t control;
static weft_mapped_port_t sender, receiver;
static _Atomic uint64_t memory[2]; /* written and read at the same time, as kernels do */

static void withdrawn_open(weft_mapped_port_t *mapped, bool sends)
{
    mapped->port.kind = WEFT_PORT_MAPPED;
    mapped->port.sends = sends;
    mapped->control = &control;
}

static void model_begin(void)
{
    withdrawn_open(&sender, true);
    withdrawn_open(&receiver, false);
    atomic_store_explicit(&control.withdrawn, 0, memory_order_relaxed);
    atomic_store_explicit(&memory[0], 7, memory_order_relaxed);
    atomic_store_explicit(&memory[1], 7, memory_order_relaxed);
}

static void *model_take_back(void *arg)
{
    (void)arg;
    weft_zero_copy_withdraw(&sender.port);
    atomic_store_explicit(&memory[0], 0, memory_order_relaxed);
    atomic_store_explicit(&memory[1], 0, memory_order_relaxed);
    return NULL;
}

static void *model_read(void *arg)
{
    (void)arg;
    const uint64_t sum = atomic_load_explicit(&memory[0], memory_order_relaxed) +
                         atomic_load_explicit(&memory[1], memory_order_relaxed);
    model_assert(weft_zero_copy_is_withdrawn(&receiver.port) || sum == 14);
    return NULL;
}

static void model_end(void)
{
}

MODEL_PLAY(model_take_back, model_read)
