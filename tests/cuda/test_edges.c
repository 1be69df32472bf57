/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the cost model takes for edges between devices: what kernel-cuda says of the path, the
 * slowest rank's for all, and lines of [figures] in its place. */
#include <math.h>

#include "tests/support/ranks.h"
#include "tests/support/unit.h"

enum { LEAST = 5, MOST = 9 };

/* Microseconds that every rank has to predict for a message of 8 bytes, all but the bytes
 * themselves. */
static int predict(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const double *wanted = arg;
    double seconds = 0;
    int wrong = 0;
    NEED(weft_comm_predict(comm, WEFT_SEND_RECV, 1, WEFT_FP64, WEFT_SUM, (rank + 1) % n,
                           &seconds) == WEFT_OK);
    NEED(fabs(seconds * 1e6 - *wanted) < 0.01);
    if (wrong > 0) {
        fprintf(stderr, "predicted %g us, wanted %g us\n", seconds * 1e6, *wanted);
    }
    return wrong;
}

static void expect(uint32_t n, double wanted, const char *const *more, const char *const *odd)
{
    const char *settings[MOST] = {"core.kernel=kernel-cuda",
                                  ("kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE), "core.net=net-shm",
                                  "exec.op_timeout=20s", "kernel-cuda.device=0"};
    uint32_t count = LEAST;
    while (more != NULL && *more != NULL) {
        settings[count++] = *more++;
    }
    const ranks_job_t job = {.nranks = n,
                             .settings = settings,
                             .settings_count = count,
                             .odd = odd,
                             .work = predict,
                             .arg = &wanted};
    assert_int_equal(ranks_run_threads(&job), 0);
}

/* Beside 7 us that a call costs. */
static void a_path_costs_what_the_kernel_says(void **state)
{
    static const char *const apart[] = {"kernel-cuda.device=1", NULL};
    static const char *const alone[] = {"kernel-cuda.share=no", NULL};
    static const char *const none[] = {"core.kernel=kernel-cpu", NULL};
    (void)state;
    expect(2, 7 + 3.6, NULL, NULL);
    expect(2, 7 + 4.9, NULL, apart);
    expect(2, 7 + 29, alone, NULL);
    /* The worst of all: two of three share a device; one of two shares nothing, or has no
     * device. */
    expect(3, 7 + 4.9, NULL, apart);
    expect(2, 7 + 29, NULL, alone);
    expect(2, 7 + 0.4, NULL, none);
}

static void lines_take_the_place_of_what_it_says(void **state)
{
    static const char *const lines[] = {"figures.edge=kernel-cuda same ll latency=77us",
                                        "figures.edge=kernel-cuda same latency=78us",
                                        "figures.kernel=kernel-cuda launch=20us", NULL};
    static const char *const others[] = {"figures.edge=kernel-cuda bus ll latency=77us",
                                         "kernel-cuda.protocol=simple", NULL};
    static const char *const apart[] = {"kernel-cuda.device=1", NULL};
    (void)state;
    expect(2, 20 + 77, lines, NULL);
    expect(2, 7 + 3.6, others, NULL); /* headers are flagged words, whatever is forced */
    expect(2, 7 + 77, others, apart);
}

/* Slots of a transport that carries messages are the host's, whatever joins the devices. */
static int predict_more(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    double seconds = 0, *least = arg;
    int wrong = 0;
    (void)n;
    NEED(weft_comm_predict(comm, WEFT_SEND_RECV, 1, WEFT_FP64, WEFT_SUM, 1 - rank, &seconds) ==
         WEFT_OK);
    NEED(seconds > *least);
    return wrong;
}

static void over_a_network_the_transport_says(void **state)
{
    static const char *const settings[] = {"core.kernel=kernel-cuda",
                                           ("kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE),
                                           "core.net=net-socket", "exec.op_timeout=20s"};
    double least = 10e-6;
    const ranks_job_t job = {.nranks = 2,
                             .settings = settings,
                             .settings_count = sizeof settings / sizeof settings[0],
                             .work = predict_more,
                             .arg = &least};
    (void)state;
    assert_int_equal(ranks_run_threads(&job), 0);
}

/* Whole runs ----------------------------------------------------------------------------------- */

static double predict_all_reduce(weft_comm_t *comm)
{
    double seconds = 0;
    return weft_comm_predict(comm, WEFT_ALL_REDUCE, 1 << 22, WEFT_FP32, WEFT_SUM, 0, &seconds) ==
                   WEFT_OK
               ? seconds
               : -1;
}

/* What a run of 16 MiB is predicted to cost while there is a window, beside what it costs
 * without. */
static int predict_beside_a_window(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { BYTES = 4096 };
    const double *most = arg;
    weft_window_t *window = NULL;
    void *memory = NULL;
    int wrong = 0;
    const double before = predict_all_reduce(comm);
    (void)n;
    NEED(before > 0);
    NEED(weft_mem_alloc_device(comm, BYTES, &memory) == WEFT_OK);
    NEED(weft_window_register(comm, memory, BYTES, &window) == WEFT_OK);
    const double beside = predict_all_reduce(comm);
    NEED(weft_window_deregister(comm, window) == WEFT_OK);
    NEED(weft_mem_free(comm, memory) == WEFT_OK);
    if (rank == 0 && *most < 1 && beside >= *most * before) {
        fprintf(stderr, "predicted %g us beside a window, %g without\n", beside * 1e6,
                before * 1e6);
    }
    NEED(*most < 1 ? beside < *most * before : fabs(beside - before) < 1e-12);
    NEED(fabs(predict_all_reduce(comm) - before) < 1e-12);
    return wrong;
}

static void expect_beside_a_window(double most, const char *more, const char *const *odd)
{
    const char *settings[MOST] = {
        "core.kernel=kernel-cuda", ("kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE),
        "core.net=net-shm",        "exec.op_timeout=20s",
        "kernel-cuda.channels=7",  more};
    const ranks_job_t job = {.nranks = 2,
                             .settings = settings,
                             .settings_count = more != NULL ? 6 : 5,
                             .odd = odd,
                             .work = predict_beside_a_window,
                             .arg = &most};
    assert_int_equal(ranks_run_threads(&job), 0);
}

static void whole_runs_are_predicted_where_there_are_windows(void **state)
{
    static const char *const one_says_no[] = {"kernel-cuda.whole=no", NULL};
    (void)state;
    expect_beside_a_window(0.9, NULL, NULL);
    expect_beside_a_window(
        0.6, "figures.edge=kernel-cuda same whole latency=1ns bandwidth=9TB/s wire=9TB/s", NULL);
    expect_beside_a_window(1, "figures.edge=kernel-cuda same whole latency=1s", NULL);
    expect_beside_a_window(1, "kernel-cuda.whole=no", NULL);
    expect_beside_a_window(1, NULL, one_says_no);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_costs_what_the_kernel_says),
        cmocka_unit_test(lines_take_the_place_of_what_it_says),
        cmocka_unit_test(over_a_network_the_transport_says),
        cmocka_unit_test(whole_runs_are_predicted_where_there_are_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
