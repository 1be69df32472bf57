/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the engine waits for: for whom, how long, and what a failure means. */
#include "core/comm/engine_look.h"

#include <inttypes.h>

#include "core/base/coll.h"
#include "core/base/error.h"
#include "core/comm/binding.h"
#include "core/comm/streams.h"
#include "core/comm/wanted_links.h"
#include "core/comm/watchdog.h"

int32_t weft_engine_waits_for(const weft_comm_state_t *state, weft_port_t **port_p)
{
    *port_p = NULL;
    if (state->queue.first == NULL || state->queue.current == NULL) {
        return -1;
    }
    if (state->queue.first->state == WEFT_OP_BINDING) {
        const weft_program_t *program = &state->queue.current->program;
        for (uint32_t i = 0; i < program->nports; i++) {
            if (program->ports[i] == NULL) {
                return (int32_t)weft_program_port(program, i)->peer;
            }
        }
        return -1;
    }
    *port_p = state->queue.first->state == WEFT_OP_DRAINING
                  ? weft_interpreter_undrained(&state->queue.current->run)
                  : state->queue.current->run.blocked;
    return *port_p != NULL ? (int32_t)(*port_p)->peer : -1;
}

/* Checks the deadline of an operation that has not begun because earlier ones in streams are not
 * completed. */
static void engine_check_turn(weft_comm_state_t *state, uint64_t now)
{
    const weft_request_t *request = state->queue.first;
    char text[256];
    if (request->deadline == WEFT_NEVER || now <= request->deadline) {
        return;
    }
    weft_fail(WEFT_ERR_TIMEOUT, 0,
              "operation %" PRIu64 " (%s) not begun after %.3g s: rank %u waits for %s",
              request->sequence, weft_coll_name(request->args.coll),
              (double)(now - request->started) / 1e9, state->self.rank,
              weft_streams_text(state, text, sizeof text));
    weft_comm_fail(state, -1);
}

/* Asks for the links that the operation needs to send over. */
static void engine_ask_for_links(weft_comm_state_t *state, uint64_t now)
{
    const weft_program_t *program = &state->queue.current->program;
    if (state->queue.first->state != WEFT_OP_BINDING ||
        !weft_wanted_links_ask_now(&state->stall.wanted, state->stall.idle_since, now)) {
        return;
    }
    for (uint32_t i = 0; i < program->nports; i++) {
        const weft_plan_port_t *port = weft_program_port(program, i);
        if (program->ports[i] == NULL && port->sends) {
            weft_wanted_links_ask(state, port->peer, weft_program_link(program, i));
        }
    }
}

void weft_engine_look_around(weft_comm_state_t *state)
{
    weft_request_t *request = state->queue.first;
    uint64_t now = weft_os_clock_ns();
    weft_wanted_links_listen(state, now);
    if (state->streams != NULL) {
        weft_streams_look(state, now);
    }
    if (request == NULL) {
        return;
    }
    if (request->started == 0) {
        weft_request_begin(request, now);
    }
    if (state->queue.current == NULL) {
        engine_check_turn(state, now);
        return;
    }
    weft_pending_t pending = {.sequence = request->sequence,
                              .signature = weft_request_signature(state->queue.current, request),
                              .started = request->started,
                              .deadline = request->deadline};
    pending.peer = weft_engine_waits_for(state, &pending.port);
    if (request->state != WEFT_OP_DRAINING) {
        weft_watchdog_find_absent(state, &state->queue.current->program, &pending, now);
    }
    weft_comm_record_wait(state, request, pending.peer, now);
    weft_watchdog_look(state, &pending, now);
    engine_ask_for_links(state, now);
}

void weft_engine_handle_failure(weft_comm_state_t *state, weft_status_t status)
{
    weft_port_t *port;
    const weft_interpreter_t *run =
        state->queue.current != NULL ? &state->queue.current->run : NULL;
    /* A plugin may return what only the interpreter finds. */
    if (status == WEFT_ERR_MISMATCH && run != NULL && run->mismatched != NULL) {
        weft_comm_mismatch(state, run->mismatched->peer, &run->signature, &run->theirs);
        return;
    }
    switch (status) {
    case WEFT_ERR_PEER_DEAD:
    case WEFT_ERR_LINK:
        weft_watchdog_link_broke(state, status, weft_engine_waits_for(state, &port));
        break;
    default:
        weft_comm_fail(state, weft_error_record()->peer);
        break;
    }
}
