/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lanes as actors. SimGrid runs one actor at a time, so plain variables need no lock. */
#include "tools/simgrid/simgrid_plan.h"

#include <stdlib.h>

static job_queue_t *simgrid_plan_queue_of(const job_lane_t *lane,
                                          const weft_plan_operand_t *operand)
{
    return lane->rank->queue[operand->index];
}

/* A mailbox with a receiver takes messages before they are asked for: the transfer starts when it
 * is sent, as into a free slot. */
static void simgrid_plan_claim_mailboxes(const job_lane_t *lane)
{
    const weft_plan_t *plan = lane->rank->plan;
    for (uint32_t i = 0; i < plan->nports; i++) {
        if (!plan->ports[i].sends && plan->ports[i].lane == lane->number) {
            sg_mailbox_set_receiver(sg_mailbox_get_name(lane->rank->queue[i]->mailbox));
        }
    }
}

static void simgrid_plan_move_slice(const job_lane_t *lane, const weft_plan_view_t *move)
{
    double overhead = 0;
    double bytes = lane->job->options->slice_bytes * (weft_plan_packs(move) ? move->cnt : 1);
    for (uint32_t i = 0; i < move->nsrc; i++) {
        if (move->src[i].kind == WEFT_OPERAND_PORT) {
            sg_mailbox_get(simgrid_plan_queue_of(lane, &move->src[i])->mailbox);
            overhead += lane->job->options->overhead / 2;
        }
    }
    for (uint32_t i = 0; i < move->ndst; i++) {
        if (move->dst[i].kind == WEFT_OPERAND_PORT) {
            sg_sem_acquire(simgrid_plan_queue_of(lane, &move->dst[i])->credits);
            overhead += lane->job->options->overhead / 2;
        }
    }
    if (overhead > 0) {
        sg_actor_sleep_for(overhead);
    }
    if (lane->job->options->gamma > 0) {
        sg_actor_execute(bytes * (move->nsrc + move->ndst) / 2);
    }
    for (uint32_t i = 0; i < move->ndst; i++) {
        if (move->dst[i].kind == WEFT_OPERAND_PORT) {
            job_queue_t *queue = simgrid_plan_queue_of(lane, &move->dst[i]);
            sg_comm_detach(sg_mailbox_put_init(queue->mailbox, queue, (long)(bytes + 0.999)), NULL);
        }
    }
    for (uint32_t i = 0; i < move->nsrc; i++) {
        if (move->src[i].kind == WEFT_OPERAND_PORT) {
            sg_sem_release(simgrid_plan_queue_of(lane, &move->src[i])->credits);
        }
    }
}

static void simgrid_plan_wait_for(const job_lane_t *lane, const weft_plan_view_t *move)
{
    job_rank_t *rank = lane->rank;
    weft_cursors_t cursors = {
        .first = &rank->lanes->cursor, .stride = sizeof *lane, .count = rank->plan->nlanes};
    while (!weft_cursor_waits_over(&cursors, &lane->cursor, move)) {
        rank->waiting++;
        sg_sem_acquire(rank->wake);
    }
}

static void simgrid_plan_finish(job_lane_t *lane, uint32_t pc)
{
    job_rank_t *rank = lane->rank;
    if (!weft_cursor_finish(&lane->cursor, pc)) {
        return;
    }
    for (; rank->waiting > 0; rank->waiting--) {
        sg_sem_release(rank->wake);
    }
}

static void simgrid_plan_run_move(const job_lane_t *lane, const weft_plan_view_t *move)
{
    uint64_t steps = (uint64_t)weft_plan_messages(move) * lane->job->options->slices;
    for (uint64_t i = 0; i < steps; i++) {
        simgrid_plan_move_slice(lane, move);
    }
}

static void simgrid_plan_member_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    job_member_t *member = sg_actor_self_get_data();
    for (;;) {
        sg_sem_acquire(member->start);
        simgrid_plan_run_move(member->lane, &member->move);
        sg_sem_release(member->lane->done);
    }
}

/* Its MOVEs begin together, when all their waits are over, and have finished together. */
static void simgrid_plan_run_par(job_lane_t *lane, uint32_t pc, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        job_member_t *member = &lane->members[i];
        member->move = weft_plan_view(lane->rank->plan, lane->cursor.code[pc + 1 + i].n);
        simgrid_plan_wait_for(lane, &member->move);
    }
    for (uint32_t i = 0; i < count; i++) {
        sg_sem_release(lane->members[i].start);
    }
    for (uint32_t i = 0; i < count; i++) {
        sg_sem_acquire(lane->done);
    }
    for (uint32_t i = 0; i < count; i++) {
        simgrid_plan_finish(lane, pc + 1 + i);
    }
}

static void simgrid_plan_run_bar(job_lane_t *lane, uint64_t mask, uint32_t pc)
{
    job_rank_t *rank = lane->rank;
    uint32_t at = 0, count = 0;
    while (at < rank->nbarriers && rank->barriers[at].mask != mask) {
        at++;
    }
    if (at == rank->nbarriers && at < WEFT_LANE_MAX) {
        for (uint64_t bits = mask; bits != 0; bits &= bits - 1) {
            count++;
        }
        rank->barriers[rank->nbarriers++] = (job_barrier_t){mask, sg_barrier_init(count)};
    }
    sg_barrier_wait(rank->barriers[at].barrier);
    simgrid_plan_finish(lane, pc);
}

static void simgrid_plan_run_pass(job_lane_t *lane)
{
    weft_cursor_t *cursor = &lane->cursor;
    const weft_code_t *code;
    for (; (code = weft_cursor_seek(cursor))->opcode != WEFT_CODE_STOP; weft_cursor_next(cursor)) {
        if (code->opcode == WEFT_CODE_BAR) {
            simgrid_plan_run_bar(lane, code->mask, cursor->pc);
        } else if (code->opcode == WEFT_CODE_PAR) {
            simgrid_plan_run_par(lane, cursor->pc, code->n);
        } else {
            weft_plan_view_t move = weft_plan_view(lane->rank->plan, code->n);
            simgrid_plan_wait_for(lane, &move);
            simgrid_plan_run_move(lane, &move);
            simgrid_plan_finish(lane, cursor->pc);
        }
    }
    weft_cursor_end_pass(cursor);
}

static void simgrid_plan_lane_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    job_lane_t *lane = sg_actor_self_get_data();
    simgrid_plan_claim_mailboxes(lane);
    sg_actor_yield();
    while (lane->cursor.pass < lane->job->options->passes) {
        simgrid_plan_run_pass(lane);
    }
    lane->job->lanes_over++;
    double now = simgrid_get_clock();
    lane->job->end = now > lane->job->end ? now : lane->job->end;
}

static sg_host_t simgrid_plan_host_of(const job_t *job, uint32_t rank)
{
    uint32_t host = rank / job->options->per_host;
    char name[32];
    if (job->options->platform == NULL) {
        snprintf(name, sizeof name, "host-%u", host);
        return sg_host_by_name(name);
    }
    sg_host_t *hosts = sg_host_list();
    sg_host_t found = hosts[host];
    free(hosts);
    return found;
}

static uint32_t simgrid_plan_other_end(const job_t *job, uint32_t rank,
                                       const weft_plan_port_t *port)
{
    const weft_plan_t *peer = port->peer < job->nranks ? job->plans[port->peer] : NULL;
    for (uint32_t i = 0; peer != NULL && i < peer->nports; i++) {
        const weft_plan_port_t *other = &peer->ports[i];
        if (!other->sends && other->peer == rank && other->channel == port->channel) {
            return i;
        }
    }
    return UINT32_MAX;
}

static int simgrid_plan_make_queues(job_t *job)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < job->nranks; r++) {
        const weft_plan_t *plan = job->plans[r];
        for (uint32_t i = 0; i < plan->nports; i++) {
            uint32_t other = simgrid_plan_other_end(job, r, &plan->ports[i]);
            if (!plan->ports[i].sends) {
                continue;
            }
            if (other == UINT32_MAX) {
                fprintf(stderr, "weft-simgrid: port %u of rank %u has no other end\n", i, r);
                return -1;
            }
            char name[32];
            job_queue_t *queue = &job->queues[count];
            snprintf(name, sizeof name, "queue-%u", count++);
            queue->mailbox = sg_mailbox_by_name(name);
            queue->credits = sg_sem_init((int)job->options->slots);
            job->ranks[r].queue[i] = job->ranks[plan->ports[i].peer].queue[other] = queue;
        }
    }
    return 0;
}

static void simgrid_plan_start_lane(job_lane_t *lane, sg_host_t host)
{
    char name[48];
    lane->done = sg_sem_init(0);
    snprintf(name, sizeof name, "rank-%u-lane-%u", lane->rank->plan->rank, lane->number);
    sg_actor_t actor = sg_actor_init(name, host);
    sg_actor_set_data(actor, lane);
    sg_actor_start_(actor, simgrid_plan_lane_main, 0, NULL);
    for (uint32_t i = 0; i < lane->width; i++) {
        lane->members[i] = (job_member_t){.lane = lane, .start = sg_sem_init(0)};
        sg_actor_t member = sg_actor_init(name, host);
        sg_actor_set_data(member, &lane->members[i]);
        sg_actor_start_(member, simgrid_plan_member_main, 0, NULL);
        sg_actor_daemonize(member);
    }
}

static int simgrid_plan_make_lane(job_t *job, uint32_t r, uint32_t number)
{
    job_rank_t *rank = &job->ranks[r];
    job_lane_t *lane = &rank->lanes[number];
    const weft_plan_lane_t *text = &rank->plan->lanes[number];
    *lane = (job_lane_t){.job = job,
                         .rank = rank,
                         .cursor = {.code = text->code},
                         .number = number,
                         .width = weft_cursor_widest_par(text)};
    lane->cursor.finished = calloc(text->ncode + 1, sizeof *lane->cursor.finished);
    lane->members = calloc(lane->width + 1, sizeof *lane->members);
    job->nlanes++;
    return lane->cursor.finished != NULL && lane->members != NULL ? 0 : -1;
}

static int simgrid_plan_make_rank(job_t *job, uint32_t r)
{
    job_rank_t *rank = &job->ranks[r];
    rank->plan = job->plans[r];
    rank->queue = calloc(rank->plan->nports + 1, sizeof(job_queue_t *));
    rank->lanes = calloc(rank->plan->nlanes + 1, sizeof *rank->lanes);
    rank->wake = sg_sem_init(0);
    if (rank->queue == NULL || rank->lanes == NULL) {
        return -1;
    }
    for (uint32_t i = 0; i < rank->plan->nlanes; i++) {
        if (simgrid_plan_make_lane(job, r, i) != 0) {
            return -1;
        }
    }
    return 0;
}

static int simgrid_plan_check_hosts(const job_t *job)
{
    uint32_t per_host = job->options->per_host;
    uint64_t hosts = sg_host_count(), needed = (job->nranks + per_host - 1) / per_host;
    if (hosts >= needed) {
        return 0;
    }
    fprintf(stderr, "weft-simgrid: the network has %llu hosts; %u ranks, %u on a host, need %llu\n",
            (unsigned long long)hosts, job->nranks, per_host, (unsigned long long)needed);
    return -1;
}

int job_start(job_t *job)
{
    uint64_t queues = 0;
    if (simgrid_plan_check_hosts(job) != 0) {
        return -1;
    }
    for (uint32_t r = 0; r < job->nranks; r++) {
        queues += job->plans[r]->nports;
    }
    job->ranks = calloc(job->nranks, sizeof *job->ranks);
    job->queues = calloc(queues + 1, sizeof *job->queues);
    for (uint32_t r = 0; job->ranks != NULL && job->queues != NULL && r < job->nranks; r++) {
        if (simgrid_plan_make_rank(job, r) != 0) {
            fprintf(stderr, "weft-simgrid: no memory for rank %u\n", r);
            return -1;
        }
    }
    if (job->ranks == NULL || job->queues == NULL || simgrid_plan_make_queues(job) != 0) {
        return -1;
    }
    for (uint32_t r = 0; r < job->nranks; r++) {
        for (uint32_t i = 0; i < job->plans[r]->nlanes; i++) {
            simgrid_plan_start_lane(&job->ranks[r].lanes[i], simgrid_plan_host_of(job, r));
        }
    }
    return 0;
}

static void simgrid_plan_free_lane(job_lane_t *lane)
{
    for (uint32_t i = 0; lane->members != NULL && i < lane->width; i++) {
        if (lane->members[i].start != NULL) {
            sg_sem_destroy(lane->members[i].start);
        }
    }
    if (lane->done != NULL) {
        sg_sem_destroy(lane->done);
    }
    free(lane->cursor.finished);
    free(lane->members);
}

static void simgrid_plan_free_rank(job_rank_t *rank)
{
    for (uint32_t i = 0; rank->lanes != NULL && i < rank->plan->nlanes; i++) {
        simgrid_plan_free_lane(&rank->lanes[i]);
    }
    for (uint32_t i = 0; i < rank->nbarriers; i++) {
        sg_barrier_destroy(rank->barriers[i].barrier);
    }
    if (rank->wake != NULL) {
        sg_sem_destroy(rank->wake);
    }
    free(rank->lanes);
    free(rank->queue);
}

/* Mailboxes end with the engine, at exit. */
void job_free(job_t *job)
{
    for (uint32_t r = 0; job->ranks != NULL && r < job->nranks; r++) {
        simgrid_plan_free_rank(&job->ranks[r]);
    }
    for (uint64_t i = 0; job->queues != NULL && job->queues[i].credits != NULL; i++) {
        sg_sem_destroy(job->queues[i].credits);
    }
    free(job->ranks);
    free(job->queues);
}
