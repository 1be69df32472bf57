/* SPDX-License-Identifier: BSD-3-Clause
 *
 * weft-conformance-tuner: whatever the model says, the choice of a tuner is one of the candidates,
 * inside the limits of the call, the same every time on all ranks, and explained. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "kit_instance.h"

/* Every candidate's `core` points to its model. */
typedef struct model {
    double alpha, beta;
} model_t;

static const model_t models[] = {{1e-6, 1e-10}, {5e-6, 4e-11}, {2e-6, 2e-10}};
#define CANDIDATES 3u
static const weft_tuner_candidate_t candidates[CANDIDATES] = {
    {sizeof(weft_tuner_candidate_t), "algo-one", "", 4, 6, &models[0], 1},
    {sizeof(weft_tuner_candidate_t), "algo-two", "k=8", 8, 14, &models[1], 1},
    {sizeof(weft_tuner_candidate_t), "algo-three", "", 1, 2, &models[2], 1},
};

static weft_tuner_call_t tuner_usual(void)
{
    return (weft_tuner_call_t){.size = sizeof(weft_tuner_call_t),
                               .coll = WEFT_ALL_REDUCE,
                               .dtype = WEFT_FP32,
                               .op = WEFT_SUM,
                               .count = 1 << 18,
                               .bytes = 1 << 20,
                               .nranks = 4,
                               .nhosts = 1,
                               .slot_bytes = 65536,
                               .slots = 8,
                               .channels = 2};
}

/* A pipeline of slices, and a check that the tuner asks for what is allowed only. */
static double tuner_priced(const weft_tuner_call_t *call, const weft_tuner_candidate_t *candidate,
                           uint32_t slices, uint64_t slice_bytes)
{
    const model_t *model = candidate->core;
    if (slices < 1 || slices >= call->slots || slice_bytes == 0 || slice_bytes % 64 != 0 ||
        slice_bytes > call->slot_bytes) {
        kit_fail(
            "choose: asked for the price of %u slices of %llu bytes, expected 1 to %u slices of "
            "a multiple of 64 up to %llu bytes",
            slices, (unsigned long long)slice_bytes, call->slots - 1,
            (unsigned long long)call->slot_bytes);
    }
    double passes = ceil((double)call->bytes / candidate->chunks / slices / (double)slice_bytes);
    double slice = model->alpha + (double)slice_bytes * model->beta;
    return slice * (candidate->steps + slices * (passes < 1 ? 1 : passes));
}

static double tuner_equal(const weft_tuner_call_t *call, const weft_tuner_candidate_t *candidate,
                          uint32_t slices, uint64_t slice_bytes)
{
    (void)call;
    (void)candidate;
    (void)slices;
    (void)slice_bytes;
    return 1e-6;
}

static double tuner_endless(const weft_tuner_call_t *call, const weft_tuner_candidate_t *candidate,
                            uint32_t slices, uint64_t slice_bytes)
{
    (void)call;
    (void)candidate;
    (void)slices;
    return slice_bytes > 4096 ? (double)INFINITY : (double)NAN;
}

static weft_tuner_choice_t tuner_ask(kit_instance_t *instance, const weft_tuner_call_t *call,
                                     uint32_t count, weft_tuner_cost_fn_t cost)
{
    const weft_tuner_ops_t *ops = instance->ops;
    weft_tuner_choice_t choice = {.size = sizeof choice, .index = count, .next = WEFT_TUNER_NONE};
    kit_require_ok(ops->choose(instance->object, call, candidates, count, cost, &choice), "choose");
    if (choice.reason[0] == '\0') {
        kit_fail("choose: found no reason, expected why, in words");
    }
    return choice;
}

static void tuner_limits(const kit_run_t *run)
{
    static const uint64_t slot_bytes[] = {64, 100, 4096, 5000, 65536, 1 << 20};
    kit_instance_t instance;
    kit_instance_open(&instance, run);
    for (uint32_t slots = 2; slots <= 9; slots++) {
        for (size_t s = 0; s < sizeof slot_bytes / sizeof slot_bytes[0]; s++) {
            weft_tuner_call_t call = tuner_usual();
            call.slots = slots;
            call.slot_bytes = slot_bytes[s];
            for (call.bytes = 0; call.bytes < 1ull << 40; call.bytes = call.bytes * 3 + 1) {
                call.count = call.bytes / 4;
                call.channels = 1 + (uint32_t)(call.bytes + run->seed) % 4;
                (void)tuner_ask(&instance, &call, 1 + (slots + (uint32_t)run->seed) % CANDIDATES,
                                tuner_priced);
            }
        }
    }
    kit_instance_close(&instance);
}

static void tuner_collectives(const kit_run_t *run)
{
    kit_instance_t instance;
    kit_instance_open(&instance, run);
    for (weft_coll_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        for (weft_dtype_t dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) {
            weft_tuner_call_t call = tuner_usual();
            call.coll = coll;
            call.dtype = dtype;
            call.bytes = coll == WEFT_BARRIER ? 0 : call.bytes;
            (void)tuner_ask(&instance, &call, CANDIDATES, tuner_priced);
        }
    }
    kit_instance_close(&instance);
}

static bool tuner_same(const weft_tuner_choice_t *a, const weft_tuner_choice_t *b)
{
    return a->index == b->index && a->slices == b->slices && a->slice_bytes == b->slice_bytes &&
           a->channels == b->channels;
}

static void tuner_compare(const weft_tuner_choice_t *a, const weft_tuner_choice_t *b,
                          const char *when)
{
    if (!tuner_same(a, b)) {
        kit_fail(
            "choose: found candidate %u, %u slices of %llu bytes at first and %u, %u of %llu %s, "
            "expected the same: all ranks must give the same answer",
            a->index, a->slices, (unsigned long long)a->slice_bytes, b->index, b->slices,
            (unsigned long long)b->slice_bytes, when);
    }
}

/* Ranks have made other calls before, in instances of their own. */
static void tuner_history(const kit_run_t *run)
{
    kit_instance_t one, other;
    weft_tuner_call_t call = tuner_usual(), small = tuner_usual();
    small.bytes = 8;
    small.count = 2;
    kit_instance_open(&one, run);
    weft_tuner_choice_t first = tuner_ask(&one, &call, CANDIDATES, tuner_priced);
    (void)tuner_ask(&one, &small, CANDIDATES, tuner_priced);
    weft_tuner_choice_t again = tuner_ask(&one, &call, CANDIDATES, tuner_priced);
    tuner_compare(&first, &again, "after another call");
    kit_instance_open(&other, run);
    again = tuner_ask(&other, &call, CANDIDATES, tuner_priced);
    tuner_compare(&first, &again, "in another instance");
    kit_instance_close(&other);
    kit_instance_close(&one);
}

/* The answer of a process that a launcher calls `rank`. */
static weft_tuner_choice_t tuner_ask_as(const kit_run_t *run, const char *rank)
{
    kit_instance_t instance;
    const weft_tuner_call_t call = tuner_usual();
    (void)setenv("WEFT_RANK", rank, 1);
    kit_instance_open(&instance, run);
    const weft_tuner_choice_t choice = tuner_ask(&instance, &call, CANDIDATES, tuner_priced);
    kit_instance_close(&instance);
    return choice;
}

/* Ranks are processes of their own. */
static void tuner_processes(const kit_run_t *run)
{
    int status = 0;
    weft_tuner_choice_t *theirs =
        mmap(NULL, sizeof *theirs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const pid_t pid = theirs != MAP_FAILED ? kit_fork() : -1;
    if (pid == 0) {
        *theirs = tuner_ask_as(run, "1");
        kit_end(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        kit_skip_case("no second process: there is no memory for it");
    }
    if (!kit_has_ended(pid)) {
        kit_fail("choose: the second process ended before it had answered");
    }
    if (status != 0) {
        kit_end(1); /* it has said why */
    }
    const weft_tuner_choice_t mine = tuner_ask_as(run, "0");
    tuner_compare(&mine, theirs, "in another process, as another rank");
    (void)munmap(theirs, sizeof *theirs);
}

static void tuner_ties(const kit_run_t *run)
{
    kit_instance_t instance;
    weft_tuner_call_t call = tuner_usual();
    kit_instance_open(&instance, run);
    weft_tuner_choice_t first = tuner_ask(&instance, &call, CANDIDATES, tuner_equal);
    weft_tuner_choice_t again = tuner_ask(&instance, &call, CANDIDATES, tuner_equal);
    tuner_compare(&first, &again, "the next time, with equal prices");
    kit_instance_close(&instance);
}

static void tuner_infinite(const kit_run_t *run)
{
    kit_instance_t instance;
    weft_tuner_call_t call = tuner_usual();
    kit_instance_open(&instance, run);
    const weft_tuner_ops_t *ops = instance.ops;
    weft_tuner_choice_t choice = {
        .size = sizeof choice, .index = CANDIDATES, .next = WEFT_TUNER_NONE};
    weft_error_clear(weft_error_record());
    (void)ops->choose(instance.object, &call, candidates, CANDIDATES, tuner_endless, &choice);
    kit_require_ok(WEFT_OK, "choose, where the model knows no finite time"); /* the layer looked */
    kit_instance_close(&instance);
}

/* Returns the variant of that number, or NULL past the last. */
static const char *tuner_variant(kit_instance_t *instance, uint32_t index)
{
    const weft_tuner_ops_t *ops = instance->ops;
    const char *origin = "";
    const char *spec = ops->variant(instance->object, index, &origin);
    if (spec != NULL && index == WEFT_TUNER_VARIANTS_MAX) {
        kit_fail("variant: found more than %u algorithms, expected NULL after the last",
                 WEFT_TUNER_VARIANTS_MAX);
    }
    if (spec != NULL && (strnlen(spec, WEFT_TUNER_VARIANT_TEXT) == WEFT_TUNER_VARIANT_TEXT ||
                         strchr(spec, ':') == NULL)) {
        kit_fail("variant: found \"%.60s\", expected \"NAME:X=Y\" of less than %u bytes", spec,
                 WEFT_TUNER_VARIANT_TEXT);
    }
    return spec;
}

static void tuner_variants(const kit_run_t *run)
{
    kit_instance_t one, other;
    kit_instance_open(&one, run);
    kit_instance_open(&other, run);
    const weft_tuner_ops_t *ops = one.ops;
    for (uint32_t i = 0; ops->variant != NULL; i++) {
        const char *first = tuner_variant(&one, i), *second = tuner_variant(&other, i);
        if ((first == NULL) != (second == NULL) || (first != NULL && strcmp(first, second) != 0)) {
            kit_fail("variant: found \"%s\" and \"%s\" in two instances, expected the same: all "
                     "ranks must give the same answer",
                     first != NULL ? first : "NULL", second != NULL ? second : "NULL");
        }
        if (first == NULL) {
            break;
        }
    }
    kit_instance_close(&other);
    kit_instance_close(&one);
}

static const struct {
    const char *name;
    void (*run)(const kit_run_t *run);
} cases[] = {
    {"an instance is made and freed, several times", kit_common_life},
    {"two instances live side by side", kit_common_two},
    {"a failed allocation is reported and leaks nothing", kit_common_memory},
    {"choices stay inside the limits for all sizes", tuner_limits},
    {"every collective and type gets a choice", tuner_collectives},
    {"answers depend on no call before and no instance", tuner_history},
    {"two processes give one answer", tuner_processes},
    {"equal prices give one answer", tuner_ties},
    {"algorithms with parameters are few, written out, and the same on all ranks", tuner_variants},
    {"a model without finite times ends in a choice or an error in words", tuner_infinite},
};

static const char *tuner_name(uint32_t number)
{
    return number < sizeof cases / sizeof cases[0] ? cases[number].name : NULL;
}

static void tuner_run(const kit_run_t *run, uint32_t number)
{
    cases[number].run(run);
}

int main(int argc, char **argv)
{
    static const kit_suite_t suite = {.program = "weft-conformance-tuner",
                                      .kind = WEFT_KIND_TUNER,
                                      .first = 4,
                                      .name = tuner_name,
                                      .run = tuner_run};
    return kit_main(&suite, argc, argv);
}
