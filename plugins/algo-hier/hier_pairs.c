/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks that pass through one rank of each host. Whoever passes a block on copies it from port to
 * port, so nothing is kept; the order in which blocks take a port is the same at both ends.
 *
 * In an all-to-all the block from rank i of a host to position p of another goes over the rank at
 * position p mod l of the l ranks of i's host: one rail per position where hosts are equal. Sending
 * inside the host, passing on, and receiving are lanes of their own; all go through the other hosts
 * in the order of their distance on the ring of hosts. The lane that is furthest behind finds what
 * it waits for, so nothing hangs. */
#include "hier_pairs.h"

#include "layout.h"

static uint32_t hier_pairs_locals(const hier_layout_t *layout, uint32_t host)
{
    return layout->first[host + 1] - layout->first[host];
}

static uint32_t hier_pairs_rank(const hier_layout_t *layout, uint32_t host, uint32_t position)
{
    return layout->ranks[layout->first[host] + position];
}

static weft_operand_t hier_pairs_port(const hier_t *hier, uint32_t peer, uint32_t channel,
                                      uint32_t sends)
{
    return weft_port(hier->builder->port(hier->builder, hier->lane, peer, channel, sends));
}

static hier_t hier_pairs_begin(const hier_job_t *job)
{
    hier_t hier = {.job = job, .layout = job->layout, .builder = job->builder, .k = 1};
    job->builder->grid(job->builder, 1, 0);
    hier_new_lane(&hier);
    return hier;
}

/* Gather and scatter --------------------------------------------------------------------------- */

/* A block of this job: its place at the root, or the buffer of its own rank. Ports tell no
 * length. */
static void hier_pairs_pass(const hier_t *hier, weft_operand_t dst, weft_operand_t src)
{
    weft_move_t move = {.dst = {dst}, .src = {src}, .ndst = 1, .nsrc = 1};
    if (dst.kind == WEFT_OPERAND_PORT && src.kind == WEFT_OPERAND_PORT) {
        move.like = hier->job->call->coll == WEFT_SCATTER ? weft_out(0, 0) : weft_in(0, 0);
    }
    hier_add(hier, &move);
}

/* A rank that is not its host's leader has one block, which the leader sends or takes. */
static void hier_pairs_follow(const hier_t *hier, uint32_t leader)
{
    if (hier->job->call->coll == WEFT_GATHER) {
        hier_copy(hier, hier_pairs_port(hier, leader, CHANNEL_UP, 1), weft_in(0, 0));
    } else {
        hier_copy(hier, weft_out(0, 0), hier_pairs_port(hier, leader, CHANNEL_DOWN, 0));
    }
}

/* The leader of a host without the root passes on all blocks of its host, in rank order. */
static void hier_pairs_lead(const hier_t *hier)
{
    const hier_layout_t *layout = hier->layout;
    int up = hier->job->call->coll == WEFT_GATHER;
    weft_operand_t root = hier_pairs_port(hier, hier->job->call->root, CHANNEL_BETWEEN, up ? 1 : 0);
    hier_ports(hier, layout->locals, up ? CHANNEL_UP : CHANNEL_DOWN, up ? 0 : 1);
    for (uint32_t position = 0; position < layout->locals; position++) {
        int own = position == layout->index;
        if (up) {
            hier_pairs_pass(hier, root, own ? weft_in(0, 0) : hier_from(hier, position));
        } else {
            hier_pairs_pass(hier, own ? weft_out(0, 0) : hier_to(hier, position), root);
        }
    }
}

/* The root takes or sends one block of every host in turn, so that all hosts work at once. */
static void hier_pairs_root(const hier_t *hier, const uint32_t *leaders)
{
    const hier_layout_t *layout = hier->layout;
    const uint32_t *of_hosts = hier->job->hosts;
    int up = hier->job->call->coll == WEFT_GATHER;
    hier_ports(hier, layout->locals, up ? CHANNEL_UP : CHANNEL_DOWN, up ? 0 : 1);
    for (uint32_t host = 0; host < layout->nhosts; host++) {
        if (host != layout->host) {
            hier->job->hosts[host] = hier->builder->port(hier->builder, hier->lane, leaders[host],
                                                         CHANNEL_BETWEEN, up ? 0 : 1);
        }
    }
    for (uint32_t position = 0; position < layout->widest; position++) {
        for (uint32_t host = 0; host < layout->nhosts; host++) {
            if (position >= hier_pairs_locals(layout, host)) {
                continue;
            }
            uint32_t rank = hier_pairs_rank(layout, host, position);
            int here = host == layout->host, own = rank == hier->job->call->rank;
            if (up) {
                hier_copy(hier, weft_out(rank, 0),
                          own    ? weft_in(0, 0)
                          : here ? hier_from(hier, position)
                                 : weft_port(of_hosts[host]));
            } else {
                hier_copy(hier,
                          own    ? weft_out(0, 0)
                          : here ? hier_to(hier, position)
                                 : weft_port(of_hosts[host]),
                          weft_in(rank, 0));
            }
        }
    }
}

static void hier_pairs_rooted(const hier_job_t *job)
{
    uint32_t root_host = 0;
    const uint32_t *leaders = hier_leaders(job->layout, job->call->root, &root_host);
    uint32_t leader = leaders[job->layout->host];
    hier_t hier = hier_pairs_begin(job);
    if (job->call->rank == job->call->root) {
        hier_pairs_root(&hier, leaders);
    } else if (job->call->rank == leader) {
        hier_pairs_lead(&hier);
    } else {
        hier_pairs_follow(&hier, leader);
    }
}

/* Cost, n ranks, h hosts, l ranks on a host: n−1 blocks at the root over h+l−2 links, l at each
 * other leader. */
void hier_gather(const hier_job_t *job)
{
    hier_pairs_rooted(job);
}

/* As gather, the other way. */
void hier_scatter(const hier_job_t *job)
{
    hier_pairs_rooted(job);
}

/* All-to-all ----------------------------------------------------------------------------------- */

/* The host `distance` places behind this one on the ring of hosts, or before it. */
static uint32_t hier_pairs_host_after(const hier_layout_t *layout, uint32_t distance)
{
    return layout->ring[(layout->place + distance) % layout->nhosts];
}

static uint32_t hier_pairs_host_before(const hier_layout_t *layout, uint32_t distance)
{
    return layout->ring[(layout->place + layout->nhosts - distance) % layout->nhosts];
}

/* Lane 0: blocks of this host to their ranks, and those of others to who passes them on. */
static void hier_pairs_send(const hier_t *hier)
{
    const hier_layout_t *layout = hier->layout;
    hier_ports(hier, layout->locals, CHANNEL_DOWN, 1);
    for (uint32_t distance = 1; distance < layout->locals; distance++) {
        uint32_t position = (layout->index + distance) % layout->locals;
        hier_copy(hier, hier_to(hier, position), weft_in(hier_local(layout, position), 0));
    }
    hier_ports(hier, layout->locals, CHANNEL_UP, 1);
    for (uint32_t distance = 1; distance < layout->nhosts; distance++) {
        uint32_t host = hier_pairs_host_after(layout, distance);
        for (uint32_t at = 0; at < hier_pairs_locals(layout, host); at++) {
            uint32_t over = at % layout->locals;
            if (over != layout->index) {
                hier_copy(hier, hier_to(hier, over), weft_in(hier_pairs_rank(layout, host, at), 0));
            }
        }
    }
}

/* Lane 1: to the ranks of other hosts at the positions of this rank, from all ranks of this
 * host. */
static void hier_pairs_pass_on(const hier_t *hier)
{
    const hier_layout_t *layout = hier->layout;
    hier_ports(hier, layout->locals, CHANNEL_UP, 0);
    for (uint32_t distance = 1; distance < layout->nhosts; distance++) {
        uint32_t host = hier_pairs_host_after(layout, distance);
        for (uint32_t at = layout->index; at < hier_pairs_locals(layout, host);
             at += layout->locals) {
            uint32_t peer = hier_pairs_rank(layout, host, at);
            weft_operand_t to = hier_pairs_port(hier, peer, CHANNEL_BETWEEN, 1);
            for (uint32_t from = 0; from < layout->locals; from++) {
                hier_pairs_pass(hier, to,
                                from == layout->index ? weft_in(peer, 0) : hier_from(hier, from));
            }
        }
    }
}

/* Lane 2: what comes from this host, then from the others. */
static void hier_pairs_receive(const hier_t *hier)
{
    const hier_layout_t *layout = hier->layout;
    uint32_t rank = hier->job->call->rank;
    hier_copy(hier, weft_out(rank, 0), weft_in(rank, 0));
    hier_ports(hier, layout->locals, CHANNEL_DOWN, 0);
    for (uint32_t distance = 1; distance < layout->locals; distance++) {
        uint32_t position = (layout->index + layout->locals - distance) % layout->locals;
        hier_copy(hier, weft_out(hier_local(layout, position), 0), hier_from(hier, position));
    }
    for (uint32_t distance = 1; distance < layout->nhosts; distance++) {
        uint32_t host = hier_pairs_host_before(layout, distance);
        uint32_t there = hier_pairs_locals(layout, host);
        uint32_t over = hier_pairs_rank(layout, host, layout->index % there);
        weft_operand_t port = hier_pairs_port(hier, over, CHANNEL_BETWEEN, 0);
        for (uint32_t from = 0; from < there; from++) {
            hier_copy(hier, weft_out(hier_pairs_rank(layout, host, from), 0), port);
        }
    }
}

/* Cost, n ranks, h hosts, l ranks on each: n−l blocks between hosts from and to every rank over h−1
 * links, and as many inside the host. */
void hier_all_to_all(const hier_job_t *job)
{
    hier_t hier = hier_pairs_begin(job);
    hier_pairs_send(&hier);
    hier_new_lane(&hier);
    hier_pairs_pass_on(&hier);
    hier_new_lane(&hier);
    hier_pairs_receive(&hier);
}
