/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans of every algorithm run by the device's interpreter, on all ranks or on some of them while
 * the core's interpreter runs the others, against the definition of the collective. */
#include <stdlib.h>

#include "tests/support/kernel_reference.h"
#include "tests/cuda/mesh.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"

/* As the option table of algo-hier says. */
typedef struct hier_config {
    const char *between;
    int64_t group;
} hier_config_t;

static mesh_kernels_t kernels;
static plan_fixture_t flat, ring, tree, halving, pat, direct, hier;
static plan_fixture_t *all[] = {&flat, &ring, &tree, &halving, &pat, &direct, &hier, NULL};
static const weft_plan_finder_t finder = {.find = plan_fixture_find, .arg = all};

static int open_all(void **state)
{
    static const hier_config_t by_ring = {"algo-ring", 0};
    (void)state;
    mesh_kernels_open(&kernels);
    plan_fixture_open(&flat, WEFT_PLUGIN_DIR, "algo-flat");
    plan_fixture_open(&ring, WEFT_PLUGIN_DIR, "algo-ring");
    plan_fixture_open(&tree, WEFT_PLUGIN_DIR, "algo-tree");
    plan_fixture_open(&halving, WEFT_PLUGIN_DIR, "algo-halving");
    plan_fixture_open(&pat, WEFT_PLUGIN_DIR, "algo-pat");
    plan_fixture_open(&direct, WEFT_PLUGIN_DIR, "algo-direct");
    plan_fixture_open_with(&hier, WEFT_PLUGIN_DIR, "algo-hier", &by_ring);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    for (uint32_t i = 0; all[i] != NULL; i++) {
        plan_fixture_close(all[i]);
    }
    mesh_kernels_close(&kernels);
    return 0;
}

/* The plans of an algorithm over `nhosts` hosts, or NULL if it does not serve the shape. */
static weft_plan_t **emit(const plan_fixture_t *fixture, weft_coll_t coll, uint32_t n,
                          uint32_t root, uint32_t nhosts)
{
    uint32_t host[MESH_RANKS];
    weft_algo_call_t call = {.size = sizeof call, .coll = coll, .nranks = n, .root = root};
    weft_algo_topo_t view = {.size = sizeof view, .nhosts = nhosts, .host = host};
    for (uint32_t i = 0; i < n; i++) {
        host[i] = i * nhosts / n;
    }
    if (fixture->ops->supports(fixture->algo, &call) != WEFT_OK) {
        return NULL;
    }
    return plan_fixture_emit_view(fixture, &call, &view, &finder);
}

/* On the device everywhere, on every other rank, on the others: each run goes on where the last one
 * has left the ports. */
static void run_everywhere(weft_plan_t *const *plans, uint32_t n, const mesh_call_t *call)
{
    static const uint32_t devices[] = {0xffffffff, 0x55555555, 0xaaaaaaaa};
    mesh_t *mesh = mesh_open(&kernels, plans, n, call);
    for (uint32_t i = 0; i < 3; i++) {
        mesh_start(mesh, devices[i], i + 1);
        mesh_finish(mesh, 60);
        mesh_check(mesh);
    }
    mesh_close(mesh);
}

static const uint64_t counts[] = {0, 1, 7, 8, 9, 100, 1003, 3001};

/* Counts, slicings and types change from case to case, so that few runs meet many of them. */
static mesh_call_t varied(weft_coll_t coll, uint32_t at)
{
    static const weft_dtype_t dtypes[] = {WEFT_INT32, WEFT_FP32, WEFT_BF16, WEFT_FP64, WEFT_UINT8};
    static const weft_op_t ops[] = {WEFT_SUM, WEFT_AVG, WEFT_PREMULSUM, WEFT_MAX};
    bool reduces = weft_coll_reduces(coll);
    return (mesh_call_t){.coll = coll,
                         .dtype = dtypes[at % 5],
                         .op = reduces ? ops[at / 2 % 4] : WEFT_SUM,
                         .count = counts[at % 8],
                         .slots = 4,
                         .slices = 1 + at % 3,
                         .slot_bytes = at % 7 == 0 ? 64 : 256};
}

/* Half of all sizes for one plan, the other half for the next; in place where that is proved. */
static void sweep_plan(weft_plan_t *const *plans, weft_coll_t coll, uint32_t n, uint32_t root,
                       uint32_t seed)
{
    weft_verify_report_t report = plan_fixture_verify(plans, n, 4, 3, 1);
    for (uint32_t i = seed % 2; i < 8; i += 2) {
        mesh_call_t call = varied(coll, i + seed);
        call.root = root;
        call.in_place = report.verdict == WEFT_VERDICT_OK && (i + seed) % 3 == 0;
        call.count = counts[i];
        run_everywhere(plans, n, &call);
    }
}

static void sweep_coll(weft_coll_t coll)
{
    static const uint32_t sizes[] = {2, 3, 6};
    uint32_t served = 0;
    for (uint32_t s = 0; s < 3; s++) {
        for (uint32_t a = 0; all[a] != NULL; a++) {
            uint32_t n = sizes[s], root = n - 1;
            bool rooted = weft_coll_is_rooted(coll);
            weft_plan_t **plans =
                emit(all[a], coll, n, rooted ? root : 0, all[a] == &hier && n > 3 ? 2 : 1);
            if (plans == NULL) {
                continue;
            }
            sweep_plan(plans, coll, n, rooted ? root : 0, s * 11 + a);
            plan_fixture_free(plans, n);
            served++;
        }
    }
    assert_true(served > 0);
}

static void an_all_reduce_of_every_algorithm_is_right(void **state)
{
    (void)state;
    sweep_coll(WEFT_ALL_REDUCE);
}

static void a_reduce_scatter_and_an_all_gather_of_every_algorithm_are_right(void **state)
{
    (void)state;
    sweep_coll(WEFT_REDUCE_SCATTER);
    sweep_coll(WEFT_ALL_GATHER);
}

static void rooted_collectives_of_every_algorithm_are_right(void **state)
{
    (void)state;
    sweep_coll(WEFT_BROADCAST);
    sweep_coll(WEFT_REDUCE);
    sweep_coll(WEFT_GATHER);
    sweep_coll(WEFT_SCATTER);
}

static void an_all_to_all_of_every_algorithm_is_right(void **state)
{
    (void)state;
    sweep_coll(WEFT_ALL_TO_ALL);
}

static void every_type_and_operator_has_the_bits_of_the_definition(void **state)
{
    (void)state;
    weft_plan_t **plans = emit(&ring, WEFT_ALL_REDUCE, 3, 0, 1);
    for (uint32_t dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) {
        for (uint32_t op = 0; op < WEFT_OP_COUNT; op++) {
            if (!reference_has((weft_dtype_t)dtype, (weft_op_t)op)) {
                continue;
            }
            mesh_call_t call = {.coll = WEFT_ALL_REDUCE,
                                .dtype = (weft_dtype_t)dtype,
                                .op = (weft_op_t)op,
                                .count = (dtype + op) % 2 == 0 ? 5 : 333,
                                .slots = 4,
                                .slices = 2,
                                .slot_bytes = 128};
            run_everywhere(plans, 3, &call);
        }
    }
    plan_fixture_free(plans, 3);
}

static void run_vectors(const plan_fixture_t *fixture, weft_coll_t shape, weft_coll_t coll,
                        uint32_t n)
{
    static const uint64_t sizes[] = {3, 50, 1100};
    uint32_t root = coll == WEFT_GATHER_V || coll == WEFT_SCATTER_V ? 1 : 0;
    weft_plan_t **plans = emit(fixture, shape, n, root, 1);
    assert_non_null(plans);
    for (uint32_t i = 0; i < 3; i++) {
        mesh_call_t call = varied(coll, i);
        call.root = root;
        call.count = sizes[i];
        call.op = WEFT_SUM;
        run_everywhere(plans, n, &call);
    }
    plan_fixture_free(plans, n);
}

static void blocks_of_unequal_length_are_moved(void **state)
{
    (void)state;
    for (uint32_t n = 2; n < 6; n++) {
        run_vectors(&ring, WEFT_ALL_GATHER, WEFT_ALL_GATHER_V, n);
        run_vectors(&flat, WEFT_REDUCE_SCATTER, WEFT_REDUCE_SCATTER_V, n);
        run_vectors(&pat, WEFT_ALL_GATHER, WEFT_ALL_GATHER_V, n);
    }
}

static void lengths_that_two_ranks_know_may_need_different_passes(void **state)
{
    (void)state;
    for (uint32_t n = 2; n < 6; n++) {
        run_vectors(&direct, WEFT_ALL_TO_ALL, WEFT_ALL_TO_ALL_V, n);
        run_vectors(&direct, WEFT_GATHER, WEFT_GATHER_V, n);
        run_vectors(&direct, WEFT_SCATTER, WEFT_SCATTER_V, n);
    }
}

/* Lane 2 exchanges in a loop and meets lane 1 each time, which then meets lane 0, which waits for
 * it too and copies what is in TMP. */
static void write_bars(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 2, 2);
    uint32_t last = b->lane(b), middle = b->lane(b), first = b->lane(b);
    uint32_t to = b->port(b, first, 1 - call->rank, 0, 1);
    uint32_t from = b->port(b, first, 1 - call->rank, 0, 0);
    weft_move_t send = {.dst = {weft_port(to)}, .src = {weft_in(0, 1)}, .ndst = 1, .nsrc = 1};
    weft_move_t receive = {.dst = {weft_tmp(0, 1)},
                           .ndst = 1,
                           .nsrc = 2,
                           .src = {weft_port(from), weft_in(0, 1)},
                           .flags = WEFT_MOVE_FINAL};
    b->loop(b, first, 2);
    b->par(b, first, 2);
    b->move(b, first, &send);
    uint32_t pc = b->move(b, first, &receive);
    b->bar(b, first, 6);
    b->end(b, first);
    b->loop(b, middle, 2);
    b->bar(b, middle, 6);
    b->end(b, middle);
    b->bar(b, middle, 3);
    b->bar(b, last, 3);
    weft_move_t copy = {.dst = {weft_out(0, 0)},
                        .src = {weft_tmp(0, 0)},
                        .ndst = 1,
                        .nsrc = 1,
                        .cnt = 2,
                        .nafter = 1,
                        .after = {{first, pc}}};
    b->move(b, last, &copy);
    b->bar(b, first, 7);
    b->bar(b, middle, 7);
    b->bar(b, last, 7);
}

static void lanes_meet_at_barriers_and_wait_for_each_other(void **state)
{
    (void)state;
    weft_plan_t **plans = plan_fixture_write(write_bars, WEFT_ALL_REDUCE, 2);
    assert_non_null(plans);
    for (uint32_t i = 0; i < 24; i++) {
        mesh_call_t call = varied(WEFT_ALL_REDUCE, i);
        run_everywhere(plans, 2, &call);
    }
    plan_fixture_free(plans, 2);
}

/* In place, OUT ← IN moves nothing but multiplies, and OUT ← OUT moves nothing but divides. */
static void write_copies(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    weft_operand_t to = weft_port(b->port(b, lane, 1 - call->rank, 0, 1));
    weft_operand_t from = weft_port(b->port(b, lane, 1 - call->rank, 0, 0));
    weft_operand_t in = weft_in(0, 0), out = weft_out(0, 0);
    weft_move_t send = {.dst = {to}, .src = {in}, .ndst = 1, .nsrc = 1};
    weft_move_t copy = {.dst = {out}, .src = {in}, .ndst = 1, .nsrc = 1};
    weft_move_t sum = {.dst = {out}, .src = {out, from}, .ndst = 1, .nsrc = 2};
    weft_move_t last = {.dst = {out}, .src = {out}, .ndst = 1, .nsrc = 1, .flags = WEFT_MOVE_FINAL};
    b->move(b, lane, &send);
    b->move(b, lane, &copy);
    b->move(b, lane, &sum);
    b->move(b, lane, &last);
}

static void a_copy_onto_itself_multiplies_and_divides(void **state)
{
    (void)state;
    weft_plan_t **plans = plan_fixture_write(write_copies, WEFT_ALL_REDUCE, 2);
    assert_non_null(plans);
    for (uint32_t i = 0; i < 24; i++) {
        mesh_call_t call = varied(WEFT_ALL_REDUCE, i);
        call.in_place = true;
        run_everywhere(plans, 2, &call);
    }
    plan_fixture_free(plans, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_all_reduce_of_every_algorithm_is_right),
        cmocka_unit_test(a_reduce_scatter_and_an_all_gather_of_every_algorithm_are_right),
        cmocka_unit_test(rooted_collectives_of_every_algorithm_are_right),
        cmocka_unit_test(an_all_to_all_of_every_algorithm_is_right),
        cmocka_unit_test(every_type_and_operator_has_the_bits_of_the_definition),
        cmocka_unit_test(blocks_of_unequal_length_are_moved),
        cmocka_unit_test(lengths_that_two_ranks_know_may_need_different_passes),
        cmocka_unit_test(a_copy_onto_itself_multiplies_and_divides),
        cmocka_unit_test(lanes_meet_at_barriers_and_wait_for_each_other),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
