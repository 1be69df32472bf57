/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A thread goes from call to call of plugins while another one looks which it is in: the look finds
 * no call, or the plugin and the method of one.
 * Sources: core/os/call_note.h, core/os/call_note.c */
#include "core/os/call_note.c"
#include "model.h"

static const char names[4][2] = {"a", "b", "c", "d"}; /* plugin and method of two calls */

static void model_begin(void)
{
    atomic_store_explicit(&places[0].thread, 1, memory_order_relaxed);
}

static void *model_call(void *arg)
{
    (void)arg;
    weft_call_place_mine = &places[0];
    for (uint32_t call = 0; call < 3; call++) {
        const uint32_t i = call % 2 * 2;
        const weft_call_note_t before = weft_call_enter(names[i], names[i + 1]);
        weft_call_leave(before);
    }
    return NULL;
}

static void *model_look(void *arg)
{
    (void)arg;
    const weft_call_note_t note = weft_call_of_thread(1);
    model_assert(note.plugin == NULL || (note.plugin == names[0] && note.method == names[1]) ||
                 (note.plugin == names[2] && note.method == names[3]));
    return NULL;
}

static void model_end(void)
{
}

MODEL_PLAY(model_call, model_look)
