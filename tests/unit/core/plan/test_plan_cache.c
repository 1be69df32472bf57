/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plan cache: one proof per shape, shared by ranks and threads; refusals in the verifier's
 * words. */
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/os/os.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"

static plan_fixture_t ring;

static int open_ring(void **state)
{
    (void)state;
    plan_fixture_open(&ring, WEFT_PLUGIN_DIR, "algo-ring");
    weft_log_set_level(WEFT_LOG_ERROR);
    return 0;
}

static int close_ring(void **state)
{
    (void)state;
    plan_fixture_close(&ring);
    return 0;
}

static const uint32_t hosts[64];

static weft_plan_query_t query_of(weft_coll_t coll, uint32_t n, uint32_t rank)
{
    return (weft_plan_query_t){
        .algo = "algo-ring",
        .version = "1",
        .ops = ring.ops,
        .instance = ring.algo,
        .call = {.size = sizeof(weft_algo_call_t), .coll = coll, .nranks = n, .rank = rank},
        .view = {.size = sizeof(weft_algo_topo_t), .nhosts = 1, .host = hosts},
        .slots = 8,
        .slices = 2,
        .verify = 1,
        .limit = 1000000};
}

static void second_lookup_reuses_proof_and_plan(void **state)
{
    (void)state;
    weft_plan_query_t query = query_of(WEFT_ALL_REDUCE, 8, 3);
    weft_plan_entry_t first, again, other;
    assert_int_equal(weft_plan_lookup(&query, &first), WEFT_OK);
    assert_true(first.verify_seconds > 0);
    assert_int_equal(first.report.verdict, WEFT_VERDICT_OK);
    assert_int_equal(first.plan->rank, 3);
    assert_true(first.in_place);
    assert_true(first.report.same_on_all_ranks);
    assert_int_equal(weft_plan_lookup(&query, &again), WEFT_OK);
    assert_ptr_equal(first.plan, again.plan);
    assert_true(again.verify_seconds == 0);
    query.call.rank = 4;
    assert_int_equal(weft_plan_lookup(&query, &other), WEFT_OK);
    assert_int_equal(other.plan->rank, 4);
    assert_true(other.verify_seconds == 0);
    assert_true(other.plans_hash == first.plans_hash);
    assert_int_equal(other.cost.chain, first.cost.chain);
}

static void each_part_of_the_key_counts(void **state)
{
    (void)state;
    weft_plan_entry_t base, entry;
    weft_plan_query_t query = query_of(WEFT_BROADCAST, 6, 0);
    assert_int_equal(weft_plan_lookup(&query, &base), WEFT_OK);
    for (int part = 0; part < 6; part++) {
        query = query_of(WEFT_BROADCAST, 6, 0);
        query.version = part == 0 ? "2" : query.version;
        query.call.root = part == 1 ? 5 : 0;
        query.call.params[7] = part == 2;
        query.slots += part == 3;
        query.slices += part == 4;
        query.view.nhosts += part == 5;
        assert_int_equal(weft_plan_lookup(&query, &entry), WEFT_OK);
        assert_true(entry.verify_seconds > 0);
        assert_true((entry.plans_hash != base.plans_hash) == (part == 1));
    }
}

static void refusal_has_the_verifiers_words(void **state)
{
    (void)state;
    weft_plan_query_t query = query_of(WEFT_ALL_REDUCE, 4, 0);
    weft_plan_entry_t entry;
    query.slots = 2;
    query.slices = 3;
    assert_int_equal(weft_plan_lookup(&query, &entry), WEFT_ERR_PLAN);
    const char *text = weft_error_record()->text;
    assert_non_null(strstr(text, "algo-ring: plan of all_reduce for 4 ranks refused, deadlock: "));
    assert_non_null(strstr(text, "rank 0 lane 0 pc 0: waits for a free slot to rank 1 channel 0"));
}

static weft_status_t careless_emit(weft_algo_t *algo, const weft_algo_call_t *call,
                                   const weft_algo_topo_t *view, weft_plan_builder_t *builder)
{
    (void)algo;
    (void)call;
    (void)view;
    builder->grid(builder, 1, 0);
    builder->grid(builder, 1, 0);
    return WEFT_OK;
}

static void a_mistake_with_the_builder_names_the_algorithm(void **state)
{
    (void)state;
    weft_algo_ops_t ops = {
        .size = sizeof ops, .supports = ring.ops->supports, .emit = careless_emit};
    weft_plan_query_t query = query_of(WEFT_ALL_REDUCE, 4, 0);
    weft_plan_entry_t entry;
    query.algo = "careless";
    query.ops = &ops;
    assert_int_equal(weft_plan_lookup(&query, &entry), WEFT_ERR_PLAN);
    assert_string_equal(weft_error_record()->text, "careless: plan of rank 0: grid() called twice");
}

static uint32_t emits;

static weft_status_t counting_emit(weft_algo_t *algo, const weft_algo_call_t *call,
                                   const weft_algo_topo_t *view, weft_plan_builder_t *builder)
{
    (void)algo;
    emits++;
    return ring.ops->emit(ring.algo, call, view, builder);
}

static void a_refused_plan_is_not_proved_again(void **state)
{
    (void)state;
    weft_algo_ops_t ops = {
        .size = sizeof ops, .supports = ring.ops->supports, .emit = counting_emit};
    weft_plan_query_t query = query_of(WEFT_ALL_REDUCE, 5, 0);
    weft_plan_entry_t entry;
    char first[sizeof weft_error_record()->text];
    query.algo = "counting";
    query.ops = &ops;
    query.slots = 2;
    query.slices = 3;
    assert_int_equal(weft_plan_lookup(&query, &entry), WEFT_ERR_PLAN);
    memcpy(first, weft_error_record()->text, sizeof first);
    assert_int_equal(emits, 5);
    query.call.rank = 3;
    assert_int_equal(weft_plan_lookup(&query, &entry), WEFT_ERR_PLAN);
    assert_string_equal(weft_error_record()->text, first);
    assert_int_equal(emits, 5);
}

static void shapes_above_the_limit_are_used_without_proof(void **state)
{
    (void)state;
    weft_plan_query_t query = query_of(WEFT_ALL_REDUCE, 16, 0);
    weft_plan_entry_t entry;
    query.limit = 10;
    assert_int_equal(weft_plan_lookup(&query, &entry), WEFT_OK);
    assert_int_equal(entry.report.verdict, WEFT_VERDICT_TOO_BIG);
    assert_false(entry.in_place);
    assert_non_null(entry.plan);
    query.verify = 0;
    assert_int_equal(weft_plan_lookup(&query, &entry), WEFT_OK);
    assert_true(entry.verify_seconds == 0);
}

static void thousands_of_ranks_are_priced_without_a_walk(void **state)
{
    (void)state;
    static uint32_t many[4096];
    weft_plan_query_t query = query_of(WEFT_ALL_REDUCE, 4096, 4095);
    weft_plan_entry_t entry;
    query.view.host = many;
    assert_int_equal(weft_plan_lookup(&query, &entry), WEFT_OK);
    assert_int_equal(entry.report.verdict, WEFT_VERDICT_TOO_BIG);
    assert_true(weft_cost_sum(entry.cost.fill.edges) == 2.0 * 4095);
    assert_int_equal(entry.cost.chain, 2 * 4096 - 1);
}

static void unsupported_calls_are_the_plugins_answer(void **state)
{
    (void)state;
    weft_plan_query_t query = query_of(WEFT_BARRIER, 4, 0);
    weft_plan_entry_t entry;
    assert_int_equal(weft_plan_lookup(&query, &entry), WEFT_ERR_UNSUPPORTED);
    query = query_of(WEFT_ALL_REDUCE, 1, 0);
    assert_int_equal(weft_plan_lookup(&query, &entry), WEFT_ERR_ARG);
}

static weft_status_t fickle_supports(weft_algo_t *algo, const weft_algo_call_t *call)
{
    (void)algo, (void)call;
    return WEFT_OK;
}

static weft_status_t fickle_emit(weft_algo_t *algo, const weft_algo_call_t *call,
                                 const weft_algo_topo_t *view, weft_plan_builder_t *builder)
{
    uint32_t *calls = (void *)algo;
    if (++*calls > call->nranks) {
        /* An idle lane more: still a right plan, but not the one that was proved. */
        weft_status_t status = ring.ops->emit(ring.algo, call, view, builder);
        builder->lane(builder);
        return status;
    }
    return ring.ops->emit(ring.algo, call, view, builder);
}

static void algorithms_that_change_their_mind_are_refused(void **state)
{
    (void)state;
    uint32_t calls = 0;
    weft_algo_ops_t ops = {.size = sizeof ops, .supports = fickle_supports, .emit = fickle_emit};
    weft_plan_query_t query = query_of(WEFT_ALL_GATHER, 4, 0);
    weft_plan_entry_t entry;
    query.algo = "fickle";
    query.ops = &ops;
    query.instance = (void *)&calls;
    assert_int_equal(weft_plan_lookup(&query, &entry), WEFT_OK);
    query.call.rank = 1;
    assert_int_equal(weft_plan_lookup(&query, &entry), WEFT_ERR_PLUGIN);
    assert_non_null(strstr(weft_error_record()->text, "another plan for rank 1 than before"));
}

typedef struct asker {
    uint32_t rank;
    weft_status_t status;
    weft_plan_entry_t entry;
} asker_t;

static void ask(void *arg)
{
    asker_t *asker = arg;
    weft_plan_query_t query = query_of(WEFT_REDUCE_SCATTER, 32, asker->rank);
    asker->status = weft_plan_lookup(&query, &asker->entry);
}

static void threads_share_one_proof(void **state)
{
    (void)state;
    asker_t askers[4];
    weft_os_thread_t *threads[4];
    int proofs = 0;
    for (uint32_t i = 0; i < 4; i++) {
        askers[i] = (asker_t){.rank = i / 2};
        assert_int_equal(weft_os_thread_start("ask", ask, &askers[i], &threads[i]), WEFT_OK);
    }
    for (uint32_t i = 0; i < 4; i++) {
        weft_os_thread_join(threads[i]);
        assert_int_equal(askers[i].status, WEFT_OK);
        assert_int_equal(askers[i].entry.plan->rank, i / 2);
        assert_true(askers[i].entry.plans_hash == askers[0].entry.plans_hash);
        proofs += askers[i].entry.verify_seconds > 0;
    }
    assert_int_equal(proofs, 1);
    assert_ptr_equal(askers[0].entry.plan, askers[1].entry.plan);
    assert_ptr_equal(askers[2].entry.plan, askers[3].entry.plan);
}

static void put_copy(weft_plan_builder_t *b, uint32_t lane, weft_operand_t dst, weft_operand_t src)
{
    weft_move_t move = {.dst = {dst}, .src = {src}, .ndst = 1, .nsrc = 1};
    b->move(b, lane, &move);
}

static void put_port(weft_plan_builder_t *b, uint32_t lane, uint32_t peer, uint32_t sends)
{
    weft_operand_t port = weft_port(b->port(b, lane, peer, 0, sends));
    put_copy(b, lane, sends ? port : weft_out(peer, 0), sends ? weft_in(peer, 0) : port);
}

static weft_status_t circles_supports(weft_algo_t *algo, const weft_algo_call_t *call)
{
    (void)algo;
    return call->coll == WEFT_ALL_TO_ALL ? WEFT_OK : WEFT_ERR_UNSUPPORTED;
}

/* In place, what orders the two lanes of rank 0 is the way through ranks 1 and 2. */
static weft_status_t circles_emit(weft_algo_t *algo, const weft_algo_call_t *call,
                                  const weft_algo_topo_t *topo, weft_plan_builder_t *b)
{
    uint32_t r = call->rank, first = r == 1 ? 2 : 0;
    (void)algo;
    (void)topo;
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    if (r == 0) {
        put_port(b, lane, 1, 1);
        put_port(b, lane, 2, 1);
        put_port(b, lane, 2, 0);
        put_port(b, b->lane(b), 1, 0);
    } else {
        put_port(b, lane, first, 1);
        put_port(b, lane, first, 0);
        put_port(b, lane, 3 - r - first, 1);
        put_port(b, lane, 3 - r - first, 0);
    }
    put_copy(b, lane, weft_out(r, 0), weft_in(r, 0));
    return WEFT_OK;
}

/* all_to_all_v leaves out messages on that way, so calls in place are staged. */
static void a_plan_that_serves_less_in_place_is_staged(void **state)
{
    static const weft_algo_ops_t ops = {
        .size = sizeof ops, .supports = circles_supports, .emit = circles_emit};
    weft_plan_query_t query = query_of(WEFT_ALL_TO_ALL, 3, 0);
    weft_plan_entry_t entry;
    (void)state;
    query.algo = "algo-circles";
    query.ops = &ops;
    query.instance = NULL;
    assert_int_equal(weft_plan_lookup(&query, &entry), WEFT_OK);
    assert_int_equal(entry.report.verdict, WEFT_VERDICT_OK);
    assert_int_equal(entry.report.vector, WEFT_VECTOR_PAIRS);
    assert_false(entry.in_place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_lookup_reuses_proof_and_plan),
        cmocka_unit_test(each_part_of_the_key_counts),
        cmocka_unit_test(refusal_has_the_verifiers_words),
        cmocka_unit_test(a_refused_plan_is_not_proved_again),
        cmocka_unit_test(a_mistake_with_the_builder_names_the_algorithm),
        cmocka_unit_test(shapes_above_the_limit_are_used_without_proof),
        cmocka_unit_test(a_plan_that_serves_less_in_place_is_staged),
        cmocka_unit_test(thousands_of_ranks_are_priced_without_a_walk),
        cmocka_unit_test(unsupported_calls_are_the_plugins_answer),
        cmocka_unit_test(algorithms_that_change_their_mind_are_refused),
        cmocka_unit_test(threads_share_one_proof),
    };
    return cmocka_run_group_tests(tests, open_ring, close_ring);
}
