/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files of weft's own text: what the tools print is loaded unchanged, and nothing incomplete
 * passes. */
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/plan/plan_print.h"
#include "tests/support/fake_host.h"
#include "tests/support/plan_files.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static char *print_all(weft_plan_t *const *plans, uint32_t nranks, const char *between)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    for (uint32_t rank = 0; rank < nranks; rank++) {
        fputs(rank == 0 ? "" : between, out);
        weft_plan_print(plans[rank], out);
    }
    fclose(out);
    return text;
}

static void expect_same(const plan_fixture_t *origin, weft_coll_t coll, uint32_t nranks,
                        uint32_t root)
{
    weft_plan_t **plans = plan_fixture_emit(origin, coll, nranks, root);
    char *text = print_all(plans, nranks, nranks % 2 == 0 ? "\n" : "# the next rank\n\n");
    plan_fixture_t fixture;
    if (plan_files_open_text(&fixture, text) != WEFT_OK) {
        fail_msg("%s", weft_error_record()->text);
    }
    weft_plan_t **again = plan_fixture_emit(&fixture, coll, nranks, root);
    assert_non_null(again);
    for (uint32_t rank = 0; rank < nranks; rank++) {
        assert_true(weft_plan_hash(plans[rank]) == weft_plan_hash(again[rank]));
    }
    assert_false(plan_files_serve(&fixture, coll, nranks + 1, root));
    plan_fixture_free(again, nranks);
    plan_fixture_free(plans, nranks);
    plan_fixture_close(&fixture);
    free(text);
}

static void round_trip(const char *name)
{
    plan_fixture_t origin;
    plan_fixture_open(&origin, WEFT_PLUGIN_DIR, name);
    for (uint32_t n = 2; n <= 17; n += n < 9 ? 1 : 4) {
        for (weft_coll_t coll = WEFT_ALL_REDUCE; coll < WEFT_BARRIER; coll++) {
            expect_same(&origin, coll, n,
                        coll == WEFT_BROADCAST || coll == WEFT_REDUCE ? n / 2 : 0);
        }
    }
    plan_fixture_close(&origin);
}

static void printed_plans_load_unchanged(void **state)
{
    (void)state;
    round_trip("algo-ring");
    round_trip("algo-flat");
}

static void the_example_is_proved(void **state)
{
    (void)state;
    plan_fixture_t fixture;
    assert_int_equal(plan_files_open(&fixture, PLAN_FILES_EXAMPLES "doubling-all-reduce-4.plan"),
                     WEFT_OK);
    for (int in_place = 0; in_place <= 1; in_place++) {
        weft_verify_report_t report =
            plan_files_verify(&fixture, WEFT_ALL_REDUCE, 4, 0, 2, 1, in_place);
        assert_int_equal(report.verdict, WEFT_VERDICT_OK);
        assert_true(report.same_on_all_ranks && report.same_for_all_chunks);
    }
    plan_fixture_close(&fixture);
}

#define PLAN(coll, rank, root)                                                                     \
    "plan " coll " ranks 2 rank " #rank " root " #root " chunks 1 tmp 0 lanes 1\n"
#define BROADCAST_0(root)                                                                          \
    PLAN("broadcast", 0, root)                                                                     \
    "port 0 lane 0 send to 1 channel 0\nlane 0\nmove out[0], port 0 <- in[0]\n"
#define BROADCAST_1(root)                                                                          \
    PLAN("broadcast", 1, root)                                                                     \
    "port 0 lane 0 receive from 0 channel 0\nlane 0\nmove out[0] <- port 0\n"

static void exactly_the_shapes_held_are_served(void **state)
{
    (void)state;
    plan_fixture_t fixture;
    assert_int_equal(plan_files_open_text(&fixture, BROADCAST_0(0) BROADCAST_1(0)), WEFT_OK);
    assert_true(plan_files_serve(&fixture, WEFT_BROADCAST, 2, 0));
    assert_false(plan_files_serve(&fixture, WEFT_BROADCAST, 2, 1));
    assert_non_null(strstr(weft_error_record()->text,
                           "no file holds broadcast over 2 ranks; held: broadcast over 2 with root "
                           "0"));
    assert_false(plan_files_serve(&fixture, WEFT_ALL_REDUCE, 2, 0));
    assert_false(plan_files_serve(&fixture, WEFT_BROADCAST, 3, 0));
    plan_fixture_close(&fixture);
    assert_int_equal(plan_files_open(&fixture, "   "), WEFT_OK);
    assert_false(plan_files_serve(&fixture, WEFT_BROADCAST, 2, 0));
    assert_non_null(strstr(weft_error_record()->text, "[algo-file] files is empty"));
    plan_fixture_close(&fixture);
}

static void a_path_with_blanks_stands_in_quotes(void **state)
{
    static const char text[] = BROADCAST_0(0) BROADCAST_1(0);
    plan_fixture_t fixture;
    char list[1024], path[400];
    (void)state;
    snprintf(path, sizeof path, "%s", scratch_write("a plan of two", text, sizeof text - 1));
    snprintf(list, sizeof list, " \"%s\" %s\t", path,
             PLAN_FILES_EXAMPLES "doubling-all-reduce-4.plan");
    assert_int_equal(plan_files_open(&fixture, list), WEFT_OK);
    assert_true(plan_files_serve(&fixture, WEFT_BROADCAST, 2, 0));
    assert_true(plan_files_serve(&fixture, WEFT_ALL_REDUCE, 4, 0));
    plan_fixture_close(&fixture);
    assert_int_equal(plan_files_open(&fixture, path), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text,
                           "cannot be opened; a path with blanks stands in double quotes"));
    assert_int_equal(plan_files_open(&fixture, "\"no end"), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text,
                           "[algo-file] files: the quote before \"no end\" has no end"));
}

static void mistakes_are_named_with_path_and_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"# only a note\n", "under-test:1: the text has no `plan` line"},
        {"lane 0\n", "under-test:1: `lane` where `plan` is expected"},
        {BROADCAST_0(0), "under-test:1: broadcast over 2 ranks, but the file holds 1 plans"},
        {BROADCAST_0(0) BROADCAST_0(0), "under-test:5: a second plan of rank 0 of broadcast"},
        {BROADCAST_0(0) BROADCAST_1(1),
         "under-test:1: broadcast over 2 ranks, but the plan of rank 1 is missing"},
        {BROADCAST_0(0) "\n" BROADCAST_1(0) "mvoe out[0] <- port 0\n",
         "under-test:10: `mvoe` where an instruction is expected; the nearest word is `move`"},
        {BROADCAST_0(0) "\n" BROADCAST_1(0) "move out[9] <- in[0]\n",
         "under-test:10: plan of rank 1: lane 0 pc 1: out[9], but out has 1 chunk"},
        {BROADCAST_0(0) "lane 4000000000\n", "under-test:5: lane 4000000000, but the plan has 1"},
        {"plan broadcast ranks 3000000000 rank 0 root 0 chunks 1 tmp 0 lanes 0\n",
         "under-test:1: broadcast over 3000000000 ranks, but the file holds 1 plans"},
        {"plan all_reduce ranks 90000 rank 0 root 0 chunks 1 tmp 0 lanes 0\n",
         "under-test:1: all_reduce over 90000 ranks, but the file holds 1 plans"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plan_files_refused(cases[i].text, cases[i].words);
    }
}

static void bytes_of_value_0_are_no_text(void **state)
{
    (void)state;
    static const char text[] = BROADCAST_0(0) "#\0\n" BROADCAST_1(0);
    plan_fixture_t fixture;
    assert_int_equal(plan_files_open(&fixture, scratch_write("zero", text, sizeof text - 1)),
                     WEFT_ERR_PLAN);
    assert_non_null(strstr(weft_error_record()->text, "zero:5: a byte of value 0"));
    plan_fixture_close(&fixture);
}

static void expect_no_file(const char *files, const char *words)
{
    plan_fixture_t fixture;
    assert_int_equal(plan_files_open(&fixture, files), WEFT_ERR_CONFIG);
    assert_says(weft_error_record()->text, words);
    plan_fixture_close(&fixture);
}

static void unusable_files_are_errors(void **state)
{
    (void)state;
    expect_no_file("/nowhere/a.plan",
                   "/nowhere/a.plan, listed in [algo-file] files: cannot be opened: No such file");
    expect_no_file(scratch_folder(), "is no file");
    expect_no_file("/dev/null", "is no file");
    expect_no_file(scratch_write("empty", "", 0), "is empty");
    FILE *out = fopen(scratch_path("large"), "w");
    assert_non_null(out);
    assert_int_equal(fseek(out, 64 << 20, SEEK_SET), 0);
    fputc('x', out);
    fclose(out);
    expect_no_file(scratch_path("large"), "is larger than 64 MiB");
}

static void two_files_may_not_hold_the_same(void **state)
{
    (void)state;
    static const char text[] = BROADCAST_0(0) BROADCAST_1(0);
    char files[1200];
    int used = snprintf(files, sizeof files, "%s", scratch_write("one", text, sizeof text - 1));
    snprintf(files + used, sizeof files - (size_t)used, " \t%s ",
             scratch_write("two", text, sizeof text - 1));
    plan_fixture_t fixture;
    assert_int_equal(plan_files_open(&fixture, files), WEFT_ERR_PLAN);
    assert_non_null(
        strstr(weft_error_record()->text, "two: holds broadcast over 2 ranks with root 0, which "));
    plan_fixture_close(&fixture);
}

static void the_stamp_follows_the_contents(void **state)
{
    (void)state;
    plan_fixture_t fixture;
    uint64_t stamps[3];
    const char *texts[] = {BROADCAST_0(0) BROADCAST_1(0), BROADCAST_0(0) BROADCAST_1(0) "#",
                           BROADCAST_0(0) BROADCAST_1(0)};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(plan_files_open_text(&fixture, texts[i]), WEFT_OK);
        stamps[i] = fixture.ops->stamp(fixture.algo);
        plan_fixture_close(&fixture);
    }
    assert_true(stamps[0] == stamps[2]);
    assert_true(stamps[0] != stamps[1]);
}

/* Every allocation fails once; nothing is lost and nothing is created. */
static void failed_allocations_leave_nothing_behind(void **state)
{
    (void)state;
    char why[256];
    const weft_plugin_t *plugin =
        fake_plugin_open(WEFT_PLUGIN_DIR "/algo-file.so", WEFT_KIND_ALGO, why, sizeof why);
    assert_non_null(plugin);
    const weft_algo_ops_t *ops = plugin->ops;
    const struct {
        const char *files;
    } config = {PLAN_FILES_EXAMPLES "chain-broadcast-4-root-1.xml"};
    for (uint64_t fail_at = 1;; fail_at++) {
        fake_host_t fake;
        weft_algo_t *algo = NULL;
        fake_host_init(&fake, "algo-file");
        fake.fail_at = fail_at;
        weft_status_t status = ops->create(&fake.host, &config, &algo);
        if (status == WEFT_ERR_UNSUPPORTED) {
            skip();
        }
        assert_int_equal(status, fake.allocs < fail_at ? WEFT_OK : WEFT_ERR_RESOURCE);
        if (status == WEFT_OK) {
            ops->destroy(algo);
        }
        assert_int_equal(fake.live, 0);
        fake_host_fini(&fake);
        if (status == WEFT_OK) {
            assert_true(fail_at > 10);
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printed_plans_load_unchanged),
        cmocka_unit_test(the_example_is_proved),
        cmocka_unit_test(exactly_the_shapes_held_are_served),
        cmocka_unit_test(a_path_with_blanks_stands_in_quotes),
        cmocka_unit_test(mistakes_are_named_with_path_and_line),
        cmocka_unit_test(bytes_of_value_0_are_no_text),
        cmocka_unit_test(unusable_files_are_errors),
        cmocka_unit_test(two_files_may_not_hold_the_same),
        cmocka_unit_test(the_stamp_follows_the_contents),
        cmocka_unit_test(failed_allocations_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
