/* SPDX-License-Identifier: BSD-3-Clause
 *
 * algo-doubling: all-reduce by recursive doubling, the fewest steps there are. In step i every rank
 * exchanges its partial sum with the rank whose number differs in bit i. If n is no power of two,
 * the ranks above the largest one in it, `half`, give their data to the rank `half` below and get
 * the result from it. */
#include <weft/sdk/algo_frame.h>

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

static void doubling_all_reduce(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    uint32_t n = call->nranks, me = call->rank, half = 1;
    while (half <= n / 2) {
        half *= 2;
    }
    b->grid(b, 1, 0); /* the message is one chunk; no scratch */
    b->lane(b);       /* lane 0 */
    if (me >= half) {
        copy(b, weft_port(b->port(b, 0, me - half, 0, 1)), weft_in(0, 0));
        copy(b, weft_out(0, 0), weft_port(b->port(b, 0, me - half, 0, 0)));
        return;
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
}

static const weft_algo_frame_coll_t doubling_colls[] = {
    {.coll = WEFT_ALL_REDUCE, .plan = doubling_all_reduce},
};

static const weft_algo_frame_t doubling_frame = {
    .name = "algo-doubling",
    .colls = doubling_colls,
    .ncolls = 1,
};

static weft_status_t doubling_create(const weft_host_t *host, const void *config,
                                     weft_algo_t **algo_p)
{
    return weft_algo_frame_create(&doubling_frame, host, config, algo_p);
}

static const weft_algo_ops_t doubling_ops = {
    .size = sizeof doubling_ops,
    .create = doubling_create,
    .destroy = weft_algo_frame_destroy,
    .supports = weft_algo_frame_supports,
    .emit = weft_algo_frame_emit,
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
