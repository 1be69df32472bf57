/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the plugin leaves in the thread of its caller: the current context, no context on a device
 * that nobody chose, and the last error of the runtime. */
#include <pthread.h>

#include <weft/plugin/memory.h>

#include "tests/cuda/bench.h"

static _Alignas(4096) uint8_t fifo[FIFO_BYTES];

static const weft_kernel_memory_t *memory_of(const char *setting)
{
    bench_reset();
    assert_int_equal(bench_create(setting), WEFT_OK);
    return bench.ops->get_extension(bench.kernel, WEFT_KERNEL_MEMORY);
}

/* Of numbers of the host. */
static void add(void)
{
    float in[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}}, out[4] = {0};
    weft_combine_fn_t sum = NULL;
    const weft_combine_t c = {
        .src = {in[0], in[1]}, .dst = {out}, .count = 4, .nsrc = 2, .ndst = 1};
    assert_int_equal(bench.ops->select(bench.kernel, WEFT_FP32, WEFT_SUM, &sum), WEFT_OK);
    sum(&c);
    assert_true(out[0] == 6 && out[3] == 12);
}

static void use(const weft_kernel_memory_t *memory)
{
    void *buffer = NULL;
    assert_int_equal(memory->alloc(bench.kernel, 4096, &buffer), WEFT_OK);
    memory->free(bench.kernel, buffer);
}

/* As the progress thread of a rank on device 1, which never chose one. */
static void *work_on_device_one(void *arg)
{
    const weft_kernel_memory_t *memory = memory_of("device=1");
    (void)arg;
    fake_cuda_context_set(NULL); /* what the set-up of the test made current */
    atomic_store(&fake_cuda.contexts, 0);
    add();
    use(memory);
    bench.ops->destroy(bench.kernel);
    bench.kernel = NULL;
    assert_null(fake_cuda_context());
    assert_int_equal(atomic_load(&fake_cuda.contexts), 1u << 1);
    return NULL;
}

static void a_thread_that_chose_no_device_makes_no_context_on_the_first(void **state)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, work_on_device_one, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)bench_close(state);
}

static void a_context_of_the_application_is_current_again(void **state)
{
    const weft_kernel_memory_t *memory = memory_of("device=0");
    void *own = fake_cuda_context_make(1);
    use(memory);
    assert_ptr_equal(fake_cuda_context(), own);
    assert_int_equal(bench_device(), 1);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
    (void)bench_close(state);
}

/* A registration that the application made is none of ours, and no error. */
static void nothing_that_was_handled_is_left_as_the_last_error(void **state)
{
    weft_lanes_endpoint_t *end = NULL;
    const weft_lanes_port_t port = fifo_port(fifo, true);
    (void)state;
    assert_int_equal(cudaHostRegister(fifo, FIFO_BYTES, cudaHostRegisterPortable), cudaSuccess);
    assert_int_equal(bench.lanes->endpoint_open(bench.kernel, &port, &end), WEFT_OK);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    bench.lanes->endpoint_close(end);
    assert_int_equal(cudaHostUnregister(fifo), cudaSuccess);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
}

static void the_last_error_of_the_application_stays_its_own(void **state)
{
    const weft_kernel_memory_t *memory = memory_of("device=0");
    void *none = NULL;
    fake_cuda.fails = "cudaMalloc";
    fake_cuda.error = cudaErrorMemoryAllocation;
    assert_int_equal(cudaMalloc(&none, 64), cudaErrorMemoryAllocation);
    use(memory);
    assert_int_equal(cudaGetLastError(), cudaErrorMemoryAllocation);
    (void)bench_close(state);
}

/* Whatever failed inside is told by the status, with the words, and then forgotten. */
static void a_failure_is_told_once(void **state)
{
    const weft_kernel_memory_t *memory = memory_of("device=0");
    void *buffer = NULL;
    fake_cuda.fails = "cudaMalloc";
    fake_cuda.error = cudaErrorDevicesUnavailable;
    assert_true(memory->alloc(bench.kernel, 4096, &buffer) < 0);
    bench_take_error();
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    (void)bench_close(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_chose_no_device_makes_no_context_on_the_first),
        cmocka_unit_test(a_context_of_the_application_is_current_again),
        BENCH(nothing_that_was_handled_is_left_as_the_last_error),
        cmocka_unit_test(the_last_error_of_the_application_stays_its_own),
        cmocka_unit_test(a_failure_is_told_once),
    };
    return bench_main(tests);
}
