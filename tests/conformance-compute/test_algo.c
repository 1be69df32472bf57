/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Conformance of algo plugins: for 2 to 17 ranks and some up to 64, on one host and on several,
 * every collective, some roots, several numbers of chunks in a message, and the ends of every
 * parameter's range, a plugin either refuses with a reason or emits plans that are well formed, the
 * same every time, proved by the verifier at several depths, out of place and in place, and run to
 * the right result by the reference executor, which shares no code with it. What each plugin claims
 * is printed at the end.
 *   test-conformance-compute-algo [NAME…]     plugins of the build, all if none is named */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/plan/builder.h"
#include "core/plan/plan_ir.h"
#include "core/plan/verify.h"
#include "tests/support/fake_host.h"
#include "tests/support/plan_places.h"
#include "tests/support/plan_reference.h"
#include "tests/support/unit.h"

#define RANKS_ALL 17u
#define PLUGINS_MAX 32u
#define VERIFY_LIMIT 50000000u

/* Numbers of ranks beyond those that are all tried: one more and one less than powers of two, odd,
 * even, prime. */
static const uint32_t sampled[] = {24, 31, 32, 33, 48, 63, 64};
#define SAMPLED (sizeof sampled / sizeof sampled[0])

/* Plugins that serve nothing before they are configured. */
static const char *const idle[] = {"algo-file", NULL};

/* What was proved of one collective. */
typedef struct claim {
    bool proved[PLACES_RANKS_MAX + 1];
    bool staged; /* not proved in place: the core uses a copy */
    weft_vector_t vector;
    uint64_t plans;
    char why[256]; /* first refusal */
} claim_t;

typedef struct instance {
    const weft_plugin_t *plugin;
    const weft_algo_ops_t *ops;
    void *config;
    fake_host_t fake;
    weft_algo_t *algo;
    claim_t claims[WEFT_COLL_COUNT];
} instance_t;

static instance_t instances[PLUGINS_MAX];
static uint32_t ninstances;

static weft_algo_call_t call_of(const instance_t *instance, weft_coll_t coll, uint32_t nranks)
{
    weft_algo_call_t call = {.size = sizeof call, .coll = coll, .nranks = nranks};
    const weft_algo_param_t *param = instance->ops->params;
    for (size_t i = 0; param != NULL && param[i].name != NULL; i++) {
        call.params[i] = param[i].value;
    }
    return call;
}

static bool is_supported(instance_t *instance, const weft_algo_call_t *call)
{
    return instance->ops->supports(instance->algo, call) == WEFT_OK;
}

static void describe(const weft_algo_call_t *call, char *text, size_t size)
{
    snprintf(text, size,
             "%s, %u ranks, rank %u, root %u, %u chunks in a message, first parameters %lld %lld",
             weft_coll_name(call->coll), call->nranks, call->rank, call->root,
             weft_algo_call_pack(call), (long long)call->params[0], (long long)call->params[1]);
}

static weft_status_t find_instance(void *arg, const char *name, const weft_algo_ops_t **ops_p,
                                   weft_algo_t **algo_p)
{
    (void)arg;
    for (uint32_t i = 0; i < ninstances; i++) {
        if (strcmp(instances[i].plugin->name, name) == 0) {
            *ops_p = instances[i].ops;
            *algo_p = instances[i].algo;
            return WEFT_OK;
        }
    }
    return WEFT_ERR_UNSUPPORTED;
}

/* Returns the most chunks that MOVEs of the call may pack, at least 1. */
static uint32_t packs_at_most(const instance_t *instance, const weft_algo_call_t *call)
{
    const weft_algo_ops_t *ops = instance->ops;
    uint32_t most = WEFT_HAS(ops, weft_algo_ops_t, pack) && ops->pack != NULL
                        ? ops->pack(instance->algo, call)
                        : 1;
    return most == 0 ? 1 : most < WEFT_PACK_MAX ? most : WEFT_PACK_MAX;
}

/* NULL: the algorithm refuses what the view says, which may be all that speaks against it. */
static weft_plan_t *emitted(instance_t *instance, const weft_algo_call_t *call,
                            const weft_algo_topo_t *view)
{
    const weft_plan_finder_t finder = {.find = find_instance};
    claim_t *claim = &instance->claims[call->coll];
    weft_plan_t *plan = NULL;
    char text[160];
    char why[sizeof claim->why];
    weft_status_t status =
        weft_plan_emit(instance->ops, instance->algo, call, view, &finder, &plan);
    fake_host_take_error(&instance->fake, why, sizeof why);
    if (status == WEFT_ERR_UNSUPPORTED && why[0] != '\0') {
        if (claim->why[0] == '\0') {
            memcpy(claim->why, why, sizeof why);
        }
        return NULL;
    }
    if (status != WEFT_OK) {
        describe(call, text, sizeof text);
        fail_msg("%s: no plan: %s: %s", text, why, weft_error_record()->text);
    }
    return plan;
}

/* Proves one set of plans at one depth, out of place and in place. An all-to-all may need other
 * memory in place: the core makes a copy then. */
static void check_proof(instance_t *instance, weft_plan_t *const *plans,
                        const weft_algo_call_t *call, uint32_t slots, uint32_t slices)
{
    claim_t *claim = &instance->claims[call->coll];
    char text[160];
    for (int in_place = 0; in_place <= 1; in_place++) {
        const weft_verify_input_t input = {.plans = plans,
                                           .nranks = call->nranks,
                                           .slots = slots,
                                           .slices = slices,
                                           .in_place = in_place,
                                           .limit = VERIFY_LIMIT};
        weft_verify_report_t report = {0};
        assert_int_equal(weft_plan_verify(&input, &report), WEFT_OK);
        if (in_place && call->coll == WEFT_ALL_TO_ALL && report.verdict != WEFT_VERDICT_OK) {
            claim->staged = true;
            continue;
        }
        claim->vector = in_place || call->pack > 1 ? claim->vector : report.vector;
        if (report.verdict != WEFT_VERDICT_OK) {
            describe(call, text, sizeof text);
            fail_msg("%s, %u slots, %u slices, in place %d: %s: %s", text, slots, slices, in_place,
                     weft_verdict_name(report.verdict), report.text);
        }
        if (call->coll == WEFT_ALL_REDUCE && !report.same_on_all_ranks) {
            describe(call, text, sizeof text);
            fail_msg("%s: ranks get different bits", text);
        }
    }
}

/* Runs one set of plans on real numbers. */
static void check_run(weft_plan_t *const *plans, const weft_algo_call_t *call, uint32_t slots,
                      uint32_t slices)
{
    static const char *const outcomes[] = {
        [PLAN_RIGHT] = "right", [PLAN_WRONG] = "wrong numbers", [PLAN_STUCK] = "stuck"};
    char text[160];
    plan_outcome_t outcome =
        plan_reference_run(plans, call->nranks, slots, slices, call->nranks + call->root);
    if (outcome != PLAN_RIGHT) {
        describe(call, text, sizeof text);
        fail_msg("%s, %u slots, %u slices, executed: %s", text, slots, slices, outcomes[outcome]);
    }
}

static void check_plans(instance_t *instance, weft_plan_t *const *plans,
                        const weft_algo_call_t *call)
{
    static const uint32_t depths[][2] = {{8, 4}, {2, 1}, {4, 3}};
    size_t ndepths = call->nranks <= RANKS_ALL ? 3 : 1;
    for (size_t i = 0; i < ndepths; i++) {
        check_proof(instance, plans, call, depths[i][0], depths[i][1]);
    }
    check_run(plans, call, 2, 1);
    if (call->nranks <= RANKS_ALL) {
        check_run(plans, call, 4, 3);
    }
}

static void check_call(instance_t *instance, weft_algo_call_t call, const weft_algo_topo_t *view)
{
    weft_plan_t *plans[PLACES_RANKS_MAX] = {NULL};
    claim_t *claim = &instance->claims[call.coll];
    if (!is_supported(instance, &call)) {
        if (claim->why[0] == '\0') {
            fake_host_take_error(&instance->fake, claim->why, sizeof claim->why);
        }
        return;
    }
    uint32_t written = 0;
    for (call.rank = 0; call.rank < call.nranks; call.rank++) {
        plans[call.rank] = emitted(instance, &call, view);
        written += plans[call.rank] != NULL;
    }
    /* All ranks must agree, or some would wait for the others. */
    assert_true(written == 0 || written == call.nranks);
    if (written > 0) {
        check_plans(instance, plans, &call);
        claim->proved[call.nranks] = true;
        claim->plans++;
    }
    for (uint32_t r = 0; r < call.nranks; r++) {
        weft_plan_destroy(plans[r]);
    }
}

static void check_roots(instance_t *instance, weft_algo_call_t call, spread_t spread)
{
    weft_topo_view_t view;
    assert_int_equal(places_init(&view, call.nranks, spread), WEFT_OK);
    const uint32_t roots = weft_coll_is_rooted(call.coll) ? call.nranks : 1;
    const uint32_t stride = call.nranks > RANKS_ALL ? call.nranks
                            : call.nranks > 6       ? call.nranks - 1
                                                    : 1;
    for (call.root = 0; call.root < roots; call.root += stride) {
        call.pack = 0;
        check_call(instance, call, &view.topo);
        uint32_t most = is_supported(instance, &call) ? packs_at_most(instance, &call) : 1;
        for (call.pack = 2; call.pack <= most; call.pack = places_next_pack(call.pack, most)) {
            check_call(instance, call, &view.topo);
        }
    }
    weft_topo_view_fini(&view);
}

static void check_ranks(instance_t *instance, uint32_t n)
{
    for (weft_coll_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        if (weft_coll_has_plan(coll)) {
            weft_algo_call_t call = call_of(instance, coll, n);
            for (spread_t spread = 0; spread < SPREADS; spread++) {
                check_roots(instance, call, spread);
            }
        }
    }
}

static void every_supported_call_is_proved_and_runs(void **state)
{
    for (uint32_t n = 2; n <= RANKS_ALL; n++) {
        check_ranks(*state, n);
    }
}

static void sampled_calls_of_many_ranks_are_proved_and_run(void **state)
{
    for (size_t i = 0; i < SAMPLED; i++) {
        check_ranks(*state, sampled[i]);
    }
}

static void check_parameter(instance_t *instance, size_t param, int64_t value)
{
    static const uint32_t ranks[] = {2, 3, 5, 8};
    for (weft_coll_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        for (size_t i = 0; weft_coll_has_plan(coll) && i < sizeof ranks / sizeof ranks[0]; i++) {
            weft_algo_call_t call = call_of(instance, coll, ranks[i]);
            call.params[param] = value;
            for (spread_t spread = 0; spread < SPREADS; spread++) {
                check_roots(instance, call, spread);
            }
        }
    }
}

static void the_ends_of_every_parameter_are_proved(void **state)
{
    instance_t *instance = *state;
    const weft_algo_param_t *param = instance->ops->params;
    for (size_t i = 0; param != NULL && param[i].name != NULL; i++) {
        check_parameter(instance, i, param[i].min);
        check_parameter(instance, i, param[i].max);
    }
}

static void parameters_have_names_help_and_defaults_in_range(void **state)
{
    const instance_t *instance = *state;
    const weft_algo_param_t *param = instance->ops->params;
    for (size_t i = 0; param != NULL && param[i].name != NULL; i++) {
        assert_true(i < WEFT_ALGO_PARAMS_MAX);
        assert_true(param[i].name[0] != '\0');
        assert_non_null(param[i].help);
        assert_true(param[i].min <= param[i].value && param[i].value <= param[i].max);
    }
}

static void the_same_call_gives_the_same_plan(void **state)
{
    instance_t *instance = *state;
    for (weft_coll_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        for (uint32_t n = 2; weft_coll_has_plan(coll) && n <= RANKS_ALL; n++) {
            weft_algo_call_t call = call_of(instance, coll, n);
            weft_topo_view_t view;
            assert_int_equal(places_init(&view, n, SCATTERED), WEFT_OK);
            for (; is_supported(instance, &call) && call.rank < n; call.rank++) {
                weft_plan_t *first = emitted(instance, &call, &view.topo);
                weft_plan_t *again = emitted(instance, &call, &view.topo);
                assert_true((first == NULL) == (again == NULL));
                assert_true(first == NULL || weft_plan_hash(first) == weft_plan_hash(again));
                weft_plan_destroy(first);
                weft_plan_destroy(again);
            }
            weft_topo_view_fini(&view);
        }
    }
}

static bool is_idle(const char *name)
{
    const char *const *at = idle;
    while (*at != NULL && strcmp(*at, name) != 0) {
        at++;
    }
    return *at != NULL;
}

static void something_is_supported_and_refusals_give_a_reason(void **state)
{
    instance_t *instance = *state;
    uint32_t supported = 0;
    char text[512];
    bool may_be_idle = is_idle(instance->plugin->name);
    for (weft_coll_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        for (uint32_t n = 2; weft_coll_has_plan(coll) && n <= 4096; n *= 2) {
            weft_algo_call_t call = call_of(instance, coll, n);
            weft_status_t status = instance->ops->supports(instance->algo, &call);
            fake_host_take_error(&instance->fake, text, sizeof text);
            assert_true(status == WEFT_OK || status == WEFT_ERR_UNSUPPORTED);
            assert_true(status == WEFT_OK || text[0] != '\0');
            supported += status == WEFT_OK;
        }
    }
    assert_true(supported > 0 || may_be_idle);
}

/* All ranks must agree on what is supported, or some would wait for the others. */
static void support_does_not_depend_on_the_rank(void **state)
{
    for (weft_coll_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        for (uint32_t n = 2; weft_coll_has_plan(coll) && n <= RANKS_ALL; n++) {
            weft_algo_call_t call = call_of(*state, coll, n);
            bool first = is_supported(*state, &call);
            for (call.rank = 1; call.rank < n; call.rank++) {
                assert_int_equal(is_supported(*state, &call), first);
            }
        }
    }
}

static void emitting_leaves_no_memory_behind(void **state)
{
    instance_t *instance = *state;
    const uint64_t before = instance->fake.live;
    the_same_call_gives_the_same_plan(state);
    assert_int_equal(instance->fake.live, before);
}

static int run_instance(instance_t *instance)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_have_names_help_and_defaults_in_range),
        cmocka_unit_test(something_is_supported_and_refusals_give_a_reason),
        cmocka_unit_test(support_does_not_depend_on_the_rank),
        cmocka_unit_test(the_same_call_gives_the_same_plan),
        cmocka_unit_test(emitting_leaves_no_memory_behind),
        cmocka_unit_test(every_supported_call_is_proved_and_runs),
        cmocka_unit_test(sampled_calls_of_many_ranks_are_proved_and_run),
        cmocka_unit_test(the_ends_of_every_parameter_are_proved),
    };
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        tests[i].initial_state = instance;
    }
    return cmocka_run_group_tests_name(instance->plugin->name, tests, NULL, NULL);
}

/* "2-17 24 31-33": numbers of ranks that were tried and proved. */
static void print_ranks(const claim_t *claim)
{
    static const char *const vectors[] = {"", ", blocks of any length", ", pairs of any length",
                                          ", pairs of any length"};
    for (uint32_t n = 2; n <= PLACES_RANKS_MAX; n++) {
        uint32_t last = n;
        while (claim->proved[n] && last < PLACES_RANKS_MAX && claim->proved[last + 1]) {
            last++;
        }
        if (claim->proved[n]) {
            printf(last > n ? " %u-%u" : " %u", n, last);
        }
        n = last;
    }
    printf(" ranks, %llu plans%s%s\n", (unsigned long long)claim->plans, vectors[claim->vector],
           claim->staged ? ", in place by a copy" : "");
}

static void print_claims(const instance_t *instance)
{
    printf("%s claims, proved and executed:\n", instance->plugin->name);
    for (weft_coll_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        const claim_t *claim = &instance->claims[coll];
        if (!weft_coll_has_plan(coll)) {
            continue;
        }
        printf("  %-15s", weft_coll_name(coll));
        if (claim->plans > 0) {
            print_ranks(claim);
        } else {
            printf(" not claimed: %s\n", claim->why);
        }
    }
}

static int open_plugin(const char *name)
{
    instance_t *instance = &instances[ninstances];
    char path[1024];
    char why[512] = "too many plugins";
    snprintf(path, sizeof path, "%s/%s", WEFT_PLUGIN_DIR, name);
    instance->plugin = ninstances < PLUGINS_MAX - 1
                           ? fake_plugin_open(path, WEFT_KIND_ALGO, why, sizeof why)
                           : NULL;
    if (instance->plugin != NULL) {
        instance->config = fake_config_create(instance->plugin, NULL, why, sizeof why);
    }
    if (instance->config == NULL) {
        printf("FAILED %s: %s\n", path, why);
        return 1;
    }
    instance->ops = instance->plugin->ops;
    fake_host_init(&instance->fake, instance->plugin->name);
    if (instance->ops->create(&instance->fake.host, instance->config, &instance->algo) != WEFT_OK) {
        printf("FAILED %s: create\n", path);
        return 1;
    }
    ninstances++;
    return 0;
}

/* Every algo-*.so of the build: a plan may have parts of other algorithms. */
static int open_all(void)
{
    DIR *folder = opendir(WEFT_PLUGIN_DIR);
    int failures = folder == NULL;
    for (struct dirent *e = folder != NULL ? readdir(folder) : NULL; e != NULL;
         e = readdir(folder)) {
        size_t length = strlen(e->d_name);
        if (strncmp(e->d_name, "algo-", 5) == 0 && length > 3 &&
            strcmp(e->d_name + length - 3, ".so") == 0) {
            failures += open_plugin(e->d_name);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return failures;
}

static int close_all(void)
{
    int failures = 0;
    for (uint32_t i = 0; i < ninstances; i++) {
        instance_t *instance = &instances[i];
        instance->ops->destroy(instance->algo);
        instance->ops->destroy(NULL);
        failures += instance->fake.live != 0;
        fake_host_fini(&instance->fake);
        fake_config_destroy(instance->config);
    }
    return failures;
}

static bool is_wanted(const char *name, int argc, char **argv)
{
    bool wanted = argc < 2;
    for (int i = 1; i < argc; i++) {
        wanted = wanted || strcmp(argv[i], name) == 0;
    }
    return wanted;
}

int main(int argc, char **argv)
{
    uint32_t ran = 0;
    int failures = open_all();
    for (uint32_t i = 0; i < ninstances; i++) {
        if (is_wanted(instances[i].plugin->name, argc, argv)) {
            failures += run_instance(&instances[i]);
            ran++;
        }
    }
    printf("\nNumbers of ranks: all from 2 to %u, then", RANKS_ALL);
    for (size_t i = 0; i < SAMPLED; i++) {
        printf(" %u", sampled[i]);
    }
    printf("; roots: all up to 6 ranks, then the first and the last, beyond %u the first.\n",
           RANKS_ALL);
    for (uint32_t i = 0; i < ninstances; i++) {
        if (is_wanted(instances[i].plugin->name, argc, argv)) {
            print_claims(&instances[i]);
        }
    }
    failures += close_all();
    return failures != 0 || ran != (argc > 1 ? (uint32_t)argc - 1 : ninstances) || ran == 0;
}
