/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A lane is one MOVE over all chunks of its tree. The way down ends at ranks that only store, so
 * its queues always drain; the way up waits for nothing but them, where it turns round. So plans do
 * not hang for any depth of the queues and any number of slices. */
#include "tree_plan.h"

/* One lane in the making. */
typedef struct branch {
    weft_plan_builder_t *builder;
    const tree_position_t *position;
    uint32_t lane, channel, chunk;
    uint32_t chain; /* of the topology, whose NICs it uses; TREE_NONE: of none */
    weft_move_t move;
} branch_t;

static branch_t tree_plan_branch_init(const tree_settings_t *settings, weft_plan_builder_t *builder,
                                      const tree_position_t *position, uint32_t tree)
{
    uint32_t chunks = (uint32_t)settings->chunks;
    return (branch_t){.builder = builder,
                      .position = position,
                      .lane = builder->lane(builder),
                      .channel = tree,
                      .chunk = tree * chunks,
                      .chain = position->chain,
                      .move = {.cnt = chunks}};
}

static weft_operand_t tree_plan_branch_port(const branch_t *branch, uint32_t peer, uint32_t sends)
{
    uint32_t port =
        branch->builder->port(branch->builder, branch->lane, peer, branch->channel, sends);
    if (branch->chain != TREE_NONE) {
        weft_plan_port_along(branch->builder, port, branch->chain, WEFT_PLAN_WAY_CHAIN);
    }
    return weft_port(port);
}

static void tree_plan_branch_from(branch_t *branch, weft_operand_t src)
{
    branch->move.src[branch->move.nsrc++] = src;
}

static void tree_plan_branch_to(branch_t *branch, weft_operand_t dst)
{
    branch->move.dst[branch->move.ndst++] = dst;
}

/* … ← in, port of each rank below. The own data comes first, then the chain, then the nodes. */
static void tree_plan_branch_gather(branch_t *branch)
{
    tree_plan_branch_from(branch, weft_in(branch->chunk, 0));
    for (uint32_t i = 0; i < branch->position->ndown; i++) {
        tree_plan_branch_from(branch, tree_plan_branch_port(branch, branch->position->down[i], 0));
    }
}

/* out, port of each rank below ← … */
static void tree_plan_branch_spread(branch_t *branch)
{
    tree_plan_branch_to(branch, weft_out(branch->chunk, 0));
    for (uint32_t i = 0; i < branch->position->ndown; i++) {
        tree_plan_branch_to(branch, tree_plan_branch_port(branch, branch->position->down[i], 1));
    }
}

static void tree_plan_branch_end(const branch_t *branch)
{
    branch->builder->move(branch->builder, branch->lane, &branch->move);
}

/* Returns how many trees share the data. */
static uint32_t tree_grid(const tree_settings_t *settings, const weft_algo_call_t *call,
                          const weft_algo_topo_t *topo, weft_plan_builder_t *builder)
{
    uint32_t trees = tree_count(settings, call, topo);
    builder->grid(builder, trees * (uint32_t)settings->chunks, 0);
    return trees;
}

/* Invariant: a slice that a rank has sent up is combined over all ranks under it; the slice on top
 * is complete and turns round there in the same MOVE. Cost: four MOVEs at most. */
void tree_all_reduce(const tree_settings_t *settings, const weft_algo_call_t *call,
                     const weft_algo_topo_t *topo, weft_plan_builder_t *builder)
{
    uint32_t trees = tree_grid(settings, call, topo, builder);
    for (uint32_t tree = 0; tree < trees; tree++) {
        tree_position_t position = tree_position(settings, call, topo, tree, 0);
        branch_t up = tree_plan_branch_init(settings, builder, &position, tree);
        tree_plan_branch_gather(&up);
        if (position.up == TREE_NONE) {
            tree_plan_branch_spread(&up);
            up.move.flags = WEFT_MOVE_FINAL;
            tree_plan_branch_end(&up);
            continue;
        }
        tree_plan_branch_to(&up, tree_plan_branch_port(&up, position.up, 1));
        tree_plan_branch_end(&up);
        branch_t down = tree_plan_branch_init(settings, builder, &position, tree);
        tree_plan_branch_from(&down, tree_plan_branch_port(&down, position.up, 0));
        tree_plan_branch_spread(&down);
        tree_plan_branch_end(&down);
    }
}

/* Invariant: a slice that a rank has is in OUT of all ranks above it. Cost: two MOVEs. */
void tree_broadcast(const tree_settings_t *settings, const weft_algo_call_t *call,
                    const weft_algo_topo_t *topo, weft_plan_builder_t *builder)
{
    uint32_t trees = tree_grid(settings, call, topo, builder);
    for (uint32_t tree = 0; tree < trees; tree++) {
        tree_position_t position = tree_position(settings, call, topo, tree, 1);
        branch_t down = tree_plan_branch_init(settings, builder, &position, tree);
        tree_plan_branch_from(&down, position.up == TREE_NONE
                                         ? weft_in(down.chunk, 0)
                                         : tree_plan_branch_port(&down, position.up, 0));
        tree_plan_branch_spread(&down);
        tree_plan_branch_end(&down);
    }
}

/* Invariant: as on the way up of all_reduce. Cost: two MOVEs. */
void tree_reduce(const tree_settings_t *settings, const weft_algo_call_t *call,
                 const weft_algo_topo_t *topo, weft_plan_builder_t *builder)
{
    uint32_t trees = tree_grid(settings, call, topo, builder);
    for (uint32_t tree = 0; tree < trees; tree++) {
        tree_position_t position = tree_position(settings, call, topo, tree, 1);
        branch_t up = tree_plan_branch_init(settings, builder, &position, tree);
        tree_plan_branch_gather(&up);
        int top = position.up == TREE_NONE;
        tree_plan_branch_to(&up, top ? weft_out(up.chunk, 0)
                                     : tree_plan_branch_port(&up, position.up, 1));
        up.move.flags = top ? WEFT_MOVE_FINAL : 0;
        tree_plan_branch_end(&up);
    }
}
