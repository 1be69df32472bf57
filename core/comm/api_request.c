/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entry points for requests of asynchronous operations. The thread that waits or tests may be any:
 * it advances the communicator when nobody else does, and otherwise waits to be told. */
#include <math.h>

#include "core/base/error.h"
#include "core/comm/call.h"
#include "core/comm/engine.h"
#include "core/comm/handle.h"

/* Tries that only give way, and then sleeps that double. */
#define YIELDS 50u
#define SLEEP_LEAST_NS (UINT64_C(50) * 1000)
#define SLEEP_MOST_NS WEFT_NS_PER_MS
/* A user who wanted the communicator will want it again soon: it is not taken for so long. */
#define STAY_AWAY_NS (5 * WEFT_NS_PER_MS)

static weft_status_t request_check(weft_request_t **request_p, const char *call)
{
    if (request_p == NULL || *request_p == NULL) {
        return weft_api_error(call, weft_fail(WEFT_ERR_ARG, 0, "%s: the request is NULL", call));
    }
    if (!(*request_p)->appended) {
        return weft_api_error(
            call,
            weft_fail(WEFT_ERR_STATE, 0, "%s: the operation begins with weft_group_end()", call));
    }
    return WEFT_OK;
}

/* What a step found. */
typedef struct request_look {
    bool moved;     /* something */
    bool gives_way; /* the core belongs to others now */
} request_look_t;

/* Lets one communicator go a step, if nobody else does. */
static weft_status_t request_step(weft_comm_t *comm, const char *call, request_look_t *look)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_comm_try_enter(comm, call, &state);
    if (state != NULL) {
        look->moved |= weft_engine_is_busy(state) && weft_engine_step(state);
        look->gives_way |= weft_waiter_gives_way(&state->waiter);
        weft_comm_leave(state);
    }
    return status;
}

/* Lets the communicators of a request go a step. */
static weft_status_t request_step_all(const weft_request_t *request, const char *call,
                                      request_look_t *look)
{
    weft_status_t status = WEFT_OK;
    if (request->handle != NULL) {
        return request_step(request->handle, call, look);
    }
    const weft_async_group_t *group = weft_request_group(request);
    for (uint32_t i = 0; i < group->ncomms && status == WEFT_OK; i++) {
        status = request_step(group->comms[i], call, look);
    }
    return status;
}

/* Gives way to whoever advances the request. `turns`: so often already. */
static void request_rest(weft_async_t *async, uint32_t turns)
{
    uint32_t doubled = turns / YIELDS;
    if (doubled == 0) {
        weft_os_yield();
        return;
    }
    uint64_t sleep = SLEEP_LEAST_NS << (doubled < 5 ? doubled - 1 : 5);
    weft_async_sleep(async, sleep < SLEEP_MOST_NS ? sleep : SLEEP_MOST_NS);
}

/* Returns the one communicator of a request, or NULL: it is that of a group over several. */
static weft_comm_t *request_comm(const weft_request_t *request)
{
    if (request->handle != NULL) {
        return request->handle;
    }
    const weft_async_group_t *group = weft_request_group(request);
    return group->ncomms == 1 ? group->comms[0] : NULL;
}

/* Drives the communicator of the request, as long as nobody else wants it. */
static weft_status_t request_drive(const weft_request_t *request, weft_comm_t *comm,
                                   const char *call, uint64_t until, bool *drove_p)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_comm_try_enter(comm, call, &state);
    *drove_p = state != NULL;
    if (state != NULL) {
        weft_engine_drive_async(state, request->async, until);
        weft_comm_leave(state);
    }
    return status;
}

/* Returns OK when the request is done, and IN_PROGRESS when the time `until` has come. */
static weft_status_t request_await(const weft_request_t *request, const char *call, uint64_t until)
{
    weft_comm_t *comm = request_comm(request);
    weft_status_t status = WEFT_OK;
    for (uint32_t turns = 0; status == WEFT_OK && !weft_async_is_done(request->async); turns++) {
        request_look_t look = {0};
        status = comm != NULL ? request_drive(request, comm, call, until, &look.moved)
                              : request_step_all(request, call, &look);
        if (until != WEFT_NEVER && weft_os_clock_ns() >= until) {
            break;
        }
        if (look.moved && comm != NULL && !weft_async_is_done(request->async)) {
            weft_async_sleep(request->async, STAY_AWAY_NS);
        }
        if (look.moved) {
            turns = 0;
        } else if (status == WEFT_OK) {
            request_rest(request->async, turns);
        }
    }
    return status != WEFT_OK || weft_async_is_done(request->async) ? status : WEFT_IN_PROGRESS;
}

static weft_status_t request_test(weft_request_t **request_p, const char *call)
{
    request_look_t look = {0};
    weft_status_t status = request_check(request_p, call);
    if (status != WEFT_OK) {
        return status;
    }
    if (!weft_async_is_done((*request_p)->async)) {
        status = request_step_all(*request_p, call, &look);
    }
    if (weft_async_is_done((*request_p)->async)) {
        return weft_request_end(request_p);
    }
    if (look.gives_way && !look.moved) {
        weft_os_yield();
    }
    return status == WEFT_OK ? WEFT_IN_PROGRESS : weft_api_error(call, status);
}

weft_status_t weft_request_test(weft_request_t **request_p)
{
    return request_test(request_p, "weft_request_test");
}

static weft_status_t request_wait(weft_request_t **request_p, const char *call, uint64_t until)
{
    weft_status_t status = request_check(request_p, call);
    if (status != WEFT_OK) {
        return status;
    }
    status = request_await(*request_p, call, until);
    if (status == WEFT_IN_PROGRESS) {
        return status;
    }
    return status == WEFT_OK ? weft_request_end(request_p) : weft_api_error(call, status);
}

weft_status_t weft_request_wait(weft_request_t **request_p)
{
    return request_wait(request_p, "weft_request_wait", WEFT_NEVER);
}

weft_status_t weft_request_wait_for(weft_request_t **request_p, double seconds)
{
    if (isnan(seconds)) {
        return weft_api_error(
            "weft_request_wait_for",
            weft_fail(WEFT_ERR_ARG, 0, "weft_request_wait_for: seconds is not a number"));
    }
    return seconds > 0 ? request_wait(request_p, "weft_request_wait_for", weft_os_deadline(seconds))
                       : request_test(request_p, "weft_request_wait_for");
}
