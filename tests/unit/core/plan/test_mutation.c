/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Does the verifier see faults? Seeded damage to the plans of every algorithm of the build, judged
 * out of place and in place as the plan cache does, and by each proof alone, which must agree.
 * Every survivor must be shown to be a program that is still correct: the verifier finds for each
 * element the same expression as in the sound plan, and the reference executor, which knows nothing
 * of the verifier, gets the right numbers in many random interleavings. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/plan/plan_print.h"
#include "core/plan/verify.h"
#include "tests/support/fake_host.h"
#include "tests/support/plan_faults.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/plan_reference.h"
#include "tests/support/unit.h"

#define SLOTS 4
#define SLICES 2
#define ROUNDS 120
#define ALGOS_MAX 16
#define INTERLEAVINGS 10
#define ATTEMPTS 60 /* to see a fault in place */

typedef struct tally {
    uint32_t done[PLAN_FAULTS], reported[PLAN_FAULTS], verdicts[WEFT_VERDICT_TOO_BIG + 1];
    uint32_t total, survivors;
    uint32_t in_place, refused_in_place, harmless_in_place;
} tally_t;

/* One shape: its sound plans and what is proved of them. */
typedef struct sound {
    weft_plan_t **plans;
    uint32_t n;
    weft_verify_report_t reports[2];
    char where[112];
} sound_t;

static void prove(weft_plan_t *const *plans, uint32_t n, weft_verify_report_t reports[2])
{
    weft_verify_input_t input = {.plans = plans, .nranks = n, .slots = SLOTS, .slices = SLICES};
    assert_int_equal(weft_plan_prove(&input, reports), WEFT_OK);
}

/* What one run says of both forms must be what a run for each says. */
static void expect_agreement(weft_plan_t *const *plans, uint32_t n,
                             const weft_verify_report_t reports[2], const char *where)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        weft_verify_report_t alone = plan_fixture_verify(plans, n, SLOTS, SLICES, in_place);
        int ok = alone.verdict == WEFT_VERDICT_OK;
        if (ok != (reports[in_place].verdict == WEFT_VERDICT_OK) ||
            (ok && alone.fingerprint != reports[in_place].fingerprint) ||
            (ok && alone.vector != reports[in_place].vector)) {
            fail_msg("%s, in place %d: alone %s: %s; together %s: %s", where, in_place,
                     weft_verdict_name(alone.verdict), alone.text,
                     weft_verdict_name(reports[in_place].verdict), reports[in_place].text);
        }
    }
}

/* Does it come out right in so many random interleavings, out of place or in place? */
static int comes_out_right(weft_plan_t *const *plans, uint32_t n, int in_place, uint64_t times)
{
    for (uint64_t i = 1; i <= times; i++) {
        plan_outcome_t outcome = in_place ? plan_reference_run_in_place(plans, n, SLOTS, SLICES, i)
                                          : plan_reference_run(plans, n, SLOTS, SLICES, i);
        if (outcome != PLAN_RIGHT) {
            return 0;
        }
    }
    return 1;
}

/* What is proved in place only, or refused there only, is so when executed. A race may be lost in
 * every one of the interleavings, so it is only counted. */
static void expect_in_place(tally_t *tally, weft_plan_t *const *plans, uint32_t n,
                            const weft_verify_report_t reports[2], const char *where)
{
    if (reports[0].verdict != WEFT_VERDICT_OK) {
        return;
    }
    int right = comes_out_right(plans, n, 1, INTERLEAVINGS);
    if (reports[1].verdict == WEFT_VERDICT_OK) {
        tally->in_place++;
        if (!right) {
            fail_msg("%s: proved in place, and wrong when executed", where);
        }
        return;
    }
    right = right && comes_out_right(plans, n, 1, ATTEMPTS);
    tally->refused_in_place++;
    tally->harmless_in_place += (uint32_t)right;
    if (right && reports[1].verdict != WEFT_VERDICT_RACE) {
        fail_msg("%s: refused in place (%s), and right when executed", where, reports[1].text);
    }
}

static void explain_survivor(tally_t *tally, size_t fault, weft_plan_t **plans,
                             const sound_t *sound, const plan_place_t *at, int same_expressions)
{
    tally->survivors++;
    int right = comes_out_right(plans, sound->n, 0, INTERLEAVINGS);
    if (!same_expressions || !right) {
        weft_plan_print(at->plan, stdout);
        fail_msg("%s, rank %u pc %u, %s: not seen, and %s", sound->where, at->plan->rank, at->pc,
                 plan_faults[fault].name,
                 right ? "computes something else" : "wrong when executed");
    }
    printf("survivor: %s, rank %u pc %u, %s: steps that do not depend on each other changed "
           "places; every element has the same expression as before\n",
           sound->where, at->plan->rank, at->pc, plan_faults[fault].name);
}

/* Plans that do not serve in place anyway are judged out of place. */
static weft_verify_report_t judge(tally_t *tally, const sound_t *sound, weft_plan_t *const *plans)
{
    weft_verify_report_t reports[2];
    prove(plans, sound->n, reports);
    expect_agreement(plans, sound->n, reports, sound->where);
    expect_in_place(tally, plans, sound->n, reports, sound->where);
    int serves_in_place = sound->reports[1].verdict == WEFT_VERDICT_OK;
    return reports[reports[0].verdict == WEFT_VERDICT_OK && serves_in_place];
}

static void try_fault(tally_t *tally, size_t fault, const sound_t *sound)
{
    uint32_t rank = plan_dice(sound->n);
    plan_place_t at = {.plan = plan_fixture_copy(sound->plans[rank])};
    weft_plan_t **plans = calloc(sound->n, sizeof *plans);
    memcpy(plans, sound->plans, sound->n * sizeof *plans);
    plans[rank] = at.plan;
    at.lane = &at.plan->lanes[plan_dice(at.plan->nlanes)];
    at.pc = at.lane->ncode == 1 ? 0 : plan_dice(at.lane->ncode - 1);
    if (at.lane->ncode > 1 && plan_faults[fault].damage(&at)) {
        weft_verify_report_t after = judge(tally, sound, plans);
        tally->total++;
        tally->done[fault]++;
        tally->verdicts[after.verdict]++;
        if (after.verdict != WEFT_VERDICT_OK) {
            tally->reported[fault]++;
            assert_true(after.text[0] != '\0');
        } else {
            explain_survivor(tally, fault, plans, sound, &at,
                             sound->reports[0].fingerprint == after.fingerprint);
        }
    }
    weft_plan_destroy(at.plan);
    free(plans);
}

typedef struct algo {
    char name[64];
    void *config;
    plan_fixture_t fixture;
} algo_t;

static algo_t algos[ALGOS_MAX];
static plan_fixture_t *fixtures[ALGOS_MAX + 1];

static void damage_shape(tally_t *tally, algo_t *algo, const weft_algo_call_t *call,
                         uint32_t per_host)
{
    uint32_t host[16];
    weft_algo_topo_t view = {.size = sizeof view, .host = host};
    for (uint32_t rank = 0; rank < call->nranks; rank++) {
        host[rank] = rank / per_host;
        view.nhosts = host[rank] + 1;
    }
    const weft_plan_finder_t finder = {.find = plan_fixture_find, .arg = fixtures};
    sound_t sound = {.n = call->nranks};
    snprintf(sound.where, sizeof sound.where, "%s %s of %u, %u hosts, %u in a message", algo->name,
             weft_coll_name(call->coll), call->nranks, view.nhosts, weft_algo_call_pack(call));
    sound.plans = plan_fixture_emit_view(&algo->fixture, call, &view, &finder);
    if (sound.plans == NULL && weft_error_record()->status == WEFT_ERR_UNSUPPORTED) {
        return;
    }
    if (sound.plans == NULL) {
        fail_msg("%s: %s", sound.where, weft_error_record()->text);
    }
    prove(sound.plans, sound.n, sound.reports);
    expect_agreement(sound.plans, sound.n, sound.reports, sound.where);
    assert_int_equal(sound.reports[0].verdict, WEFT_VERDICT_OK);
    expect_in_place(tally, sound.plans, sound.n, sound.reports, sound.where);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        try_fault(tally, round % PLAN_FAULTS, &sound);
    }
    plan_fixture_free(sound.plans, sound.n);
}

static uint32_t packs_at_most(const algo_t *algo, const weft_algo_call_t *call)
{
    const weft_algo_ops_t *ops = algo->fixture.ops;
    return WEFT_HAS(ops, weft_algo_ops_t, pack) && ops->pack != NULL
               ? ops->pack(algo->fixture.algo, call)
               : 1;
}

static uint32_t damage_algo(tally_t *tally, algo_t *algo)
{
    static const uint32_t sizes[] = {2, 3, 4, 5, 8};
    uint32_t shapes = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (weft_coll_t coll = WEFT_ALL_REDUCE; coll < WEFT_COLL_COUNT; coll++) {
            weft_algo_call_t call = {.size = sizeof call, .coll = coll, .nranks = sizes[s]};
            const weft_algo_param_t *param = algo->fixture.ops->params;
            for (size_t i = 0; param != NULL && param[i].name != NULL; i++) {
                call.params[i] = param[i].value;
            }
            if (!weft_coll_has_plan(coll) ||
                algo->fixture.ops->supports(algo->fixture.algo, &call) != WEFT_OK) {
                continue;
            }
            call.root = weft_coll_is_rooted(coll) ? sizes[s] - 1 : 0;
            uint32_t most = packs_at_most(algo, &call);
            damage_shape(tally, algo, &call, sizes[s]);
            damage_shape(tally, algo, &call, 2);
            shapes += 2;
            for (call.pack = 2; call.pack <= most; call.pack++, shapes++) {
                damage_shape(tally, algo, &call, sizes[s]);
            }
        }
    }
    return shapes;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const algo_t *)a)->name, ((const algo_t *)b)->name);
}

/* Defaults of its option table. */
static void open_algo(algo_t *algo)
{
    char path[512], why[256];
    snprintf(path, sizeof path, "%s/%.100s.so", WEFT_PLUGIN_DIR, algo->name);
    const weft_plugin_t *plugin = fake_plugin_open(path, WEFT_KIND_ALGO, why, sizeof why);
    algo->config = plugin == NULL ? NULL : fake_config_create(plugin, NULL, why, sizeof why);
    if (algo->config == NULL) {
        fail_msg("%s: %s", path, why);
    }
    plan_fixture_open_with(&algo->fixture, WEFT_PLUGIN_DIR, algo->name, algo->config);
}

static uint32_t open_algos(void)
{
    DIR *folder = opendir(WEFT_PLUGIN_DIR);
    assert_non_null(folder);
    uint32_t count = 0;
    for (struct dirent *e = readdir(folder); e != NULL; e = readdir(folder)) {
        size_t length = strlen(e->d_name);
        if (strncmp(e->d_name, "algo-", 5) != 0 || length < 8 ||
            strcmp(&e->d_name[length - 3], ".so") != 0) {
            continue;
        }
        assert_true(count < ALGOS_MAX);
        snprintf(algos[count].name, sizeof algos[count].name, "%.*s", (int)(length - 3), e->d_name);
        count++;
    }
    closedir(folder);
    qsort(algos, count, sizeof *algos, compare_names);
    for (uint32_t i = 0; i < count; i++) {
        open_algo(&algos[i]);
        fixtures[i] = &algos[i].fixture;
    }
    return count;
}

static void faults_are_reported_and_survivors_are_sound(void **state)
{
    (void)state;
    tally_t tally = {.total = 0};
    uint32_t count = open_algos();
    for (uint32_t i = 0; i < count; i++) {
        tally_t before = tally;
        uint32_t shapes = damage_algo(&tally, &algos[i]);
        printf("%-18s %4u shapes %4u faults %4u survivors\n", algos[i].name, shapes,
               tally.total - before.total, tally.survivors - before.survivors);
    }
    for (uint32_t i = 0; i < count; i++) {
        plan_fixture_close(&algos[i].fixture);
        fake_config_destroy(algos[i].config);
    }
    for (size_t i = 0; i < PLAN_FAULTS; i++) {
        printf("%-18s %4u done %4u reported\n", plan_faults[i].name, tally.done[i],
               tally.reported[i]);
    }
    for (weft_verdict_t v = WEFT_VERDICT_OK; v < WEFT_VERDICT_TOO_BIG; v++) {
        printf("%-18s %4u\n", weft_verdict_name(v), tally.verdicts[v]);
    }
    printf(
        "%u executed in place, %u refused there only, of which %u harmless in %u interleavings\n",
        tally.in_place, tally.refused_in_place, tally.harmless_in_place, ATTEMPTS);
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
        assert_int_equal(plan_reference_run_in_place(plans, 5, SLOTS, SLICES, 1), PLAN_RIGHT);
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
