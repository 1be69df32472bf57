/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packed MOVEs in random plans: what the verifier proves comes out right when the interpreter runs
 * it. Half of the plans are damaged, and most of these refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/exec/interpreter.h"
#include "core/os/os.h"
#include "core/plan/plan_print.h"
#include "core/plan/verify.h"
#include "core/plan/well_formed.h"
#include "tests/support/packed_plans.h"
#include "tests/support/plan_faults.h"
#include "tests/support/unit.h"

enum { RANKS_MAX = PACKED_RANKS_MAX, CHANNELS_MAX = 2, SLOTS = 4, SLOT_BYTES = 1024, CASES = 2000 };

/* Runs ----------------------------------------------------------------------------------------- */

typedef struct rank {
    weft_plan_t *plan;
    weft_program_t program;
    weft_workspace_t workspace;
    weft_interpreter_t run;
    weft_mapped_port_t ports[CHANNELS_MAX * 2 * RANKS_MAX];
    weft_windows_t windows;
    weft_peer_windows_t reach[RANKS_MAX];
    uint8_t *in, *out, *result;
    uint8_t *memory[2];
} rank_t;

typedef struct job {
    weft_coll_t coll;
    uint32_t n, slices, channels;
    size_t elem;
    uint64_t count; /* of a block */
    bool in_place, pre, final, windows;
    rank_t rank[RANKS_MAX];
    void *fifo[RANKS_MAX][RANKS_MAX][CHANNELS_MAX];
} job_t;

static uint64_t load(const void *at, size_t elem)
{
    uint64_t value = 0;
    memcpy(&value, at, elem);
    return value;
}

static size_t combine_elem;

static void combine(const weft_combine_t *c)
{
    size_t elem = combine_elem;
    for (uint64_t i = 0; i < c->count; i++) {
        uint64_t x = 0;
        for (uint32_t s = 0; s < c->nsrc; s++) {
            x += load((const uint8_t *)c->src[s] + i * elem, elem) *
                 ((c->pre_mask >> s & 1) != 0 ? 5 : 1);
        }
        x *= (c->flags & WEFT_COMBINE_FINAL) != 0 ? 3 : 1;
        for (uint32_t d = 0; d < c->ndst; d++) {
            memcpy((uint8_t *)c->dst[d] + i * elem, &x, elem);
        }
    }
}

static uint64_t input(const job_t *job, uint32_t rank, uint64_t e)
{
    uint64_t value = (e * 7 + rank * 1000 + 1) * UINT64_C(0x9e3779b97f4a7c15), cut = 0;
    memcpy(&cut, &value, job->elem);
    return cut;
}

static uint64_t elements(const job_t *job, uint32_t kind)
{
    const weft_plan_t *plan = job->rank[0].plan;
    return job->count * (weft_plan_chunks(plan, kind) / plan->k);
}

static void bind_ports(job_t *job, rank_t *r)
{
    for (uint32_t p = 0; p < r->program.nports; p++) {
        const weft_plan_port_t *port = weft_program_port(&r->program, p);
        uint32_t from = port->sends ? r->plan->rank : port->peer;
        uint32_t to = port->sends ? port->peer : r->plan->rank;
        void **fifo = &job->fifo[from][to][p / r->plan->nports];
        if (*fifo == NULL) {
            *fifo = weft_os_pages(weft_fifo_bytes(SLOTS, SLOT_BYTES));
        }
        weft_mapped_port_init(&r->ports[p], port->peer, port->sends != 0, *fifo, SLOTS, SLOT_BYTES);
        r->ports[p].windows = job->windows ? &r->windows : NULL;
        r->program.ports[p] = &r->ports[p].port;
    }
}

static void make_buffers(job_t *job, rank_t *r)
{
    uint64_t in = elements(job, WEFT_OPERAND_IN) * job->elem;
    uint64_t out = elements(job, WEFT_OPERAND_OUT) * job->elem;
    uint64_t own = r->plan->rank * job->count * job->elem;
    r->in = r->memory[0] = malloc(in + 1);
    r->out = r->memory[1] = malloc(out + 1);
    r->result = malloc(out + 1);
    if (job->in_place && out > in) {
        r->in = r->out + own;
    } else if (job->in_place) {
        r->out = r->in + own;
    }
}

static void show_windows(job_t *job)
{
    for (uint32_t i = 0; i < job->n; i++) {
        rank_t *r = &job->rank[i];
        r->windows.reach = r->reach;
        for (uint32_t p = 0; p < job->n; p++) {
            rank_t *peer = &job->rank[p];
            uint64_t in = elements(job, WEFT_OPERAND_IN) * job->elem;
            uint64_t out = elements(job, WEFT_OPERAND_OUT) * job->elem;
            r->reach[p].mine[3] = (weft_lanes_window_t){r->in, in};
            r->reach[p].mine[0] = (weft_lanes_window_t){r->out, out};
            r->reach[p].theirs[3] = (weft_lanes_window_t){peer->in, in};
            r->reach[p].theirs[0] = (weft_lanes_window_t){peer->out, out};
        }
    }
}

static uint32_t packs_most(weft_plan_t *const *plans, uint32_t n)
{
    uint32_t most = 1;
    for (uint32_t r = 0; r < n; r++) {
        for (uint32_t i = 0; i < plans[r]->nmoves; i++) {
            weft_plan_view_t move = weft_plan_view(plans[r], i);
            most = weft_plan_packs(&move) && move.cnt > most ? move.cnt : most;
        }
    }
    return most;
}

static void job_init(job_t *job, weft_plan_t *const *plans)
{
    uint32_t most = packs_most(plans, job->n);
    for (uint32_t i = 0; i < job->n; i++) {
        rank_t *r = &job->rank[i];
        r->plan = plans[i];
        r->program = (weft_program_t){.plan = r->plan,
                                      .channels = job->channels,
                                      .combiner.fn = combine,
                                      .elem = job->elem,
                                      .pre = job->pre,
                                      .in_place = job->in_place,
                                      .flags = job->final ? WEFT_COMBINE_FINAL : 0,
                                      .memory.near_bytes = WEFT_SLOT_INLINE,
                                      .memory.on_host = true,
                                      .in_chunks = weft_plan_chunks(r->plan, WEFT_OPERAND_IN),
                                      .out_chunks = weft_plan_chunks(r->plan, WEFT_OPERAND_OUT)};
        weft_segmentation_params_t cut = {r->plan->k, job->slices,
                                          SLOT_BYTES / most / WEFT_LINE * WEFT_LINE, job->channels};
        weft_segmentation_set(&r->program.segmentation, job->count, job->elem, &cut);
        assert_int_equal(weft_program_allocate(&r->program), WEFT_OK);
        bind_ports(job, r);
        assert_int_equal(weft_interpreter_init(&r->run, &r->program, &r->workspace), WEFT_OK);
        make_buffers(job, r);
    }
    show_windows(job);
}

static void job_fini(job_t *job)
{
    for (uint32_t i = 0; i < job->n; i++) {
        rank_t *r = &job->rank[i];
        weft_interpreter_fini(&r->run);
        weft_workspace_fini(&r->workspace);
        weft_program_release(&r->program);
        free(r->memory[0]);
        free(r->memory[1]);
        free(r->result);
        for (uint32_t to = 0; to < job->n; to++) {
            for (uint32_t c = 0; c < CHANNELS_MAX; c++) {
                weft_os_pages_free(job->fifo[i][to][c], weft_fifo_bytes(SLOTS, SLOT_BYTES));
            }
        }
    }
}

static void begin(job_t *job, rank_t *r, uint32_t sequence)
{
    uint64_t in = elements(job, WEFT_OPERAND_IN), out = elements(job, WEFT_OPERAND_OUT);
    memset(r->out, 0xee, out * job->elem);
    for (uint64_t e = 0; e < in; e++) {
        uint64_t value = input(job, r->plan->rank, e);
        memcpy(r->in + e * job->elem, &value, job->elem);
    }
    weft_interpreter_start(
        &r->run, &(weft_binding_t){
                     .in = r->in, .out = r->out, .sequence = sequence, .in_place = job->in_place});
}

/* Steps random ranks until all are done; who is uses its buffers again. */
static bool run(job_t *job, uint32_t sequence)
{
    uint32_t over = 0, idle = 0;
    for (uint32_t i = 0; i < job->n; i++) {
        begin(job, &job->rank[i], sequence);
    }
    while (over != (1u << job->n) - 1 && idle < 1000 * job->n) {
        uint32_t i = plan_dice(job->n);
        bool moved = false;
        if ((over >> i & 1) != 0) {
            continue;
        }
        weft_status_t status = weft_interpreter_step(&job->rank[i].run, &moved);
        idle = moved ? 0 : idle + 1;
        if (status == WEFT_OK) {
            rank_t *r = &job->rank[i];
            over |= 1u << i;
            memcpy(r->result, r->out, elements(job, WEFT_OPERAND_OUT) * job->elem);
            memset(r->out, 0xa5, elements(job, WEFT_OPERAND_OUT) * job->elem);
            memset(r->in, 0x5a, elements(job, WEFT_OPERAND_IN) * job->elem);
        } else if (status != WEFT_IN_PROGRESS) {
            printf("status %d: %s\n", status, weft_error_record()->text);
            return false;
        }
    }
    return over == (1u << job->n) - 1;
}

static uint64_t expected(const job_t *job, uint32_t rank, uint64_t e)
{
    uint64_t sum = 0;
    if (job->coll == WEFT_ALL_GATHER) {
        return input(job, (uint32_t)(e / job->count), e % job->count);
    }
    for (uint32_t i = 0; i < job->n; i++) {
        sum += input(job, i, rank * job->count + e) * (job->pre ? 5 : 1);
    }
    sum *= job->final ? 3 : 1;
    return load(&sum, job->elem);
}

static bool is_right(const job_t *job)
{
    for (uint32_t i = 0; i < job->n; i++) {
        for (uint64_t e = 0; e < elements(job, WEFT_OPERAND_OUT); e++) {
            uint64_t got = load(job->rank[i].result + e * job->elem, job->elem);
            if (got != expected(job, i, e)) {
                printf("rank %u element %llu: %llx, expected %llx\n", i, (unsigned long long)e,
                       (unsigned long long)got, (unsigned long long)expected(job, i, e));
                return false;
            }
        }
    }
    return true;
}

/* Cases ---------------------------------------------------------------------------------------- */

typedef struct tally {
    uint32_t made, proved, damaged, survived, packed;
} tally_t;

static bool damage(weft_plan_t **plans, uint32_t n)
{
    weft_plan_t *plan = plans[plan_dice(n)];
    plan_place_t at = {.plan = plan, .lane = &plan->lanes[0]};
    for (uint32_t tries = 0; tries < 20; tries++) {
        at.pc = plan_dice(at.lane->ncode - 1);
        if (plan_faults[plan_dice(PLAN_FAULTS)].damage(&at)) {
            return weft_plan_check(plan, NULL) == WEFT_OK;
        }
    }
    return false;
}

static void run_case(const weft_verify_input_t *proved, const weft_verify_report_t *reports,
                     weft_coll_t coll)
{
    static const size_t elems[] = {1, 2, 4, 8};
    static const uint64_t counts[] = {0, 1, 3, 16, 33, 64, 100, 333, 1000};
    static job_t job;
    bool reduces = coll != WEFT_ALL_GATHER;
    job = (job_t){.coll = coll,
                  .n = proved->nranks,
                  .slices = proved->slices,
                  .channels = 1 + plan_dice(CHANNELS_MAX),
                  .elem = elems[plan_dice(4)],
                  .count = counts[plan_dice(9)],
                  .in_place = reports[1].verdict == WEFT_VERDICT_OK && plan_dice(2),
                  .pre = reduces && plan_dice(2),
                  .final = reduces && plan_dice(2),
                  .windows = plan_dice(2)};
    combine_elem = job.elem;
    job_init(&job, proved->plans);
    for (uint32_t sequence = 1; sequence <= 2; sequence++) {
        if (!run(&job, sequence) || !is_right(&job)) {
            for (uint32_t r = 0; r < job.n; r++) {
                weft_plan_print(proved->plans[r], stdout);
            }
            fail_msg("proved and wrong: %u slices, %u channels, %zu-byte elements, %llu, in place "
                     "%d, pre %d, final %d, windows %d, run %u",
                     job.slices, job.channels, job.elem, (unsigned long long)job.count,
                     job.in_place, job.pre, job.final, job.windows, sequence);
        }
    }
    job_fini(&job);
}

static void try_case(tally_t *tally)
{
    weft_plan_t *plans[RANKS_MAX] = {NULL};
    weft_verify_report_t reports[2];
    weft_coll_t coll = plan_dice(2) ? WEFT_ALL_GATHER : WEFT_REDUCE_SCATTER;
    uint32_t n;
    bool made = packed_plans_draw(coll, plans, &n), damaged = made && plan_dice(2);
    if (made && (!damaged || damage(plans, n))) {
        uint32_t slices = 1 + plan_dice(SLOTS - 1);
        weft_verify_input_t input = {.plans = plans, .nranks = n, .slots = SLOTS, .slices = slices};
        tally->made++;
        tally->damaged += damaged;
        assert_int_equal(weft_plan_prove(&input, reports), WEFT_OK);
        if (reports[0].verdict == WEFT_VERDICT_OK) {
            tally->proved++;
            tally->survived += damaged;
            tally->packed += packs_most(plans, n) > 1;
            run_case(&input, reports, coll);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        weft_plan_destroy(plans[i]);
    }
}

static void what_is_proved_comes_out_right(void **state)
{
    tally_t tally = {0};
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        try_case(&tally);
    }
    printf("%u plans, %u proved, %u of them packed, %u damaged, of which %u were proved\n",
           tally.made, tally.proved, tally.packed, tally.damaged, tally.survived);
    assert_true(tally.packed > CASES / 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_proved_comes_out_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
