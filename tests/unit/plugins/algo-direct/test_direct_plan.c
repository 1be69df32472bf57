/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plans of algo-direct: proved for many numbers of ranks, hosts, depths and numbers of peers at
 * a time; the same bits as algo-flat; nothing but what a vector collective can bind. */
#include <string.h>

#include "core/base/error.h"
#include "core/plan/verify.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"

#define RANKS_MAX 64

/* As the option table of the plugin says. */
typedef struct direct_config {
    int64_t max_ranks, pairs;
} direct_config_t;

static const weft_coll_t colls[] = {WEFT_ALL_REDUCE, WEFT_REDUCE_SCATTER, WEFT_ALL_GATHER,
                                    WEFT_ALL_TO_ALL, WEFT_GATHER,         WEFT_SCATTER};
#define NCOLLS (sizeof colls / sizeof *colls)

static void open_direct(plan_fixture_t *direct, const direct_config_t *config)
{
    plan_fixture_open_with(direct, WEFT_PLUGIN_DIR, "algo-direct", config);
}

static weft_plan_t **emit(const plan_fixture_t *direct, weft_coll_t coll, uint32_t n,
                          uint32_t per_host, uint32_t root)
{
    uint32_t host[RANKS_MAX];
    for (uint32_t rank = 0; rank < n; rank++) {
        host[rank] = rank / per_host;
    }
    weft_algo_topo_t view = {.size = sizeof view, .nhosts = host[n - 1] + 1, .host = host};
    weft_algo_call_t call = {.coll = coll, .nranks = n, .root = root};
    return plan_fixture_emit_view(direct, &call, &view, NULL);
}

/* All-to-all reads a block of IN after another rank's block has taken its position in OUT: in place
 * it needs the core's copy. */
static void prove(weft_plan_t *const *plans, uint32_t n, uint32_t slots, uint32_t slices)
{
    for (int in_place = 0; in_place <= (plans[0]->coll != WEFT_ALL_TO_ALL); in_place++) {
        weft_verify_report_t report = plan_fixture_verify(plans, n, slots, slices, in_place);
        if (report.verdict != WEFT_VERDICT_OK) {
            fail_msg("%s, %u ranks, %u slots, %u slices, in place %d: %s: %s",
                     weft_coll_name(plans[0]->coll), n, slots, slices, in_place,
                     weft_verdict_name(report.verdict), report.text);
        }
    }
}

static void prove_coll(const plan_fixture_t *direct, weft_coll_t coll, uint32_t n,
                       uint32_t per_host, uint32_t root)
{
    static const uint32_t depths[][2] = {{2, 1}, {4, 3}, {8, 7}};
    weft_plan_t **plans = emit(direct, coll, n, per_host, root);
    assert_non_null(plans);
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        prove(plans, n, depths[i][0], depths[i][1]);
    }
    plan_fixture_free(plans, n);
}

static void all_plans_are_right_for_any_number_of_ranks(void **state)
{
    (void)state;
    static const direct_config_t configs[] = {{64, 8}, {64, 1}, {64, 3}, {64, 16}};
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        plan_fixture_t direct;
        open_direct(&direct, &configs[i]);
        for (uint32_t n = 2; n <= (i == 0 ? 17u : 9u); n++) {
            for (size_t c = 0; c < NCOLLS; c++) {
                prove_coll(&direct, colls[c], n, 1 + n % 4, n / 3);
            }
        }
        plan_fixture_close(&direct);
    }
}

static void plans_of_many_ranks_are_right(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{32, 8}, {33, 4}, {64, 64}};
    plan_fixture_t direct;
    open_direct(&direct, NULL);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t c = 0; c < NCOLLS; c++) {
            weft_plan_t **plans = emit(&direct, colls[c], sizes[i][0], sizes[i][1], 5);
            assert_non_null(plans);
            prove(plans, sizes[i][0], 4, 2);
            plan_fixture_free(plans, sizes[i][0]);
        }
    }
    plan_fixture_close(&direct);
}

static void exchanges_need_no_depth_at_all(void **state)
{
    (void)state;
    plan_fixture_t direct;
    open_direct(&direct, &(direct_config_t){64, 2});
    for (size_t c = 2; c < NCOLLS; c++) {
        weft_plan_t **plans = emit(&direct, colls[c], 11, 3, 4);
        prove(plans, 11, 1, 16);
        plan_fixture_free(plans, 11);
    }
    plan_fixture_close(&direct);
}

static void gives_the_same_bits_as_flat(void **state)
{
    (void)state;
    static const weft_coll_t reduces[] = {WEFT_ALL_REDUCE, WEFT_REDUCE_SCATTER};
    plan_fixture_t direct, flat;
    open_direct(&direct, NULL);
    plan_fixture_open(&flat, WEFT_PLUGIN_DIR, "algo-flat");
    for (uint32_t n = 2; n <= 17; n++) {
        for (size_t c = 0; c < 2; c++) {
            weft_plan_t **ours = emit(&direct, reduces[c], n, 4, 0);
            weft_plan_t **theirs = plan_fixture_emit(&flat, reduces[c], n, 0);
            weft_verify_report_t a = plan_fixture_verify(ours, n, 4, 3, 0);
            weft_verify_report_t b = plan_fixture_verify(theirs, n, 8, 2, 0);
            assert_int_equal(a.verdict, WEFT_VERDICT_OK);
            assert_int_equal(b.verdict, WEFT_VERDICT_OK);
            assert_true(a.fingerprint == b.fingerprint);
            assert_true(a.same_for_all_chunks && b.same_for_all_chunks);
            assert_true(a.same_on_all_ranks && b.same_on_all_ranks);
            plan_fixture_free(ours, n);
            plan_fixture_free(theirs, n);
        }
    }
    plan_fixture_close(&flat);
    plan_fixture_close(&direct);
}

static int is_direct(const weft_plan_view_t *move)
{
    return move->ndst == 1 && move->nsrc == 1 &&
           ((move->src[0].kind == WEFT_OPERAND_IN && move->dst[0].kind == WEFT_OPERAND_PORT) ||
            (move->src[0].kind == WEFT_OPERAND_PORT && move->dst[0].kind == WEFT_OPERAND_OUT) ||
            (move->src[0].kind == WEFT_OPERAND_IN && move->dst[0].kind == WEFT_OPERAND_OUT));
}

static void only_two_ranks_handle_a_block(void **state)
{
    (void)state;
    static const weft_coll_t pairwise[] = {WEFT_ALL_TO_ALL, WEFT_GATHER, WEFT_SCATTER};
    plan_fixture_t direct;
    open_direct(&direct, NULL);
    for (size_t c = 0; c < 3; c++) {
        weft_plan_t **plans = emit(&direct, pairwise[c], 13, 4, 2);
        for (uint32_t rank = 0; rank < 13; rank++) {
            assert_int_equal(plans[rank]->tmp_chunks, 0);
            for (uint32_t i = 0; i < plans[rank]->nmoves; i++) {
                weft_plan_view_t move = weft_plan_view(plans[rank], i);
                assert_true(is_direct(&move));
            }
        }
        plan_fixture_free(plans, 13);
    }
    plan_fixture_close(&direct);
}

static void a_plan_grows_with_the_ranks_and_not_faster(void **state)
{
    (void)state;
    plan_fixture_t direct;
    open_direct(&direct, &(direct_config_t){65536, 8});
    static uint32_t host[1024];
    weft_algo_topo_t view = {.size = sizeof view, .nhosts = 1, .host = host};
    for (size_t c = 0; c < NCOLLS; c++) {
        weft_algo_call_t call = {
            .size = sizeof call, .coll = colls[c], .nranks = 1024, .rank = 77, .root = 77};
        weft_plan_t *plan = NULL;
        assert_int_equal(weft_plan_emit(direct.ops, direct.algo, &call, &view, NULL, &plan),
                         WEFT_OK);
        assert_in_range(plan->nports, 1023, 2 * 1023);
        assert_in_range(plan->nmoves, 1, 3 * 1024);
        weft_plan_destroy(plan);
    }
    plan_fixture_close(&direct);
}

static void more_ranks_than_max_ranks_are_refused_where_others_can_serve(void **state)
{
    (void)state;
    plan_fixture_t direct;
    open_direct(&direct, NULL);
    weft_algo_call_t call = {.size = sizeof call, .coll = WEFT_ALL_REDUCE, .nranks = 64};
    assert_int_equal(direct.ops->supports(direct.algo, &call), WEFT_OK);
    call.nranks = 65;
    assert_int_equal(direct.ops->supports(direct.algo, &call), WEFT_ERR_UNSUPPORTED);
    assert_non_null(strstr(weft_error_record()->text, "up to 64 ranks (max_ranks), not 65"));
    call.coll = WEFT_ALL_TO_ALL;
    assert_int_equal(direct.ops->supports(direct.algo, &call), WEFT_OK);
    call.coll = WEFT_BROADCAST;
    assert_int_equal(direct.ops->supports(direct.algo, &call), WEFT_ERR_UNSUPPORTED);
    plan_fixture_close(&direct);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_plans_are_right_for_any_number_of_ranks),
        cmocka_unit_test(plans_of_many_ranks_are_right),
        cmocka_unit_test(exchanges_need_no_depth_at_all),
        cmocka_unit_test(gives_the_same_bits_as_flat),
        cmocka_unit_test(only_two_ranks_handle_a_block),
        cmocka_unit_test(a_plan_grows_with_the_ranks_and_not_faster),
        cmocka_unit_test(more_ranks_than_max_ranks_are_refused_where_others_can_serve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
