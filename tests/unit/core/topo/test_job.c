/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The job that all ranks make of what each told: kinds of hosts, levels, rails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/topo/job.h"

/* A rank is a letter for its machine, one for its kind, a digit for its node ('-': none), and perhaps
 * one for its namespace. */
static void job_open(weft_job_t *job, const char *const *ranks, uint32_t n)
{
    weft_job_rank_t *told = weft_os_alloc(n * sizeof *told, 0);
    uint32_t machine[64], nmachines = 0;
    for (uint32_t i = 0; i < n; i++) {
        machine[i] = (uint32_t)(ranks[i][0] - 'a');
        nmachines = machine[i] + 1 > nmachines ? machine[i] + 1 : nmachines;
        told[i] = (weft_job_rank_t){.kind = (uint64_t)ranks[i][1],
                                    .space = (uint64_t)ranks[i][3],
                                    .node = ranks[i][2] == '-' ? WEFT_JOB_NONE
                                                               : (uint32_t)(ranks[i][2] - '0')};
    }
    assert_int_equal(weft_job_init(job, told, machine, n, nmachines), WEFT_OK);
}

static void expect_level(const weft_job_t *job, uint32_t level, const char *groups)
{
    for (uint32_t i = 0; i < job->nranks; i++) {
        assert_int_equal(job->topo.group[level][i], groups[i] - 'a');
    }
}

static void kinds_are_numbered_by_their_first_hosts(void **state)
{
    (void)state;
    static const char *const ranks[] = {"ax0", "by0", "ax0", "cx0", "by0", "dz0"};
    weft_job_t job;
    job_open(&job, ranks, 6);
    assert_int_equal(job.nkinds, 3);
    assert_memory_equal(job.kind, ((uint32_t[]){0, 1, 0, 2}), sizeof(uint32_t[4]));
    assert_memory_equal(job.first, ((uint32_t[]){0, 1, 3, 5}), sizeof(uint32_t[4]));
    assert_int_equal(weft_job_find_kind(&job, 'y'), 1);
    assert_int_equal(weft_job_find_kind(&job, 'w'), WEFT_JOB_NONE);
    weft_job_fini(&job);
}

static void namespaces_of_a_machine_are_hosts(void **state)
{
    (void)state;
    static const char *const ranks[] = {"ax01", "bx01", "ax02", "ax01", "bx02", "bx01", "ax13"};
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

/* Ranks of one host that disagree, in containers say: its first rank's word holds. */
static void the_first_rank_of_a_host_tells_its_kind(void **state)
{
    (void)state;
    static const char *const ranks[] = {"ax0", "ay0", "bx0"};
    weft_job_t job;
    job_open(&job, ranks, 3);
    assert_int_equal(job.nkinds, 1);
    assert_int_equal(weft_job_find_kind(&job, 'y'), WEFT_JOB_NONE);
    weft_job_fini(&job);
}

static void beyond_the_most_kinds_nothing_is_known(void **state)
{
    (void)state;
    enum { N = WEFT_JOB_KINDS_MAX + 3 };
    char texts[N][4];
    const char *ranks[N];
    weft_job_t job;
    for (int i = 0; i < N; i++) {
        texts[i][0] = (char)('a' + i);
        texts[i][1] = (char)('A' + i);
        texts[i][2] = '0';
        texts[i][3] = '\0';
        ranks[i] = texts[i];
    }
    job_open(&job, ranks, N);
    assert_int_equal(job.nkinds, WEFT_JOB_KINDS_MAX);
    assert_int_equal(job.kind[WEFT_JOB_KINDS_MAX - 1], WEFT_JOB_KINDS_MAX - 1);
    assert_int_equal(job.kind[N - 1], WEFT_JOB_NONE);
    weft_job_fini(&job);
}

static void levels_are_hosts_and_the_nodes_of_their_ranks(void **state)
{
    (void)state;
    static const char *const ranks[] = {"ax1", "bx0", "ax0", "bx-", "ax1", "bx0", "bx-", "ax2"};
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
    static const char *const ranks[] = {"ax0", "bx0", "cx0", "ax0", "bx0", "cx0"};
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

static weft_path_class_t path(const weft_machine_t *machine, uint32_t from, uint32_t to)
{
    (void)machine;
    return from == to ? WEFT_PATH_SELF : WEFT_PATH_PXB;
}

static void a_machine_is_described_by_its_devices(void **state)
{
    (void)state;
    weft_machine_node_t nodes[] = {{.index = 4}, {.index = 6}};
    weft_machine_device_t devices[] = {
        {.kind = WEFT_DEVICE_GPU, .node = 1, .rail = WEFT_MACHINE_NONE},
        {.kind = WEFT_DEVICE_NIC, .node = WEFT_MACHINE_NONE, .rail = 3, .speed = 25e9},
    };
    weft_machine_t machine = {
        .nodes = nodes, .devices = devices, .nnodes = 2, .ndevices = 2, .ngpus = 1};
    weft_job_kind_t kind, other;
    weft_job_describe(&machine, path, &kind);
    assert_int_equal(kind.nodes, 2);
    assert_int_equal(kind.ngpus, 1);
    assert_int_equal(kind.devices[0].node, 6);
    assert_int_equal(kind.devices[1].node, WEFT_JOB_NONE);
    assert_int_equal(kind.devices[1].rail, 3);
    assert_int_equal(kind.devices[1].speed, 25000);
    assert_memory_equal(kind.path, ((uint8_t[]){0, 3, 3, 0}), 4);
    nodes[0].usable = 7; /* what one process may use says nothing of the host */
    weft_job_describe(&machine, path, &other);
    assert_true(weft_job_kind_hash(&kind) == weft_job_kind_hash(&other));
    devices[1].speed = 50e9;
    weft_job_describe(&machine, path, &other);
    assert_true(weft_job_kind_hash(&kind) != weft_job_kind_hash(&other));
}

static void rails_are_the_nics_of_the_kind(void **state)
{
    (void)state;
    static const char *const ranks[] = {"ax0", "by0", "cx0"};
    static const char *const names[] = {"a", "b", "c"};
    weft_job_t job;
    job_open(&job, ranks, 3);
    job.kinds[0] = (weft_job_kind_t){.ndevices = 6, .ngpus = 4};
    assert_int_equal(weft_job_make_levels(&job, NULL, names), WEFT_OK);
    assert_memory_equal(job.topo.rails, ((uint32_t[]){2, 0, 2}), sizeof(uint32_t[3]));
    weft_job_fini(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_numbered_by_their_first_hosts),
        cmocka_unit_test(namespaces_of_a_machine_are_hosts),
        cmocka_unit_test(the_first_rank_of_a_host_tells_its_kind),
        cmocka_unit_test(beyond_the_most_kinds_nothing_is_known),
        cmocka_unit_test(levels_are_hosts_and_the_nodes_of_their_ranks),
        cmocka_unit_test(levels_of_the_site_come_first),
        cmocka_unit_test(a_machine_is_described_by_its_devices),
        cmocka_unit_test(rails_are_the_nics_of_the_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
