/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One thread calls with a communicator, another one waits for a request of it, and a third one
 * destroys it and makes another communicator in the same memory: a call gets the communicator that
 * it names or none, and one thread owns it at a time.
 * Sources: core/comm/handle.c, core/comm/comm.h */
#define MODEL_TURNS 1 /* a look behind a wait is as the first one */
#include "core/comm/handle.c"
#include "model_system.h"

static weft_comm_state_t state;
static weft_comm_t *first, *second;
static uint32_t life;  /* which of the two has the memory; 0: none. By the owner */
static uint32_t calls; /* by the owner */

weft_status_t weft_fail(weft_status_t status, int error, const char *format, ...)
{
    (void)error, (void)format;
    return status;
}

weft_progress_need_t weft_progress_need(const weft_comm_state_t *comm)
{
    (void)comm;
    return WEFT_PROGRESS_NOTHING;
}

static void model_begin(void)
{
    state.owner = WEFT_OWNER_FREE;
    life = 1;
    calls = 0;
    (void)weft_handle_add(&state, &first);
}

static void handle_note_call(weft_comm_state_t *found)
{
    model_assert(found == &state && life == 1);
    calls++;
    weft_comm_leave(found);
}

static void *model_call(void *arg)
{
    (void)arg;
    weft_comm_state_t *found;
    if (weft_comm_enter(first, "call", &found) == WEFT_OK) {
        handle_note_call(found);
    }
    return NULL;
}

static void *model_wait(void *arg)
{
    (void)arg;
    weft_comm_state_t *found;
    if (weft_comm_try_enter(first, "wait", &found) == WEFT_OK && found != NULL) {
        handle_note_call(found);
    }
    return NULL;
}

static void *model_destroy(void *arg)
{
    (void)arg;
    weft_comm_state_t *found;
    if (weft_comm_enter(first, "destroy", &found) == WEFT_OK) {
        weft_handle_remove(first);
        life = 0;
        /* As comm_create.c does where it takes memory that was kept. */
        state.fork_generation = 0;
        atomic_store_explicit(&state.owner, WEFT_OWNER_FREE, memory_order_relaxed);
        life = 2;
        (void)weft_handle_add(&state, &second);
    }
    return NULL;
}

static void model_end(void)
{
    model_assert(life == 2 || (life == 1 && calls > 0)); /* it ends unless another call is inside */
    weft_handle_remove(life == 2 ? second : first);
}

MODEL_PLAY(model_call, model_wait, model_destroy)
