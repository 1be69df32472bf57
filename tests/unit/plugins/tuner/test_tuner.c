/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tuner's own promises: least modelled time, first of equals, whole chunks for small messages, and
 * the option `prefer`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <weft/plugin/algo.h>
#include <weft/plugin/tuner.h>

#include "tests/support/fake_host.h"

static const weft_tuner_candidate_t candidates[] = {
    {sizeof(weft_tuner_candidate_t), "algo-ring", "", 4, 6, NULL, 1},
    {sizeof(weft_tuner_candidate_t), "algo-flat", "", 1, 2, NULL, 1},
};

static weft_tuner_call_t call_of(uint64_t bytes)
{
    weft_tuner_call_t call = {
        .size = sizeof call, .coll = WEFT_ALL_REDUCE, .bytes = bytes, .nranks = 4};
    call.slot_bytes = 65536;
    call.slots = 8;
    return call;
}

/* The ring is quick with 2 slices of 16 KiB, the other always takes 20 µs. */
static double ring_likes_two_slices(const weft_tuner_call_t *call,
                                    const weft_tuner_candidate_t *candidate, uint32_t slices,
                                    uint64_t slice_bytes)
{
    (void)call;
    if (strcmp(candidate->algo, "algo-flat") == 0) {
        return 20.1e-6;
    }
    return slices == 2 && slice_bytes == 16384 ? 12.3e-6 : 30e-6;
}

static double small_slices_are_cheap(const weft_tuner_call_t *call,
                                     const weft_tuner_candidate_t *candidate, uint32_t slices,
                                     uint64_t slice_bytes)
{
    (void)call;
    (void)candidate;
    return 1e-9 * (double)(slices * slice_bytes);
}

static const weft_plugin_t *opened(void)
{
    char why[512];
    const weft_plugin_t *plugin =
        fake_plugin_open(WEFT_PLUGIN_DIR "/tuner.so", WEFT_KIND_TUNER, why, sizeof why);
    assert_non_null(plugin);
    return plugin;
}

/* Chooses with `prefer` set; returns the status of create or choose. */
static weft_status_t choose(const char *prefer, const weft_tuner_call_t *call,
                            weft_tuner_cost_fn_t cost, weft_tuner_choice_t *choice, char error[512])
{
    const weft_plugin_t *plugin = opened();
    const weft_tuner_ops_t *ops = plugin->ops;
    const char *settings[] = {prefer, NULL};
    void *config = fake_config_create(plugin, settings, error, 512);
    weft_tuner_t *tuner = NULL;
    fake_host_t fake;

    assert_non_null(config);
    fake_host_init(&fake, "tuner");
    weft_status_t status = ops->create(&fake.host, config, &tuner);
    if (status == WEFT_OK) {
        status = ops->choose(tuner, call, candidates, 2, cost, choice);
        ops->destroy(tuner);
    }
    assert_int_equal(fake.live, 0);
    fake_host_take_error(&fake, error, 512);
    fake_host_fini(&fake);
    fake_config_destroy(config);
    return status;
}

static void the_least_time_wins_and_the_reason_says_so(void **state)
{
    const weft_tuner_call_t call = call_of(1 << 20);
    weft_tuner_choice_t choice = {.size = sizeof choice};
    char error[512];
    (void)state;
    assert_int_equal(choose("prefer=", &call, ring_likes_two_slices, &choice, error), WEFT_OK);
    assert_int_equal(choice.index, 0);
    assert_int_equal(choice.slices, 2);
    assert_int_equal(choice.slice_bytes, 16384);
    assert_string_equal(choice.reason,
                        "modelled 12.3 us with 2 × 16 KiB slices; next algo-flat 20.1 us");
}

static void a_small_message_travels_in_one_slice(void **state)
{
    const weft_tuner_call_t call = call_of(1000);
    weft_tuner_choice_t choice = {.size = sizeof choice};
    char error[512];
    (void)state;
    assert_int_equal(choose("prefer=", &call, small_slices_are_cheap, &choice, error), WEFT_OK);
    assert_int_equal(choice.index, 0);
    assert_int_equal(choice.slices, 1);
    assert_int_equal(choice.slice_bytes, 256);
}

static void a_preferred_algorithm_is_taken_whatever_the_model_says(void **state)
{
    const weft_tuner_call_t call = call_of(1 << 20);
    weft_tuner_choice_t choice = {.size = sizeof choice};
    char error[512];
    (void)state;
    assert_int_equal(choose("prefer=broadcast:algo-x, all_reduce:algo-flat", &call,
                            ring_likes_two_slices, &choice, error),
                     WEFT_OK);
    assert_int_equal(choice.index, 1);
    assert_non_null(strstr(choice.reason, "preferred"));
}

static void a_preferred_algorithm_that_is_not_offered_is_named_in_the_reason(void **state)
{
    const weft_tuner_call_t call = call_of(1 << 20);
    weft_tuner_choice_t choice = {.size = sizeof choice};
    char error[512];
    (void)state;
    assert_int_equal(
        choose("prefer=all_reduce:algo-tree", &call, ring_likes_two_slices, &choice, error),
        WEFT_OK);
    assert_int_equal(choice.index, 0);
    assert_non_null(strstr(choice.reason, "algo-tree is preferred but not offered"));
}

static void wrong_preferences_are_refused_with_the_offending_word(void **state)
{
    static const char *const wrong[][2] = {
        {"prefer=all_reduc:algo-ring", "all_reduc"}, {"prefer=all_reduce", "all_reduce"},
        {"prefer=all_reduce:", "all_reduce:"},       {"prefer=:algo-ring", ":algo-ring"},
        {"prefer=reduce:a,reduce:b", "twice"},
    };
    const weft_tuner_call_t call = call_of(8);
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        weft_tuner_choice_t choice = {.size = sizeof choice};
        char error[512];
        assert_int_equal(choose(wrong[i][0], &call, small_slices_are_cheap, &choice, error),
                         WEFT_ERR_CONFIG);
        assert_non_null(strstr(error, wrong[i][1]));
    }
}

static void an_unknown_collective_is_answered_with_all_that_exist(void **state)
{
    const weft_tuner_call_t call = call_of(8);
    weft_tuner_choice_t choice = {.size = sizeof choice};
    char error[512];
    (void)state;
    assert_int_equal(
        choose("prefer=alltoall:algo-x", &call, small_slices_are_cheap, &choice, error),
        WEFT_ERR_CONFIG);
    for (weft_coll_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        assert_non_null(strstr(error, weft_algo_coll_text(coll)));
    }
}

static void fewer_than_two_slots_are_refused(void **state)
{
    weft_tuner_call_t call = call_of(8);
    weft_tuner_choice_t choice = {.size = sizeof choice};
    char error[512];
    (void)state;
    call.slots = 1;
    assert_int_equal(choose("prefer=", &call, small_slices_are_cheap, &choice, error),
                     WEFT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error, "slots"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_time_wins_and_the_reason_says_so),
        cmocka_unit_test(a_small_message_travels_in_one_slice),
        cmocka_unit_test(a_preferred_algorithm_is_taken_whatever_the_model_says),
        cmocka_unit_test(a_preferred_algorithm_that_is_not_offered_is_named_in_the_reason),
        cmocka_unit_test(wrong_preferences_are_refused_with_the_offending_word),
        cmocka_unit_test(an_unknown_collective_is_answered_with_all_that_exist),
        cmocka_unit_test(fewer_than_two_slots_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
