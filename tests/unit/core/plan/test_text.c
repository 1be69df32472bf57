/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Texts of many plans: where each begins, what is refused, and that a plan survives the way through
 * a builder that knows nothing of texts. */
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/plan/builder.h"
#include "core/plan/plan_ir.h"
#include "core/plan/plan_parse.h"
#include "core/plan/text.h"
#include "tests/support/unit.h"

#define RANK_0                                                                                     \
    "# all words of the language\n"                                                                \
    "plan all_reduce ranks 4 rank 0 root 0 chunks 4 tmp 2 lanes 2\n"                               \
    "port 0 lane 0 send to 2 channel 0\n"                                                          \
    "port 1 lane 0 receive from 1 channel 0\n"                                                     \
    "port 2 lane 1 send to 3 channel 9\n"                                                          \
    "lane 0\n"                                                                                     \
    "   0: par 2\n"                                                                                \
    "   1: move port 0 <- in[1]\n"                                                                 \
    "   2: move tmp[0], tmp[1] <- port 1 count 2 like in[1]\n"                                     \
    "   3: bar 0, 1\n"                                                                             \
    "lane 1\n"                                                                                     \
    "   0: loop 3\n"                                                                               \
    "   1:   move out[1+1], port 2 <- tmp[0-1], in[1-3] final after 0:1 0:2\n"                     \
    "   2: end\n"                                                                                  \
    "   3: bar 0, 1\n"
#define RANK_3                                                                                     \
    "plan broadcast ranks 4 rank 3 root 2 chunks 1 tmp 0 lanes 1\n"                                \
    "port 0 lane 0 receive from 2 channel 0\n"                                                     \
    "lane 0\n"                                                                                     \
    "   0: move out[0] <- port 0\n"

static weft_plan_text_t text_of(const char *text, size_t bytes)
{
    return (weft_plan_text_t){
        .size = sizeof(weft_plan_text_t), .name = "a.plan", .text = text, .bytes = bytes};
}

static void each_plan_is_found_with_its_line(void **state)
{
    (void)state;
    static const char bytes[] = RANK_0 "\n# between\n  " RANK_3 "\n";
    const weft_plan_text_service_t *service = weft_plan_text_service();
    const weft_plan_text_t text = text_of(bytes, sizeof bytes - 1);
    weft_plan_text_entry_t entry = {.size = sizeof entry};
    assert_int_equal(service->next(NULL, &text, &entry), WEFT_OK);
    assert_int_equal(entry.coll, WEFT_ALL_REDUCE);
    assert_int_equal(entry.rank, 0);
    assert_int_equal(entry.line, 1);
    assert_int_equal(service->next(NULL, &text, &entry), WEFT_OK);
    assert_int_equal(entry.coll, WEFT_BROADCAST);
    assert_int_equal(entry.nranks, 4);
    assert_int_equal(entry.rank, 3);
    assert_int_equal(entry.root, 2);
    assert_int_equal(entry.line, 18);
    assert_int_equal(service->next(NULL, &text, &entry), WEFT_OK);
    assert_int_equal(entry.bytes, 0);
}

/* Hands a builder's calls to the text service, as an algorithm plugin does. */
struct weft_algo {
    weft_plan_text_t text;
    weft_plan_text_entry_t entry;
};

static weft_status_t emit(weft_algo_t *algo, const weft_algo_call_t *call,
                          const weft_algo_topo_t *view, weft_plan_builder_t *builder)
{
    (void)call, (void)view;
    return weft_plan_text_service()->write(NULL, &algo->text, &algo->entry, builder);
}

static void a_plan_survives_the_builder(void **state)
{
    (void)state;
    static const char bytes[] = RANK_0;
    weft_algo_t algo = {.text = text_of(bytes, sizeof bytes - 1),
                        .entry = {.size = sizeof algo.entry}};
    weft_algo_ops_t ops = {.size = sizeof ops, .emit = emit};
    weft_algo_call_t call = {.size = sizeof call, .coll = WEFT_ALL_REDUCE, .nranks = 4};
    weft_algo_topo_t view = {.size = sizeof view};
    weft_plan_t *direct = NULL, *through = NULL;
    assert_int_equal(weft_plan_text_service()->next(NULL, &algo.text, &algo.entry), WEFT_OK);
    assert_int_equal(weft_plan_emit(&ops, &algo, &call, &view, NULL, &through), WEFT_OK);
    assert_int_equal(weft_plan_parse(bytes, &direct), WEFT_OK);
    assert_true(weft_plan_hash(direct) == weft_plan_hash(through));
    weft_plan_destroy(direct);
    weft_plan_destroy(through);
}

static void expect_refusal(const char *bytes, size_t count, const char *words)
{
    /* Exactly as long as it says, so that reading past its end is seen by a sanitizer. */
    char *exact = malloc(count + (count == 0));
    memcpy(exact, bytes, count);
    const weft_plan_text_t text = text_of(exact, count);
    weft_plan_text_entry_t entry = {.size = sizeof entry};
    weft_status_t status = WEFT_OK;
    do {
        status = weft_plan_text_service()->next(NULL, &text, &entry);
    } while (status == WEFT_OK && entry.bytes != 0);
    if (status != WEFT_ERR_PLAN || strstr(weft_error_record()->text, words) == NULL) {
        fail_msg("expected \"%s\", got \"%s\"", words, weft_error_record()->text);
    }
    free(exact);
}

static void mistakes_name_the_text_and_the_line_in_it(void **state)
{
    (void)state;
#define REFUSED(text, words) expect_refusal(text, sizeof(text) - 1, words)
    REFUSED(RANK_0 RANK_3 "lane 9\n", "a.plan:20: lane 9, but the plan has 1");
    REFUSED(RANK_0 RANK_3 "move out[7] <- in[0]", "a.plan:20: plan of rank 3: lane 0 pc 1: out[7]");
    REFUSED("# two lanes\n\n"
            "plan all_reduce ranks 2 rank 1 root 0 chunks 1 tmp 0 lanes 2\n"
            "lane 1\npar 2\n# the first\nmove out[0] <- in[0]\nlane 0\nmove out[0] <- in[0]\n",
            "a.plan:5: plan of rank 1: lane 1 pc 0: PAR of 2, but only 1 MOVE");
    REFUSED("# of nobody\n\n"
            "plan all_reduce ranks 2 rank 2 root 0 chunks 1 tmp 0 lanes 1\nlane 0\n",
            "a.plan:3: plan of rank 2: there are 2 ranks");
    REFUSED("lane 0\n" RANK_3, "a.plan:1: `lane` where `plan` is expected");
    REFUSED("\n\n# nothing", "a.plan:3: the text has no `plan` line");
    REFUSED(RANK_3 "\n#\0\n", "a.plan:6: a byte of value 0");
    REFUSED(RANK_3 "plan", "a.plan:5: unknown collective ``");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_plan_is_found_with_its_line),
        cmocka_unit_test(a_plan_survives_the_builder),
        cmocka_unit_test(mistakes_name_the_text_and_the_line_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
