/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Algorithm plugins under core.check. An emitter runs twice: the second time it writes to nobody,
 * gets the answers of the first, and has to say the same. */
#include "core/check/check_algo.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/check/check_table.h"
#include "core/os/os.h"

/* What an emitter said, and what it was answered. The builder is first: its functions find the
 * rest by it. */
typedef struct algo_script {
    weft_plan_builder_t builder;
    weft_plan_builder_t *to; /* NULL: it is said again */
    uint64_t sum;            /* of all arguments */
    uint32_t *answers;
    uint32_t count, room, at;
    bool full; /* no memory: the second time is left out */
} algo_script_t;

static algo_script_t *algo_script_of(weft_plan_builder_t *builder)
{
    return (algo_script_t *)(void *)builder;
}

static void algo_say(algo_script_t *script, uint64_t what, uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t words[] = {what, a, b, c};
    script->sum = weft_check_sum(script->sum, words, sizeof words);
}

static void algo_answer_keep(algo_script_t *script, uint32_t answer)
{
    if (script->count == script->room && !script->full) {
        uint32_t room = script->room == 0 ? 256 : 2 * script->room;
        uint32_t *more = weft_os_alloc(room * sizeof *more, 0);
        script->full = more == NULL;
        if (more == NULL) {
            return;
        }
        if (script->count > 0) {
            memcpy(more, script->answers, script->count * sizeof *more);
        }
        weft_os_free(script->answers);
        script->answers = more;
        script->room = room;
    }
    if (!script->full) {
        script->answers[script->count++] = answer;
    }
}

static uint32_t algo_answer_again(algo_script_t *script)
{
    return script->at < script->count ? script->answers[script->at++] : 0;
}

/* Keeps the answer of the first time, or gives it again. */
#define ANSWER(script, call)                                                                       \
    uint32_t answer = (script)->to != NULL ? (call) : algo_answer_again(script);                   \
    if ((script)->to != NULL) {                                                                    \
        algo_answer_keep(script, answer);                                                          \
    }

static void script_grid(weft_plan_builder_t *b, uint32_t k, uint32_t tmp_chunks)
{
    algo_script_t *script = algo_script_of(b);
    algo_say(script, 1, k, tmp_chunks, 0);
    if (script->to != NULL) {
        script->to->grid(script->to, k, tmp_chunks);
    }
}

static uint32_t script_lane(weft_plan_builder_t *b)
{
    algo_script_t *script = algo_script_of(b);
    algo_say(script, 2, 0, 0, 0);
    ANSWER(script, script->to->lane(script->to))
    return answer;
}

static uint32_t script_port(weft_plan_builder_t *b, uint32_t lane, uint32_t peer, uint32_t channel,
                            uint32_t sends)
{
    algo_script_t *script = algo_script_of(b);
    algo_say(script, 3, lane, peer, (uint64_t)channel << 1 | sends);
    ANSWER(script, script->to->port(script->to, lane, peer, channel, sends))
    return answer;
}

static void algo_say_operands(algo_script_t *script, const weft_operand_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < WEFT_COMBINE_MAX; i++) {
        algo_say(script, list[i].kind, list[i].index, (uint64_t)(int64_t)list[i].stride, 0);
    }
}

static uint32_t script_move(weft_plan_builder_t *b, uint32_t lane, const weft_move_t *move)
{
    algo_script_t *script = algo_script_of(b);
    algo_say(script, 4, lane, move->flags, (uint64_t)move->nsrc << 32 | move->ndst);
    algo_say_operands(script, move->src, move->nsrc);
    algo_say_operands(script, move->dst, move->ndst);
    algo_say(script, move->like.kind, 0, 0, 0);
    algo_say_operands(script, &move->like, move->like.kind != WEFT_OPERAND_NONE ? 1 : 0);
    algo_say(script, move->cnt, move->nafter, 0, 0);
    for (uint32_t i = 0; i < move->nafter && i < WEFT_AFTER_MAX; i++) {
        algo_say(script, move->after[i].lane, move->after[i].pc, 0, 0);
    }
    ANSWER(script, script->to->move(script->to, lane, move))
    return answer;
}

static uint32_t script_par(weft_plan_builder_t *b, uint32_t lane, uint32_t members)
{
    algo_script_t *script = algo_script_of(b);
    algo_say(script, 5, lane, members, 0);
    ANSWER(script, script->to->par(script->to, lane, members))
    return answer;
}

static uint32_t script_loop(weft_plan_builder_t *b, uint32_t lane, uint32_t times)
{
    algo_script_t *script = algo_script_of(b);
    algo_say(script, 6, lane, times, 0);
    ANSWER(script, script->to->loop(script->to, lane, times))
    return answer;
}

static uint32_t script_end(weft_plan_builder_t *b, uint32_t lane)
{
    algo_script_t *script = algo_script_of(b);
    algo_say(script, 7, lane, 0, 0);
    ANSWER(script, script->to->end(script->to, lane))
    return answer;
}

static uint32_t script_bar(weft_plan_builder_t *b, uint32_t lane, uint64_t lane_mask)
{
    algo_script_t *script = algo_script_of(b);
    algo_say(script, 8, lane, lane_mask, 0);
    ANSWER(script, script->to->bar(script->to, lane, lane_mask))
    return answer;
}

/* Plugins that are older do not have the field. */
static bool algo_sub_is_partial(const weft_plan_sub_t *sub)
{
    return sub->size >= offsetof(weft_plan_sub_t, partial) + sizeof sub->partial &&
           sub->partial != 0;
}

#define GROUP_MOST (1u << 20) /* ranks that are compared */

static uint32_t script_sub(weft_plan_builder_t *b, const weft_plan_sub_t *sub, uint32_t *k_p,
                           uint32_t *tmp_p)
{
    algo_script_t *script = algo_script_of(b);
    algo_say(script, 9, sub->coll, sub->n, (uint64_t)sub->root << 1 | algo_sub_is_partial(sub));
    for (uint32_t i = 0; sub->group != NULL && i < sub->n && i < GROUP_MOST; i++) {
        algo_say(script, sub->group[i], 0, 0, 0);
    }
    if (sub->algo != NULL) {
        script->sum = weft_check_sum(script->sum, sub->algo, strlen(sub->algo));
    }
    ANSWER(script, script->to->sub(script->to, sub, k_p, tmp_p))
    if (script->to != NULL) {
        algo_answer_keep(script, *k_p);
        algo_answer_keep(script, *tmp_p);
    } else {
        *k_p = algo_answer_again(script);
        *tmp_p = algo_answer_again(script);
    }
    return answer;
}

static void script_call(weft_plan_builder_t *b, uint32_t lane, uint32_t sub, weft_operand_t in,
                        weft_operand_t out, uint32_t tmp, uint32_t channel)
{
    algo_script_t *script = algo_script_of(b);
    algo_say(script, 10, lane, sub, (uint64_t)tmp << 32 | channel);
    algo_say_operands(script, &in, 1);
    algo_say_operands(script, &out, 1);
    if (script->to != NULL) {
        script->to->call(script->to, lane, sub, in, out, tmp, channel);
    }
}

static void script_along(weft_plan_builder_t *b, uint32_t port, uint32_t way)
{
    algo_script_t *script = algo_script_of(b);
    algo_say(script, 11, port, way, 0);
    if (script->to != NULL) {
        script->to->along(script->to, port, way);
    }
}

static void algo_script_init(algo_script_t *script, weft_plan_builder_t *to)
{
    script->builder = (weft_plan_builder_t){.size = sizeof script->builder,
                                            .core = to != NULL ? to->core : NULL,
                                            .grid = script_grid,
                                            .lane = script_lane,
                                            .port = script_port,
                                            .move = script_move,
                                            .par = script_par,
                                            .loop = script_loop,
                                            .end = script_end,
                                            .bar = script_bar,
                                            .sub = script_sub,
                                            .call = script_call,
                                            .along = script_along};
    script->to = to;
    script->sum = WEFT_CHECK_SUM_BEGIN;
    script->at = 0;
}

/* The table ------------------------------------------------------------------------------------ */

static weft_status_t algo_create(const weft_host_t *host, const void *config, weft_algo_t **algo_p)
{
    weft_check_t *check = weft_check_of(host);
    weft_algo_t *algo = NULL;
    weft_check_call_t call = weft_check_enter(check, "create");
    weft_status_t status =
        weft_check_end(&call, check->own.algo->create(host, config, &algo), WEFT_CHECK_FAILURES);
    if (status == WEFT_OK && algo == NULL) {
        return weft_check_breach(check, "create", "OK: it has stored the object",
                                 "it returned OK and no object");
    }
    status = status == WEFT_OK ? weft_check_table_add(algo, check) : status;
    if (status == WEFT_OK) {
        weft_check_made(check);
        *algo_p = algo;
    }
    return status;
}

static void algo_destroy(weft_algo_t *algo)
{
    weft_check_t *check = weft_check_table_find(algo);
    if (check != NULL) {
        weft_check_call_t call = weft_check_enter(check, "destroy");
        weft_check_table_remove(algo);
        check->own.algo->destroy(algo);
        weft_check_leave(&call);
        weft_check_gone(check);
    }
}

static weft_status_t algo_supports(weft_algo_t *algo, const weft_algo_call_t *asked)
{
    weft_check_t *check = weft_check_table_find(algo);
    weft_check_call_t call = weft_check_enter(check, "supports");
    return weft_check_end(&call, check->own.algo->supports(algo, asked), WEFT_CHECK_FAILURES);
}

static weft_status_t algo_emit_once(weft_check_t *check, weft_algo_t *algo,
                                    const weft_algo_call_t *asked, const weft_algo_topo_t *topo,
                                    algo_script_t *script)
{
    weft_check_call_t call = weft_check_enter(check, "emit");
    return weft_check_end(&call, check->own.algo->emit(algo, asked, topo, &script->builder),
                          WEFT_CHECK_FAILURES);
}

static weft_status_t algo_emit(weft_algo_t *algo, const weft_algo_call_t *asked,
                               const weft_algo_topo_t *topo, weft_plan_builder_t *builder)
{
    weft_check_t *check = weft_check_table_find(algo);
    algo_script_t script = {.answers = NULL};
    algo_script_init(&script, builder);
    weft_status_t status = algo_emit_once(check, algo, asked, topo, &script);
    if (status == WEFT_OK && !script.full) {
        uint64_t first = script.sum;
        algo_script_init(&script, NULL);
        status = algo_emit_once(check, algo, asked, topo, &script);
        if (status != WEFT_OK || script.sum != first) {
            status = weft_check_breach(check, "emit", "equal arguments give equal plans",
                                       "asked again for %s of rank %u it said something else",
                                       weft_algo_coll_text(asked->coll), asked->rank);
        }
    }
    weft_os_free(script.answers);
    return status;
}

static const void *algo_get_extension(weft_algo_t *algo, const char *name)
{
    weft_check_t *check = weft_check_table_find(algo);
    weft_check_call_t call = weft_check_enter(check, "get_extension");
    const void *table = check->own.algo->get_extension(algo, name);
    weft_check_leave(&call);
    return table;
}

static uint64_t algo_stamp(weft_algo_t *algo)
{
    weft_check_t *check = weft_check_table_find(algo);
    weft_check_call_t call = weft_check_enter(check, "stamp");
    uint64_t stamp = check->own.algo->stamp(algo);
    weft_check_leave(&call);
    return stamp;
}

static uint32_t algo_depth(weft_algo_t *algo)
{
    weft_check_t *check = weft_check_table_find(algo);
    weft_check_call_t call = weft_check_enter(check, "depth");
    uint32_t depth = check->own.algo->depth(algo);
    weft_check_leave(&call);
    return depth;
}

static uint32_t algo_pack_once(weft_check_t *check, weft_algo_t *algo,
                               const weft_algo_call_t *asked)
{
    weft_check_call_t call = weft_check_enter(check, "pack");
    uint32_t most = check->own.algo->pack(algo, asked);
    weft_check_leave(&call);
    return most;
}

/* Ranks that pack differently would run plans that do not fit together. */
static uint32_t algo_pack(weft_algo_t *algo, const weft_algo_call_t *asked)
{
    weft_check_t *check = weft_check_table_find(algo);
    weft_algo_call_t other = *asked;
    other.rank = (asked->rank + 1) % asked->nranks;
    uint32_t most = algo_pack_once(check, algo, asked);
    uint32_t there = algo_pack_once(check, algo, &other);
    if (most != there) {
        (void)weft_check_breach(check, "pack", "the answer does not depend on the rank",
                                "for %s it answered %u to rank %u and %u to rank %u",
                                weft_algo_coll_text(asked->coll), most, asked->rank, there,
                                other.rank);
    }
    return most;
}

void weft_check_algo(weft_check_t *check, const weft_algo_ops_t *own)
{
    check->own.algo = own;
    check->table.algo = (weft_algo_ops_t){
        .size = sizeof check->table.algo,
        .create = algo_create,
        .destroy = algo_destroy,
        .supports = algo_supports,
        .emit = algo_emit,
        .params = WEFT_HAS(own, weft_algo_ops_t, params) ? own->params : NULL,
        .get_extension = WEFT_HAS(own, weft_algo_ops_t, get_extension) ? algo_get_extension : NULL,
        .stamp = WEFT_HAS(own, weft_algo_ops_t, stamp) ? algo_stamp : NULL,
        .depth = WEFT_HAS(own, weft_algo_ops_t, depth) ? algo_depth : NULL,
        .pack = WEFT_HAS(own, weft_algo_ops_t, pack) ? algo_pack : NULL,
    };
    check->plugin.ops = &check->table.algo;
}
