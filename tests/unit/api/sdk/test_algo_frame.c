/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The frame of algorithm plugins: what it serves, what it refuses and with which words, and what
 * the plugin's functions are given. */
#include <string.h>

#include <weft/sdk/algo_frame.h>

#include "tests/support/fake_host.h"
#include "tests/support/unit.h"

static const uint32_t most_ranks = 4;
static const void *seen_config;
static uint32_t plans, emits;

static void frame_plan(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    (void)builder;
    assert_int_equal(call->coll, WEFT_ALL_REDUCE);
    plans++;
}

static weft_status_t frame_emit(const weft_algo_frame_job_t *job)
{
    emits++;
    seen_config = job->config;
    return job->host->set_error(job->host, WEFT_ERR_UNSUPPORTED, 0, "%u hosts", job->topo->nhosts);
}

static weft_status_t frame_check(const weft_algo_t *algo, const weft_algo_call_t *call)
{
    const uint32_t *most = algo->config;
    return call->nranks <= *most
               ? WEFT_OK
               : algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0, "too many");
}

static const weft_algo_frame_coll_t colls[] = {
    {.coll = WEFT_ALL_REDUCE, .plan = frame_plan, .check = frame_check},
    {.coll = WEFT_BROADCAST, .emit = frame_emit},
};

static const weft_algo_frame_t frame = {
    .name = "algo-test", .colls = colls, .ncolls = 2, .defaults = &most_ranks};

static weft_algo_t *open_frame(fake_host_t *fake, const void *config)
{
    weft_algo_t *algo = NULL;
    fake_host_init(fake, "algo-test");
    assert_int_equal(weft_algo_frame_create(&frame, &fake->host, config, &algo), WEFT_OK);
    return algo;
}

static void close_frame(fake_host_t *fake, weft_algo_t *algo)
{
    weft_algo_frame_destroy(algo);
    assert_int_equal(fake->live, 0);
    fake_host_fini(fake);
}

static weft_algo_call_t call_of(weft_coll_t coll, uint32_t nranks)
{
    return (weft_algo_call_t){.size = sizeof(weft_algo_call_t), .coll = coll, .nranks = nranks};
}

static void a_collective_of_the_table_is_served(void **state)
{
    (void)state;
    fake_host_t fake;
    weft_algo_t *algo = open_frame(&fake, NULL);
    weft_algo_call_t call = call_of(WEFT_ALL_REDUCE, 4);
    plans = 0;
    assert_int_equal(weft_algo_frame_supports(algo, &call), WEFT_OK);
    assert_int_equal(plans, 0);
    assert_int_equal(weft_algo_frame_emit(algo, &call, NULL, NULL), WEFT_OK);
    assert_int_equal(plans, 1);
    close_frame(&fake, algo);
}

static void another_collective_is_refused_and_those_served_are_named(void **state)
{
    (void)state;
    fake_host_t fake;
    char text[512];
    weft_algo_t *algo = open_frame(&fake, NULL);
    weft_algo_call_t call = call_of(WEFT_GATHER, 2);
    assert_int_equal(weft_algo_frame_emit(algo, &call, NULL, NULL), WEFT_ERR_UNSUPPORTED);
    fake_host_take_error(&fake, text, sizeof text);
    assert_string_equal(text, "algo-test has no plan for gather; it has plans for all_reduce and "
                              "broadcast");
    call.coll = WEFT_COLL_COUNT;
    assert_int_equal(weft_algo_frame_supports(algo, &call), WEFT_ERR_UNSUPPORTED);
    close_frame(&fake, algo);
}

static void a_check_refuses_before_a_plan_is_written(void **state)
{
    (void)state;
    fake_host_t fake;
    weft_algo_t *algo = open_frame(&fake, NULL);
    weft_algo_call_t call = call_of(WEFT_ALL_REDUCE, 5);
    plans = 0;
    assert_int_equal(weft_algo_frame_supports(algo, &call), WEFT_ERR_UNSUPPORTED);
    assert_int_equal(weft_algo_frame_emit(algo, &call, NULL, NULL), WEFT_ERR_UNSUPPORTED);
    assert_int_equal(plans, 0);
    close_frame(&fake, algo);
}

static void emit_sees_options_and_hosts_and_its_failure_is_the_callers(void **state)
{
    (void)state;
    fake_host_t fake;
    char text[512];
    uint32_t config = 7;
    weft_algo_t *algo = open_frame(&fake, &config);
    weft_algo_call_t call = call_of(WEFT_BROADCAST, 2);
    weft_algo_topo_t view = {.size = sizeof view, .nhosts = 3};
    emits = 0;
    assert_int_equal(weft_algo_frame_emit(algo, &call, &view, NULL), WEFT_ERR_UNSUPPORTED);
    fake_host_take_error(&fake, text, sizeof text);
    assert_string_equal(text, "3 hosts");
    assert_int_equal(emits, 1);
    assert_ptr_equal(seen_config, &config);
    close_frame(&fake, algo);
}

static void an_instance_needs_memory(void **state)
{
    (void)state;
    fake_host_t fake;
    weft_algo_t *algo = NULL;
    fake_host_init(&fake, "algo-test");
    fake.fail_at = 1;
    assert_int_equal(weft_algo_frame_create(&frame, &fake.host, NULL, &algo), WEFT_ERR_RESOURCE);
    assert_null(algo);
    weft_algo_frame_destroy(NULL);
    fake_host_fini(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_collective_of_the_table_is_served),
        cmocka_unit_test(another_collective_is_refused_and_those_served_are_named),
        cmocka_unit_test(a_check_refuses_before_a_plan_is_written),
        cmocka_unit_test(emit_sees_options_and_hosts_and_its_failure_is_the_callers),
        cmocka_unit_test(an_instance_needs_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
