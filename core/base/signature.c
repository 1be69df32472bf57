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

/* The functions that exchange something over a communicator. */
typedef struct signature_exchange {
    uint32_t root, count; /* the first root, and how many there are: one for each window */
    const char *name;
} signature_exchange_t;

static const signature_exchange_t exchanges[] = {
    {WEFT_ROOT_WINDOW_EXPORT, WEFT_LANES_WINDOWS, "window_register of window"},
    {WEFT_ROOT_WINDOW_IMPORT, WEFT_LANES_WINDOWS, "window_register's imports of window"},
    {WEFT_ROOT_WINDOW_END, WEFT_LANES_WINDOWS, "window_deregister of window"},
    {WEFT_ROOT_GROW, 1, "comm_grow"},
    {WEFT_ROOT_AGREE, 1, "comm_agree"},
    {WEFT_ROOT_SHRINK, 1, "comm_shrink"},
    {WEFT_ROOT_SETTLE, 1, "comm_grow or comm_join"},
    {WEFT_ROOT_GROUP, 1, "comm_create_group"},
    {WEFT_ROOT_SPLIT, 1, "comm_split or comm_dup"}};

static bool signature_is_exchange(const weft_signature_t *signature)
{
    return signature->coll == WEFT_ALL_GATHER && signature->root >= WEFT_ROOT_CORE;
}

/* Writes the name of the function that the user called. */
static const char *signature_function(const weft_signature_t *signature, char *text, size_t bytes)
{
    const char *name = signature_or_unknown(weft_coll_name((weft_coll_t)signature->coll));
    snprintf(text, bytes, "%s", signature_is_exchange(signature) ? "unknown exchange" : name);
    for (size_t i = 0; signature_is_exchange(signature) && i < sizeof exchanges / sizeof *exchanges;
         i++) {
        const signature_exchange_t *e = &exchanges[i];
        const uint32_t number = signature->root - e->root;
        if (number < e->count && e->count > 1) {
            snprintf(text, bytes, "%s %" PRIu32, e->name, number);
        } else if (number < e->count) {
            snprintf(text, bytes, "%s", e->name);
        }
    }
    return text;
}

/* True if the ranks called different functions. */
static bool signature_functions_differ(const weft_signature_t *a, const weft_signature_t *b)
{
    return a->coll != b->coll ||
           ((signature_is_exchange(a) || signature_is_exchange(b)) && a->root != b->root);
}

static void signature_diff_functions(const weft_signature_t *here, const weft_signature_t *there,
                                     char *text, size_t bytes)
{
    char mine[48], other[48];
    bool exchange = signature_is_exchange(here) || signature_is_exchange(there);
    snprintf(text, bytes, "%s %s here, %s there", exchange ? "function" : "collective",
             signature_function(here, mine, sizeof mine),
             signature_function(there, other, sizeof other));
}

/* The numbers of calls also run apart where the counts of calls are equal: a rank that only sends
 * in a rooted collective is through before the others can object to what it called. */
static void signature_diff_numbers(const weft_signature_t *here, const weft_signature_t *there,
                                   char *text, size_t bytes)
{
    char mine[96], other[96];
    if (here->coll == WEFT_SEND_RECV && there->coll == WEFT_SEND_RECV) {
        snprintf(text, bytes, "message number %" PRIu32 " here, %" PRIu32 " there", here->sequence,
                 there->sequence);
        return;
    }
    weft_signature_text(here, mine, sizeof mine);
    weft_signature_text(there, other, sizeof other);
    snprintf(text, bytes,
             "operation number %" PRIu32 " (%s) here, %" PRIu32
             " (%s) there: a rank made one call more, or an earlier call had another collective or "
             "root there",
             here->sequence, mine, there->sequence, other);
}

/* True if the count is that of all blocks together. */
static bool signature_has_sum(const weft_signature_t *signature)
{
    return signature->coll == WEFT_ALL_GATHER_V || signature->coll == WEFT_REDUCE_SCATTER_V;
}

static void signature_diff_plans(const weft_signature_t *here, const weft_signature_t *there,
                                 char *text, size_t bytes)
{
    if (signature_has_sum(here)) {
        snprintf(text, bytes,
                 "the vectors of counts differ, and their sum, %" PRIu64
                 ", does not: compare them; if they are equal, the plan differs",
                 here->count);
        return;
    }
    snprintf(
        text, bytes,
        "plan %08" PRIx32 " here, %08" PRIx32
        " there: weft_comm_set_channels() had another limit there, or a group other calls, or the "
        "plugin of the tuner or of the algorithm is of another build, or what it answers is not a "
        "function of its arguments",
        here->plan, there->plan);
}

void weft_signature_diff(const weft_signature_t *here, const weft_signature_t *there, char *text,
                         size_t bytes)
{
    char mine[32], other[32];
    if (here->sequence != there->sequence) {
        signature_diff_numbers(here, there, text, bytes);
    } else if (signature_functions_differ(here, there)) {
        signature_diff_functions(here, there, text, bytes);
    } else if (here->count != there->count) {
        snprintf(text, bytes, "%s %" PRIu64 " here, %" PRIu64 " there",
                 signature_has_sum(here) ? "vectors of counts: sum" : "count", here->count,
                 there->count);
    } else if (here->dtype != there->dtype) {
        snprintf(text, bytes, "data type %s here, %s there",
                 signature_or_unknown(weft_dtype_name((weft_dtype_t)here->dtype)),
                 signature_or_unknown(weft_dtype_name((weft_dtype_t)there->dtype)));
    } else if (here->op != there->op) {
        snprintf(text, bytes, "operator %s here, %s there",
                 signature_op_text(here->op, mine, sizeof mine),
                 signature_op_text(there->op, other, sizeof other));
    } else if (here->root != there->root) {
        snprintf(text, bytes, "root %" PRIu32 " here, %" PRIu32 " there", here->root, there->root);
    } else if (here->plan != there->plan) {
        signature_diff_plans(here, there, text, bytes);
    } else if (here->greets != there->greets) {
        snprintf(text, bytes, "greeting %u here, %u there: the message was changed on its way",
                 here->greets, there->greets);
    } else if (bytes > 0) {
        text[0] = '\0';
    }
}

void weft_signature_text(const weft_signature_t *signature, char *text, size_t bytes)
{
    const char *coll = signature_or_unknown(weft_coll_name((weft_coll_t)signature->coll));
    const char *dtype = signature_or_unknown(weft_dtype_name((weft_dtype_t)signature->dtype));
    char count[24] = "", root[24] = "";
    if (signature->coll == WEFT_BARRIER || signature_is_exchange(signature)) {
        (void)signature_function(signature, text, bytes);
        return;
    }
    if (signature->count > 0 || !weft_coll_has_pairs((weft_coll_t)signature->coll)) {
        snprintf(count, sizeof count, "%" PRIu64 " ", signature->count);
    }
    if (signature->coll < WEFT_COLL_COUNT && weft_coll_is_rooted((weft_coll_t)signature->coll)) {
        snprintf(root, sizeof root, ", root %" PRIu32, signature->root);
    }
    snprintf(text, bytes, "%s of %s%s%s", coll, count, dtype, root);
}
