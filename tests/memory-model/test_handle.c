/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One thread waits for a request of a communicator, another one destroys it, and a third one looks
 * at it: the state is there while somebody uses it, and one thread owns it at a time.
 * Sources: core/comm/handle.c, core/comm/comm.h */
#include "core/comm/handle.c"
#include "model_system.h"

static weft_comm_state_t state;
static weft_comm_t *handle;
static uint32_t owned; /* by the owner of the communicator */
static bool there;     /* the state is */

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
    owned = 0;
    there = true;
    (void)weft_handle_add(&state, &handle);
}

static void *model_wait(void *arg)
{
    (void)arg;
    weft_comm_state_t *found;
    if (weft_comm_try_enter(handle, "wait", &found) == WEFT_OK && found != NULL) {
        model_assert(there);
        owned++;
        weft_comm_leave(found);
    }
    return NULL;
}

static void handle_look(weft_comm_state_t *found, void *arg)
{
    (void)arg;
    model_assert(found == &state && there);
}

static void *model_look(void *arg)
{
    (void)arg;
    (void)weft_handle_visit(handle, "look", handle_look, NULL);
    return NULL;
}

static void *model_destroy(void *arg)
{
    (void)arg;
    weft_comm_state_t *found;
    if (weft_comm_enter(handle, "destroy", &found) == WEFT_OK) {
        owned++;
        weft_handle_remove(handle);
        there = false;
    }
    return NULL;
}

static void model_end(void)
{
    model_assert(!there && (owned == 1 || owned == 2));
}

MODEL_PLAY(model_wait, model_look, model_destroy)
