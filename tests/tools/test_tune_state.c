/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of `weft tune` as people edit it: what no run writes is passed over, and the run that
 * goes on does not compute with it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/scratch.h"
#include "tests/support/unit.h"
#include "tools/tune_state.h"

#define JOB "# a job"
#define GOOD "all_reduce 64 algo-ring 2e-05 1e-05 3e-05 5e-07 0\n"
#define WIDE "all_reduce 64 algo-wide 2e-05 1e-05 3e-05 5e-07 0\n"

/* Returns how many results a file with these lines has. */
static size_t count_results(const char *lines)
{
    char text[4096];
    tune_results_t results = {.list = NULL};
    FILE *file;
    snprintf(text, sizeof text, JOB "\n%s", lines);
    const char *path = scratch_write("state", text, strlen(text));
    assert_true(tune_state_open(path, JOB, false, &results, &file));
    assert_int_equal(fclose(file), 0);
    for (size_t i = 0; i < results.count; i++) {
        assert_true(results.list[i].seconds > 0 && results.list[i].seconds < 1);
    }
    free(results.list);
    return results.count;
}

static void results_are_read(void **state)
{
    (void)state;
    assert_int_equal(count_results(""), 0);
    assert_int_equal(count_results(GOOD WIDE), 2);
    assert_int_equal(count_results("\n" GOOD "\nall_reduce 64 algo-wide 2e-05"), 1);
    assert_int_equal(count_results("all_reduce 64 a,slices=2 2e-05 1e-05 3e-05 5e-07 1"), 1);
}

static void what_no_run_writes_is_passed_over(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "all_redcue 64 algo-ring 2e-05 1e-05 3e-05 5e-07 0\n",
        "all_reduce 0 algo-ring 2e-05 1e-05 3e-05 5e-07 0\n",
        "all_reduce -8 algo-ring 2e-05 1e-05 3e-05 5e-07 0\n",
        "all_reduce 18446744073709551615 algo-ring 2e-05 1e-05 3e-05 5e-07 0\n",
        "all_reduce 64 algo-ring inf 1e-05 3e-05 5e-07 0\n",
        "all_reduce 64 algo-ring nan 1e-05 3e-05 5e-07 0\n",
        "all_reduce 64 algo-ring 0 1e-05 3e-05 5e-07 0\n",
        "all_reduce 64 algo-ring -1 1e-05 3e-05 5e-07 0\n",
        "all_reduce 64 algo-ring 1e-300 1e-05 3e-05 5e-07 0\n",
        "all_reduce 64 algo-ring 2e-05 nan 3e-05 5e-07 0\n",
        "all_reduce 64 algo-ring 2e-05 1e-05 -inf 5e-07 0\n",
        "all_reduce 64 algo-ring 2e-05 1e-05 3e-05 1e300 0\n",
        "all_reduce 64 algo-ring 2e-05 1e-05 3e-05 0 0\n",
        "all_reduce 64 algo ring 2e-05 1e-05 3e-05 5e-07 0\n",
        "all_reduce 64 algo-ring 2e-05 1e-05 3e-05 5e-07 0 0\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char lines[512];
        snprintf(lines, sizeof lines, GOOD "%s" WIDE, wrong[i]);
        if (count_results(lines) != 2) {
            fail_msg("taken for a result: %s", wrong[i]);
        }
    }
}

static bool add(tune_results_t *results, const char *algo, double seconds)
{
    tune_result_t one = {.coll = WEFT_ALL_REDUCE, .bytes = 64, .seconds = seconds};
    FILE *file = tmpfile();
    snprintf(one.algo, sizeof one.algo, "%s", algo);
    assert_non_null(file);
    bool good = tune_state_add(file, "a file", results, &one, 1);
    assert_int_equal(fclose(file), 0);
    return good;
}

/* What was measured again takes the place of what a run left that ended while it wrote. */
static void a_later_result_takes_the_place_of_an_earlier_one(void **state)
{
    (void)state;
    tune_results_t results = {.list = NULL};
    assert_true(add(&results, "algo-ring", 1) && add(&results, "algo-wide", 2));
    assert_true(add(&results, "algo-ring", 3));
    assert_int_equal(results.count, 2);
    assert_true(results.list[0].seconds > 2 && results.list[1].seconds < 3);
    free(results.list);
    assert_int_equal(count_results(GOOD WIDE GOOD), 2);
}

static void a_point_is_there_with_all_of_its_candidates(void **state)
{
    (void)state;
    tune_results_t results = {.list = NULL};
    tune_result_t wanted[2] = {{.coll = WEFT_ALL_REDUCE, .bytes = 64, .algo = "algo-ring"},
                               {.coll = WEFT_ALL_REDUCE, .bytes = 64, .algo = "algo-wide"}};
    assert_true(tune_state_has(&results, wanted, 0));
    assert_true(add(&results, "algo-ring", 1));
    assert_true(tune_state_has(&results, wanted, 1));
    assert_false(tune_state_has(&results, wanted, 2));
    assert_true(add(&results, "algo-wide", 1));
    assert_true(tune_state_has(&results, wanted, 2));
    wanted[1].bytes = 65;
    assert_false(tune_state_has(&results, wanted, 2));
    wanted[1] = (tune_result_t){.coll = WEFT_REDUCE, .bytes = 64, .algo = "algo-wide"};
    assert_false(tune_state_has(&results, wanted, 2));
    free(results.list);
}

/* Opens the state at that path and adds `count` results. */
static void write_state(const char *path, const char *job, const tune_result_t *list,
                        uint32_t count)
{
    tune_results_t results = {.list = NULL};
    FILE *file;
    assert_true(tune_state_open(path, job, false, &results, &file));
    assert_true(tune_state_add(file, path, &results, list, count));
    assert_int_equal(fclose(file), 0);
    free(results.list);
}

/* The two plain candidates tell whether it is whole, wherever the file was cut. */
static void a_point_that_was_cut_is_not_there(void **state)
{
    static const char *const algos[] = {"algo-ring", "algo-wide", "algo-wide,slices=2"};
    tune_result_t list[3];
    char path[512], text[1024];
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        list[i] = (tune_result_t){
            .coll = WEFT_ALL_REDUCE, .bytes = 64, .seconds = 1, .low = 1, .high = 1, .model = 1};
        snprintf(list[i].algo, sizeof list[i].algo, "%s", algos[i]);
    }
    snprintf(path, sizeof path, "%s", scratch_path("cut"));
    write_state(path, JOB, list, 3);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    const size_t bytes = fread(text, 1, sizeof text, file);
    fclose(file);
    for (size_t cut = strlen(JOB "\n"); cut <= bytes; cut++) {
        tune_results_t results = {.list = NULL};
        assert_true(tune_state_open(scratch_write("cut", text, cut), JOB, false, &results, &file));
        fclose(file);
        /* The end of the last line may be missing. */
        assert_int_equal(tune_state_has(&results, list, 2), cut >= bytes - 1);
        assert_int_equal(tune_state_has(&results, list, 3), cut >= bytes - 1);
        free(results.list);
    }
}

static const tune_result_t one = {.coll = WEFT_ALL_REDUCE,
                                  .bytes = 64,
                                  .algo = "algo-ring",
                                  .seconds = 1,
                                  .low = 1,
                                  .high = 1,
                                  .model = 1};

static void what_is_begun_anew_keeps_the_results_that_were_there(void **state)
{
    char path[512], old[520];
    (void)state;
    snprintf(path, sizeof path, "%s", scratch_path("anew"));
    snprintf(old, sizeof old, "%s.old", path);
    write_state(path, JOB, &one, 1);
    assert_int_equal(access(old, F_OK), -1);
    /* The second time nothing was measured: that does not take the place of what was. */
    for (int i = 0; i < 2; i++) {
        write_state(path, i == 0 ? "# another" : "# a third", NULL, 0);
        tune_results_t results = {.list = NULL};
        FILE *file;
        assert_true(tune_state_open(old, JOB, false, &results, &file));
        assert_true(tune_state_has(&results, &one, 1));
        fclose(file);
        free(results.list);
    }
}

/* Another job begins anew; what the file has, to which the link leads, is kept beside that. */
static void a_state_behind_a_link_is_put_aside(void **state)
{
    char there[512], link[512], old[sizeof there + 8], text[256] = "";
    (void)state;
    snprintf(there, sizeof there, "%s",
             scratch_write("there", JOB "\n" GOOD, strlen(JOB "\n" GOOD)));
    snprintf(old, sizeof old, "%s.old", there);
    snprintf(link, sizeof link, "%s", scratch_path("link"));
    assert_int_equal(symlink(there, link), 0);
    write_state(link, "# another job", &one, 1);
    FILE *file = fopen(old, "r");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof text, file), strlen(JOB "\n" GOOD));
    fclose(file);
    assert_string_equal(text, JOB "\n" GOOD);
    tune_results_t results = {.list = NULL};
    assert_true(tune_state_open(there, "# another job", false, &results, &file));
    fclose(file);
    assert_int_equal(results.count, 1);
    free(results.list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_read),
        cmocka_unit_test(what_no_run_writes_is_passed_over),
        cmocka_unit_test(a_later_result_takes_the_place_of_an_earlier_one),
        cmocka_unit_test(a_point_is_there_with_all_of_its_candidates),
        cmocka_unit_test(a_point_that_was_cut_is_not_there),
        cmocka_unit_test(a_state_behind_a_link_is_put_aside),
        cmocka_unit_test(what_is_begun_anew_keeps_the_results_that_were_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
