/* SPDX-License-Identifier: BSD-3-Clause
 *
 * core.check of algorithms: an emitter that says something else when it is asked again is found,
 * whatever it says differently, and nothing that a plugin offers is kept from the core. */
#include <stdlib.h>

#include <weft/plugin/algo.h>

#include "core/base/error.h"
#include "core/check/check.h"
#include "tests/support/fake_host.h"
#include "tests/support/unit.h"

struct weft_algo {
    int unused;
};

/* Which word of the second plan is another one. */
typedef enum odd {
    ODD_NOTHING,
    ODD_COUNT,
    ODD_LIKE,
    ODD_WAITS,
    ODD_WAIT_LANE,
    ODD_WAIT_PC,
    ODD_SUB_ALGO,
    ODD_SUB_PARTIAL,
    ODDS
} odd_t;

static struct weft_algo object;
static odd_t odd;
static uint32_t emitted;

static weft_status_t create(const weft_host_t *host, const void *config, weft_algo_t **algo_p)
{
    (void)host, (void)config;
    *algo_p = &object;
    return WEFT_OK;
}

static void destroy(weft_algo_t *algo)
{
    (void)algo;
}

static weft_status_t supports(weft_algo_t *algo, const weft_algo_call_t *call)
{
    (void)algo, (void)call;
    return WEFT_OK;
}

static uint32_t differs(odd_t what)
{
    return odd == what && emitted % 2 == 1;
}

static weft_status_t emit(weft_algo_t *algo, const weft_algo_call_t *call,
                          const weft_algo_topo_t *topo, weft_plan_builder_t *b)
{
    (void)algo, (void)call, (void)topo;
    const uint32_t group[] = {0, 1};
    const weft_plan_sub_t sub = {.size = sizeof sub,
                                 .algo = differs(ODD_SUB_ALGO) ? "algo-tree" : "algo-ring",
                                 .coll = WEFT_ALL_REDUCE,
                                 .group = group,
                                 .n = 2,
                                 .partial = differs(ODD_SUB_PARTIAL)};
    weft_move_t move = {.dst = {weft_out(0, 0)},
                        .src = {weft_in(0, 0)},
                        .ndst = 1,
                        .nsrc = 1,
                        .cnt = 1 + differs(ODD_COUNT),
                        .like = weft_in(differs(ODD_LIKE), 0),
                        .nafter = 1 + differs(ODD_WAITS),
                        .after = {{differs(ODD_WAIT_LANE), differs(ODD_WAIT_PC)}}};
    uint32_t k, tmp;
    b->sub(b, &sub, &k, &tmp);
    b->move(b, 0, &move);
    emitted++;
    return WEFT_OK;
}

/* As an author may get it wrong: each rank goes by its own place. */
static uint32_t pack(weft_algo_t *algo, const weft_algo_call_t *call)
{
    (void)algo;
    return call->coll == WEFT_ALL_GATHER ? 4 : 4 + call->rank;
}

static uint32_t take_move(weft_plan_builder_t *b, uint32_t lane, const weft_move_t *move)
{
    (void)b, (void)lane, (void)move;
    return 0;
}

static uint32_t take_sub(weft_plan_builder_t *b, const weft_plan_sub_t *sub, uint32_t *k_p,
                         uint32_t *tmp_p)
{
    (void)b, (void)sub;
    *k_p = *tmp_p = 1;
    return 0;
}

static const weft_algo_ops_t own = {.size = sizeof own,
                                    .create = create,
                                    .destroy = destroy,
                                    .supports = supports,
                                    .emit = emit,
                                    .pack = pack};
static const weft_plugin_t plugin = {.magic = WEFT_PLUGIN_MAGIC,
                                     .abi_major = WEFT_ABI_ALGO_MAJOR,
                                     .abi_minor = WEFT_ABI_ALGO_MINOR,
                                     .size = sizeof plugin,
                                     .kind = WEFT_KIND_ALGO,
                                     .name = "algo-odd",
                                     .version = "1",
                                     .ops = &own};

typedef struct layer {
    fake_host_t host;
    weft_check_t *check;
    weft_algo_t *algo;
    const weft_algo_ops_t *ops; /* the layer's */
} layer_t;

static void layer_open(layer_t *layer)
{
    fake_host_init(&layer->host, "algo-odd");
    assert_int_equal(weft_check_create(&plugin, "here", &layer->host.host, 0, &layer->check),
                     WEFT_OK);
    layer->ops = weft_check_plugin(layer->check)->ops;
    assert_int_equal(layer->ops->create(weft_check_host(layer->check), NULL, &layer->algo),
                     WEFT_OK);
}

static void layer_close(layer_t *layer)
{
    layer->ops->destroy(layer->algo);
    weft_check_destroy(layer->check);
    fake_host_fini(&layer->host);
}

static void every_word_of_a_plan_is_compared(void **state)
{
    (void)state;
    layer_t layer;
    const weft_algo_call_t call = {.size = sizeof call, .coll = WEFT_ALL_REDUCE, .nranks = 2};
    weft_plan_builder_t to = {.size = sizeof to, .move = take_move, .sub = take_sub};
    layer_open(&layer);
    for (odd = ODD_NOTHING; odd < ODDS; odd++) {
        emitted = 0;
        weft_status_t found = layer.ops->emit(layer.algo, &call, NULL, &to);
        assert_int_equal(emitted, 2);
        if (found != (odd == ODD_NOTHING ? WEFT_OK : WEFT_ERR_PLUGIN)) {
            fail_msg("difference %d: %s", (int)odd, weft_status_name(found));
        }
    }
    layer_close(&layer);
}

static void plans_are_packed_as_without_the_layer(void **state)
{
    (void)state;
    layer_t layer;
    weft_algo_call_t call = {.size = sizeof call, .coll = WEFT_ALL_GATHER, .nranks = 2};
    layer_open(&layer);
    uint32_t before = weft_check_breaches();
    assert_true(WEFT_HAS(layer.ops, weft_algo_ops_t, pack));
    assert_int_equal(layer.ops->pack(layer.algo, &call), 4);
    assert_int_equal(weft_check_breaches(), before);
    layer_close(&layer);
}

static void ranks_that_pack_differently_are_told(void **state)
{
    (void)state;
    layer_t layer;
    weft_algo_call_t call = {.size = sizeof call, .coll = WEFT_REDUCE_SCATTER, .nranks = 2};
    layer_open(&layer);
    uint32_t before = weft_check_breaches();
    assert_int_equal(layer.ops->pack(layer.algo, &call), 4);
    assert_int_equal(weft_check_breaches(), before + 1);
    layer_close(&layer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_of_a_plan_is_compared),
        cmocka_unit_test(plans_are_packed_as_without_the_layer),
        cmocka_unit_test(ranks_that_pack_differently_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
