/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See fusion.h. In a buffer that has a block for each rank, such as the input of reduce_scatter,
 * block b of the call is block b of every member, one behind the other. */
#include "core/comm/fusion.h"

#include <errno.h>
#include <string.h>

#include "core/base/coll.h"
#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/plan/hash.h"

#define FUSION_ALIGN 64u
#define FUSION_LEAST (UINT64_C(64) << 10) /* memory that is worth keeping for the next one */

uint64_t weft_fusion_payload(const weft_args_t *args, uint32_t nranks)
{
    const uint64_t blocks = weft_coll_has_any_blocks(args->coll) ? nranks : 1;
    return args->count * blocks * weft_dtype_bytes(args->dtype);
}

bool weft_fusion_suits(const weft_args_t *a, const weft_args_t *b)
{
    return a->coll == b->coll && a->dtype == b->dtype &&
           (!weft_coll_reduces(a->coll) || a->op == b->op) &&
           (!weft_coll_is_rooted(a->coll) || a->root == b->root);
}

/* True if the call reads something of what is written from `low` to `high`. */
static bool fusion_reads(const weft_args_t *args, uintptr_t low, uintptr_t high)
{
    const uintptr_t send = (uintptr_t)args->send;
    return args->send_bytes > 0 && send < high && low < send + args->send_bytes;
}

/* True if the call needs the result of the member. */
static bool fusion_depends(const weft_args_t *args, const weft_args_t *member)
{
    const uintptr_t recv = (uintptr_t)member->recv;
    return member->recv_bytes > 0 && fusion_reads(args, recv, recv + member->recv_bytes);
}

static void fusion_note_output(weft_fusion_t *fusion, const weft_args_t *args)
{
    const uintptr_t recv = (uintptr_t)args->recv;
    if (args->recv_bytes > 0) {
        fusion->low = recv < fusion->low ? recv : fusion->low;
        fusion->high =
            recv + args->recv_bytes > fusion->high ? recv + args->recv_bytes : fusion->high;
    }
}

weft_status_t weft_fusion_create(const weft_comm_identity_t *self, weft_request_t *first,
                                 weft_fusion_t **fusion_p)
{
    weft_fusion_t *fusion = weft_os_alloc(sizeof *fusion, 0);
    if (fusion == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot fuse calls of a group");
    }
    weft_status_t status = weft_request_fill(self, &fusion->request, &first->args, NULL);
    if (status != WEFT_OK) {
        weft_os_free(fusion);
        return status;
    }
    fusion->request.timeout = first->timeout;
    fusion->request.fusion = fusion;
    fusion->request.end_members = weft_fusion_end;
    fusion->nranks = self->nranks;
    fusion->counts = weft_hash_add(WEFT_HASH_START, first->args.count);
    fusion->payload = weft_fusion_payload(&first->args, self->nranks);
    fusion->first = fusion->last = first;
    fusion->members = 1;
    fusion->low = UINTPTR_MAX;
    fusion_note_output(fusion, &first->args);
    first->next = NULL;
    *fusion_p = fusion;
    return WEFT_OK;
}

bool weft_fusion_has_room(const weft_fusion_t *fusion, const weft_args_t *args)
{
    if (fusion->payload + weft_fusion_payload(args, fusion->nranks) > WEFT_FUSION_MOST) {
        return false;
    }
    if (!fusion_reads(args, fusion->low, fusion->high)) {
        return true;
    }
    const weft_request_t *member = fusion->first;
    while (member != NULL && !fusion_depends(args, &member->args)) {
        member = member->next;
    }
    return member == NULL;
}

void weft_fusion_add(weft_fusion_t *fusion, weft_request_t *member)
{
    weft_request_t *whole = &fusion->request;
    fusion->payload += weft_fusion_payload(&member->args, fusion->nranks);
    fusion->counts = weft_hash_add(fusion->counts, member->args.count);
    fusion->last->next = member;
    fusion->last = member;
    fusion->members++;
    fusion_note_output(fusion, &member->args);
    member->next = NULL;
    whole->args.count += member->args.count;
    whole->args.send_bytes += member->args.send_bytes;
    whole->args.recv_bytes += member->args.recv_bytes;
    /* The shortest deadline of all; 0 is none. */
    if (member->timeout > 0 && (whole->timeout <= 0 || member->timeout < whole->timeout)) {
        whole->timeout = member->timeout;
    }
}

/* Copies the blocks of all members from their buffers of that side to `at`, or back. */
static void fusion_copy(const weft_fusion_t *fusion, weft_operand_kind_t side, uint8_t *at)
{
    const weft_args_t *args = &fusion->request.args;
    const uint32_t blocks = weft_coll_blocks(args->coll, fusion->nranks, side);
    const size_t elem = weft_dtype_bytes(args->dtype);
    for (uint32_t b = 0; b < blocks && at != NULL; b++) {
        for (const weft_request_t *m = fusion->first; m != NULL; m = m->next) {
            const uint64_t bytes = m->args.count * elem;
            if (bytes > 0 && side == WEFT_OPERAND_IN) {
                memcpy(at, (const uint8_t *)m->args.send + b * bytes, bytes);
            } else if (bytes > 0) {
                memcpy((uint8_t *)m->args.recv + b * bytes, at, bytes);
            }
            at += bytes;
        }
    }
}

/* Returns the bytes of the input, with what aligns the output behind it. */
static uint64_t fusion_input_bytes(const weft_fusion_t *fusion)
{
    return (fusion->request.args.send_bytes + FUSION_ALIGN - 1) / FUSION_ALIGN * FUSION_ALIGN;
}

uint64_t weft_fusion_bytes(const weft_fusion_t *fusion)
{
    const uint64_t needed = fusion_input_bytes(fusion) + fusion->request.args.recv_bytes;
    uint64_t bytes = FUSION_LEAST;
    while (bytes < needed) {
        bytes *= 2;
    }
    return bytes;
}

void weft_fusion_pack(weft_fusion_t *fusion, void *memory)
{
    weft_args_t *args = &fusion->request.args;
    args->send = args->send_bytes > 0 ? memory : NULL;
    args->recv = args->recv_bytes > 0 ? (uint8_t *)memory + fusion_input_bytes(fusion) : NULL;
    fusion_copy(fusion, WEFT_OPERAND_IN, args->send_bytes > 0 ? memory : NULL);
}

void weft_fusion_end(weft_fusion_t *fusion, weft_status_t status)
{
    const weft_error_t why = *weft_error_record();
    if (status == WEFT_OK) {
        fusion_copy(fusion, WEFT_OPERAND_OUT, fusion->request.args.recv);
    }
    for (weft_request_t *member = fusion->first; member != NULL;) {
        weft_request_t *next = member->next; /* a member may be gone when it has ended */
        if (status < 0) {
            *weft_error_record() = why;
        }
        weft_request_complete(member, status);
        member = next;
    }
    weft_os_free(fusion);
}
