/* SPDX-License-Identifier: BSD-3-Clause
 *
 * weft-conformance-kernel: every type, operator, number of sources and destinations, length and
 * place of the operands, against a reference that shares nothing with the plugin. Kernels of host
 * memory only. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/check/check_layer.h"
#include "kit_instance.h"
#include "tests/conformance-compute/kernel_shape.h"

#define COUNT_MAX 257

static shape_bench_t bench;

static void kernel_failed(const char *text)
{
    kit_fail("combine: %s", text);
}

static const weft_kernel_ops_t *kernel_ops(const kit_instance_t *instance)
{
    return instance->ops;
}

/* Cases skip kernels of other memory: nothing here can look at it. */
static void kernel_open(kit_instance_t *instance, const kit_run_t *run)
{
    weft_kernel_props_t props = {.size = sizeof props};
    kit_instance_open(instance, run);
    kit_require_ok(kernel_ops(instance)->props(instance->object, &props), "props");
    if (props.memory_kind != WEFT_MEMORY_HOST) {
        kit_skip_case("props: memory kind %#x, and this kit looks at host memory only",
                      props.memory_kind);
    }
    shape_open(&bench, kernel_failed);
    bench.seed += run->seed;
}

static void kernel_close(kit_instance_t *instance)
{
    shape_close(&bench);
    kit_instance_close(instance);
}

/* NULL: refused, in words. The layer keeps 256 functions at most, so it is asked past the layer; it
 * sees the calls by the note. */
static weft_combine_fn_t kernel_select(kit_instance_t *instance, weft_dtype_t dtype, weft_op_t op)
{
    const weft_kernel_ops_t *own = instance->run->plugin->ops;
    weft_combine_fn_t fn = NULL;
    weft_error_clear(weft_error_record());
    weft_check_call_t call = weft_check_enter(instance->check, "select");
    weft_status_t status =
        weft_check_end(&call, own->select(instance->object, dtype, op, &fn), WEFT_CHECK_FAILURES);
    if (!kit_accepted(status, "select")) {
        return NULL;
    }
    if (fn == NULL) {
        kit_fail("select: %s of %s: found OK and no function, expected a function",
                 reference_op_name(op), reference_dtype_name(dtype));
    }
    return fn;
}

/* Runs a shape with a note of where the thread is, for crashes and hangs. */
static void kernel_shape(kit_instance_t *instance, const shape_t *shape, weft_combine_fn_t fn)
{
    weft_check_call_t call = weft_check_enter(instance->check, "combine");
    shape_check(&bench, shape, fn);
    weft_check_leave(&call);
}

/* All lengths, and with each of them another number of destinations. */
static void kernel_counts(kit_instance_t *instance, const reference_case_t *what,
                          weft_combine_fn_t fn, uint32_t draw)
{
    shape_expect(&bench, what, COUNT_MAX);
    for (size_t count = 0; count <= COUNT_MAX; count++) {
        uint32_t ndst = 1 + (uint32_t)(count + draw) % WEFT_COMBINE_MAX;
        shape_t shape = shape_draw(&bench, ndst, count);
        kernel_shape(instance, &shape, fn);
    }
}

static void kernel_short(const kit_run_t *run)
{
    kit_instance_t instance;
    uint32_t served = 0;
    kernel_open(&instance, run);
    for (weft_dtype_t dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) {
        shape_fill(&bench, dtype);
        for (weft_op_t op = 0; op < WEFT_OP_COUNT; op++) {
            weft_combine_fn_t fn =
                reference_has(dtype, op) ? kernel_select(&instance, dtype, op) : NULL;
            served += fn != NULL;
            uint32_t draws = op == WEFT_PREMULSUM ? 4 : op == WEFT_AVG ? 3 : 1;
            for (uint32_t i = 0; fn != NULL && i < WEFT_COMBINE_MAX * draws; i++) {
                reference_case_t what =
                    shape_draw_case(&bench, dtype, op, 1 + i % WEFT_COMBINE_MAX);
                kernel_counts(&instance, &what, fn, i);
            }
        }
    }
    if (served == 0) {
        kit_fail("select: found no type and operator that is served, expected one at least");
    }
    kernel_close(&instance);
}

static void kernel_large(const kit_run_t *run)
{
    kit_instance_t instance;
    kernel_open(&instance, run);
    for (weft_dtype_t dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) {
        size_t most = SHAPE_LARGEST / 4 / reference_size(dtype);
        shape_fill(&bench, dtype);
        for (uint32_t i = 0; i < 4 * WEFT_OP_COUNT; i++) {
            weft_op_t op = i % WEFT_OP_COUNT;
            weft_combine_fn_t fn =
                reference_has(dtype, op) ? kernel_select(&instance, dtype, op) : NULL;
            if (fn == NULL) {
                continue;
            }
            reference_case_t what = shape_draw_case(&bench, dtype, op, 1 + i / WEFT_OP_COUNT);
            shape_expect(&bench, &what, most);
            for (uint32_t ndst = 1; ndst <= WEFT_COMBINE_MAX; ndst++) {
                size_t count = most - shape_random(&bench) % (most / 2);
                shape_t shape = shape_draw(&bench, ndst, count);
                kernel_shape(&instance, &shape, fn);
            }
        }
    }
    kernel_close(&instance);
}

/* Properties of a struct of an older core. */
static void kernel_props(const kit_run_t *run)
{
    kit_instance_t instance;
    weft_kernel_props_t props = {.size = sizeof props};
    kit_instance_open(&instance, run);
    kit_require_ok(kernel_ops(&instance)->props(instance.object, &props), "props");
    if (props.variant[0] == '\0') {
        kit_fail("props: found an empty variant, expected the name of the implementation");
    }
    memset(&props, 0x5a, sizeof props);
    props.size = offsetof(weft_kernel_props_t, bandwidth);
    const weft_kernel_ops_t *own = run->plugin->ops;
    weft_check_call_t call = weft_check_enter(instance.check, "props");
    weft_status_t status =
        weft_check_end(&call, own->props(instance.object, &props), WEFT_CHECK_FAILURES);
    kit_require_ok(status, "props, of a core with a shorter struct");
    if (props.bandwidth != UINT64_C(0x5a5a5a5a5a5a5a5a)) {
        kit_fail("props: found a field written behind props->size, expected %zu bytes to be filled",
                 offsetof(weft_kernel_props_t, bandwidth));
    }
    kit_instance_close(&instance);
}

/* Through the layer: it looks at the reasons. */
static void kernel_unknown(const kit_run_t *run)
{
    kit_instance_t instance;
    kit_instance_open(&instance, run);
    for (int i = 0; i < 2; i++) {
        weft_combine_fn_t fn = NULL;
        weft_error_clear(weft_error_record());
        weft_status_t status =
            kernel_ops(&instance)->select(instance.object, i == 0 ? WEFT_DTYPE_COUNT : WEFT_FP32,
                                          i == 0 ? WEFT_SUM : WEFT_OP_COUNT, &fn);
        kit_require_ok(WEFT_OK, "select");
        if (status != WEFT_ERR_UNSUPPORTED) {
            kit_fail("select: found %s for %s that is not in the list, expected ERR_UNSUPPORTED: "
                     "the core may be newer",
                     weft_status_name(status), i == 0 ? "a type" : "an operator");
        }
    }
    kit_instance_close(&instance);
}

#define THREADS 4u
#define ELEMENTS 3000u

typedef struct kernel_thread {
    pthread_t id;
    weft_combine_fn_t fn;
    int32_t number;
    bool wrong;
} kernel_thread_t;

static void *kernel_thread_run(void *arg)
{
    kernel_thread_t *thread = arg;
    int32_t a[ELEMENTS], b[ELEMENTS], out[ELEMENTS];
    for (int round = 0; round < 200 && !thread->wrong; round++) {
        for (int32_t i = 0; i < (int32_t)ELEMENTS; i++) {
            a[i] = i * thread->number;
            b[i] = round - i;
            out[i] = 0;
        }
        weft_combine_t c = {
            .src = {a, b}, .dst = {out}, .count = ELEMENTS, .nsrc = 2, .ndst = 1, .nranks = 2};
        thread->fn(&c);
        for (int32_t i = 0; i < (int32_t)ELEMENTS; i++) {
            thread->wrong = thread->wrong || out[i] != i * thread->number + round - i;
        }
    }
    return NULL;
}

static void kernel_threads(const kit_run_t *run)
{
    static kernel_thread_t threads[THREADS];
    kit_instance_t instance;
    kernel_open(&instance, run);
    weft_combine_fn_t fn = kernel_select(&instance, WEFT_INT32, WEFT_SUM);
    if (fn == NULL) {
        kit_skip_case("no sum of int32");
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        threads[i] = (kernel_thread_t){.fn = fn, .number = (int32_t)(3 * i + 1)};
        if (pthread_create(&threads[i].id, NULL, kernel_thread_run, &threads[i]) != 0) {
            kit_skip_case("no more threads");
        }
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i].id, NULL);
        if (threads[i].wrong) {
            kit_fail("combine: found a wrong sum of int32 when several threads combine, expected "
                     "the same as in one: thread [any]");
        }
    }
    kernel_close(&instance);
}

static const struct {
    const char *name;
    void (*run)(const kit_run_t *run);
} cases[] = {
    {"an instance is made and freed, several times", kit_common_life},
    {"two instances live side by side", kit_common_two},
    {"a failed allocation is reported and leaks nothing", kit_common_memory},
    {"properties are in range and stay inside a shorter struct", kernel_props},
    {"unknown types and operators are refused in words", kernel_unknown},
    {"combinations of 0 to 257 elements match the reference", kernel_short},
    {"large combinations match the reference", kernel_large},
    {"several threads combine at the same time", kernel_threads},
};

static const char *kernel_name(uint32_t number)
{
    return number < sizeof cases / sizeof cases[0] ? cases[number].name : NULL;
}

static void kernel_run(const kit_run_t *run, uint32_t number)
{
    cases[number].run(run);
}

int main(int argc, char **argv)
{
    static const kit_suite_t suite = {.program = "weft-conformance-kernel",
                                      .kind = WEFT_KIND_KERNEL,
                                      .first = 3,
                                      .name = kernel_name,
                                      .run = kernel_run};
    return kit_main(&suite, argc, argv);
}
