/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What hosts tell: kinds in order, and which GPU each rank has, found by PCI addresses that differ
 * from host to host. */
#include "tests/unit/core/topo/hosts.h"

static void addresses_are_numbers(void **state)
{
    (void)state;
    assert_int_equal(weft_job_address("0000:3b:00.0"), 0x3b00);
    assert_int_equal(weft_job_address("0001:00:1f.7"), 0x100ff);
    assert_int_equal(weft_job_address(""), WEFT_JOB_NONE);
    assert_int_equal(weft_job_address("0000:3b:00.0x"), WEFT_JOB_NONE);
    assert_int_equal(weft_job_address("3b:00.0"), WEFT_JOB_NONE);
}

/* One rank a host; words have a letter as the hash. */
static void open_alone(weft_job_t *job, const char *kinds)
{
    uint32_t n = (uint32_t)strlen(kinds), machine[64];
    weft_job_rank_t *told = weft_os_alloc(n * sizeof *told, 0);
    weft_job_word_t words[64] = {{.kind = 0}};
    for (uint32_t i = 0; i < n; i++) {
        machine[i] = i;
        told[i] = (weft_job_rank_t){.node = WEFT_JOB_NONE, .gpu = WEFT_JOB_NONE, .cpus = 1};
        words[i].kind = kinds[i] == '-' ? 0 : (uint64_t)kinds[i];
    }
    assert_int_equal(weft_job_init(job, told, machine, n, n), WEFT_OK);
    assert_int_equal(weft_job_take_words(job, words), WEFT_OK);
}

static void kinds_are_numbered_by_their_first_hosts(void **state)
{
    (void)state;
    weft_job_t job;
    open_alone(&job, "xy-xz");
    assert_int_equal(job.nkinds, 3);
    assert_memory_equal(job.kind, ((uint32_t[]){0, 1, WEFT_JOB_NONE, 0, 2}), sizeof(uint32_t[5]));
    assert_int_equal(weft_job_kind_rank(&job, 0), 0);
    assert_int_equal(weft_job_kind_rank(&job, 2), 4);
    weft_job_fini(&job);
}

static void beyond_the_most_kinds_nothing_is_known(void **state)
{
    (void)state;
    weft_job_t job;
    open_alone(&job, "ABCDEFGHIJKLMNOPQRA");
    assert_int_equal(job.nkinds, WEFT_JOB_KINDS_MAX);
    assert_int_equal(job.kind[WEFT_JOB_KINDS_MAX - 1], WEFT_JOB_KINDS_MAX - 1);
    assert_int_equal(job.kind[WEFT_JOB_KINDS_MAX], WEFT_JOB_NONE);
    assert_int_equal(job.kind[WEFT_JOB_KINDS_MAX + 2], 0);
    weft_job_fini(&job);
}

/* Four GPUs at bus `first` and each 16 further. */
static void make_machine(weft_machine_t *machine, uint32_t first)
{
    char text[512];
    int at = snprintf(text, sizeof text, "weft-machine 1\nnode 0 cores=4 pus=4\n");
    for (uint32_t i = 0; i < 4; i++) {
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "gpu %u node=0 address=0000:%02x:00.0\n", i, first + 16 * i);
    }
    if (weft_machine_parse("made", text, machine) != WEFT_OK) {
        fail_msg("%s", weft_error_record()->text);
    }
}

/* gpus[i]: the GPU of rank i, of host i / 4; NONE: none; 9: an address that no machine has. */
static void expect_devices(const uint32_t gpus[8], const uint32_t expected[8])
{
    static const uint32_t machine[8] = {0, 0, 0, 0, 1, 1, 1, 1}, first[2] = {0x10, 0x85};
    weft_job_rank_t *told = weft_os_alloc(8 * sizeof *told, 0);
    weft_job_word_t words[8] = {{.kind = 0}};
    weft_job_kind_t *kinds[2];
    weft_job_t job;
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t bus = gpus[i] == 9 ? 2 : first[machine[i]] + 16 * gpus[i];
        told[i] = (weft_job_rank_t){
            .node = 0, .gpu = gpus[i] == WEFT_JOB_NONE ? WEFT_JOB_NONE : bus << 8, .cpus = 1};
    }
    assert_int_equal(weft_job_init(&job, told, machine, 8, 2), WEFT_OK);
    assert_true(weft_job_needs_kinds(&job));
    for (uint32_t host = 0; host < 2; host++) {
        weft_machine_t own;
        make_machine(&own, first[host]);
        kinds[host] = describe_machine(&own);
        words[4 * host] = weft_job_word(&job, host, &own, kinds[host]);
        weft_machine_fini(&own);
    }
    assert_true(words[0].kind == words[4].kind);
    assert_int_equal(weft_job_take_words(&job, words), WEFT_OK);
    assert_int_equal(job.nkinds, 1);
    job.kinds[0] = kinds[0];
    weft_os_free(kinds[1]);
    assert_int_equal(weft_job_find_devices(&job, words), WEFT_OK);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(job.device[i], expected[i]);
        assert_int_equal(job.participant[i], expected[i]);
    }
    weft_job_fini(&job);
}

static void hosts_with_other_addresses_are_of_one_kind_and_ranks_have_their_gpus(void **state)
{
    (void)state;
    enum { NONE = WEFT_JOB_NONE };
    static const uint32_t all[8] = {3, 1, 0, 2, 0, 1, 2, 3},
                          some[8] = {3, 1, 3, NONE, 2, 2, NONE, NONE},
                          wrong[8] = {3, 9, 0, 1, 0, 1, 2, 3},
                          unknown[8] = {NONE, NONE, NONE, NONE, 0, 1, 2, 3};
    expect_devices(all, all);
    expect_devices(some, some);
    expect_devices(wrong, unknown);
}

static void ranks_are_dealt_to_a_machine_of_a_file(void **state)
{
    (void)state;
    static const uint32_t host[] = {0, 0, 0, 0, 1, 1, 1};
    static const char *const machines[] = {"hgx-h100", "cpu-2s"};
    weft_job_t job;
    open_job_on(&job, host, 7, 2, machines, 2);
    assert_memory_equal(job.device,
                        ((uint32_t[]){0, 2, 4, 6, WEFT_JOB_NONE, WEFT_JOB_NONE, WEFT_JOB_NONE}),
                        sizeof(uint32_t[7]));
    assert_memory_equal(job.participant, ((uint32_t[]){0, 2, 4, 6, 0, 0, 1}), sizeof(uint32_t[7]));
    assert_memory_equal(job.topo.rails, ((uint32_t[]){8, 2}), sizeof(uint32_t[2]));
    assert_memory_equal(job.topo.kind, ((uint32_t[]){0, 1}), sizeof(uint32_t[2]));
    /* GPUs of a switch are one island, NUMA nodes are two. */
    assert_memory_equal(job.topo.group[1], ((uint32_t[]){0, 0, 0, 0, 1, 1, 2}),
                        sizeof(uint32_t[7]));
    assert_int_equal(weft_algo_topo_path(&job.topo, 0, 3).path_class, WEFT_ALGO_PATH_NV);
    assert_int_equal(weft_algo_topo_path(&job.topo, 0, 4).path_class, WEFT_ALGO_PATH_UNKNOWN);
    assert_int_equal(weft_algo_topo_path(&job.topo, 4, 5).path_class, WEFT_ALGO_PATH_UNKNOWN);
    assert_true(weft_job_bytes(&job) > 0);
    weft_job_fini(&job);
}

static void one_host_without_gpus_needs_no_description(void **state)
{
    (void)state;
    static const uint32_t machine[2] = {0, 0};
    weft_job_rank_t *told = weft_os_alloc(2 * sizeof *told, 0);
    weft_job_t job;
    told[0] = told[1] = (weft_job_rank_t){.gpu = WEFT_JOB_NONE, .cpus = 1};
    assert_int_equal(weft_job_init(&job, told, machine, 2, 1), WEFT_OK);
    assert_false(weft_job_needs_kinds(&job));
    told[1].imagines = 1;
    assert_true(weft_job_needs_kinds(&job));
    told[1].imagines = 0;
    told[1].gpu = 0x100;
    assert_true(weft_job_needs_kinds(&job));
    weft_job_fini(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_numbers),
        cmocka_unit_test(kinds_are_numbered_by_their_first_hosts),
        cmocka_unit_test(beyond_the_most_kinds_nothing_is_known),
        cmocka_unit_test(hosts_with_other_addresses_are_of_one_kind_and_ranks_have_their_gpus),
        cmocka_unit_test(ranks_are_dealt_to_a_machine_of_a_file),
        cmocka_unit_test(one_host_without_gpus_needs_no_description),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
