/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans on devices over TCP, apart from the results that the sweep covers and the faults that all
 * kernels share: hosts and devices take turns at the same ports. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/ranks.h"
#include "tests/support/unit.h"

enum { ROUNDS = 300, MOST = 5000 };

static const char *const apart[] = {"core.net=net-socket",
                                    "core.kernel=kernel-cuda",
                                    ("kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE),
                                    "exec.wait=sleep",
                                    "exec.slots=4",
                                    "exec.slot_bytes=1K"};
enum { SETTINGS = sizeof apart / sizeof *apart };

static uint32_t next_random(uint32_t *random)
{
    *random = *random * 1664525u + 1013904223u;
    return *random >> 16;
}

/* Every rank draws for itself whether the host or the device runs its part, and all draw alike how
 * much is summed: from nothing to several slots. */
static int take_turns(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int32_t in[MOST], out[MOST];
    void *in_there = NULL, *out_there = NULL;
    uint32_t of_all = 7, own = rank;
    int wrong = weft_mem_alloc_device(comm, sizeof in, &in_there) != WEFT_OK ||
                weft_mem_alloc_device(comm, sizeof out, &out_there) != WEFT_OK;
    (void)arg;
    for (int round = 0; round < ROUNDS && wrong == 0; round++) {
        uint64_t count =
            next_random(&of_all) % 3 == 0 ? next_random(&of_all) % MOST : next_random(&of_all) % 8;
        bool there = next_random(&own) % 2 != 0;
        for (uint64_t i = 0; i < count; i++) {
            in[i] = (int32_t)(i * 31 + rank + (uint64_t)round);
        }
        weft_status_t status = WEFT_OK;
        if (there) {
            status = weft_mem_copy(comm, in_there, in, count * 4);
        }
        status = status != WEFT_OK ? status
                                   : weft_all_reduce(there ? in_there : in, there ? out_there : out,
                                                     count, WEFT_INT32, WEFT_SUM, comm, NULL);
        if (there && status == WEFT_OK) {
            status = weft_mem_copy(comm, out, out_there, count * 4);
        }
        wrong = status != WEFT_OK;
        for (uint64_t i = 0; i < count && wrong == 0; i++) {
            wrong = out[i] != (int32_t)(n * (i * 31 + (uint64_t)round) + (uint64_t)n * (n - 1) / 2);
        }
        if (wrong != 0) {
            fprintf(stderr, "rank %u, round %d, %llu elements: %s\n", rank, round,
                    (unsigned long long)count, weft_status_name(status));
        }
    }
    return wrong;
}

static void hosts_and_devices_take_turns_at_a_port(void **state)
{
    static const char *const algos[] = {"core.algo=algo-ring", "core.algo=algo-tree",
                                        "core.algo=algo-direct algo-flat"};
    (void)state;
    for (uint32_t a = 0; a < 3; a++) {
        const char *settings[SETTINGS + 1];
        memcpy(settings, apart, sizeof apart);
        settings[SETTINGS] = algos[a];
        ranks_job_t job = {.nranks = 2 + a,
                           .settings = settings,
                           .settings_count = SETTINGS + 1,
                           .work = take_turns};
        assert_int_equal(ranks_run_threads(&job), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_and_devices_take_turns_at_a_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
