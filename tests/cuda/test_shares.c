/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many channels a job has whose ranks share devices: the least of all ranks, which all of them
 * agree on. */
#include <stdio.h>
#include <string.h>

#include "tests/cuda/fake_cuda.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

enum { COUNT = 64 << 20, MOST = 8 };

/* A message that is long enough for any number of channels. */
static int explain(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const char *wanted = arg;
    char text[1024];
    int wrong = 0;
    (void)n;
    NEED(weft_comm_explain(comm, WEFT_ALL_REDUCE, COUNT, WEFT_FP32, WEFT_SUM, 0, text,
                           sizeof text) == WEFT_OK);
    NEED(strstr(text, wanted) != NULL);
    if (wrong > 0) {
        fprintf(stderr, "no \"%s\" in \"%s\"\n", wanted, text);
    }
    return wrong;
}

static void expect(uint32_t n, uint32_t channels, const char *more, const char *const *odd)
{
    char wanted[32];
    const char *settings[MOST] = {
        "core.kernel=kernel-cuda", ("kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE),
        "core.net=net-shm",        "plan.algo=algo-flat",
        "kernel-cuda.device=0",    more};
    const ranks_job_t job = {.nranks = n,
                             .settings = settings,
                             .settings_count = more != NULL ? 6 : 5,
                             .odd = odd,
                             .work = explain,
                             .arg = wanted};
    snprintf(wanted, sizeof wanted, " %u channel%s,", channels, channels == 1 ? "" : "s");
    assert_int_equal(ranks_run_threads(&job), 0);
}

/* The device has 132 blocks, 128 of them for lanes. */
static void ranks_of_a_device_divide_it(void **state)
{
    (void)state;
    expect(2, 64, NULL, NULL);
    expect(4, 32, NULL, NULL);
    expect(8, 16, NULL, NULL);
    expect(9, 14, NULL, NULL);
}

static void a_number_of_the_user_is_stronger(void **state)
{
    (void)state;
    expect(2, 5, "kernel-cuda.channels=5", NULL);
    expect(2, 3, "plan.channels=3", NULL);
    expect(4, 32, "kernel-cuda.channels=40", NULL);
}

static void the_device_of_most_ranks_decides(void **state)
{
    static const char *const other[] = {"kernel-cuda.device=1", NULL};
    (void)state;
    expect(2, 32, NULL, other); /* each alone */
    expect(3, 32, NULL, other); /* two and one: who is alone takes fewer */
    expect(9, 25, NULL, other); /* five and four */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_a_device_divide_it),
        cmocka_unit_test(a_number_of_the_user_is_stronger),
        cmocka_unit_test(the_device_of_most_ranks_decides),
    };
    fake_cuda.processors = 33; /* of four blocks each */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
