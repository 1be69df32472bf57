/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MOVEs of the smallest calls. Nothing of them lands in memory of a receiver or stays in a
 * window. */
#include "core/exec/near_move.h"

#include <string.h>

#include "core/exec/combination.h"
#include "core/exec/move_ports.h"
#include "core/os/os.h"

/* Returns the most bytes that a message of the MOVE may have to need no slot, by no port. */
static uint64_t near_most(const weft_program_t *program, const weft_aim_t *aim)
{
    uint64_t most = UINT64_MAX;
    const uint32_t ports = aim->shape.sends | aim->shape.receives;
    for (uint32_t left = ports; left != 0; left &= left - 1) {
        const weft_port_t *port = (const weft_port_t *)aim->offset[weft_move_first(left)];
        const uint64_t bytes = port->kind == WEFT_PORT_MAPPED
                                   ? weft_mapped_port_const(port)->small_bytes
                                   : program->memory.near_bytes;
        most = bytes < most ? bytes : most;
    }
    return ports != 0 ? most : program->memory.near_bytes;
}

bool weft_near_move_is_one(const weft_interpreter_t *run, const weft_plan_move_t *move,
                           const weft_aim_t *aim)
{
    const weft_program_t *program = run->program;
    return run->segmentation.slices == 1 && program->plan->nafters == 0 &&
           (move->flags & WEFT_MOVE_PACKED) == 0 && program->pairs == WEFT_PAIRS_NONE &&
           aim->shape.chunk * program->elem <= near_most(program, aim);
}

/* Returns where the payload of an operand is, or goes. */
static void *near_payload(const weft_place_t *place, bool is_port, uint64_t bytes)
{
    return is_port ? weft_port_payload(place->port, bytes) : place->base;
}

/* A MOVE from one place to another, in host memory. No copy goes onto itself. */
static void near_copy(const weft_shape_t *shape, const weft_place_t *at, uint64_t bytes)
{
    uint32_t ports = shape->sends | shape->receives;
    void *to = near_payload(&at[0], ports & 1, bytes);
    const void *from = near_payload(&at[1], ports >> 1 & 1, bytes);
    if (to != from && bytes > 0) {
        memcpy(to, from, bytes);
    }
}

static weft_status_t near_combine(const weft_interpreter_t *run, const weft_plan_move_t *move,
                                  const weft_shape_t *shape, const weft_place_t *at)
{
    weft_combine_t c;
    uint64_t bytes = shape->chunk * run->program->elem;
    uint32_t ndst = move->ndst, ports = shape->sends | shape->receives;
    const bool past_slots = (run->nt & WEFT_NT_SLOTS) != 0;
    c.count = shape->chunk;
    c.pre_mask = shape->pre_mask;
    c.nt_mask = 0;
    c.nsrc = move->nsrc;
    c.ndst = 0;
    for (uint32_t i = 0; i < c.nsrc; i++) {
        c.src[i] = near_payload(&at[ndst + i], ports >> (ndst + i) & 1, bytes);
    }
    for (uint32_t i = 0; i < ndst; i++) {
        void *to = near_payload(&at[i], ports >> i & 1, bytes);
        if (!shape->copies || to != c.src[0]) {
            c.nt_mask |= (past_slots ? shape->sends >> i & 1u : 0u) << c.ndst;
            c.dst[c.ndst++] = to; /* no copy goes onto itself */
        }
    }
    return c.ndst > 0 && c.count > 0 ? weft_combination_run(run, move, &c, shape->copies) : WEFT_OK;
}

/* Gets memory for payloads that headers do not hold. */
static weft_status_t near_commit(weft_interpreter_t *run, const weft_shape_t *shape,
                                 const weft_place_t *at, uint64_t bytes)
{
    weft_status_t status = WEFT_OK;
    for (uint32_t left = shape->sends; left != 0 && status == WEFT_OK; left &= left - 1) {
        weft_port_t *port = at[weft_move_first(left)].port;
        status = weft_port_commit(port, bytes);
        run->blocked = status == WEFT_OK ? run->blocked : port;
    }
    return status;
}

/* Returns whether it pays to look for the message that the port misses: its line is written at
 * once. Of a longer one each look takes a line from the sender that it is still writing. */
static inline bool near_pays_to_look(const weft_port_t *port, uint64_t bytes)
{
    return bytes <= WEFT_SLOT_INLINE && !port->sends && weft_port_is_mapped(port);
}

weft_status_t weft_near_move(weft_interpreter_t *run, const weft_plan_move_t *move,
                             const weft_aim_t *aim, bool *done_p)
{
    const uint64_t bytes = aim->shape.chunk * run->program->elem;
    *done_p = false;
    weft_place_t at[2 * WEFT_MOVE_MAX];
    for (uint32_t i = 0; i < aim->operands; i++) {
        at[i].address = run->buffers[aim->kind[i]] + aim->offset[i];
    }
    weft_port_t *blocker;
    while ((blocker = weft_move_blocker(&aim->shape, at, bytes)) != NULL && run->looks > 0 &&
           near_pays_to_look(blocker, bytes)) {
        run->looks--;
        weft_os_pause();
    }
    if (blocker != NULL) {
        run->blocked = blocker;
        return blocker->broken != WEFT_OK ? blocker->broken : WEFT_AGAIN;
    }
    if (!weft_move_signatures_match(run, &aim->shape, at, &run->signature)) {
        return WEFT_ERR_MISMATCH;
    }
    weft_status_t status = WEFT_OK;
    if (bytes > run->program->memory.near_bytes) {
        status = near_commit(run, &aim->shape, at, bytes);
    }
    if (status != WEFT_OK) {
        return status;
    }
    if (aim->shape.copies && move->ndst == 1 && run->program->memory.on_host && run->nt == 0) {
        near_copy(&aim->shape, at, bytes);
    } else {
        status = near_combine(run, move, &aim->shape, at);
    }
    if (status != WEFT_OK) {
        return status;
    }
    const weft_move_message_t message = {.signature = &run->signature, .bytes = bytes};
    *done_p = true;
    return weft_move_publish(run, &aim->shape, at, &message);
}
