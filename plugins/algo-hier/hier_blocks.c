/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce-scatter and all-gather in two levels, for hosts with equal numbers of ranks: the ranks at
 * one place of all hosts form a group, and a rank stands for the blocks of its group. They are one
 * lane, for what passes between the levels is scratch. */
#include "hier_blocks.h"

#include "level.h"
#include "layout.h"

/* The rank at this place of a host: whose block it is. */
static uint32_t hier_blocks_block_at(const hier_t *hier, uint32_t host, uint32_t position)
{
    return hier->layout->ranks[hier->layout->first[host] + position];
}

/* The position `distance` after this rank's. */
static uint32_t hier_blocks_place_after(const hier_t *hier, uint32_t distance)
{
    return (hier->layout->index + distance) % hier->layout->locals;
}

/* The current chunk of the blocks of one host: to the ranks of this host that stand for them, or
 * from those to OUT. */
static void hier_blocks_meet_places(const hier_t *hier, uint32_t host, int up)
{
    uint32_t members = 0, others = hier->layout->locals - 1;
    for (uint32_t distance = 1; distance <= others; distance++) {
        uint32_t position = hier_blocks_place_after(hier, distance),
                 block = hier_blocks_block_at(hier, host, position);
        members = members == 0 ? hier_together(hier, others + 1 - distance) : members;
        if (up) {
            hier_copy(hier, hier_to(hier, position), hier_in_of(hier, block));
        } else {
            hier_copy(hier, hier_out_of(hier, block), hier_from(hier, position));
        }
        members--;
    }
}

/* First this host folds the blocks of each group, then the groups reduce and scatter. Cost, l ranks
 * on each of h hosts: h(l−1) blocks inside the host, and between hosts what the other algorithm
 * sends. */
void hier_reduce_scatter(const hier_job_t *job)
{
    const hier_layout_t *layout = job->layout;
    weft_plan_builder_t *b = job->builder;
    hier_t hier;
    uint32_t tmp,
        between = hier_ask_between(&hier, job, hier_group(layout, layout->index), 0, &tmp);
    uint32_t sums = layout->nhosts * hier.k;
    b->grid(b, hier.k, sums + tmp + 1);
    hier_new_lane(&hier);
    hier_ports(&hier, layout->locals, CHANNEL_UP, 1);
    hier_ports(&hier, layout->locals, CHANNEL_UP, 0);
    for (uint32_t host = 0; host < layout->nhosts; host++) {
        hier_chunks_begin(&hier);
        hier_blocks_meet_places(&hier, host, 1);
        hier_fold(&hier, hier_in_of(&hier, hier_blocks_block_at(&hier, host, layout->index)),
                  weft_tmp(sums + tmp, 0), hier_tmp_of(&hier, host));
        hier_chunks_end(&hier);
    }
    b->call(b, hier.lane, between, weft_tmp(0, 0), weft_out(0, 0), sums, CHANNEL_BETWEEN);
}

/* First the groups gather, then every rank gives what it has to its host. Cost: as
 * reduce_scatter. */
void hier_all_gather(const hier_job_t *job)
{
    const hier_layout_t *layout = job->layout;
    weft_plan_builder_t *b = job->builder;
    hier_t hier;
    uint32_t tmp,
        between = hier_ask_between(&hier, job, hier_group(layout, layout->index), 0, &tmp);
    uint32_t blocks = layout->nhosts * hier.k;
    b->grid(b, hier.k, blocks + tmp);
    hier_new_lane(&hier);
    b->call(b, hier.lane, between, weft_in(0, 0), weft_tmp(0, 0), blocks, CHANNEL_BETWEEN);
    hier_ports(&hier, layout->locals, CHANNEL_DOWN, 1);
    hier_ports(&hier, layout->locals, CHANNEL_DOWN, 0);
    for (uint32_t host = 0; host < layout->nhosts; host++) {
        hier_chunks_begin(&hier);
        hier_spread(&hier, hier_tmp_of(&hier, host),
                    hier_out_of(&hier, hier_blocks_block_at(&hier, host, layout->index)));
        hier_blocks_meet_places(&hier, host, 0);
        hier_chunks_end(&hier);
    }
}
