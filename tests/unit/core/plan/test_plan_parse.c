/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The text form: what is printed is read back, and mistakes in a text are named with their line. */
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/plan/dot.h"
#include "core/plan/plan_parse.h"
#include "core/plan/plan_print.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"

static char *text_of(const weft_plan_t *plan)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    weft_plan_print(plan, out);
    fclose(out);
    return text;
}

static void expect_round_trip(const weft_plan_t *plan)
{
    char *text = text_of(plan);
    weft_plan_t *again = NULL;
    if (weft_plan_parse(text, &again) != WEFT_OK) {
        fail_msg("%s in:\n%s", weft_error_record()->text, text);
    }
    assert_true(weft_plan_hash(again) == weft_plan_hash(plan));
    char *second = text_of(again);
    assert_string_equal(text, second);
    free(second);
    free(text);
    weft_plan_destroy(again);
}

static void round_trip_plugin(const char *name)
{
    plan_fixture_t fixture;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, name);
    for (uint32_t n = 2; n <= 9; n++) {
        for (weft_coll_t coll = WEFT_ALL_REDUCE; coll < WEFT_BARRIER; coll++) {
            weft_plan_t **plans = plan_fixture_emit(&fixture, coll, n, 0);
            for (uint32_t rank = 0; rank < n; rank++) {
                expect_round_trip(plans[rank]);
            }
            plan_fixture_free(plans, n);
        }
    }
    plan_fixture_close(&fixture);
}

static void shipped_plans_survive_print_and_parse(void **state)
{
    (void)state;
    round_trip_plugin("algo-ring");
    round_trip_plugin("algo-flat");
}

static const char everything[] =
    "# all words of the language\n"
    "plan all_reduce ranks 4 rank 1 root 0 chunks 4 tmp 2 lanes 2\n"
    "port 0 lane 0 send to 2 channel 0 along back ring 3\n"
    "port 1 lane 0 receive from 0 channel 0\n"
    "port 2 lane 1 send to 3 channel 9\n"
    "\n"
    "lane 0\n"
    "   0: par 2\n"
    "   1: move port 0 <- in[1]   # a note\n"
    "   2: move tmp[0], tmp[1] <- port 1 count 2 like in[1]\n"
    "   3: bar 0, 1\n"
    "lane 1\n"
    "   0: loop 3\n"
    "   1:   move out[1+1], port 2 <- tmp[0-1], in[1-3] final after 0:1 0:2\n"
    "   2: end\n"
    "   3: bar 0,1\n";

static void every_word_is_understood(void **state)
{
    (void)state;
    weft_plan_t *plan = NULL;
    if (weft_plan_parse(everything, &plan) != WEFT_OK) {
        fail_msg("%s", weft_error_record()->text);
    }
    expect_round_trip(plan);
    weft_plan_view_t move = weft_plan_view(plan, plan->lanes[1].code[1].n);
    assert_int_equal(plan->lanes[1].code[0].n, 3);
    assert_int_equal(plan->lanes[0].code[3].mask, 3);
    assert_int_equal(move.dst[0].stride, 1);
    assert_int_equal(move.src[1].stride, -3);
    assert_int_equal(move.flags, WEFT_MOVE_FINAL);
    assert_int_equal(move.nafter, 2);
    assert_int_equal(move.after[1].pc, 2);
    weft_plan_destroy(plan);
}

#define HEAD "plan all_reduce ranks 4 rank 1 root 0 chunks 4 tmp 0 lanes 1\n"
#define PORT "port 0 lane 0 send to 2 channel 0\n"

/* A dollar stands for the end of the text. */
static bool says(const char *words)
{
    size_t length = strcspn(words, "$");
    const char *text = weft_error_record()->text;
    size_t bytes = strlen(text);
    if (words[length] == '\0') {
        return strstr(text, words) != NULL;
    }
    return bytes >= length && memcmp(text + bytes - length, words, length) == 0;
}

static void mistakes_name_line_and_nearest_word(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "no `plan` line"},
        {"lane 0\n", "line 1: `lane` where `plan` is expected"},
        {"plan all_redcue ranks 4\n", "line 1: unknown collective `all_redcue`; the nearest is "
                                      "`all_reduce`"},
        {"plan all_reduce rnaks 4\n", "the nearest word is `ranks`"},
        {"plan all_reduce ranks four\n", "line 1: `four` where a number is expected$"},
        {"plan all_reduce ranks 99999999999\n", "`99999999999` where a number below 2^32 is"},
        {HEAD PORT "move port 0 <- in[0]\n", "`move` where `port` or `lane` is expected$"},
        {HEAD PORT "lane 0\nmove port 0 <- in[0] count 0\n",
         "count 0, but a move has at least one"},
        {"plan all_reduce ranks 4294967296\n",
         "line 1: `4294967296` where a number below 2^32 is expected$"},
        {"plan all_reduce ranks 2 rank 2 root 0 chunks 1 tmp 0 lanes 1\n",
         "plan of rank 2: there are 2 ranks, 0 to 1"},
        {"plan all_reduce ranks 2 rank 0 root 5 chunks 1 tmp 0 lanes 1\n",
         "root 5, but there are 2 ranks, 0 to 1"},
        {"plan all_reduce ranks 0 rank 0 root 0 chunks 1 tmp 0 lanes 1\n",
         "0 ranks, a plan has 2 at least"},
        {"plan all_reduce ranks 2 rank 0 root 0 chunks 1 tmp 268435457 lanes 1\n",
         "1 chunks per block and 268435457 of scratch; 1 to 268435456 and at most 268435456 are"},
        {"plan all_to_all ranks 4 rank 0 root 0 chunks 67108865 tmp 0 lanes 1\n",
         "67108865 chunks per block and 0 of scratch; 1 to 67108864 and at most 268435456 are"},
        {HEAD HEAD, "line 2: a second `plan`"},
        {HEAD "port 1 lane 0 send to 2 channel 0\n", "line 2: port 1, but the next one is port 0"},
        {HEAD "port 0 lane 0 sennd to 2 channel 0\n",
         "`sennd` where `send` or `receive` is expected; the nearest word is `send`$"},
        {HEAD "port 0 lane 4 send to 2 channel 0\n", "line 2: port to rank 2 for lane 4"},
        {HEAD "lane 3\n", "line 2: lane 3, but the plan has 1"},
        {HEAD "move out[0] <- in[0]\n", "line 2: `move` where `port` or `lane` is expected"},
        {HEAD PORT "lane 0\nmvoe port 0 <- in[0]\n", "line 4: `mvoe` where an instruction is "
                                                     "expected; the nearest word is `move`"},
        {HEAD PORT "lane 0\nmove port 0 < in[0]\n", "line 4: `<` where `<-` is expected"},
        {HEAD PORT "lane 0\nmove port 0 <-\n", "the line ends where in, out, tmp or port"},
        {HEAD PORT "lane 0\nmove port 0 <- in[0\n", "the line ends where `]` is expected"},
        {HEAD PORT "lane 0\nmove port 0 <- in[0-9999999999]\n", "where a number"},
        {HEAD "lane 0\nmove out[0] <- in[0], in[0], in[0], in[0], in[0]\n", "more than 4 operands"},
        {HEAD PORT "lane 0\nmove port 0 <- in[0] finall\n", "the nearest word is `final`"},
        {HEAD PORT "lane 0\nmove out[0] <- in[0] final final\n", "line 4: a second `final`$"},
        {HEAD PORT "lane 0\nmove port 0 <- in[0] count 2 final count 2\n",
         "line 4: a second `count`$"},
        {HEAD PORT "lane 0\nmove port 0 <- in[0] packed like in[0] packed\n",
         "line 4: a second `packed`$"},
        {HEAD PORT "lane 0\n7: move port 0 <- in[0]\n",
         "line 4: label 7, but this is instruction 0"},
        {HEAD "lane 0\nend\n", "line 3: lane 0: END without LOOP"},
        {HEAD "lane 0\nend end\n", "line 3: `end` where the end of the line is expected"},
        {HEAD "lane 0\nbar 64\n", "lane 64, at most 64 exist"},
        {HEAD "lane 0\nmove out[9] <- in[0]\n", "lane 0 pc 0: out[9], but out has 4 chunks"},
        {"plan all_reduce ranks 4 rank 1 root 0 chunks 4 tmp 0 lanes 65\n", "more than 64 lanes"},
        {"plan barrier ranks 4 rank 1 root 0 chunks 4 tmp 0 lanes 1\n", "barrier has no plan"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_plan_t *plan = NULL;
        weft_status_t status = weft_plan_parse(cases[i].text, &plan);
        if (status != WEFT_ERR_PLAN || !says(cases[i].words)) {
            fail_msg("case %zu: expected \"%s\", got \"%s\"", i, cases[i].words,
                     weft_error_record()->text);
        }
        assert_null(plan);
    }
}

/* No text may make the parser crash: cuts and single-byte changes of a good one. */
static void damaged_texts_are_survived(void **state)
{
    (void)state;
    char text[sizeof everything];
    for (size_t at = 0; at < sizeof everything - 1; at++) {
        for (int byte = 1; byte < 256; byte += 7) {
            memcpy(text, everything, sizeof everything);
            text[at] = (char)byte;
            weft_plan_t *plan = NULL;
            if (weft_plan_parse(text, &plan) == WEFT_OK) {
                weft_plan_destroy(plan);
            }
        }
        memcpy(text, everything, at);
        text[at] = '\0';
        weft_plan_t *plan = NULL;
        if (weft_plan_parse(text, &plan) == WEFT_OK) {
            weft_plan_destroy(plan);
        }
    }
}

static void drawing_shows_ranks_moves_and_queues(void **state)
{
    (void)state;
    plan_fixture_t fixture;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, "algo-ring");
    weft_plan_t **plans = plan_fixture_emit(&fixture, WEFT_ALL_REDUCE, 4, 0);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    weft_plan_print_dot(plans, 4, out);
    fclose(out);
    assert_non_null(strstr(text, "label=\"rank 3\""));
    assert_non_null(strstr(text, "r0l0p0 [label=\"0: move port 0 <- in[0]\"]"));
    assert_non_null(strstr(text, "r0l0p0 -> r1l0p2 ["));
    assert_non_null(strstr(text, "r3l0p6 -> r0l0p8 ["));
    assert_null(strstr(text, "r0l0p0 -> r1l0p4 ["));
    free(text);
    plan_fixture_free(plans, 4);
    plan_fixture_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_plans_survive_print_and_parse),
        cmocka_unit_test(every_word_is_understood),
        cmocka_unit_test(mistakes_name_line_and_nearest_word),
        cmocka_unit_test(damaged_texts_are_survived),
        cmocka_unit_test(drawing_shows_ranks_moves_and_queues),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
