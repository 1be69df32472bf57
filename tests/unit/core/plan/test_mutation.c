/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Does the verifier see faults? Seeded damage to the built-in plans, judged out of place and in place
 * as the plan cache does; every survivor must be shown to
 * be a program that is still correct: the verifier finds for each element the same expression as in
 * the sound plan, and the reference executor, which knows nothing of the verifier, gets the right
 * numbers in many random interleavings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/error.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/plan_reference.h"

#define SLOTS 4
#define SLICES 2
#define ROUNDS 65
#define INTERLEAVINGS 10

static uint64_t seed = 20240607;

static uint32_t dice(uint32_t sides)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % sides;
}

/* Where the damage is done: one instruction of one lane. */
typedef struct place {
    weft_plan_t *plan;
    weft_plan_lane_t *lane;
    uint32_t pc; /* never the STOP */
} place_t;

static weft_move_t *move_at(const place_t *at)
{
    weft_code_t *code = &at->lane->code[at->pc];
    return code->opcode == WEFT_CODE_MOVE ? &at->plan->moves[code->n] : NULL;
}

/* LOOP and END know each other by pc. */
static void relink(weft_plan_lane_t *lane)
{
    uint32_t open = 0;
    for (uint32_t pc = 0; pc < lane->ncode; pc++) {
        if (lane->code[pc].opcode == WEFT_CODE_LOOP) {
            open = pc;
        } else if (lane->code[pc].opcode == WEFT_CODE_END) {
            lane->code[pc].mate = open;
            lane->code[open].mate = pc;
        }
    }
}

static void remove_code(weft_plan_lane_t *lane, uint32_t pc)
{
    memmove(&lane->code[pc], &lane->code[pc + 1], (lane->ncode - pc - 1) * sizeof *lane->code);
    lane->ncode--;
}

/* Each returns 0 if it cannot be done here. */
static int drop_instruction(const place_t *at)
{
    if (move_at(at) == NULL) {
        return 0;
    }
    int alone_in_loop = at->pc > 0 && at->lane->code[at->pc - 1].opcode == WEFT_CODE_LOOP;
    remove_code(at->lane, at->pc);
    if (alone_in_loop) {
        remove_code(at->lane, at->pc);
        remove_code(at->lane, at->pc - 1);
    }
    relink(at->lane);
    return 1;
}

static int swap_neighbours(const place_t *at)
{
    place_t next = {at->plan, at->lane, at->pc + 1};
    if (next.pc + 1 >= at->lane->ncode || move_at(at) == NULL || move_at(&next) == NULL) {
        return 0;
    }
    weft_code_t code = at->lane->code[at->pc];
    at->lane->code[at->pc] = at->lane->code[next.pc];
    at->lane->code[next.pc] = code;
    return 1;
}

static int shift_chunk(const place_t *at)
{
    weft_move_t *move = move_at(at);
    uint32_t count = move == NULL ? 0 : move->ndst + move->nsrc;
    for (uint32_t tries = 0; tries < count; tries++) {
        uint32_t i = dice(count);
        weft_operand_t *operand = i < move->ndst ? &move->dst[i] : &move->src[i - move->ndst];
        if (operand->kind != WEFT_OPERAND_PORT) {
            uint32_t chunks = weft_plan_chunks(at->plan, operand->kind);
            operand->index = (operand->index + (dice(2) == 0 ? 1 : chunks - 1)) % chunks;
            return chunks > 1;
        }
    }
    return 0;
}

static int drop_source(const place_t *at)
{
    weft_move_t *move = move_at(at);
    if (move == NULL || move->nsrc < 2) {
        return 0;
    }
    uint32_t i = dice(move->nsrc);
    memmove(&move->src[i], &move->src[i + 1], (move->nsrc - i - 1) * sizeof *move->src);
    move->nsrc--;
    return 1;
}

static int double_source(const place_t *at)
{
    weft_move_t *move = move_at(at);
    if (move == NULL || move->nsrc == WEFT_MOVE_MAX) {
        return 0;
    }
    move->src[move->nsrc] = move->src[dice(move->nsrc)];
    move->nsrc++;
    return 1;
}

static int drop_destination(const place_t *at)
{
    weft_move_t *move = move_at(at);
    if (move == NULL || move->ndst < 2) {
        return 0;
    }
    uint32_t i = dice(move->ndst);
    memmove(&move->dst[i], &move->dst[i + 1], (move->ndst - i - 1) * sizeof *move->dst);
    move->ndst--;
    return 1;
}

static int change_peer(const place_t *at)
{
    if (at->plan->nports == 0) {
        return 0;
    }
    weft_plan_port_t *port = &at->plan->ports[dice(at->plan->nports)];
    port->peer = (port->peer + 1 + dice(at->plan->nranks - 1)) % at->plan->nranks;
    return 1;
}

static int change_channel(const place_t *at)
{
    if (at->plan->nports == 0) {
        return 0;
    }
    at->plan->ports[dice(at->plan->nports)].channel ^= 1;
    return 1;
}

static int drop_port(const place_t *at)
{
    if (at->plan->nports == 0) {
        return 0;
    }
    at->plan->nports--;
    return 1;
}

static int wrong_port(const place_t *at)
{
    weft_move_t *move = move_at(at);
    for (uint32_t i = 0; move != NULL && i < move->ndst + move->nsrc; i++) {
        weft_operand_t *operand = i < move->ndst ? &move->dst[i] : &move->src[i - move->ndst];
        if (operand->kind == WEFT_OPERAND_PORT && at->plan->nports > 1) {
            operand->index = (operand->index + 1 + dice(at->plan->nports - 1)) % at->plan->nports;
            return 1;
        }
    }
    return 0;
}

static int wrong_source_buffer(const place_t *at)
{
    weft_move_t *move = move_at(at);
    for (uint32_t i = 0; move != NULL && i < move->nsrc; i++) {
        if (move->src[i].kind == WEFT_OPERAND_IN) {
            move->src[i].kind = WEFT_OPERAND_OUT;
            return 1;
        }
    }
    return 0;
}

static int drop_final(const place_t *at)
{
    weft_move_t *move = move_at(at);
    if (move == NULL || (move->flags & WEFT_MOVE_FINAL) == 0) {
        return 0;
    }
    move->flags = 0;
    return 1;
}

static int add_final(const place_t *at)
{
    weft_move_t *move = move_at(at);
    if (move == NULL || (move->flags & WEFT_MOVE_FINAL) != 0) {
        return 0;
    }
    move->flags = WEFT_MOVE_FINAL;
    return 1;
}

static int change_loop(const place_t *at)
{
    weft_code_t *code = &at->lane->code[at->pc];
    if (code->opcode != WEFT_CODE_LOOP) {
        return 0;
    }
    code->n += dice(2) == 0 ? 1u : UINT32_MAX;
    return 1;
}

static int change_stride(const place_t *at)
{
    weft_move_t *move = move_at(at);
    for (uint32_t i = 0; move != NULL && i < move->ndst + move->nsrc; i++) {
        weft_operand_t *operand = i < move->ndst ? &move->dst[i] : &move->src[i - move->ndst];
        /* A stride counts from the second iteration on. */
        if (operand->stride != 0 && at->lane->code[at->pc - 1].n > 1) {
            operand->stride += dice(2) == 0 ? 1 : -1;
            return 1;
        }
    }
    return 0;
}

static const struct fault {
    const char *name;
    int (*damage)(const place_t *at);
} faults[] = {
    {"drop instruction", drop_instruction},
    {"swap neighbours", swap_neighbours},
    {"chunk +-1", shift_chunk},
    {"drop source", drop_source},
    {"double source", double_source},
    {"drop destination", drop_destination},
    {"change peer", change_peer},
    {"change channel", change_channel},
    {"drop port", drop_port},
    {"wrong port", wrong_port},
    {"out for in", wrong_source_buffer},
    {"drop FINAL", drop_final},
    {"add FINAL", add_final},
    {"loop count +-1", change_loop},
    {"change stride", change_stride},
};

#define FAULTS (sizeof faults / sizeof *faults)

typedef struct tally {
    uint32_t done[FAULTS], reported[FAULTS], verdicts[WEFT_VERDICT_TOO_BIG + 1];
    uint32_t total, survivors;
} tally_t;

static void explain_survivor(tally_t *tally, size_t fault, weft_plan_t **plans, uint32_t n,
                             const place_t *at, const char *where, int same_expressions)
{
    tally->survivors++;
    int right = 1;
    for (uint64_t i = 1; i <= INTERLEAVINGS; i++) {
        right &= plan_reference_run(plans, n, SLOTS, SLICES, i) == PLAN_RIGHT;
    }
    if (!same_expressions || !right) {
        weft_plan_print(at->plan, stdout);
        fail_msg("%s, rank %u pc %u, %s: not seen, and %s", where, at->plan->rank, at->pc,
                 faults[fault].name, right ? "computes something else" : "wrong when executed");
    }
    printf("survivor: %s, rank %u pc %u, %s: steps that do not depend on each other changed "
           "places; every element has the same expression as before\n",
           where, at->plan->rank, at->pc, faults[fault].name);
}

static void try_fault(tally_t *tally, size_t fault, weft_plan_t *const *sound, uint32_t n,
                      const char *where)
{
    uint32_t rank = dice(n);
    place_t at = {.plan = plan_fixture_copy(sound[rank])};
    weft_plan_t **plans = calloc(n, sizeof *plans);
    memcpy(plans, sound, n * sizeof *plans);
    plans[rank] = at.plan;
    at.lane = &at.plan->lanes[dice(at.plan->nlanes)];
    at.pc = dice(at.lane->ncode - 1);
    if (faults[fault].damage(&at)) {
        weft_verify_report_t before = plan_fixture_verify(sound, n, SLOTS, SLICES, 0);
        weft_verify_report_t after = plan_fixture_verify(plans, n, SLOTS, SLICES, 0);
        if (after.verdict == WEFT_VERDICT_OK) {
            after = plan_fixture_verify(plans, n, SLOTS, SLICES, 1);
        }
        tally->total++;
        tally->done[fault]++;
        tally->verdicts[after.verdict]++;
        if (after.verdict != WEFT_VERDICT_OK) {
            tally->reported[fault]++;
            assert_true(after.text[0] != '\0');
        } else {
            explain_survivor(tally, fault, plans, n, &at, where,
                             before.fingerprint == after.fingerprint);
        }
    }
    weft_plan_destroy(at.plan);
    free(plans);
}

static void damage_plugin(tally_t *tally, const char *name)
{
    static const uint32_t sizes[] = {2, 3, 4, 5, 8};
    plan_fixture_t fixture;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, name);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (weft_coll_t coll = WEFT_ALL_REDUCE; coll < WEFT_BARRIER; coll++) {
            uint32_t n = sizes[s];
            uint32_t root = coll == WEFT_BROADCAST || coll == WEFT_REDUCE ? n - 1 : 0;
            weft_plan_t **plans = plan_fixture_emit(&fixture, coll, n, root);
            assert_non_null(plans);
            char where[64];
            snprintf(where, sizeof where, "%s %s of %u", name, weft_coll_name(coll), n);
            for (uint32_t round = 0; round < ROUNDS; round++) {
                try_fault(tally, round % FAULTS, plans, n, where);
            }
            plan_fixture_free(plans, n);
        }
    }
    plan_fixture_close(&fixture);
}

static void faults_are_reported_and_survivors_are_sound(void **state)
{
    (void)state;
    tally_t tally = {.total = 0};
    damage_plugin(&tally, "algo-ring");
    damage_plugin(&tally, "algo-flat");
    for (size_t i = 0; i < FAULTS; i++) {
        printf("%-18s %4u done %4u reported\n", faults[i].name, tally.done[i], tally.reported[i]);
    }
    for (weft_verdict_t v = WEFT_VERDICT_OK; v < WEFT_VERDICT_TOO_BIG; v++) {
        printf("%-18s %4u\n", weft_verdict_name(v), tally.verdicts[v]);
    }
    printf("%u faults, %u survivors, %.1f %% reported\n", tally.total, tally.survivors,
           100.0 * (tally.total - tally.survivors) / tally.total);
    assert_true(tally.total >= 1000);
    assert_true(tally.survivors * 100 <= tally.total * 3);
}

/* The oracle itself: right on sound plans, and stuck where a ring must be. */
static void reference_agrees_on_sound_plans(void **state)
{
    (void)state;
    plan_fixture_t fixture;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, "algo-ring");
    for (weft_coll_t coll = WEFT_ALL_REDUCE; coll < WEFT_BARRIER; coll++) {
        weft_plan_t **plans = plan_fixture_emit(&fixture, coll, 5, 0);
        assert_int_equal(plan_reference_run(plans, 5, SLOTS, SLICES, 1), PLAN_RIGHT);
        plan_fixture_free(plans, 5);
    }
    weft_plan_t **plans = plan_fixture_emit(&fixture, WEFT_ALL_REDUCE, 5, 0);
    assert_int_equal(plan_reference_run(plans, 5, 2, 3, 1), PLAN_STUCK);
    plan_fixture_free(plans, 5);
    plan_fixture_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_agrees_on_sound_plans),
        cmocka_unit_test(faults_are_reported_and_survivors_are_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
