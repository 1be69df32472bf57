/* SPDX-License-Identifier: BSD-3-Clause
 *
 * weft-conformance-algo: for 2 to 17 ranks and some up to 100, on one host and on several, every
 * collective, some roots, several numbers of chunks in a message and the ends of every parameter's
 * range, an algorithm either refuses with a reason or emits plans that are well formed, the same
 * every time, proved by the verifier at several depths, and run to the right result by an executor
 * that shares no code with it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/error.h"
#include "core/plan/builder.h"
#include "core/plan/plan_ir.h"
#include "core/plan/verify.h"
#include "kit_instance.h"
#include "tests/support/plan_places.h"
#include "tests/support/plan_reference.h"

#define RANKS_ALL 17u
#define VERIFY_LIMIT 50000000u

static const weft_algo_ops_t *algo_ops(const kit_instance_t *instance)
{
    return instance->ops;
}

static weft_algo_call_t algo_call(const kit_instance_t *instance, weft_coll_t coll, uint32_t nranks)
{
    weft_algo_call_t call = {.size = sizeof call, .coll = coll, .nranks = nranks};
    const weft_algo_param_t *param = algo_ops(instance)->params;
    for (size_t i = 0; param != NULL && param[i].name != NULL; i++) {
        call.params[i] = param[i].value;
    }
    return call;
}

/* What a failure is about. */
static const char *algo_call_text(const weft_algo_call_t *call)
{
    static _Thread_local char text[160];
    int used = snprintf(text, sizeof text, "%s of %u ranks", weft_algo_coll_text(call->coll),
                        call->nranks);
    if (weft_coll_is_rooted(call->coll)) {
        used += snprintf(text + used, sizeof text - (size_t)used, ", root %u", call->root);
    }
    if (weft_algo_call_pack(call) > 1) {
        used += snprintf(text + used, sizeof text - (size_t)used, ", %u chunks in a message",
                         call->pack);
    }
    if (call->params[0] != 0 || call->params[1] != 0) {
        snprintf(text + used, sizeof text - (size_t)used, ", parameters %lld %lld",
                 (long long)call->params[0], (long long)call->params[1]);
    }
    return text;
}

static bool algo_supports(const kit_instance_t *instance, const weft_algo_call_t *call)
{
    weft_error_clear(weft_error_record());
    return kit_accepted(algo_ops(instance)->supports(instance->object, call), "supports");
}

/* NULL: the algorithm refuses what the topology says, which may be all that speaks against it. */
static weft_plan_t *algo_emit(const kit_instance_t *instance, const weft_algo_call_t *call,
                              const weft_algo_topo_t *topo)
{
    weft_plan_t *plan = NULL;
    weft_error_clear(weft_error_record());
    weft_status_t status =
        weft_plan_emit(algo_ops(instance), instance->object, call, topo, NULL, &plan);
    kit_require_ok(WEFT_OK, "emit");
    if (status != WEFT_OK && status != WEFT_ERR_UNSUPPORTED) {
        kit_fail("emit: %s, rank %u: found %s (%s), expected a plan", algo_call_text(call),
                 call->rank, weft_status_name(status), weft_error_record()->text);
    }
    return plan;
}

/* Proves one set of plans at one depth, out of place and in place. An all-to-all may need other
 * memory in place: the core makes a copy then. */
static void algo_prove(weft_plan_t *const *plans, const weft_algo_call_t *call, uint32_t slots,
                       uint32_t slices)
{
    weft_verify_report_t reports[2];
    const weft_verify_input_t input = {.plans = plans,
                                       .nranks = call->nranks,
                                       .slots = slots,
                                       .slices = slices,
                                       .limit = VERIFY_LIMIT};
    memset(reports, 0, sizeof reports);
    kit_require_ok(weft_plan_prove(&input, reports), "the verifier");
    for (int i = 0; i < (call->coll == WEFT_ALL_TO_ALL ? 1 : 2); i++) {
        const weft_verify_report_t *r = &reports[i];
        if (r->verdict != WEFT_VERDICT_OK) {
            kit_fail("emit: %s%s: %s: %s (at rank %u, lane %u, instruction %u; queues of %u slots, "
                     "%u slices a chunk)",
                     algo_call_text(call), i == 1 ? ", in place" : "",
                     weft_verdict_name(r->verdict), r->text, r->rank, r->lane, r->pc, slots,
                     slices);
        }
    }
    if (call->coll == WEFT_ALL_REDUCE && !reports[0].same_on_all_ranks) {
        kit_fail("emit: %s: found other bits on other ranks, expected one order of sources",
                 algo_call_text(call));
    }
}

static void algo_plans_check(weft_plan_t *const *plans, const weft_algo_call_t *call, uint64_t seed)
{
    static const uint32_t depths[][2] = {{8, 4}, {2, 1}, {4, 3}};
    for (size_t i = 0; i < (call->nranks <= RANKS_ALL ? 3 : 1); i++) {
        algo_prove(plans, call, depths[i][0], depths[i][1]);
    }
    if (plan_reference_run(plans, call->nranks, 2, 1, seed + call->nranks) != PLAN_RIGHT) {
        kit_fail("emit: %s: run with numbers, the result is wrong; expected what the proof says",
                 algo_call_text(call));
    }
}

/* Returns whether there were plans. */
static bool algo_call_check(const kit_instance_t *instance, weft_algo_call_t call,
                            const weft_algo_topo_t *topo)
{
    weft_plan_t *plans[PLACES_RANKS_MAX] = {NULL};
    uint32_t written = 0, absent = 0;
    if (!algo_supports(instance, &call)) {
        return false;
    }
    for (call.rank = 0; call.rank < call.nranks; call.rank++) {
        plans[call.rank] = algo_emit(instance, &call, topo);
        written += plans[call.rank] != NULL;
        absent = plans[call.rank] != NULL ? absent : call.rank;
    }
    if (written != 0 && written != call.nranks) {
        kit_fail("emit: %s: found a plan for %u ranks and none for rank %u (%s), expected the same "
                 "answer on all ranks",
                 algo_call_text(&call), written, absent, weft_error_record()->text);
    }
    if (written > 0) {
        algo_plans_check(plans, &call, instance->run->seed);
    }
    for (uint32_t r = 0; r < call.nranks; r++) {
        weft_plan_destroy(plans[r]);
    }
    return written > 0;
}

/* Returns the most chunks that MOVEs of the call may pack, at least 1. */
static uint32_t algo_packs(const kit_instance_t *instance, const weft_algo_call_t *call)
{
    const weft_algo_ops_t *ops = algo_ops(instance);
    if (!WEFT_HAS(ops, weft_algo_ops_t, pack) || ops->pack == NULL ||
        !algo_supports(instance, call)) {
        return 1;
    }
    uint32_t most = ops->pack(instance->object, call);
    return most == 0 ? 1 : most < WEFT_PACK_MAX ? most : WEFT_PACK_MAX;
}

static bool algo_roots_check(const kit_instance_t *instance, weft_algo_call_t call, spread_t spread)
{
    weft_topo_view_t view;
    bool any = false;
    uint32_t roots = weft_coll_is_rooted(call.coll) ? call.nranks : 1;
    uint32_t stride = call.nranks > RANKS_ALL ? call.nranks : call.nranks > 6 ? call.nranks - 1 : 1;
    kit_require_ok(places_init(&view, call.nranks, spread), "the kit's own topology");
    for (call.root = 0; call.root < roots; call.root += stride) {
        call.pack = 0;
        any = algo_call_check(instance, call, &view.topo) || any;
        uint32_t most = algo_packs(instance, &call);
        for (call.pack = 2; call.pack <= most; call.pack = places_next_pack(call.pack, most)) {
            any = algo_call_check(instance, call, &view.topo) || any;
        }
    }
    weft_topo_view_fini(&view);
    return any;
}

static bool algo_ranks_check(const kit_instance_t *instance, uint32_t nranks, spread_t spread)
{
    bool any = false;
    for (weft_coll_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        if (weft_coll_has_plan(coll)) {
            any = algo_roots_check(instance, algo_call(instance, coll, nranks), spread) || any;
        }
    }
    return any;
}

static void algo_spread(const kit_run_t *run, spread_t spread)
{
    bool any = false;
    kit_instance_t instance;
    kit_instance_open(&instance, run);
    for (uint32_t n = 2; n <= RANKS_ALL; n++) {
        any = algo_ranks_check(&instance, n, spread) || any;
    }
    if (!any) {
        kit_skip_case("no collective is served here");
    }
    kit_instance_close(&instance);
}

static void algo_one_host(const kit_run_t *run)
{
    algo_spread(run, ONE_HOST);
}

static void algo_hosts_of_two(const kit_run_t *run)
{
    algo_spread(run, HOSTS_OF_TWO);
}

static void algo_scattered(const kit_run_t *run)
{
    algo_spread(run, SCATTERED);
}

/* Who keeps a bit for each rank in a word errs beyond 32 or 64. */
static void algo_many(const kit_run_t *run)
{
    static const uint32_t sampled[] = {24, 31, 32, 33, 48, 63, 64, 65, 100};
    kit_instance_t instance;
    kit_instance_open(&instance, run);
    for (size_t i = 0; i < sizeof sampled / sizeof sampled[0]; i++) {
        (void)algo_ranks_check(&instance, sampled[i], SCATTERED);
    }
    kit_instance_close(&instance);
}

static void algo_parameter(const kit_instance_t *instance, size_t param, int64_t value)
{
    static const uint32_t ranks[] = {2, 3, 5, 8};
    for (weft_coll_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        for (size_t i = 0; weft_coll_has_plan(coll) && i < sizeof ranks / sizeof ranks[0]; i++) {
            weft_algo_call_t call = algo_call(instance, coll, ranks[i]);
            call.params[param] = value;
            for (spread_t spread = 0; spread < SPREADS; spread++) {
                (void)algo_roots_check(instance, call, spread);
            }
        }
    }
}

static void algo_parameters(const kit_run_t *run)
{
    kit_instance_t instance;
    kit_instance_open(&instance, run);
    const weft_algo_param_t *param = algo_ops(&instance)->params;
    if (param == NULL || param[0].name == NULL) {
        kit_skip_case("no parameters");
    }
    for (size_t i = 0; param[i].name != NULL; i++) {
        algo_parameter(&instance, i, param[i].min);
        algo_parameter(&instance, i, param[i].max);
    }
    kit_instance_close(&instance);
}

/* All ranks must agree on what is supported, or some would wait for the others. */
static void algo_agreement(const kit_run_t *run)
{
    uint32_t served = 0;
    kit_instance_t instance;
    kit_instance_open(&instance, run);
    for (weft_coll_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        for (uint32_t n = 2; weft_coll_has_plan(coll) && n <= 4096; n += n < RANKS_ALL ? 1 : n) {
            weft_algo_call_t call = algo_call(&instance, coll, n);
            bool first = algo_supports(&instance, &call);
            served += first;
            for (call.rank = 1; call.rank < n && call.rank < RANKS_ALL; call.rank++) {
                if (algo_supports(&instance, &call) != first) {
                    kit_fail("supports: %s: found %s for rank 0 and %s for rank %u, expected the "
                             "same answer on all ranks",
                             algo_call_text(&call), first ? "OK" : "ERR_UNSUPPORTED",
                             first ? "ERR_UNSUPPORTED" : "OK", call.rank);
                }
            }
        }
    }
    if (served == 0) {
        kit_fail("supports: found no collective that is served, expected one at least");
    }
    kit_instance_close(&instance);
}

static uint64_t algo_hashes(const kit_instance_t *instance, uint64_t *hashes, spread_t spread)
{
    uint64_t count = 0;
    for (weft_coll_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        for (uint32_t n = 2; weft_coll_has_plan(coll) && n <= 9; n++) {
            weft_algo_call_t call = algo_call(instance, coll, n);
            weft_topo_view_t view;
            kit_require_ok(places_init(&view, n, spread), "the kit's own topology");
            for (; algo_supports(instance, &call) && call.rank < n; call.rank++) {
                weft_plan_t *plan = algo_emit(instance, &call, &view.topo);
                hashes[count++] = plan != NULL ? weft_plan_hash(plan) : 0;
                weft_plan_destroy(plan);
            }
            weft_topo_view_fini(&view);
        }
    }
    return count;
}

#define HASHES 2048u /* collectives times ranks */

static void algo_instances(const kit_run_t *run)
{
    static uint64_t one[HASHES], other[HASHES];
    kit_instance_t instance, second;
    kit_instance_open(&instance, run);
    uint64_t count = algo_hashes(&instance, one, SCATTERED);
    kit_instance_open(&second, run);
    bool same = algo_hashes(&second, other, SCATTERED) == count &&
                memcmp(one, other, count * sizeof *one) == 0;
    if (!same) {
        kit_fail("emit: found other plans in another instance, expected equal plans for equal "
                 "arguments");
    }
    kit_instance_close(&second);
    kit_instance_close(&instance);
}

/* Threads meet in an emitter that shares memory only now and then. Slow ones get fewer rounds. */
#define ROUNDS 200u
#define ROUNDS_SECONDS 5

typedef struct algo_thread {
    const kit_instance_t *instance;
    pthread_t id;
    uint64_t hashes[2][HASHES], count; /* of the first round, of the last */
    bool differs;                      /* a later round from the first */
} algo_thread_t;

static void *algo_thread_run(void *arg)
{
    algo_thread_t *thread = arg;
    thread->count = algo_hashes(thread->instance, thread->hashes[0], ONE_HOST);
    const time_t until = time(NULL) + ROUNDS_SECONDS;
    for (uint32_t round = 1;
         round < ROUNDS && !thread->differs && (round == 1 || time(NULL) < until); round++) {
        uint64_t count = algo_hashes(thread->instance, thread->hashes[1], ONE_HOST);
        thread->differs = count != thread->count || memcmp(thread->hashes[0], thread->hashes[1],
                                                           count * sizeof(uint64_t)) != 0;
    }
    return NULL;
}

static void algo_threads(const kit_run_t *run)
{
    static algo_thread_t threads[4];
    kit_instance_t instance;
    kit_instance_open(&instance, run);
    for (size_t i = 0; i < 4; i++) {
        threads[i].instance = &instance;
        if (pthread_create(&threads[i].id, NULL, algo_thread_run, &threads[i]) != 0) {
            kit_skip_case("no more threads");
        }
    }
    for (size_t i = 0; i < 4; i++) {
        (void)pthread_join(threads[i].id, NULL);
        if (threads[i].differs || threads[i].count != threads[0].count ||
            memcmp(threads[i].hashes[0], threads[0].hashes[0], sizeof threads[i].hashes[0]) != 0) {
            kit_fail("emit: found other plans when several threads emit, expected the same: "
                     "thread [any]");
        }
    }
    kit_instance_close(&instance);
}

static const struct {
    const char *name;
    void (*run)(const kit_run_t *run);
} cases[] = {
    {"an instance is made and freed, several times", kit_common_life},
    {"two instances live side by side", kit_common_two},
    {"a failed allocation is reported and leaks nothing", kit_common_memory},
    {"all ranks are told the same about what is served, and why not", algo_agreement},
    {"plans of 2 to 17 ranks on one host are proved and run", algo_one_host},
    {"plans of 2 to 17 ranks on hosts of two are proved and run", algo_hosts_of_two},
    {"plans of 2 to 17 ranks in racks, in no order, are proved and run", algo_scattered},
    {"plans of 24 to 100 ranks are proved and run", algo_many},
    {"the ends of every parameter are proved and run", algo_parameters},
    {"another instance emits the same plans", algo_instances},
    {"several threads emit at the same time", algo_threads},
};

static const char *algo_name(uint32_t number)
{
    return number < sizeof cases / sizeof cases[0] ? cases[number].name : NULL;
}

static void algo_run(const kit_run_t *run, uint32_t number)
{
    cases[number].run(run);
}

int main(int argc, char **argv)
{
    static const kit_suite_t suite = {.program = "weft-conformance-algo",
                                      .kind = WEFT_KIND_ALGO,
                                      .first = 5,
                                      .name = algo_name,
                                      .run = algo_run};
    return kit_main(&suite, argc, argv);
}
