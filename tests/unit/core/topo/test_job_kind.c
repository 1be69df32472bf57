/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptions of hosts as bytes: what they say of known machines, what is equal, and what is
 * refused. */
#include "tests/unit/core/topo/hosts.h"

static void a_machine_is_described_by_its_devices_and_ways(void **state)
{
    (void)state;
    weft_job_kind_t *kind = describe("hgx-h100");
    assert_int_equal(kind->nodes, 2);
    assert_int_equal(kind->ngpus, 8);
    assert_int_equal(kind->ndevices, 16);
    assert_int_equal(kind->nparticipants, 8);
    assert_true(kind->gpus);
    const weft_job_device_t *devices = weft_job_kind_devices(kind);
    assert_int_equal(devices[0].node, 0);
    assert_int_equal(devices[7].node, 1);
    assert_int_equal(devices[8].speed, 50000);
    assert_int_equal(devices[0].speed, 0);
    const weft_algo_kind_t view = {.paths = weft_job_kind_paths(kind), .ndevices = kind->ndevices};
    assert_int_equal(weft_algo_kind_path(&view, 3, 5).path_class, WEFT_ALGO_PATH_NV);
    assert_int_equal(weft_algo_kind_path(&view, 5, 3).bandwidth, 4500);
    assert_int_equal(weft_algo_kind_path(&view, 2, 10).path_class, WEFT_ALGO_PATH_PIX);
    assert_int_equal(weft_algo_kind_path(&view, 2, 15).path_class, WEFT_ALGO_PATH_SYS);
    assert_int_equal(weft_algo_kind_path(&view, 4, 4).path_class, WEFT_ALGO_PATH_SELF);
    assert_int_equal(kind->rings.nchannels, 8);
    assert_int_equal(kind->rings.speed, 50000);
    assert_string_equal(weft_job_kind_nic(kind, 0), "mlx5_0");
    assert_string_equal(weft_job_kind_nic(kind, 7), "mlx5_7");
    uint32_t in = 0, out = 0;
    for (uint32_t c = 0; c < 8; c++) {
        in |= 1u << weft_job_kind_ring(kind, c)[0];
        out |= 1u << weft_job_kind_ring(kind, c)[1];
    }
    assert_int_equal(in, 255);
    assert_int_equal(out, 255);
    assert_int_equal(weft_job_kind_check(kind, kind->bytes), WEFT_OK);
    weft_os_free(kind);
}

static void participants_without_gpus_are_numa_nodes(void **state)
{
    (void)state;
    weft_job_kind_t *kind = describe("cpu-2s");
    assert_false(kind->gpus);
    assert_int_equal(kind->nparticipants, 2);
    assert_int_equal(weft_job_kind_units(kind)[1], 1);
    assert_int_equal(kind->rings.nchannels, 2);
    assert_int_equal(weft_job_kind_island(kind, 0), WEFT_JOB_NONE);
    weft_os_free(kind);
}

static void gpus_that_reach_each_other_past_pcie_are_an_island(void **state)
{
    (void)state;
    weft_job_kind_t *cube = describe("dgx-1v"), *pcie = describe("pcie-8");
    for (uint32_t gpu = 0; gpu < 8; gpu++) {
        assert_int_equal(weft_job_kind_island(cube, gpu), 0);
        assert_int_equal(weft_job_kind_island(pcie, gpu), WEFT_JOB_NONE);
    }
    weft_os_free(cube);
    weft_os_free(pcie);
}

static void every_known_machine_fits_and_equal_ones_have_equal_bytes(void **state)
{
    (void)state;
    static const char *const names[] = {"dgx-1v", "dgx-a100",   "hgx-h100", "gb200-nvl72",
                                        "cpu-2s", "mi250-like", "pcie-8",   "cloud-vm"};
    uint64_t hashes[8];
    for (uint32_t i = 0; i < 8; i++) {
        weft_job_kind_t *kind = describe(names[i]), *again = describe(names[i]);
        assert_in_range(kind->bytes, sizeof *kind, WEFT_JOB_KIND_BYTES_MAX);
        assert_int_equal(weft_job_kind_check(kind, kind->bytes), WEFT_OK);
        assert_int_equal(kind->bytes, again->bytes);
        assert_memory_equal(kind, again, kind->bytes);
        hashes[i] = weft_job_kind_hash(kind);
        for (uint32_t k = 0; k < i; k++) {
            assert_true(hashes[i] != hashes[k]);
        }
        weft_os_free(kind);
        weft_os_free(again);
    }
}

static void bytes_that_are_no_description_are_refused(void **state)
{
    (void)state;
    weft_job_kind_t *kind = describe("hgx-h100");
    const weft_job_kind_t right = *kind;
    uint32_t bytes = kind->bytes;
    assert_int_equal(weft_job_kind_check(kind, bytes - 1), WEFT_ERR_PROTO);
    assert_int_equal(weft_job_kind_check(kind, 8), WEFT_ERR_PROTO);
    kind->ndevices++;
    assert_int_equal(weft_job_kind_check(kind, bytes), WEFT_ERR_PROTO);
    *kind = right;
    kind->ngpus = 17;
    assert_int_equal(weft_job_kind_check(kind, bytes), WEFT_ERR_PROTO);
    *kind = right;
    kind->nparticipants = UINT32_MAX;
    assert_int_equal(weft_job_kind_check(kind, bytes), WEFT_ERR_PROTO);
    *kind = right;
    char *name = (char *)weft_job_kind_nic(kind, 5);
    memset(name, 'x', WEFT_JOB_NIC_BYTES);
    assert_int_equal(weft_job_kind_check(kind, bytes), WEFT_ERR_PROTO);
    memset(name, 0, WEFT_JOB_NIC_BYTES);
    assert_int_equal(weft_job_kind_check(kind, bytes), WEFT_OK);
    uint8_t *order = (uint8_t *)weft_job_kind_ring(kind, 3) + 2;
    order[1] = order[2];
    assert_int_equal(weft_job_kind_check(kind, bytes), WEFT_ERR_PROTO);
    order[1] =
        (uint8_t)(28 - order[0] - order[2] - order[3] - order[4] - order[5] - order[6] - order[7]);
    assert_int_equal(weft_job_kind_check(kind, bytes), WEFT_OK);
    uint32_t *units = (uint32_t *)weft_job_kind_units(kind);
    units[7] = kind->ngpus;
    assert_int_equal(weft_job_kind_check(kind, bytes), WEFT_ERR_PROTO);
    kind->gpus = 0;
    assert_int_equal(weft_job_kind_check(kind, bytes), WEFT_OK);
    weft_os_free(kind);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_is_described_by_its_devices_and_ways),
        cmocka_unit_test(participants_without_gpus_are_numa_nodes),
        cmocka_unit_test(gpus_that_reach_each_other_past_pcie_are_an_island),
        cmocka_unit_test(every_known_machine_fits_and_equal_ones_have_equal_bytes),
        cmocka_unit_test(bytes_that_are_no_description_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
