/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of a device that the host cannot touch, apart from the collectives that the sweep covers:
 * allocation and copies, messages, a factor that lies on the device, and what is refused. */
#include <stdio.h>
#include <string.h>

#include "tests/support/ranks.h"
#include "tests/support/unit.h"

enum { COUNT = 3000 };

static int told(weft_status_t status, weft_status_t wanted, const char *words)
{
    weft_error_t error = {.size = sizeof error};
    weft_last_error(&error);
    return status == wanted && strstr(error.text, words) != NULL;
}

static int use_memory(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    uint8_t in[COUNT], out[COUNT];
    void *a = NULL, *b = NULL;
    int wrong = 0;
    (void)n;
    (void)arg;
    memset(in, 0x5a, sizeof in);
    NEED(weft_mem_alloc_device(comm, COUNT, &a) == WEFT_OK);
    NEED(weft_mem_alloc_device(comm, COUNT, &b) == WEFT_OK);
    NEED(weft_mem_copy(comm, out, a, COUNT) == WEFT_OK && out[0] == 0 && out[COUNT - 1] == 0);
    NEED(weft_mem_copy(comm, a, in, COUNT) == WEFT_OK);
    NEED(weft_mem_copy(comm, b, a, COUNT) == WEFT_OK);
    NEED(weft_mem_copy(comm, out, b, COUNT) == WEFT_OK && memcmp(in, out, COUNT) == 0);
    NEED(weft_mem_copy(comm, a, b, 0) == WEFT_OK);
    NEED(told(weft_mem_copy(comm, NULL, b, 1), WEFT_ERR_ARG, "dst is NULL"));
    NEED(told(weft_mem_copy(comm, b, (uint8_t *)b + 1, 2), WEFT_ERR_ARG, "overlap"));
    NEED(told(weft_mem_alloc_device(comm, 1, NULL), WEFT_ERR_ARG, "memory_p"));
    NEED(weft_mem_free(comm, a) == WEFT_OK);
    NEED(told(weft_mem_free(comm, a), WEFT_ERR_ARG, "freed before"));
    return wrong; /* b is freed with the communicator */
}

/* Two areas of the device, the first with this rank's numbers, which are in `in` too. */
static int make_areas(weft_comm_t *comm, uint32_t rank, int32_t in[COUNT], void **from, void **to)
{
    const uint64_t bytes = COUNT * sizeof *in;
    int wrong = 0;
    for (int32_t i = 0; i < COUNT; i++) {
        in[i] = i + (int32_t)rank * 10000;
    }
    NEED(weft_mem_alloc_device(comm, bytes, from) == WEFT_OK);
    NEED(weft_mem_alloc_device(comm, bytes, to) == WEFT_OK);
    NEED(weft_mem_copy(comm, *from, in, bytes) == WEFT_OK);
    return wrong;
}

static int send_around(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int32_t in[COUNT], out[COUNT];
    void *from = NULL, *to = NULL;
    int wrong = make_areas(comm, rank, in, &from, &to);
    (void)arg;
    NEED(weft_group_start() == WEFT_OK);
    NEED(weft_send(from, COUNT, WEFT_INT32, (rank + 1) % n, comm, NULL) == WEFT_OK);
    NEED(weft_recv(to, COUNT, WEFT_INT32, (rank + n - 1) % n, comm, NULL) == WEFT_OK);
    NEED(weft_group_end() == WEFT_OK);
    NEED(weft_mem_copy(comm, out, to, sizeof out) == WEFT_OK);
    NEED(out[COUNT - 1] == COUNT - 1 + (int32_t)((rank + n - 1) % n) * 10000);
    /* To oneself. */
    NEED(weft_group_start() == WEFT_OK);
    NEED(weft_send(from, COUNT, WEFT_INT32, rank, comm, NULL) == WEFT_OK);
    NEED(weft_recv(to, COUNT, WEFT_INT32, rank, comm, NULL) == WEFT_OK);
    NEED(weft_group_end() == WEFT_OK);
    NEED(weft_mem_copy(comm, out, to, sizeof out) == WEFT_OK && memcmp(in, out, sizeof in) == 0);
    return wrong;
}

static int put_around(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int32_t in[COUNT], out[COUNT];
    void *from = NULL, *to = NULL;
    weft_window_t *window = NULL;
    int wrong = make_areas(comm, rank, in, &from, &to);
    (void)arg;
    NEED(weft_window_register_local(comm, to, sizeof in, &window) == WEFT_OK);
    for (uint32_t step = 0; step < 2; step++) { /* to the right, then to oneself */
        uint32_t target = (rank + 1 - step) % n, source = (rank + n - 1 + step) % n;
        NEED(weft_put_signal((int32_t *)from + 1, COUNT - 1, WEFT_INT32, target, window,
                             sizeof(int32_t), comm, NULL) == WEFT_OK);
        NEED(weft_wait_signal(source, 1, comm, NULL) == WEFT_OK);
        NEED(weft_mem_copy(comm, out, to, sizeof out) == WEFT_OK);
        NEED(out[0] == 0 && out[1] == 1 + (int32_t)source * 10000);
        NEED(out[COUNT - 1] == COUNT - 1 + (int32_t)source * 10000);
        NEED(weft_barrier(comm, NULL) == WEFT_OK);
    }
    NEED(weft_window_deregister(comm, window) == WEFT_OK);
    return wrong;
}

/* The factor is read where it lies when the operation runs; host memory and the device's are
 * mixed. */
static int scale(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    float in[COUNT], out[COUNT], factor = 2;
    void *there = NULL, *factor_there = NULL;
    int wrong = 0;
    (void)arg;
    for (int i = 0; i < COUNT; i++) {
        in[i] = (float)i;
    }
    NEED(weft_mem_alloc_device(comm, sizeof in, &there) == WEFT_OK);
    NEED(weft_mem_alloc_device(comm, sizeof factor, &factor_there) == WEFT_OK);
    NEED(weft_mem_copy(comm, factor_there, &factor, sizeof factor) == WEFT_OK);
    NEED(weft_mem_copy(comm, there, in, sizeof in) == WEFT_OK);
    weft_call_t call = {
        .size = sizeof call, .scalar = factor_there, .scalar_read = WEFT_SCALAR_AT_RUN};
    NEED(weft_all_reduce(there, out, COUNT, WEFT_FP32, WEFT_PREMULSUM, comm, &call) == WEFT_OK);
    NEED(out[COUNT - 1] == (float)(COUNT - 1) * 2 * (float)n);
    return wrong;
}

static void add(void *inout, const void *in, uint64_t count, weft_dtype_t dtype, void *arg)
{
    (void)inout;
    (void)in;
    (void)count;
    (void)dtype;
    (void)arg;
}

static int be_refused(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_op_t op;
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(told(weft_op_create(comm, add, NULL, &op), WEFT_ERR_UNSUPPORTED, "kernel-cuda"));
    return wrong;
}

static int split(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *half = NULL;
    uint32_t size = 0;
    int wrong = 0;
    (void)arg;
    NEED(weft_comm_split(comm, (int32_t)(rank % 2), 0, &half) == WEFT_OK);
    NEED(weft_comm_size(half, &size) == WEFT_OK && size == (n + 1 - rank % 2) / 2);
    wrong += use_memory(half, rank, size, NULL);
    NEED(weft_comm_destroy(half) == WEFT_OK);
    return wrong;
}

static int without_a_device(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    void *memory = NULL;
    char a[4] = "abc", b[4] = "";
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(told(weft_mem_alloc_device(comm, 8, &memory), WEFT_ERR_UNSUPPORTED, "kernel-cpu"));
    NEED(weft_mem_copy(comm, b, a, 4) == WEFT_OK && b[2] == 'c');
    return wrong;
}

static void run(ranks_work_t work, const char *net)
{
    const char *settings[] = {net, "core.kernel=kernel-cuda",
                              "kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE, "kernel-cuda.share=no",
                              "exec.slot_bytes=4K"};
    ranks_job_t job = {.nranks = 3, .settings = settings, .settings_count = 5, .work = work};
    assert_int_equal(ranks_run_threads(&job), 0);
}

static void memory_is_allocated_and_copied(void **state)
{
    (void)state;
    run(use_memory, "core.net=net-shm");
}

static void messages_go_from_device_to_device(void **state)
{
    (void)state;
    run(send_around, "core.net=net-shm");
    run(send_around, "core.net=net-socket");
}

static void puts_go_into_memory_of_the_device(void **state)
{
    (void)state;
    run(put_around, "core.net=net-shm");
    run(put_around, "core.net=net-socket");
}

static void a_factor_may_lie_on_the_device(void **state)
{
    (void)state;
    run(scale, "core.net=net-shm");
}

static void operators_of_the_host_are_refused(void **state)
{
    (void)state;
    run(be_refused, "core.net=net-shm");
}

static void a_part_of_the_ranks_has_the_device_too(void **state)
{
    (void)state;
    run(split, "core.net=net-shm");
}

static void a_kernel_of_the_host_has_no_device_memory(void **state)
{
    (void)state;
    const char *settings[] = {"core.net=net-shm"};
    ranks_job_t job = {
        .nranks = 2, .settings = settings, .settings_count = 1, .work = without_a_device};
    assert_int_equal(ranks_run_threads(&job), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_allocated_and_copied),
        cmocka_unit_test(messages_go_from_device_to_device),
        cmocka_unit_test(puts_go_into_memory_of_the_device),
        cmocka_unit_test(a_factor_may_lie_on_the_device),
        cmocka_unit_test(operators_of_the_host_are_refused),
        cmocka_unit_test(a_part_of_the_ranks_has_the_device_too),
        cmocka_unit_test(a_kernel_of_the_host_has_no_device_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
