/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tuner plugins under core.check. */
#include "core/check/check_tuner.h"

#include <string.h>

#include "core/check/check_table.h"

static weft_status_t tuner_create(const weft_host_t *host, const void *config,
                                  weft_tuner_t **tuner_p)
{
    weft_check_t *check = weft_check_of(host);
    weft_tuner_t *tuner = NULL;
    weft_check_call_t call = weft_check_enter(check, "create");
    weft_status_t status =
        weft_check_end(&call, check->own.tuner->create(host, config, &tuner), WEFT_CHECK_FAILURES);
    if (status == WEFT_OK && tuner == NULL) {
        return weft_check_breach(check, "create", "OK: it has stored the object",
                                 "it returned OK and no object");
    }
    status = status == WEFT_OK ? weft_check_table_add(tuner, check) : status;
    if (status == WEFT_OK) {
        weft_check_made(check);
        *tuner_p = tuner;
    }
    return status;
}

static void tuner_destroy(weft_tuner_t *tuner)
{
    weft_check_t *check = weft_check_table_find(tuner);
    if (check != NULL) {
        weft_check_call_t call = weft_check_enter(check, "destroy");
        weft_check_table_remove(tuner);
        check->own.tuner->destroy(tuner);
        weft_check_leave(&call);
        weft_check_gone(check);
    }
}

static weft_status_t tuner_judge_numbers(const weft_check_t *check, const weft_tuner_call_t *call,
                                         uint32_t count, const weft_tuner_choice_t *choice)
{
    if (choice->index >= count) {
        return weft_check_breach(check, "choose", "index of the candidate",
                                 "it chose candidate %u of %u", choice->index, count);
    }
    if (choice->slices < 1 || choice->slices >= call->slots) {
        return weft_check_breach(check, "choose", "slices per chunk and pass, 1 to slots-1",
                                 "it chose %u slices with %u slots", choice->slices, call->slots);
    }
    if (choice->slice_bytes == 0 || choice->slice_bytes > call->slot_bytes ||
        choice->slice_bytes % 64 != 0) {
        return weft_check_breach(check, "choose", "at most slot_bytes; a multiple of 64",
                                 "it chose slices of %llu bytes with slots of %llu",
                                 (unsigned long long)choice->slice_bytes,
                                 (unsigned long long)call->slot_bytes);
    }
    if (choice->channels > call->channels) {
        return weft_check_breach(check, "choose", "channels: most that the call may have",
                                 "it chose %u channels of %u", choice->channels, call->channels);
    }
    if (choice->protocol > WEFT_TUNER_PROTOCOL_WHOLE) {
        return weft_check_breach(check, "choose", "protocol: one WEFT_TUNER_PROTOCOL_*",
                                 "it chose protocol %u", choice->protocol);
    }
    if (choice->next != WEFT_TUNER_NONE &&
        (choice->next >= count || choice->next == choice->index)) {
        return weft_check_breach(check, "choose", "index of the second best",
                                 "the second best is %u of %u, the best %u", choice->next, count,
                                 choice->index);
    }
    return WEFT_OK;
}

static weft_status_t tuner_judge(const weft_check_t *check, const weft_tuner_call_t *call,
                                 uint32_t count, const weft_tuner_choice_t *choice)
{
    if (memchr(choice->reason, 0, sizeof choice->reason) == NULL ||
        memchr(choice->rule, 0, sizeof choice->rule) == NULL) {
        return weft_check_breach(check, "choose", "reason and rule are texts",
                                 "found no end of a text");
    }
    if (choice->size != sizeof *choice) {
        return weft_check_breach(check, "choose", "size is the core's",
                                 "it changed choice_p->size to %zu", choice->size);
    }
    return tuner_judge_numbers(check, call, count, choice);
}

/* Asks twice: all ranks ask the same, each for itself. */
static weft_status_t tuner_choose(weft_tuner_t *tuner, const weft_tuner_call_t *asked,
                                  const weft_tuner_candidate_t *candidates, uint32_t count,
                                  weft_tuner_cost_fn_t cost, weft_tuner_choice_t *choice_p)
{
    weft_check_t *check = weft_check_table_find(tuner);
    weft_tuner_choice_t again = *choice_p;
    uint64_t before = weft_check_sum(WEFT_CHECK_SUM_BEGIN, candidates, count * sizeof *candidates);
    weft_check_call_t call = weft_check_enter(check, "choose");
    weft_status_t status = weft_check_end(
        &call, check->own.tuner->choose(tuner, asked, candidates, count, cost, choice_p),
        WEFT_CHECK_FAILURES);
    status = status == WEFT_OK ? tuner_judge(check, asked, count, choice_p) : status;
    if (status != WEFT_OK) {
        return status;
    }
    call = weft_check_enter(check, "choose");
    status = weft_check_end(&call,
                            check->own.tuner->choose(tuner, asked, candidates, count, cost, &again),
                            WEFT_CHECK_FAILURES);
    if (status != WEFT_OK || again.index != choice_p->index || again.slices != choice_p->slices ||
        again.slice_bytes != choice_p->slice_bytes || again.channels != choice_p->channels ||
        again.protocol != choice_p->protocol) {
        return weft_check_breach(check, "choose", "equal calls get equal answers on all ranks",
                                 "asked again it answered otherwise");
    }
    if (weft_check_sum(WEFT_CHECK_SUM_BEGIN, candidates, count * sizeof *candidates) != before) {
        return weft_check_breach(check, "choose", "the core owns all arguments",
                                 "it changed the candidates");
    }
    return status;
}

static weft_status_t tuner_check(weft_tuner_t *tuner, const char *const *algos, uint32_t count)
{
    weft_check_t *check = weft_check_table_find(tuner);
    weft_check_call_t call = weft_check_enter(check, "check");
    return weft_check_end(&call, check->own.tuner->check(tuner, algos, count), WEFT_CHECK_FAILURES);
}

static const char *tuner_variant(weft_tuner_t *tuner, uint32_t index, const char **origin_p)
{
    weft_check_t *check = weft_check_table_find(tuner);
    weft_check_call_t call = weft_check_enter(check, "variant");
    const char *spec = check->own.tuner->variant(tuner, index, origin_p);
    weft_check_leave(&call);
    return spec;
}

void weft_check_tuner(weft_check_t *check, const weft_tuner_ops_t *own)
{
    check->own.tuner = own;
    check->table.tuner = (weft_tuner_ops_t){
        .size = sizeof check->table.tuner,
        .create = tuner_create,
        .destroy = tuner_destroy,
        .choose = tuner_choose,
        .check = WEFT_HAS(own, weft_tuner_ops_t, check) ? tuner_check : NULL,
        .variant = WEFT_HAS(own, weft_tuner_ops_t, variant) ? tuner_variant : NULL,
    };
    check->plugin.ops = &check->table.tuner;
}
