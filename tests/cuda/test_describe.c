/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What kernel-cuda tells of the devices that it sees, and what telling costs. */
#include <weft/plugin/describe.h>

#include "tests/cuda/bench.h"

static const weft_kernel_describe_t *describe;

/* The kernel computes on the second of two devices; the first is the caller's. */
static int open_kernel(void **state)
{
    (void)state;
    bench_reset();
    assert_int_equal(bench_create("device=1"), WEFT_OK);
    describe = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_DESCRIBE);
    assert_non_null(describe);
    return 0;
}

static void every_device_is_described(void **state)
{
    weft_kernel_device_t device = {.size = sizeof device};
    uint32_t count = 0;
    (void)state;
    assert_int_equal(describe->count(bench.kernel, &count), WEFT_OK);
    assert_int_equal(count, 2);
    assert_int_equal(describe->device(bench.kernel, 1, &device), WEFT_OK);
    assert_int_equal(device.size, sizeof device);
    assert_int_equal(device.ordinal, 1);
    assert_int_equal(device.chosen, 1);
    assert_int_equal(device.numa, 1);
    assert_string_equal(device.name, "Device of threads");
    assert_string_equal(device.pci, "0001:3c:00.0");
    assert_string_equal(device.uuid, "GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1");
    assert_string_equal(device.capability, "9.0");
    assert_int_equal(device.memory_bytes, 5000);
    assert_int_equal(device.memory_free, 1000);
}

/* Asking for free memory would make a context on every device of the machine. */
static void a_device_that_is_not_in_use_is_not_touched(void **state)
{
    weft_kernel_device_t device = {.size = sizeof device};
    (void)state;
    fake_cuda.fails = "cudaSetDevice";
    fake_cuda.error = cudaErrorDevicesUnavailable;
    assert_int_equal(describe->device(bench.kernel, 0, &device), WEFT_OK);
    assert_string_equal(fake_cuda.fails, "cudaSetDevice");
    assert_int_equal(device.chosen, 0);
    assert_int_equal(device.numa, 0);
    assert_true(device.memory_free == WEFT_BYTES_UNKNOWN);
}

static void what_the_driver_does_not_tell_is_unknown(void **state)
{
    weft_kernel_device_t device = {.size = sizeof device};
    (void)state;
    fake_cuda.fails = "cudaDeviceGetAttribute";
    fake_cuda.error = cudaErrorInvalidValue;
    assert_int_equal(describe->device(bench.kernel, 1, &device), WEFT_OK);
    assert_int_equal(device.numa, -1);
    fake_cuda.fails = "cudaMemGetInfo";
    assert_int_equal(describe->device(bench.kernel, 1, &device), WEFT_OK);
    assert_true(device.memory_free == WEFT_BYTES_UNKNOWN);
}

static void ways_between_devices_are_told(void **state)
{
    weft_kernel_peer_access_t reach = {.size = sizeof reach};
    (void)state;
    assert_int_equal(describe->peer_access(bench.kernel, 0, 1, &reach), WEFT_OK);
    assert_int_equal(reach.access, 1);
    assert_int_equal(reach.atomics, 1);
    assert_int_equal(reach.rank, 3);
    fake_cuda.no_peers = true;
    assert_int_equal(describe->peer_access(bench.kernel, 1, 0, &reach), WEFT_OK);
    assert_int_equal(reach.access, 0);
    assert_int_equal(reach.atomics, 0);
    assert_int_equal(reach.rank, -1);
}

static void what_is_not_there_and_what_fails_is_named(void **state)
{
    weft_kernel_device_t device = {.size = sizeof device};
    weft_kernel_peer_access_t reach = {.size = sizeof reach};
    (void)state;
    assert_int_equal(describe->device(bench.kernel, 2, &device), WEFT_ERR_ARG);
    bench_said("CUDA device 2: this process sees 2 devices");
    assert_int_equal(describe->peer_access(bench.kernel, 0, 2, &reach), WEFT_ERR_ARG);
    bench_said("CUDA device 2: this process sees 2 devices");
    assert_int_equal(describe->peer_access(bench.kernel, 1, 1, &reach), WEFT_ERR_ARG);
    bench_said("CUDA device 1 reaches its own memory");
    fake_cuda.error = cudaErrorIllegalAddress;
    fake_cuda.fails = "cudaGetDeviceProperties";
    assert_int_equal(describe->device(bench.kernel, 0, &device), WEFT_ERR_SYSTEM);
    bench_said("CUDA device 0: its properties: an illegal address (cudaErrorIllegalAddress)");
    fake_cuda.fails = "cudaDeviceGetP2PAttribute";
    assert_int_equal(describe->peer_access(bench.kernel, 0, 1, &reach), WEFT_ERR_SYSTEM);
    bench_said("CUDA device 0: its way to another device");
    fake_cuda.no_device = cudaErrorIllegalAddress;
    uint32_t count = 7;
    assert_int_equal(describe->count(bench.kernel, &count), WEFT_ERR_SYSTEM);
    bench_said("counting CUDA devices: an illegal address");
    assert_int_equal(count, 7);
    fake_cuda.no_device = cudaSuccess;
}

/* A caller of an older header has less room. */
static void no_more_is_written_than_there_is_room(void **state)
{
    weft_kernel_device_t device;
    (void)state;
    memset(&device, 0x5a, sizeof device);
    device.size = offsetof(weft_kernel_device_t, memory_free);
    assert_int_equal(describe->device(bench.kernel, 1, &device), WEFT_OK);
    assert_int_equal(device.memory_bytes, 5000);
    assert_true(device.memory_free == 0x5a5a5a5a5a5a5a5a);
}

int main(void)
{
#define WITH_KERNEL(test) cmocka_unit_test_setup_teardown(test, open_kernel, bench_close)
    const struct CMUnitTest tests[] = {
        WITH_KERNEL(every_device_is_described),
        WITH_KERNEL(a_device_that_is_not_in_use_is_not_touched),
        WITH_KERNEL(what_the_driver_does_not_tell_is_unknown),
        WITH_KERNEL(ways_between_devices_are_told),
        WITH_KERNEL(what_is_not_there_and_what_fails_is_named),
        WITH_KERNEL(no_more_is_written_than_there_is_room),
    };
    return bench_main(tests);
}
