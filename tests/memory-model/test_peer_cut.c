/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The owner of a communicator notes how it cuts its messages while the health thread asks about one
 * of them: the answer is of that message, or there is none.
 * Sources: core/comm/peer_status.h */
#include "core/comm/peer_status.h"
#include "model.h"

static weft_peer_cut_t cut;

static void model_begin(void)
{
    atomic_store_explicit(&cut.message, 0, memory_order_relaxed);
    atomic_store_explicit(&cut.bytes, 0, memory_order_relaxed);
}

static void *model_note(void *arg)
{
    (void)arg;
    for (uint32_t message = 1; message <= 3; message++) {
        weft_peer_cut_set(&cut, message, 10 + message, 100 + message);
    }
    return NULL;
}

static void *model_ask(void *arg)
{
    (void)arg;
    uint64_t bytes;
    const uint32_t stripes = weft_peer_cut_get(&cut, 2, &bytes);
    model_assert(stripes == 0 || (stripes == 12 && bytes == 102));
    return NULL;
}

static void model_end(void)
{
}

MODEL_PLAY(model_note, model_ask)
