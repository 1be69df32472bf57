/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans in plans: mistakes are named in words. */
#include <string.h>

#include "core/base/error.h"
#include "tests/support/plan_subs.h"
#include "tests/support/unit.h"

typedef struct mistake {
    const char *words;
    weft_status_t status;
    weft_plan_sub_t sub;
    uint32_t group[3];
    weft_operand_t in, out;
    int before; /* 1: no grid yet; 2: inside a LOOP; 3: inside a PAR; 4: another number */
    uint32_t k; /* of the grid; 0: as the sub-plan says */
} mistake_t;

static const mistake_t *current;

static weft_status_t mistaken(weft_algo_t *algo, const weft_algo_call_t *call,
                              const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    (void)algo, (void)call, (void)view;
    uint32_t k, tmp;
    weft_plan_sub_t sub = current->sub;
    sub.size = sizeof sub;
    sub.group = current->group;
    sub.algo = sub.algo == NULL ? "algo-ring" : sub.algo;
    uint32_t number = b->sub(b, &sub, &k, &tmp), lane = b->lane(b);
    if (current->before != 1) {
        b->grid(b, current->k != 0 ? current->k : k, tmp + 2);
    }
    if (current->before == 2) {
        b->loop(b, lane, 2);
    } else if (current->before == 3) {
        b->par(b, lane, 2);
    }
    b->call(b, lane, number + (current->before == 4), current->in, current->out, 0, 0);
    return WEFT_OK;
}

#define IN0                                                                                        \
    {                                                                                              \
        WEFT_OPERAND_IN, 0, 0                                                                      \
    }
#define OUT0                                                                                       \
    {                                                                                              \
        WEFT_OPERAND_OUT, 0, 0                                                                     \
    }
#define TMP0                                                                                       \
    {                                                                                              \
        WEFT_OPERAND_TMP, 0, 0                                                                     \
    }

static const mistake_t cases[] = {
    {"a group of 1 of 3 ranks", WEFT_ERR_PLAN, {.n = 1}, {0}, IN0, OUT0, 0, 0},
    {"a group of 4 of 3 ranks", WEFT_ERR_PLAN, {.n = 4}, {0}, IN0, OUT0, 0, 0},
    {"with root 2", WEFT_ERR_PLAN, {.n = 2, .root = 2}, {0, 1}, IN0, OUT0, 0, 0},
    {"rank 1 of the group is named twice", WEFT_ERR_PLAN, {.n = 3}, {0, 1, 1}, IN0, OUT0, 0, 0},
    {"rank 9 of the group is not in the job", WEFT_ERR_PLAN, {.n = 2}, {0, 9}, IN0, OUT0, 0, 0},
    {"collective 5 has no plans",
     WEFT_ERR_PLAN,
     {.n = 2, .coll = WEFT_BARRIER},
     {0, 1},
     IN0,
     OUT0,
     0,
     0},
    {"no algorithm \"algo-rink\" is loaded, did you mean algo-ring?; loaded: algo-ring, "
     "algo-flat, own",
     WEFT_ERR_UNSUPPORTED,
     {.n = 2, .algo = "algo-rink"},
     {0, 1},
     IN0,
     OUT0,
     0,
     0},
    {"sub-plan by algo-ring: algo-ring has no plan for all_to_all",
     WEFT_ERR_UNSUPPORTED,
     {.n = 2, .coll = WEFT_ALL_TO_ALL},
     {0, 1},
     IN0,
     OUT0,
     0,
     0},
    {"this rank is not in the group", WEFT_ERR_PLAN, {.n = 2}, {1, 2}, IN0, OUT0, 0, 0},
    {"grid() comes first", WEFT_ERR_PLAN, {.n = 2}, {0, 1}, IN0, OUT0, 1, 0},
    {"inside a LOOP or a PAR", WEFT_ERR_PLAN, {.n = 2}, {0, 1}, IN0, OUT0, 2, 0},
    {"inside a LOOP or a PAR", WEFT_ERR_PLAN, {.n = 2}, {0, 1}, IN0, OUT0, 3, 0},
    {"call of sub-plan 1 of 1", WEFT_ERR_PLAN, {.n = 2}, {0, 1}, IN0, OUT0, 4, 0},
    {"both its buffers are scratch", WEFT_ERR_PLAN, {.n = 2}, {0, 1}, TMP0, TMP0, 0, 0},
    {"must be IN, OUT or TMP",
     WEFT_ERR_PLAN,
     {.n = 2},
     {0, 1},
     {WEFT_OPERAND_PORT, 0, 0},
     OUT0,
     0,
     0},
    {"its 2 chunks from 1 on do not fit in 2",
     WEFT_ERR_PLAN,
     {.n = 2},
     {0, 1},
     IN0,
     {WEFT_OPERAND_OUT, 1, 0},
     0,
     0},
    {"its 3 chunks from 0 on do not fit in 2", WEFT_ERR_PLAN, {.n = 3}, {0, 1, 2}, IN0, OUT0, 0, 2},
    {"writes in[1], which is read only", WEFT_ERR_PLAN, {.n = 2}, {0, 1}, IN0, IN0, 0, 0},
    {"are different pieces of 2",
     WEFT_ERR_PLAN,
     {.n = 2, .coll = WEFT_REDUCE_SCATTER},
     {0, 1},
     IN0,
     OUT0,
     0,
     2},
};

static weft_status_t packs(weft_algo_t *algo, const weft_algo_call_t *call,
                           const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    (void)algo, (void)view;
    b->grid(b, 1, 2);
    uint32_t lane = b->lane(b);
    weft_move_t move = {.src = {weft_tmp(0, 1)},
                        .ndst = 1,
                        .nsrc = 1,
                        .cnt = 2,
                        .flags = WEFT_MOVE_PACKED,
                        .like = weft_in(0, 0)};
    move.dst[0] = weft_port(b->port(b, lane, 1 - call->rank, 0, 1));
    b->move(b, lane, &move);
    return WEFT_OK;
}

static void a_part_must_not_pack(void **state)
{
    static const mistake_t part = {"call of own: a plan that is a part of another must not pack",
                                   WEFT_ERR_PLAN,
                                   {.n = 2, .algo = "own"},
                                   {0, 1},
                                   IN0,
                                   OUT0,
                                   0,
                                   0};
    (void)state;
    plan_subs_own = (weft_algo_ops_t){
        .size = sizeof plan_subs_own, .supports = plan_subs_serves, .emit = packs};
    current = &part;
    assert_null(plan_subs_emit(mistaken, WEFT_ALL_REDUCE, 3));
    assert_says(weft_error_record()->text, part.words);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        current = &cases[i];
        weft_plan_t **plans = plan_subs_emit(mistaken, WEFT_ALL_REDUCE, 3);
        if (plans != NULL || weft_error_record()->status != cases[i].status ||
            strstr(weft_error_record()->text, cases[i].words) == NULL) {
            fail_msg("expected \"%s\", got \"%s\"", cases[i].words, weft_error_record()->text);
        }
    }
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_must_not_pack),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, plan_subs_open, plan_subs_close);
}
