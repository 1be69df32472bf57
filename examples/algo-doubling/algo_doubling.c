/* SPDX-License-Identifier: BSD-3-Clause
 *
 * algo-doubling: all-reduce by recursive doubling, the fewest steps there are. In step i every rank
 * exchanges its partial sum with the rank whose number differs in bit i. If n is no power of two, the
 * ranks above the largest one in it, `half`, give their data to the rank `half` below and get the
 * result from it. */
#include <weft/plugin/algo.h>

struct weft_algo {
    const weft_host_t *host;
};

static weft_status_t doubling_create(const weft_host_t *host, const void *config,
                                     weft_algo_t **algo_p)
{
    (void)config; /* there are no options */
    weft_algo_t *algo = host->alloc(host, sizeof *algo, 0);
    if (algo == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    algo->host = host;
    *algo_p = algo;
    return WEFT_OK;
}

static void doubling_destroy(weft_algo_t *algo)
{
    if (algo != NULL) {
        algo->host->free(algo->host, algo);
    }
}

static weft_status_t doubling_supports(weft_algo_t *algo, const weft_algo_call_t *call)
{
    if (call->coll != WEFT_ALL_REDUCE) {
        return algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0,
                                     "algo-doubling serves all_reduce only");
    }
    return WEFT_OK;
}

static void copy(weft_plan_builder_t *b, weft_operand_t dst, weft_operand_t src)
{
    weft_move_t move = {.dst = {dst}, .src = {src}, .ndst = 1, .nsrc = 1};
    b->move(b, 0, &move);
}

static void fold(weft_plan_builder_t *b, weft_operand_t left, weft_operand_t right, uint32_t flags)
{
    weft_move_t move = {.dst = {weft_out(0, 0)}, .src = {left, right}, .flags = flags};
    move.ndst = 1;
    move.nsrc = 2;
    b->move(b, 0, &move);
}

static weft_status_t doubling_emit(weft_algo_t *algo, const weft_algo_call_t *call,
                                   const weft_algo_topo_t *topo, weft_plan_builder_t *b)
{
    (void)algo, (void)topo;
    uint32_t n = call->nranks, me = call->rank, half = 1;
    while (half <= n / 2) {
        half *= 2;
    }
    b->grid(b, 1, 0); /* the message is one chunk; no scratch */
    b->lane(b);       /* lane 0 */
    if (me >= half) {
        copy(b, weft_port(b->port(b, 0, me - half, 0, 1)), weft_in(0, 0));
        copy(b, weft_out(0, 0), weft_port(b->port(b, 0, me - half, 0, 0)));
        return WEFT_OK;
    }
    weft_operand_t sum = weft_in(0, 0);
    if (me + half < n) {
        fold(b, sum, weft_port(b->port(b, 0, me + half, 0, 0)), 0);
        sum = weft_out(0, 0);
    }
    for (uint32_t bit = 1; bit < half; bit *= 2) {
        uint32_t peer = me ^ bit, flags = 2 * bit == half ? WEFT_MOVE_FINAL : 0;
        weft_operand_t to = weft_port(b->port(b, 0, peer, 0, 1));
        weft_operand_t from = weft_port(b->port(b, 0, peer, 0, 0));
        copy(b, to, sum);
        fold(b, me < peer ? sum : from, me < peer ? from : sum, flags); /* lower ranks left */
        sum = weft_out(0, 0);
    }
    if (me + half < n) {
        copy(b, weft_port(b->port(b, 0, me + half, 0, 1)), sum);
    }
    return WEFT_OK;
}

static const weft_algo_ops_t doubling_ops = {
    .size = sizeof doubling_ops,
    .create = doubling_create,
    .destroy = doubling_destroy,
    .supports = doubling_supports,
    .emit = doubling_emit,
};

const weft_plugin_t *weft_plugin_entry(void)
{
    static const weft_plugin_t plugin = {
        .magic = WEFT_PLUGIN_MAGIC,
        .abi_major = WEFT_ABI_ALGO_MAJOR,
        .abi_minor = WEFT_ABI_ALGO_MINOR,
        .size = sizeof plugin,
        .kind = WEFT_KIND_ALGO,
        .name = "algo-doubling",
        .version = "1",
        .help = "all-reduce by recursive doubling: the fewest steps, for small messages",
        .ops = &doubling_ops,
    };
    return &plugin;
}
