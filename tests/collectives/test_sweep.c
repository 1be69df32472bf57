/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Correctness sweep: every fixed form × data type × operator × count × in and out of place,
 * bit-exact against an independent reference, with the algorithms that the tuner takes, for one
 * number of ranks and one set of transports.
 *   full: all of that; sampled: every 7th case; large: every 5th case of large counts;
 *   device: sampled, on memory of the kernel's device; few: every 61st case there;
 *   windows: sampled, device-windows: device, with all buffers in windows;
 *   mixed: sampled, ranks in two domains of shared memory joined by the next transport of the list.
 * Under TSan a third of these: it looks at how ranks order their accesses, which types and
 * operators do not change. Settings behind the word "odd" are of the ranks of odd number; on the
 * others the kernel may have no device, and buffers are the host's.
 *   test-collectives-sweep RANKS threads|processes HOW section.key=value…
 *       [odd section.key=value…] */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/collectives/sweep_case.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

static const uint64_t small_counts[] = {0, 1, 2, 3, 7, 16, 65, 1000, 4099};
static const uint64_t large_counts[] = {65537, 1u << 20};

#ifdef WEFT_TSAN
enum { PART = 3 };
#else
enum { PART = 1 };
#endif
/* Of the cases of one collective and type, every `stride`-th is run. */
static uint32_t stride = 1;

/* All operators where there is a reduction, one otherwise. */
static int run_counts(sweep_case_t c, weft_comm_t *comm, uint32_t rank, uint32_t n,
                      const uint64_t *counts, size_t ncounts)
{
    uint32_t ops = sweep_reduces(c.coll) ? WEFT_OP_COUNT : 1;
    uint32_t cases = ops * (uint32_t)ncounts * 2;
    int wrong = 0;
    for (uint32_t i = ((uint32_t)c.dtype + n) % stride; i < cases && wrong == 0; i += stride) {
        uint32_t within = i % ((uint32_t)ncounts * 2);
        c.op = (weft_op_t)(i / ((uint32_t)ncounts * 2));
        if (!weft_op_has_dtype(c.op, c.dtype)) {
            continue;
        }
        c.count = counts[within / 2];
        c.in_place = within % 2 != 0;
        c.root = (i + c.op) % n;
        wrong += sweep_case_run(&c, comm, rank, n);
    }
    return wrong;
}

static bool in_windows;

static int open_windows(weft_comm_t *comm, uint32_t n, const uint64_t *counts, size_t ncounts)
{
    return in_windows ? sweep_windows_open(comm, n * counts[ncounts - 1]) : 0;
}

static int close_windows(weft_comm_t *comm)
{
    return in_windows ? sweep_windows_close(comm) : 0;
}

static int work_full(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { COUNTS = sizeof small_counts / sizeof *small_counts };
    int wrong = open_windows(comm, n, small_counts, COUNTS);
    (void)arg;
    for (unsigned coll = 0; coll <= WEFT_SCATTER; coll++) {
        for (unsigned dtype = 0;
             sweep_is_fixed((weft_coll_t)coll) && dtype < WEFT_DTYPE_COUNT && wrong == 0; dtype++) {
            sweep_case_t c = {.coll = (weft_coll_t)coll, .dtype = (weft_dtype_t)dtype};
            wrong += run_counts(c, comm, rank, n, small_counts, COUNTS);
        }
    }
    wrong += wrong == 0 ? close_windows(comm) : 0;
    return wrong != 0 || weft_barrier(comm, NULL) != WEFT_OK;
}

static int work_large(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static const weft_dtype_t dtypes[] = {WEFT_FP32, WEFT_BF16, WEFT_UINT8};
    int wrong = 0;
    (void)arg;
    for (unsigned coll = 0; coll <= WEFT_SCATTER; coll++) {
        for (unsigned d = 0; sweep_is_fixed((weft_coll_t)coll) && d < 3 && wrong == 0; d++) {
            sweep_case_t c = {.coll = (weft_coll_t)coll, .dtype = dtypes[d]};
            wrong += run_counts(c, comm, rank, n, large_counts, 2);
        }
    }
    return wrong != 0;
}

static ranks_job_t job;
static int by_threads;

static void every_result_is_bit_exact(void **state)
{
    (void)state;
    int failed = by_threads ? ranks_run_threads(&job) : ranks_run_processes(&job, 280, -1);
    assert_int_equal(failed, 0);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr,
                "usage: %s RANKS threads|processes "
                "full|sampled|large|device|few|mixed|windows|device-windows "
                "[section.key=value…] [odd section.key=value…]\n",
                argv[0]);
        return 2;
    }
    by_threads = strcmp(argv[2], "threads") == 0;
    bool few = strcmp(argv[3], "few") == 0;
    bool device = strncmp(argv[3], "device", 6) == 0;
    in_windows = strstr(argv[3], "windows") != NULL;
    sweep_on_device(few || device);
    stride = strcmp(argv[3], "full") == 0 ? 1 : strcmp(argv[3], "large") == 0 ? 5 : few ? 61 : 7;
    stride *= PART;
    printf("%s: every case that %u divides, from another first one for each type and number of "
           "ranks\n",
           argv[3], stride);
    fflush(stdout);
    int all = 4;
    while (all < argc && strcmp(argv[all], "odd") != 0) {
        all++;
    }
    job = (ranks_job_t){.nranks = (uint32_t)strtoul(argv[1], NULL, 10),
                        .work = strcmp(argv[3], "large") == 0 ? work_large : work_full,
                        .domains = strcmp(argv[3], "mixed") == 0 ? 2 : 0,
                        .settings = (const char *const *)argv + 4,
                        .settings_count = (uint32_t)(all - 4),
                        .odd = all < argc ? (const char *const *)argv + all + 1 : NULL};
    if (all < argc && device) {
        sweep_on_device(SWEEP_WHERE_THERE_IS_ONE);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_result_is_bit_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
