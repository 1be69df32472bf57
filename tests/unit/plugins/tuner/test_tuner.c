/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tuner's own promises: least modelled time, first of equals, whole chunks for small messages,
 * and the option `prefer`. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/plugin/algo.h>
#include <weft/plugin/tuner.h>

#include "tests/support/fake_host.h"
#include "tests/support/unit.h"

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

static double only_best(const weft_tuner_call_t *call, const weft_tuner_candidate_t *candidate,
                        uint32_t slices, uint64_t slice_bytes)
{
    return call->protocol != WEFT_TUNER_PROTOCOL_BEST
               ? (double)INFINITY
               : small_slices_are_cheap(call, candidate, slices, slice_bytes);
}

static const weft_plugin_t *opened(void)
{
    char why[512];
    const weft_plugin_t *plugin =
        fake_plugin_open(WEFT_PLUGIN_DIR "/tuner.so", WEFT_KIND_TUNER, why, sizeof why);
    assert_non_null(plugin);
    return plugin;
}

/* Chooses with one option set; returns the status of create or choose. */
static weft_status_t choose(const char *setting, const weft_tuner_call_t *call,
                            weft_tuner_cost_fn_t cost, weft_tuner_choice_t *choice, char error[512])
{
    const weft_plugin_t *plugin = opened();
    const weft_tuner_ops_t *ops = plugin->ops;
    const char *settings[] = {setting, NULL};
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
        {"prefer=all_reduc:algo-ring", "all_reduc"},
        {"prefer=all_reduce", "all_reduce"},
        {"prefer=all_reduce:", "all_reduce:"},
        {"prefer=:algo-ring", ":algo-ring"},
        {"prefer=reduce:a,reduce:b", "twice"},
        {"prefer=send_recv:algo-ring", "\"send_recv\" runs no algorithm"},
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
        const bool listed = strstr(error, weft_algo_coll_text(coll)) != NULL;
        assert_int_equal(listed, coll != WEFT_SEND_RECV);
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

#define RING "a.ini:3\tall_reduce bytes=1K..64K ranks=4: algo-ring slices=3 slice_bytes=8K\n"
#define FLAT                                                                                       \
    "a.ini:4\tall_reduce bytes=1M.. ranks=2..8 hosts=..2 memory=host dtype=int8: algo-flat\n"

static weft_status_t by_rule(const char *setting, uint64_t bytes, weft_tuner_choice_t *choice,
                             char error[512])
{
    weft_tuner_call_t call = call_of(bytes);
    call.nhosts = 1;
    *choice = (weft_tuner_choice_t){.size = sizeof *choice, .next = WEFT_TUNER_NONE};
    return choose(setting, &call, ring_likes_two_slices, choice, error);
}

static void a_rule_decides_inside_of_its_ranges(void **state)
{
    weft_tuner_choice_t choice;
    char error[512];
    (void)state;
    assert_int_equal(by_rule("rule=" RING FLAT, 65536, &choice, error), WEFT_OK);
    assert_string_equal(candidates[choice.index].algo, "algo-ring");
    assert_int_equal(choice.slices, 3);
    assert_int_equal(choice.slice_bytes, 8192);
    assert_non_null(strstr(choice.rule, "a.ini:3 all_reduce bytes=1K..64K"));
    assert_int_equal(by_rule("rule=" RING FLAT, 1 << 20, &choice, error), WEFT_OK);
    assert_string_equal(candidates[choice.index].algo, "algo-flat");
    assert_int_equal(choice.next, 0);
    assert_true(choice.next_seconds < 13e-6);
}

static void outside_of_all_rules_the_model_decides(void **state)
{
    weft_tuner_choice_t choice;
    char error[512];
    (void)state;
    assert_int_equal(by_rule("rule=" RING, 1 << 20, &choice, error), WEFT_OK);
    assert_string_equal(choice.rule, "");
    assert_int_equal(choice.slices, 2);
}

static void between_two_rules_the_model_decides_between_their_algorithms(void **state)
{
    weft_tuner_choice_t choice;
    char error[512];
    (void)state;
    assert_int_equal(by_rule("rule=" RING FLAT, 256 << 10, &choice, error), WEFT_OK);
    assert_string_equal(candidates[choice.index].algo, "algo-ring");
    assert_int_equal(choice.slices, 2);
    assert_non_null(strstr(choice.rule, "between rules"));
}

static void a_rule_for_an_algorithm_that_does_not_serve_is_passed_over_unless_forced(void **state)
{
    weft_tuner_choice_t choice;
    char error[512];
    (void)state;
    assert_int_equal(by_rule("rule=a.ini:1\tall_reduce: algo-tree\n" RING, 4096, &choice, error),
                     WEFT_OK);
    assert_string_equal(candidates[choice.index].algo, "algo-ring");
    assert_int_equal(by_rule("rule=a.ini:1\tany: algo-tree force\n" RING, 4096, &choice, error),
                     WEFT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error, "a.ini:1"));
    assert_non_null(strstr(error, "possible are algo-ring, algo-flat"));
}

static void a_rule_gives_way_where_the_configuration_has_decided(void **state)
{
    static const char other[] = "rule=a.ini:1\tany: algo-tree force\n" RING,
                      own[] = "rule=a.ini:1\tany: algo-ring protocol=ll force\n";
    weft_tuner_call_t call = call_of(4096);
    weft_tuner_choice_t choice = {.size = sizeof choice, .next = WEFT_TUNER_NONE};
    char error[512];
    (void)state;
    call.nhosts = call.decided = 1;
    assert_int_equal(choose(other, &call, ring_likes_two_slices, &choice, error), WEFT_OK);
    assert_string_equal(candidates[choice.index].algo, "algo-ring");
    assert_int_equal(choice.slices, 3);
    assert_int_equal(choose(own, &call, only_best, &choice, error), WEFT_ERR_UNSUPPORTED);
    call.size = offsetof(weft_tuner_call_t, decided); /* of an older core */
    assert_int_equal(choose(other, &call, ring_likes_two_slices, &choice, error),
                     WEFT_ERR_UNSUPPORTED);
}

static void a_forced_number_beyond_a_limit_is_refused_with_the_limit(void **state)
{
    static const char *const beyond[][3] = {
        {"slices=8", "slices=7", "slices=8, at most 7 are"},
        {"channels=3", "channels=2", "channels=3, at most 2 are"},
        {"slice_bytes=65600", "slice_bytes=65536", "slice_bytes=65600, at most 65536 are"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        for (size_t force = 0; force < 2; force++) {
            weft_tuner_choice_t choice = {.size = sizeof choice, .next = WEFT_TUNER_NONE};
            weft_tuner_call_t call = call_of(1 << 20);
            char error[512], rule[128];
            call.channels = 2;
            for (size_t right = 0; right < 2; right++) {
                snprintf(rule, sizeof rule, "rule=a.ini:1\tall_reduce: algo-ring %s%s\n",
                         beyond[i][right], force ? " force" : "");
                assert_int_equal(choose(rule, &call, ring_likes_two_slices, &choice, error),
                                 force && !right ? WEFT_ERR_UNSUPPORTED : WEFT_OK);
                if (force && !right) {
                    assert_non_null(strstr(error, "a.ini:1"));
                    assert_non_null(strstr(error, beyond[i][2]));
                }
            }
        }
    }
}

static void a_wrong_rule_is_told_with_its_place_and_the_nearest_word(void **state)
{
    static const char *const wrong[][2] = {
        {"rule=a.ini:7\tall_redce: algo-ring\n", "did you mean all_reduce?"},
        {"rule=a.ini:7\tsend_recv: algo-ring force\n", "\"send_recv\" runs no algorithm"},
        {"rule=a.ini:7\tall_reduce byts=4: algo-ring\n", "did you mean bytes?"},
        {"rule=a.ini:7\tall_reduce bytes=4..2: algo-ring\n", "bytes=4..2"},
        {"rule=a.ini:7\tall_reduce bytes=: algo-ring\n", "bytes="},
        {"rule=a.ini:7\tall_reduce dtype=flot: algo-ring\n", "did you mean float?"},
        {"rule=a.ini:7\tall_reduce memory=hst: algo-ring\n", "did you mean host?"},
        {"rule=a.ini:7\tall_reduce byts=4: algo-ring\n", "unknown word \"byts\""},
        {"rule=a.ini:7\tall_reduce ranks=0: algo-ring\n", "at least 1, not \"ranks=0\""},
        {"rule=a.ini:7\tall_reduce hosts=..0: algo-ring\n", "at least 1, not \"hosts=..0\""},
        {"rule=a.ini:7\tall_reduce\n", "expected COLLECTIVE"},
        {"rule=a.ini:7\tall_reduce:\n", "name of an algorithm"},
        {"rule=a.ini:7\tall_reduce: algo-ring slces=2\n", "did you mean slices?"},
        {"rule=a.ini:7\tall_reduce: algo-ring slices=0\n", "slices=0"},
        {"rule=a.ini:7\tall_reduce: algo-ring slice_bytes=100\n", "multiple of 64"},
        {"rule=a.ini:7\tall_reduce: algo-ring slice_bytes=4G\n", "from 1 to 4294967295, "},
        {"rule=a.ini:7\tall_reduce bytes=1K bytes=64K: algo-ring\n", "given twice: \"bytes=64K\""},
        {"rule=a.ini:7\tall_reduce ranks=2 ranks=2: algo-ring\n", "given twice: \"ranks=2\""},
        {"rule=a.ini:7\tall_reduce hosts=.. ranks=2: algo-ring\n", "hosts=.."},
        {"rule=a.ini:7\tall_reduce hosts=0.. hosts=2: algo-ring\n", "given twice: \"hosts=2\""},
        {"rule=a.ini:7\tall_reduce memory=host memory=device: algo-ring\n",
         "given twice: \"memory=device\""},
        {"rule=a.ini:7\tall_reduce dtype=half dtype=float: algo-ring\n",
         "given twice: \"dtype=float\""},
        {"rule=a.ini:7\tall_reduce: algo-ring slices=1 slices=3\n", "given twice: \"slices=3\""},
        {"rule=a.ini:7\tall_reduce: algo-ring slice_bytes=64 slice_bytes=64\n",
         "given twice: \"slice_bytes=64\""},
        {"rule=a.ini:7\tall_reduce: algo-ring channels=1 force channels=2\n",
         "given twice: \"channels=2\""},
        {"rule=a.ini:7\tall_reduce: algo-ring protocol=ll protocol=ll128\n",
         "given twice: \"protocol=ll128\""},
        {"rule=a.ini:7\tall_reduce: algo-ring force force\n", "given twice: \"force\""},
        {"rule=a.ini:7\tall_reduce: algo-ring protocol=l128\n", "did you mean ll128?"},
        {"rule=a.ini:7\tall_reduce: algo-ring protocol=nvls9999\n",
         "there are simple, ll, ll128, whole"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        weft_tuner_choice_t choice;
        char error[512];
        assert_int_equal(by_rule(wrong[i][0], 4096, &choice, error), WEFT_ERR_CONFIG);
        assert_non_null(strstr(error, "a.ini:7"));
        if (strstr(error, wrong[i][1]) == NULL) {
            fail_msg("%s: %s", wrong[i][0], error);
        }
    }
}

/* What the tuner asks for with these options, "a.ini:3: [tuner] rule=algo-x:d=2 …". */
static void variants(const char *const settings[], char text[512])
{
    const weft_plugin_t *plugin = opened();
    const weft_tuner_ops_t *ops = plugin->ops;
    char error[512];
    const char *spec, *origin = "";
    void *config = fake_config_create(plugin, settings, error, sizeof error);
    weft_tuner_t *tuner = NULL;
    fake_host_t fake;
    assert_non_null(config);
    fake_host_init(&fake, "tuner");
    assert_int_equal(ops->create(&fake.host, config, &tuner), WEFT_OK);
    text[0] = '\0';
    for (uint32_t i = 0; (spec = ops->variant(tuner, i, &origin)) != NULL; i++) {
        size_t at = strlen(text);
        snprintf(text + at, 512 - at, "%s=%s;", origin, spec);
    }
    ops->destroy(tuner);
    assert_int_equal(fake.live, 0);
    fake_host_fini(&fake);
    fake_config_destroy(config);
}

static void what_rules_and_preferences_name_with_parameters_are_variants(void **state)
{
    const char *const settings[] = {
        "prefer=a.ini:2\tbroadcast:algo-x:d=1,m=2,all_reduce:algo-ring\n",
        "rule=a.ini:3\tany: algo-x:d=2,m=1,slices=2\na.ini:4\tany: algo-flat\n", NULL};
    char text[512];
    (void)state;
    variants(settings, text);
    assert_string_equal(
        text, "a.ini:2: [tuner] prefer=algo-x:d=1,m=2;a.ini:3: [tuner] rule=algo-x:d=2,m=1;");
}

/* Of a long path the begin is left out. */
static void origins_keep_the_line_and_the_option(void **state)
{
    char prefer[400], rule[400], text[512], path[301];
    const char *const settings[] = {prefer, rule, NULL};
    (void)state;
    memset(path, 'x', 300);
    path[300] = '\0';
    snprintf(prefer, sizeof prefer, "prefer=%s/a.ini:2\tall_reduce:algo-x:d=1\n", path);
    snprintf(rule, sizeof rule, "rule=%s/a.ini:3\tany: algo-x:d=2\n", path);
    variants(settings, text);
    assert_non_null(strstr(text, "x/a.ini:2: [tuner] prefer=algo-x:d=1;"));
    assert_non_null(strstr(text, "x/a.ini:3: [tuner] rule=algo-x:d=2;"));
}

static void only_who_asks_for_parameters_gets_them(void **state)
{
    static const weft_tuner_candidate_t two[] = {
        {sizeof(weft_tuner_candidate_t), "algo-x", "", 1, 2, NULL, 1},
        {sizeof(weft_tuner_candidate_t), "algo-x", "d=2", 1, 2, NULL, 1},
    };
    static const char *const settings[][2] = {{"prefer=", NULL},
                                              {"prefer=all_reduce:algo-x:d=2", NULL},
                                              {"rule=any: algo-x:d=2\n", NULL}};
    const weft_plugin_t *plugin = opened();
    const weft_tuner_ops_t *ops = plugin->ops;
    const weft_tuner_call_t call = call_of(4096);
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        weft_tuner_choice_t choice = {.size = sizeof choice, .next = WEFT_TUNER_NONE};
        char error[512];
        weft_tuner_t *tuner = NULL;
        fake_host_t fake;
        void *config = fake_config_create(plugin, settings[i], error, sizeof error);
        assert_non_null(config);
        fake_host_init(&fake, "tuner");
        assert_int_equal(ops->create(&fake.host, config, &tuner), WEFT_OK);
        assert_int_equal(ops->choose(tuner, &call, two, 2, small_slices_are_cheap, &choice),
                         WEFT_OK);
        assert_int_equal(choice.index, i > 0);
        ops->destroy(tuner);
        fake_host_fini(&fake);
        fake_config_destroy(config);
    }
}

/* Devices with words up to 8 KiB, slots, and nothing else. */
static double words_are_short(const weft_tuner_call_t *call,
                              const weft_tuner_candidate_t *candidate, uint32_t slices,
                              uint64_t slice_bytes)
{
    double seconds = ring_likes_two_slices(call, candidate, slices, slice_bytes);
    return call->protocol == WEFT_TUNER_PROTOCOL_LL ? (slice_bytes <= 8192 ? seconds : INFINITY)
           : call->protocol <= WEFT_TUNER_PROTOCOL_SIMPLE ? seconds
                                                          : INFINITY;
}

static weft_status_t on_devices(const char *setting, weft_tuner_choice_t *choice, char error[512])
{
    weft_tuner_call_t call = call_of(1 << 20);
    *choice = (weft_tuner_choice_t){.size = sizeof *choice, .next = WEFT_TUNER_NONE};
    return choose(setting, &call, words_are_short, choice, error);
}

static void a_rule_names_a_protocol(void **state)
{
    weft_tuner_choice_t choice;
    char error[512];
    (void)state;
    assert_int_equal(on_devices("rule=a.ini:1\tany: algo-ring\n", &choice, error), WEFT_OK);
    assert_int_equal(choice.protocol, WEFT_TUNER_PROTOCOL_BEST);
    assert_int_equal(choice.slice_bytes, 16384);
    assert_int_equal(on_devices("rule=a.ini:1\tany: algo-ring protocol=ll\n", &choice, error),
                     WEFT_OK);
    assert_int_equal(choice.protocol, WEFT_TUNER_PROTOCOL_LL);
    assert_true(choice.slice_bytes <= 8192);
    assert_non_null(strstr(choice.rule, "protocol=ll"));
    assert_non_null(strstr(choice.reason, " by ll"));
    assert_int_equal(on_devices("rule=a.ini:1\tany: algo-ring protocol=simple\n", &choice, error),
                     WEFT_OK);
    assert_int_equal(choice.protocol, WEFT_TUNER_PROTOCOL_SIMPLE);
}

static void a_protocol_that_does_not_serve_is_passed_over_unless_forced(void **state)
{
    weft_tuner_choice_t choice;
    char error[512];
    (void)state;
    assert_int_equal(on_devices("rule=a.ini:1\tany: algo-ring protocol=ll128\n"
                                "a.ini:2\tany: algo-flat protocol=simple\n",
                                &choice, error),
                     WEFT_OK);
    assert_string_equal(candidates[choice.index].algo, "algo-flat");
    assert_int_equal(choice.protocol, WEFT_TUNER_PROTOCOL_SIMPLE);
    assert_int_equal(on_devices("rule=a.ini:1\tany: algo-ring protocol=ll128\n", &choice, error),
                     WEFT_OK);
    assert_int_equal(choice.protocol, WEFT_TUNER_PROTOCOL_BEST);
    assert_string_equal(choice.rule, "");
    assert_int_equal(
        on_devices("rule=a.ini:1\tany: algo-ring protocol=ll128 force\n", &choice, error),
        WEFT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error, "a.ini:1"));
    assert_non_null(strstr(error, "protocol ll128 does not serve"));
    assert_non_null(strstr(error, "possible are simple, ll"));
    assert_int_equal(on_devices("rule=a.ini:1\tany: algo-ring protocol=ll slice_bytes=16K force\n",
                                &choice, error),
                     WEFT_ERR_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_decides_inside_of_its_ranges),
        cmocka_unit_test(outside_of_all_rules_the_model_decides),
        cmocka_unit_test(between_two_rules_the_model_decides_between_their_algorithms),
        cmocka_unit_test(a_rule_for_an_algorithm_that_does_not_serve_is_passed_over_unless_forced),
        cmocka_unit_test(a_rule_gives_way_where_the_configuration_has_decided),
        cmocka_unit_test(a_forced_number_beyond_a_limit_is_refused_with_the_limit),
        cmocka_unit_test(a_wrong_rule_is_told_with_its_place_and_the_nearest_word),
        cmocka_unit_test(the_least_time_wins_and_the_reason_says_so),
        cmocka_unit_test(a_small_message_travels_in_one_slice),
        cmocka_unit_test(a_preferred_algorithm_is_taken_whatever_the_model_says),
        cmocka_unit_test(a_preferred_algorithm_that_is_not_offered_is_named_in_the_reason),
        cmocka_unit_test(wrong_preferences_are_refused_with_the_offending_word),
        cmocka_unit_test(an_unknown_collective_is_answered_with_all_that_exist),
        cmocka_unit_test(fewer_than_two_slots_are_refused),
        cmocka_unit_test(what_rules_and_preferences_name_with_parameters_are_variants),
        cmocka_unit_test(origins_keep_the_line_and_the_option),
        cmocka_unit_test(only_who_asks_for_parameters_gets_them),
        cmocka_unit_test(a_rule_names_a_protocol),
        cmocka_unit_test(a_protocol_that_does_not_serve_is_passed_over_unless_forced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
