/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's part of kernels.cu as nvcc compiled it, over the CUDA runtime for tests, which
 * swallows what is launched: what its launches answer, and that no kernel is left to be loaded at
 * its first launch. */
#include <string.h>

#include "plugins/kernel-cuda/device/run.h"
#include "plugins/kernel-cuda/launch.h"
#include "tests/cuda/fake_cuda.h"
#include "tests/support/unit.h"

static cudaError_t launch(void)
{
    static float in[4], out[4];
    const weft_combine_t job = {.dst = {out}, .src = {in}, .ndst = 1, .nsrc = 1, .count = 4};
    return cuda_launch_combine(WEFT_FP32, WEFT_SUM, &job, 1, NULL);
}

static void fail_next(const char *call, cudaError_t error)
{
    fake_cuda.fails = call;
    fake_cuda.error = error;
}

static void an_error_of_a_call_before_is_not_that_of_the_launch(void **state)
{
    void *memory = NULL;
    (void)state;
    fake_cuda.swallow = true;
    fail_next("cudaMalloc", cudaErrorMemoryAllocation);
    assert_int_equal(cudaMalloc(&memory, 64), cudaErrorMemoryAllocation);
    assert_int_equal(launch(), cudaSuccess);
    assert_int_equal(cudaGetLastError(), cudaErrorMemoryAllocation);
}

static void a_launch_that_fails_says_so(void **state)
{
    (void)state;
    fake_cuda.swallow = true;
    fail_next("cudaLaunchKernel", cudaErrorInvalidConfiguration);
    assert_int_equal(launch(), cudaErrorInvalidConfiguration);
    cudaGetLastError();
    assert_int_equal(launch(), cudaSuccess);
}

static void every_kernel_is_loaded_before_the_first_launch(void **state)
{
    (void)state;
    assert_true(atomic_load(&fake_cuda.kernels) > 0);
    assert_int_equal(cuda_launch_usable(), cudaSuccess);
    assert_int_equal(atomic_load(&fake_cuda.loaded), atomic_load(&fake_cuda.kernels));
}

/* Only what fences for other devices goes to their domain, and only if the device has one. */
static void plans_are_launched_in_the_remote_domain(void **state)
{
    static lanes_launch_t runs = {.nblocks = 1};
    const uint32_t before = atomic_load(&fake_cuda.remote);
    (void)state;
    fake_cuda.swallow = true;
    assert_int_equal(launch(), cudaSuccess);
    assert_int_equal(cuda_launch_lanes(&runs, 64, false, NULL), cudaSuccess);
    assert_int_equal(atomic_load(&fake_cuda.remote), before);
    assert_int_equal(cuda_launch_lanes(&runs, 64, true, NULL), cudaSuccess);
    assert_int_equal(atomic_load(&fake_cuda.remote), before + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_are_launched_in_the_remote_domain),
        cmocka_unit_test(an_error_of_a_call_before_is_not_that_of_the_launch),
        cmocka_unit_test(a_launch_that_fails_says_so),
        cmocka_unit_test(every_kernel_is_loaded_before_the_first_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
