/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Conformance of algo plugins: for 2 to 17 ranks, every collective and root, and the ends of every
 * parameter's range, a plugin either refuses with a reason or emits plans that are well formed, the
 * same every time, and proved by the verifier at several depths, out of place and in place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/plan/plan.h"
#include "core/plan/verify.h"
#include "tests/support/fake_host.h"

#define RANKS_MAX 17u
#define VERIFY_LIMIT 50000000u

typedef struct instance {
    const weft_plugin_t *plugin;
    const weft_algo_ops_t *ops;
    void *config;
    fake_host_t fake;
    weft_algo_t *algo;
} instance_t;

static const char *coll_name(weft_coll_t coll)
{
#define NAME(value, name, text, reduces, rooted, shape) [value] = text,
    static const char *const names[] = {WEFT_COLL_MAP(NAME)};
#undef NAME
    return names[coll];
}

static bool is_rooted(weft_coll_t coll)
{
    return coll == WEFT_BROADCAST || coll == WEFT_REDUCE;
}

static weft_algo_call_t call_of(const instance_t *instance, weft_coll_t coll, uint32_t nranks)
{
    weft_algo_call_t call = {.size = sizeof call, .coll = coll, .nranks = nranks};
    const weft_algo_param_t *param = instance->ops->params;
    for (size_t i = 0; param != NULL && param[i].name != NULL; i++) {
        call.params[i] = param[i].value;
    }
    return call;
}

/* Hosts in blocks of two ranks, so that the last may hold one. */
static weft_algo_view_t view_of(uint32_t nranks, uint32_t per_host, uint32_t host[RANKS_MAX])
{
    weft_algo_view_t view = {.size = sizeof view, .host = host};
    for (uint32_t r = 0; r < nranks; r++) {
        host[r] = r / per_host;
        view.nhosts = host[r] + 1;
    }
    return view;
}

static bool is_supported(instance_t *instance, const weft_algo_call_t *call)
{
    return instance->ops->supports(instance->algo, call) == WEFT_OK;
}

static void describe(const weft_algo_call_t *call, char *text, size_t size)
{
    snprintf(text, size, "%s, %u ranks, rank %u, root %u, first parameters %lld %lld",
             coll_name(call->coll), call->nranks, call->rank, call->root,
             (long long)call->params[0], (long long)call->params[1]);
}

static weft_plan_t *emitted(instance_t *instance, const weft_algo_call_t *call,
                            const weft_algo_view_t *view)
{
    weft_plan_t *plan = NULL;
    char text[160];
    if (weft_plan_emit(instance->ops, instance->algo, call, view, NULL, &plan) != WEFT_OK) {
        describe(call, text, sizeof text);
        fail_msg("%s: no plan", text);
    }
    return plan;
}

/* Proves one set of plans at one depth, out of place and in place. */
static void check_proof(weft_plan_t *const *plans, const weft_algo_call_t *call, uint32_t slots,
                        uint32_t slices)
{
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

static void check_call(instance_t *instance, weft_algo_call_t call, const weft_algo_view_t *view)
{
    static const uint32_t depths[][2] = {{2, 1}, {4, 3}, {8, 4}};
    weft_plan_t *plans[RANKS_MAX] = {NULL};
    if (!is_supported(instance, &call)) {
        return;
    }
    for (call.rank = 0; call.rank < call.nranks; call.rank++) {
        plans[call.rank] = emitted(instance, &call, view);
    }
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        check_proof(plans, &call, depths[i][0], depths[i][1]);
    }
    for (uint32_t r = 0; r < call.nranks; r++) {
        weft_plan_destroy(plans[r]);
    }
}

static void check_roots(instance_t *instance, weft_algo_call_t call, uint32_t per_host)
{
    uint32_t host[RANKS_MAX];
    const weft_algo_view_t view = view_of(call.nranks, per_host, host);
    const uint32_t roots = is_rooted(call.coll) ? call.nranks : 1;
    const uint32_t stride = call.nranks > 6 ? call.nranks - 1 : 1;
    for (call.root = 0; call.root < roots; call.root += stride) {
        check_call(instance, call, &view);
    }
}

static void every_supported_call_is_proved(void **state)
{
    for (weft_coll_t coll = 0; coll < WEFT_BARRIER; coll++) {
        for (uint32_t n = 2; n <= RANKS_MAX; n++) {
            weft_algo_call_t call = call_of(*state, coll, n);
            check_roots(*state, call, n);
            check_roots(*state, call, 2);
        }
    }
}

static void the_ends_of_every_parameter_are_proved(void **state)
{
    instance_t *instance = *state;
    const weft_algo_param_t *param = instance->ops->params;
    for (size_t i = 0; param != NULL && param[i].name != NULL; i++) {
        const int64_t values[] = {param[i].min, param[i].max};
        for (size_t v = 0; v < 2; v++) {
            for (uint32_t n = 2; n <= 5; n++) {
                weft_algo_call_t call = call_of(instance, WEFT_ALL_REDUCE, n);
                call.params[i] = values[v];
                check_roots(instance, call, n);
            }
        }
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
    uint32_t host[RANKS_MAX];
    for (weft_coll_t coll = 0; coll < WEFT_BARRIER; coll++) {
        for (uint32_t n = 2; n <= RANKS_MAX; n++) {
            weft_algo_call_t call = call_of(instance, coll, n);
            const weft_algo_view_t view = view_of(n, 2, host);
            for (; is_supported(instance, &call) && call.rank < n; call.rank++) {
                weft_plan_t *first = emitted(instance, &call, &view);
                weft_plan_t *again = emitted(instance, &call, &view);
                assert_true(weft_plan_hash(first) == weft_plan_hash(again));
                weft_plan_destroy(first);
                weft_plan_destroy(again);
            }
        }
    }
}

static void something_is_supported_and_refusals_give_a_reason(void **state)
{
    instance_t *instance = *state;
    uint32_t supported = 0;
    char text[512];
    for (weft_coll_t coll = 0; coll < WEFT_BARRIER; coll++) {
        for (uint32_t n = 2; n <= 4096; n *= 2) {
            weft_algo_call_t call = call_of(instance, coll, n);
            weft_status_t status = instance->ops->supports(instance->algo, &call);
            fake_host_take_error(&instance->fake, text, sizeof text);
            assert_true(status == WEFT_OK || status == WEFT_ERR_UNSUPPORTED);
            assert_true(status == WEFT_OK || text[0] != '\0');
            supported += status == WEFT_OK;
        }
    }
    assert_true(supported > 0);
}

/* All ranks must agree on what is supported, or some would wait for the others. */
static void support_does_not_depend_on_the_rank(void **state)
{
    for (weft_coll_t coll = 0; coll < WEFT_BARRIER; coll++) {
        for (uint32_t n = 2; n <= RANKS_MAX; n++) {
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

static int run_instance(instance_t *instance, const char *path)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_have_names_help_and_defaults_in_range),
        cmocka_unit_test(something_is_supported_and_refusals_give_a_reason),
        cmocka_unit_test(support_does_not_depend_on_the_rank),
        cmocka_unit_test(the_same_call_gives_the_same_plan),
        cmocka_unit_test(emitting_leaves_no_memory_behind),
        cmocka_unit_test(every_supported_call_is_proved),
        cmocka_unit_test(the_ends_of_every_parameter_are_proved),
    };
    int failures;
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        tests[i].initial_state = instance;
    }
    failures = cmocka_run_group_tests_name(path, tests, NULL, NULL);
    instance->ops->destroy(instance->algo);
    instance->ops->destroy(NULL);
    return failures + (instance->fake.live != 0);
}

static int run_plugin(const char *path)
{
    instance_t instance = {0};
    char why[512];
    int failures = 1;

    printf("TESTING %s\n", path);
    instance.plugin = fake_plugin_open(path, WEFT_KIND_ALGO, why, sizeof why);
    if (instance.plugin != NULL) {
        instance.config = fake_config_create(instance.plugin, NULL, why, sizeof why);
    }
    if (instance.config == NULL) {
        printf("FAILED %s: %s\n", path, why);
        return 1;
    }
    instance.ops = instance.plugin->ops;
    fake_host_init(&instance.fake, instance.plugin->name);
    if (instance.ops->create(&instance.fake.host, instance.config, &instance.algo) == WEFT_OK) {
        failures = run_instance(&instance, path);
    }
    fake_host_fini(&instance.fake);
    fake_config_destroy(instance.config);
    return failures;
}

int main(int argc, char **argv)
{
    int failures = argc < 2;
    for (int i = 1; i < argc; i++) {
        failures += run_plugin(argv[i]);
    }
    return failures != 0;
}
