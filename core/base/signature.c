/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Signatures in words. */
#include "core/base/signature.h"

#include <inttypes.h>
#include <stdio.h>

#include <weft/weft.h>

#include "core/base/coll.h"

static const char *signature_or_unknown(const char *name)
{
    return name != NULL ? name : "unknown";
}

static const char *signature_op_text(uint8_t op, char *text, size_t bytes)
{
    if (op >= WEFT_OP_USER) {
        snprintf(text, bytes, "%u of weft_op_create", op);
        return text;
    }
    return signature_or_unknown(weft_op_name((weft_op_t)op));
}

/* The exchanges of the core are all-gathers with roots that no call has. */
static const char *signature_gather_text(uint32_t root)
{
    return root == 0 ? "all_gather" : root == UINT32_MAX - 1 ? "comm_create_group" : "comm_split";
}

void weft_signature_diff(const weft_signature_t *here, const weft_signature_t *there, char *text,
                         size_t bytes)
{
    char mine[32], other[32];
    if (here->sequence != there->sequence) {
        snprintf(text, bytes, "operation number %" PRIu32 " here, %" PRIu32 " there",
                 here->sequence, there->sequence);
    } else if (here->coll != there->coll) {
        snprintf(text, bytes, "collective %s here, %s there",
                 signature_or_unknown(weft_coll_name((weft_coll_t)here->coll)),
                 signature_or_unknown(weft_coll_name((weft_coll_t)there->coll)));
    } else if (here->count != there->count) {
        snprintf(text, bytes, "count %" PRIu64 " here, %" PRIu64 " there", here->count,
                 there->count);
    } else if (here->dtype != there->dtype) {
        snprintf(text, bytes, "data type %s here, %s there",
                 signature_or_unknown(weft_dtype_name((weft_dtype_t)here->dtype)),
                 signature_or_unknown(weft_dtype_name((weft_dtype_t)there->dtype)));
    } else if (here->op != there->op) {
        snprintf(text, bytes, "operator %s here, %s there",
                 signature_op_text(here->op, mine, sizeof mine),
                 signature_op_text(there->op, other, sizeof other));
    } else if (here->root != there->root && here->coll == WEFT_ALL_GATHER) {
        snprintf(text, bytes, "collective %s here, %s there", signature_gather_text(here->root),
                 signature_gather_text(there->root));
    } else if (here->root != there->root) {
        snprintf(text, bytes, "root %" PRIu32 " here, %" PRIu32 " there", here->root, there->root);
    } else if (here->plan != there->plan &&
               (here->coll == WEFT_ALL_GATHER_V || here->coll == WEFT_REDUCE_SCATTER_V)) {
        snprintf(text, bytes, "vectors of counts with the same sum and other entries, or the plan");
    } else if (here->plan != there->plan) {
        snprintf(text, bytes,
                 "plan %08" PRIx32 " here, %08" PRIx32
                 " there: the algorithm's plugin is of another build, or its plans are not a "
                 "function of their arguments",
                 here->plan, there->plan);
    } else if (bytes > 0) {
        text[0] = '\0';
    }
}

void weft_signature_text(const weft_signature_t *signature, char *text, size_t bytes)
{
    const char *coll = signature_or_unknown(weft_coll_name((weft_coll_t)signature->coll));
    const char *dtype = signature_or_unknown(weft_dtype_name((weft_dtype_t)signature->dtype));
    if (signature->coll == WEFT_BARRIER) {
        snprintf(text, bytes, "barrier");
    } else if (signature->coll == WEFT_ALL_GATHER && signature->root != 0) {
        snprintf(text, bytes, "%s", signature_gather_text(signature->root));
    } else if (signature->coll < WEFT_COLL_COUNT &&
               weft_coll_is_rooted((weft_coll_t)signature->coll)) {
        snprintf(text, bytes, "%s of %" PRIu64 " %s, root %" PRIu32, coll, signature->count, dtype,
                 signature->root);
    } else {
        snprintf(text, bytes, "%s of %" PRIu64 " %s", coll, signature->count, dtype);
    }
}
