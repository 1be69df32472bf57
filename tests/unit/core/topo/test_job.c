/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The job that all ranks make of what each told: hosts and levels. */
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/topo/job.h"
#include "tests/support/unit.h"

/* A rank is a letter for its machine, a digit for its node ('-': none), and perhaps one for its
 * namespace. */
static void job_open(weft_job_t *job, const char *const *ranks, uint32_t n)
{
    weft_job_rank_t *told = weft_os_alloc(n * sizeof *told, 0);
    uint32_t machine[64], nmachines = 0;
    for (uint32_t i = 0; i < n; i++) {
        machine[i] = (uint32_t)(ranks[i][0] - 'a');
        nmachines = machine[i] + 1 > nmachines ? machine[i] + 1 : nmachines;
        told[i] = (weft_job_rank_t){.space = (uint64_t)ranks[i][2],
                                    .node = ranks[i][1] == '-' ? WEFT_JOB_NONE
                                                               : (uint32_t)(ranks[i][1] - '0'),
                                    .gpu = WEFT_JOB_NONE,
                                    .cpus = 1};
    }
    assert_int_equal(weft_job_init(job, told, machine, n, nmachines), WEFT_OK);
}

static void expect_level(const weft_job_t *job, uint32_t level, const char *groups)
{
    for (uint32_t i = 0; i < job->nranks; i++) {
        assert_int_equal(job->topo.group[level][i], groups[i] - 'a');
    }
}

static void namespaces_of_a_machine_are_hosts(void **state)
{
    (void)state;
    static const char *const ranks[] = {"a01", "b01", "a02", "a01", "b02", "b01", "a13"};
    static const char *const names[] = {"a", "b", "a", "b", "a"};
    weft_job_t job;
    job_open(&job, ranks, 7);
    assert_int_equal(job.nhosts, 5);
    assert_memory_equal(job.host, ((uint32_t[]){0, 1, 2, 0, 3, 1, 4}), sizeof(uint32_t[7]));
    assert_memory_equal(job.first, ((uint32_t[]){0, 1, 2, 4, 6}), sizeof(uint32_t[5]));
    assert_int_equal(weft_job_make_levels(&job, NULL, names), WEFT_OK);
    expect_level(&job, 1, "abcadbe");
    weft_job_fini(&job);
}

/* Of ranks that are told by machine, namespace, CPUs and what they are bound to. */
static double cores_of(const uint32_t (*ranks)[4], uint32_t n)
{
    weft_job_rank_t *told = weft_os_alloc(n * sizeof *told, 0);
    uint32_t machine[64], nmachines = 0;
    weft_job_t job;
    for (uint32_t i = 0; i < n; i++) {
        machine[i] = ranks[i][0];
        nmachines = machine[i] + 1 > nmachines ? machine[i] + 1 : nmachines;
        told[i] = (weft_job_rank_t){.space = ranks[i][1],
                                    .node = WEFT_JOB_NONE,
                                    .gpu = WEFT_JOB_NONE,
                                    .cpus = (uint16_t)ranks[i][2],
                                    .bound = ranks[i][3]};
    }
    assert_int_equal(weft_job_init(&job, told, machine, n, nmachines), WEFT_OK);
    double cores = job.cores;
    weft_job_fini(&job);
    return cores;
}

static void ranks_share_the_cores_that_they_are_bound_to(void **state)
{
    (void)state;
    assert_float_equal(cores_of((uint32_t[][4]){{0, 0, 2, 7}, {0, 0, 2, 7}, {0, 0, 2, 7}}, 3), 2,
                       1e-9);
    assert_float_equal(cores_of((uint32_t[][4]){{0, 0, 1, 1}, {0, 0, 1, 2}, {0, 0, 1, 3}}, 3), 3,
                       1e-9);
    assert_float_equal(
        cores_of((uint32_t[][4]){{0, 0, 1, 1}, {0, 0, 1, 1}, {0, 0, 1, 2}, {0, 0, 1, 2}}, 4), 2,
        1e-9);
    /* Namespaces of a machine share its cores, unless each has its own. */
    assert_float_equal(
        cores_of((uint32_t[][4]){{0, 1, 2, 7}, {0, 1, 2, 7}, {0, 2, 2, 7}, {0, 2, 2, 7}}, 4), 1,
        1e-9);
    assert_float_equal(
        cores_of((uint32_t[][4]){{0, 1, 1, 1}, {0, 1, 1, 1}, {0, 2, 1, 2}, {0, 2, 1, 2}}, 4), 1,
        1e-9);
    /* The two ranks of the second machine have half a core each; four of them would have two. The
     * same number stands for other CPUs there. */
    assert_float_equal(
        cores_of(
            (uint32_t[][4]){
                {0, 0, 8, 7}, {0, 0, 8, 7}, {0, 0, 8, 7}, {0, 0, 8, 7}, {1, 0, 1, 7}, {1, 0, 1, 7}},
            6),
        2, 1e-9);
}

static void a_rank_without_cpus_is_refused(void **state)
{
    (void)state;
    const uint32_t machine[] = {0, 0};
    weft_job_rank_t *told = weft_os_alloc(2 * sizeof *told, 0);
    weft_job_t job;
    told[0].cpus = 4;
    assert_int_equal(weft_job_init(&job, told, machine, 2, 1), WEFT_ERR_PROTO);
    assert_string_equal(weft_error_record()->text, "rank 1 says that it may use 0 CPUs");
    weft_job_fini(&job);
    /* Where there is no memory for the machines, nobody has said anything. */
    told = weft_os_alloc(2 * sizeof *told, 0);
    assert_int_equal(weft_job_init(&job, told, NULL, 2, 1), WEFT_ERR_RESOURCE);
    weft_job_fini(&job);
}

static void levels_are_hosts_and_the_nodes_of_their_ranks(void **state)
{
    (void)state;
    static const char *const ranks[] = {"a1", "b0", "a0", "b-", "a1", "b0", "b-", "a2"};
    static const char *const names[] = {"one", "two"};
    weft_job_t job;
    job_open(&job, ranks, 8);
    assert_int_equal(weft_job_make_levels(&job, NULL, names), WEFT_OK);
    assert_int_equal(job.topo.nlevels, 2);
    assert_int_equal(job.topo.host_level, 0);
    expect_level(&job, 0, "abababba");
    expect_level(&job, 1, "abcdabde");
    assert_int_equal(job.topo.ngroups[1], 5);
    assert_null(job.topo.rails);
    weft_job_fini(&job);
}

static void levels_of_the_site_come_first(void **state)
{
    (void)state;
    static const char *const ranks[] = {"a0", "b0", "c0", "a0", "b0", "c0"};
    static const char *const names[] = {"n1", "n2", "n3"};
    weft_job_t job;
    weft_site_t *site;
    assert_int_equal(weft_site_parse("f", "r1/s1 n1\nr2/s1 n2\nr1/s2 n3\n", &site), WEFT_OK);
    job_open(&job, ranks, 6);
    assert_int_equal(weft_job_make_levels(&job, site, names), WEFT_OK);
    assert_int_equal(job.topo.nlevels, 4);
    assert_int_equal(job.topo.host_level, 2);
    expect_level(&job, 0, "abaaba");
    expect_level(&job, 1, "abcabc");
    weft_job_fini(&job);
    job_open(&job, ranks, 6);
    static const char *const strangers[] = {"n1", "n2", "n7"};
    assert_int_equal(weft_job_make_levels(&job, site, strangers), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "\"n7\" is in no line"));
    weft_job_fini(&job);
    weft_site_free(site);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(namespaces_of_a_machine_are_hosts),
        cmocka_unit_test(ranks_share_the_cores_that_they_are_bound_to),
        cmocka_unit_test(a_rank_without_cpus_is_refused),
        cmocka_unit_test(levels_are_hosts_and_the_nodes_of_their_ranks),
        cmocka_unit_test(levels_of_the_site_come_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
