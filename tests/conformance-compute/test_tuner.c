/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Conformance of tuner plugins: whatever the model says, the choice is one of the candidates,
 * inside the limits of the call, the same every time, and explained. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <weft/plugin/tuner.h>

#include "tests/support/fake_host.h"

typedef struct instance {
    const weft_plugin_t *plugin;
    const weft_tuner_ops_t *ops;
    void *config;
    fake_host_t fake;
    weft_tuner_t *tuner;
} instance_t;

/* Every candidate's `core` points to its model. */
typedef struct model {
    double alpha, beta;
} model_t;

static const model_t models[] = {{1e-6, 1e-10}, {5e-6, 4e-11}, {2e-6, 2e-10}};
static const weft_tuner_candidate_t candidates[] = {
    {sizeof(weft_tuner_candidate_t), "algo-one", "", 4, 6, &models[0], 1},
    {sizeof(weft_tuner_candidate_t), "algo-two", "k=8", 8, 14, &models[1], 1},
    {sizeof(weft_tuner_candidate_t), "algo-three", "", 1, 2, &models[2], 1},
};
#define NCANDIDATES 3u

static const weft_tuner_call_t usual = {
    .size = sizeof(weft_tuner_call_t),
    .coll = WEFT_ALL_REDUCE,
    .dtype = WEFT_FP32,
    .op = WEFT_SUM,
    .count = 1 << 18,
    .bytes = 1 << 20,
    .nranks = 4,
    .nhosts = 1,
    .slot_bytes = 65536,
    .slots = 8,
};

/* A pipeline of slices, and a check that the tuner only asks for what is allowed. */
static double priced(const weft_tuner_call_t *call, const weft_tuner_candidate_t *candidate,
                     uint32_t slices, uint64_t slice_bytes)
{
    const model_t *model = candidate->core;
    const double passes = (double)call->bytes / candidate->chunks / slices / (double)slice_bytes;
    const double slice = model->alpha + (double)slice_bytes * model->beta;
    assert_true(slices >= 1 && slices < call->slots);
    assert_true(slice_bytes > 0 && slice_bytes <= call->slot_bytes && slice_bytes % 64 == 0);
    return slice * (candidate->steps + slices * (passes < 1 ? 1 : ceil(passes)));
}

static double all_equal(const weft_tuner_call_t *call, const weft_tuner_candidate_t *candidate,
                        uint32_t slices, uint64_t slice_bytes)
{
    (void)call;
    (void)candidate;
    (void)slices;
    (void)slice_bytes;
    return 1e-6;
}

static double never_finite(const weft_tuner_call_t *call, const weft_tuner_candidate_t *candidate,
                           uint32_t slices, uint64_t slice_bytes)
{
    (void)call;
    (void)candidate;
    (void)slices;
    return slice_bytes > 4096 ? (double)INFINITY : (double)NAN;
}

static weft_tuner_choice_t chosen(instance_t *instance, const weft_tuner_call_t *call,
                                  weft_tuner_cost_fn_t cost)
{
    weft_tuner_choice_t choice;
    memset(&choice, 0, sizeof choice);
    choice.size = sizeof choice;
    choice.index = NCANDIDATES;
    assert_int_equal(
        instance->ops->choose(instance->tuner, call, candidates, NCANDIDATES, cost, &choice),
        WEFT_OK);
    assert_int_equal(choice.size, sizeof choice);
    assert_true(choice.index < NCANDIDATES);
    assert_true(choice.slices >= 1 && choice.slices < call->slots);
    assert_true(choice.slice_bytes > 0 && choice.slice_bytes <= call->slot_bytes);
    assert_int_equal(choice.slice_bytes % 64, 0);
    assert_true(choice.reason[0] != '\0');
    assert_non_null(memchr(choice.reason, '\0', sizeof choice.reason));
    return choice;
}

static void choices_stay_inside_the_limits_for_all_sizes(void **state)
{
    static const uint64_t slot_bytes[] = {64, 100, 4096, 5000, 65536, 1 << 20};
    for (uint32_t slots = 2; slots <= 9; slots++) {
        for (size_t s = 0; s < sizeof slot_bytes / sizeof slot_bytes[0]; s++) {
            weft_tuner_call_t call = usual;
            call.slots = slots;
            call.slot_bytes = slot_bytes[s];
            for (call.bytes = 0; call.bytes < 1ull << 40; call.bytes = call.bytes * 3 + 1) {
                chosen(*state, &call, priced);
            }
        }
    }
}

static void every_collective_gets_a_choice(void **state)
{
    for (weft_coll_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        weft_tuner_call_t call = usual;
        call.coll = coll;
        call.bytes = coll == WEFT_BARRIER ? 0 : call.bytes;
        chosen(*state, &call, priced);
    }
}

static void the_same_question_gets_the_same_answer(void **state)
{
    const weft_tuner_choice_t first = chosen(*state, &usual, priced);
    weft_tuner_call_t other = usual;
    other.bytes = 8;
    chosen(*state, &other, priced);
    const weft_tuner_choice_t again = chosen(*state, &usual, priced);
    assert_memory_equal(&first, &again, sizeof first);
}

static void another_instance_gives_the_same_answer(void **state)
{
    instance_t *instance = *state, second = *instance;
    const weft_tuner_choice_t first = chosen(instance, &usual, priced);
    assert_int_equal(instance->ops->create(&instance->fake.host, instance->config, &second.tuner),
                     WEFT_OK);
    const weft_tuner_choice_t again = chosen(&second, &usual, priced);
    instance->ops->destroy(second.tuner);
    assert_memory_equal(&first, &again, sizeof first);
}

static void equal_costs_still_give_one_answer(void **state)
{
    const weft_tuner_choice_t first = chosen(*state, &usual, all_equal);
    const weft_tuner_choice_t again = chosen(*state, &usual, all_equal);
    assert_memory_equal(&first, &again, sizeof first);
}

static void a_model_without_finite_times_ends_in_a_choice_or_an_error_in_words(void **state)
{
    instance_t *instance = *state;
    weft_tuner_choice_t choice = {.size = sizeof choice};
    char text[256];
    weft_status_t status = instance->ops->choose(instance->tuner, &usual, candidates, NCANDIDATES,
                                                 never_finite, &choice);
    fake_host_take_error(&instance->fake, text, sizeof text);
    assert_true(status == WEFT_OK ? choice.index < NCANDIDATES : text[0] != '\0');
}

static void a_failed_allocation_is_reported_and_leaks_nothing(void **state)
{
    instance_t *instance = *state;
    fake_host_t fake;
    weft_status_t status = WEFT_ERR_RESOURCE;
    fake_host_init(&fake, "tuner");
    for (uint64_t n = 1; status != WEFT_OK; n++) {
        weft_tuner_t *tuner = NULL;
        fake.allocs = 0;
        fake.fail_at = n;
        status = instance->ops->create(&fake.host, instance->config, &tuner);
        assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
        if (status == WEFT_OK) {
            instance->ops->destroy(tuner);
        }
        assert_int_equal(fake.live, 0);
    }
    instance->ops->destroy(NULL);
    fake_host_fini(&fake);
}

static int run_plugin(const char *path)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_stay_inside_the_limits_for_all_sizes),
        cmocka_unit_test(every_collective_gets_a_choice),
        cmocka_unit_test(the_same_question_gets_the_same_answer),
        cmocka_unit_test(another_instance_gives_the_same_answer),
        cmocka_unit_test(equal_costs_still_give_one_answer),
        cmocka_unit_test(a_model_without_finite_times_ends_in_a_choice_or_an_error_in_words),
        cmocka_unit_test(a_failed_allocation_is_reported_and_leaks_nothing),
    };
    instance_t instance = {0};
    char why[512];
    int failures = 1;

    printf("TESTING %s\n", path);
    instance.plugin = fake_plugin_open(path, WEFT_KIND_TUNER, why, sizeof why);
    if (instance.plugin != NULL) {
        instance.config = fake_config_create(instance.plugin, NULL, why, sizeof why);
    }
    if (instance.config == NULL) {
        printf("FAILED %s: %s\n", path, why);
        return 1;
    }
    instance.ops = instance.plugin->ops;
    fake_host_init(&instance.fake, instance.plugin->name);
    if (instance.ops->create(&instance.fake.host, instance.config, &instance.tuner) == WEFT_OK) {
        for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
            tests[i].initial_state = &instance;
        }
        failures = cmocka_run_group_tests_name(path, tests, NULL, NULL);
        instance.ops->destroy(instance.tuner);
        failures += instance.fake.live != 0;
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
