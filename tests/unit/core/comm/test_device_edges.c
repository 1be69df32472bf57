/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Paths between the devices of two ranks, and what is told of them. */
#include <math.h>

#include "core/comm/device_edges.h"
#include "tests/support/unit.h"

/* Ranks 0 to 3 on one host: two share a device, the third is linked to it, the fourth is not; rank
 * 4 there has none, rank 5 is on another host. */
static weft_job_rank_t ranks[] = {
    {.gpu = 10}, {.gpu = 10}, {.gpu = 11}, {.gpu = 12}, {.gpu = WEFT_JOB_NONE}, {.gpu = 10}};
static uint32_t hosts[] = {0, 0, 0, 0, 0, 1};
static uint32_t devices[] = {0, 0, 1, 2, WEFT_ALGO_NONE, 0};
static uint32_t kinds_of[] = {0, 0};
static const weft_algo_path_t paths[] = {{.path_class = WEFT_ALGO_PATH_NV},
                                         {.path_class = WEFT_ALGO_PATH_SYS},
                                         {.path_class = WEFT_ALGO_PATH_PIX}};
static const weft_algo_kind_t kinds[] = {{.paths = paths, .ngpus = 3, .ndevices = 3}};

static weft_job_t job_of(bool described)
{
    weft_job_t job = {.nranks = 6, .nhosts = 2, .ranks = ranks, .host = hosts};
    job.topo = (weft_algo_topo_t){.size = sizeof job.topo, .nhosts = 2, .host = hosts};
    if (described) {
        job.topo.kinds = kinds;
        job.topo.kind = kinds_of;
        job.topo.device = devices;
    }
    return job;
}

static void a_path_is_that_of_the_job(void **state)
{
    weft_job_t job = job_of(true);
    (void)state;
    assert_int_equal(weft_device_path(&job, true, 0, 1), WEFT_KERNEL_PATH_SAME);
    assert_int_equal(weft_device_path(&job, true, 0, 2), WEFT_KERNEL_PATH_DIRECT);
    assert_int_equal(weft_device_path(&job, true, 2, 1), WEFT_KERNEL_PATH_DIRECT);
    assert_int_equal(weft_device_path(&job, true, 0, 3), WEFT_KERNEL_PATH_BUS);
    assert_int_equal(weft_device_path(&job, true, 2, 3), WEFT_KERNEL_PATH_BUS);
    assert_int_equal(weft_device_path(&job, true, 0, 4), WEFT_KERNEL_PATH_COUNT);
    assert_int_equal(weft_device_path(&job, true, 0, 5), WEFT_KERNEL_PATH_COUNT);
    assert_int_equal(weft_device_path(&job, false, 0, 1), WEFT_KERNEL_PATH_HOST);
    assert_int_equal(weft_device_path(&job, false, 0, 5), WEFT_KERNEL_PATH_COUNT);
}

static void devices_of_a_machine_that_is_not_described_are_on_a_bus(void **state)
{
    weft_job_t job = job_of(false);
    (void)state;
    assert_int_equal(weft_device_path(&job, true, 0, 1), WEFT_KERNEL_PATH_SAME);
    assert_int_equal(weft_device_path(&job, true, 0, 2), WEFT_KERNEL_PATH_BUS);
}

static const weft_cost_edge_t transport = {.alpha = 200e-9, .beta = 1e-10, .overhead = 50e-9};

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

static void the_kernel_tells_what_a_path_costs(void **state)
{
    const weft_kernel_props_t props = {
        .edge = {[WEFT_KERNEL_PATH_BUS] = {4000, 0, 10000000000, 20000000000}}};
    const weft_figures_t nothing = {.nedges = 0};
    const weft_device_costs_t costs = {"k", &props, &nothing};
    weft_cost_edge_t edge = transport;
    (void)state;
    weft_device_edge(&costs, WEFT_KERNEL_PATH_BUS, WEFT_KERNEL_PROTOCOL_SIMPLE, &edge);
    assert_true(near(edge.alpha, 4e-6) && near(edge.overhead, 1e-6));
    assert_true(near(edge.beta, 1e-10) && near(edge.together, 5e-11));
    /* What it does not tell is as the transport says. */
    edge = transport;
    weft_device_edge(&costs, WEFT_KERNEL_PATH_SAME, WEFT_KERNEL_PROTOCOL_SIMPLE, &edge);
    assert_true(near(edge.alpha, 200e-9) && near(edge.overhead, 50e-9) && edge.together == 0);
}

static void a_line_is_stronger_than_the_kernel(void **state)
{
    const weft_kernel_props_t props = {
        .edge = {[WEFT_KERNEL_PATH_BUS] = {4000, 1000, 10000000000, 20000000000}}};
    weft_figures_t given;
    weft_device_costs_t costs = {"k", &props, &given};
    weft_cost_edge_t edge = transport;
    (void)state;
    assert_int_equal(
        weft_figures_read("w:1\tk bus latency=9us wire=5GB/s\n", "", "k", NULL, &given), WEFT_OK);
    weft_device_edge(&costs, WEFT_KERNEL_PATH_BUS, WEFT_KERNEL_PROTOCOL_SIMPLE, &edge);
    assert_true(near(edge.alpha, 9e-6) && near(edge.overhead, 1e-6));
    assert_true(near(edge.beta, 1e-10) && near(edge.together, 2e-10));
    edge = transport;
    costs.kernel = "other";
    weft_device_edge(&costs, WEFT_KERNEL_PATH_BUS, WEFT_KERNEL_PROTOCOL_SIMPLE, &edge);
    assert_true(near(edge.alpha, 4e-6));
}

/* LL on the bus, up to 8 KiB, and nothing else beside SIMPLE. */
static const weft_kernel_props_t with_ll = {
    .edge = {[WEFT_KERNEL_PATH_BUS] = {5000, 3000, 10000000000, 0}},
    .protocol = {[WEFT_KERNEL_PATH_BUS] = {[WEFT_KERNEL_PROTOCOL_LL] = {1000, 500, 5000000000, 0}}},
    .range = {
        [WEFT_KERNEL_PATH_BUS] = {
            [WEFT_KERNEL_PROTOCOL_LL] = {0, 8192}, [WEFT_KERNEL_PROTOCOL_LL128] = {0, 65536}}}};

static weft_cost_model_t model_of(const weft_device_costs_t *costs, weft_kernel_path_t path)
{
    weft_cost_model_t model = {.launch = 0};
    weft_device_edge(costs, path, WEFT_KERNEL_PROTOCOL_SIMPLE, &model.level[WEFT_LEVEL_INSIDE]);
    weft_device_protocols(costs, path, model.protocol);
    return model;
}

static void slices_travel_by_the_protocol_that_costs_least(void **state)
{
    const weft_figures_t nothing = {.nedges = 0};
    const weft_device_costs_t costs = {"k", &with_ll, &nothing};
    const weft_cost_model_t model = model_of(&costs, WEFT_KERNEL_PATH_BUS);
    (void)state;
    assert_true(near(model.protocol[WEFT_KERNEL_PROTOCOL_LL].edge.alpha, 1e-6));
    assert_int_equal(weft_cost_protocol(&model, 8), WEFT_KERNEL_PROTOCOL_LL);
    assert_int_equal(weft_cost_protocol(&model, 8192), WEFT_KERNEL_PROTOCOL_LL);
    assert_int_equal(weft_cost_protocol(&model, 8193), WEFT_KERNEL_PROTOCOL_SIMPLE);
    assert_int_equal(weft_cost_limits(&model).words, 8192);
    /* A range without an edge is none: the path does not keep lines. */
    assert_false(weft_cost_may_travel(&model, WEFT_KERNEL_PROTOCOL_LL128, 8192));
    assert_int_equal(weft_cost_limits(&model).lines, 0);
    /* Another path has neither. */
    const weft_cost_model_t other = model_of(&costs, WEFT_KERNEL_PATH_SAME);
    assert_int_equal(weft_cost_protocol(&other, 8), WEFT_KERNEL_PROTOCOL_SIMPLE);
    assert_int_equal(weft_cost_limits(&other).words, 0);
}

/* By LL a byte takes 100 ps longer, which 400 ns less of latency are worth for 4,000 bytes. */
static void lines_of_a_protocol_move_its_border(void **state)
{
    weft_figures_t given;
    const weft_device_costs_t costs = {"k", &with_ll, &given};
    (void)state;
    assert_int_equal(weft_figures_read("w:1\tk bus ll latency=4.6us\n", "", "k", NULL, &given),
                     WEFT_OK);
    weft_cost_model_t model = model_of(&costs, WEFT_KERNEL_PATH_BUS);
    assert_true(near(model.protocol[WEFT_KERNEL_PROTOCOL_LL].edge.beta, 2e-10));
    assert_true(near(model.level[WEFT_LEVEL_INSIDE].alpha, 5e-6));
    assert_in_range(weft_cost_limits(&model).words, 3936, 4000);
    /* A line gives no path what it does not have. */
    assert_int_equal(
        weft_figures_read("w:1\tk bus ll128 latency=1ns bandwidth=9TB/s\n", "", "k", NULL, &given),
        WEFT_OK);
    model = model_of(&costs, WEFT_KERNEL_PATH_BUS);
    assert_int_equal(weft_cost_limits(&model).lines, 0);
}

/* A range of SIMPLE that begins late forces the other one, whatever it costs. */
static void a_protocol_can_be_forced(void **state)
{
    weft_kernel_props_t props = with_ll;
    const weft_figures_t nothing = {.nedges = 0};
    const weft_device_costs_t costs = {"k", &props, &nothing};
    (void)state;
    props.protocol[WEFT_KERNEL_PATH_BUS][WEFT_KERNEL_PROTOCOL_LL].latency_ns = 1000000;
    weft_cost_model_t model = model_of(&costs, WEFT_KERNEL_PATH_BUS);
    assert_int_equal(weft_cost_protocol(&model, 100), WEFT_KERNEL_PROTOCOL_SIMPLE);
    props.range[WEFT_KERNEL_PATH_BUS][WEFT_KERNEL_PROTOCOL_SIMPLE].least = 8193;
    model = model_of(&costs, WEFT_KERNEL_PATH_BUS);
    assert_int_equal(weft_cost_protocol(&model, 100), WEFT_KERNEL_PROTOCOL_LL);
    assert_int_equal(weft_cost_limits(&model).words, 8192);
    /* But something takes every slice. */
    props.range[WEFT_KERNEL_PATH_BUS][WEFT_KERNEL_PROTOCOL_SIMPLE].least = 99999;
    model = model_of(&costs, WEFT_KERNEL_PATH_BUS);
    assert_int_equal(weft_cost_protocol(&model, 9000), WEFT_KERNEL_PROTOCOL_SIMPLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_that_of_the_job),
        cmocka_unit_test(devices_of_a_machine_that_is_not_described_are_on_a_bus),
        cmocka_unit_test(the_kernel_tells_what_a_path_costs),
        cmocka_unit_test(a_line_is_stronger_than_the_kernel),
        cmocka_unit_test(slices_travel_by_the_protocol_that_costs_least),
        cmocka_unit_test(lines_of_a_protocol_move_its_border),
        cmocka_unit_test(a_protocol_can_be_forced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
