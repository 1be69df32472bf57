/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages in memory of a device, registered by its dma-buf. Only the adapter may move them:
 * code that copies them into a request, or looks at received bytes, dies at an unmapped address. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "traffic.h"

static traffic_t traffic;

static void check(const char *const *settings)
{
    traffic = (traffic_t){.on_device = true};
    assert_int_equal(traffic_run(&traffic, settings), WEFT_OK);
    assert_int_equal(traffic.done, 2 * TRAFFIC_MESSAGES);
    assert_int_equal(traffic.failed, 0);
    assert_true(fake_count_call(FAKE_REG_DMABUF) >= 2);
}

static void small_and_large_messages_arrive(void **state)
{
    static const char *const plain[] = {"inline=256", NULL};
    static const char *const none[] = {"inline=0", NULL};
    static const char *const unordered[] = {"inline=256", "adaptive_routing=on", NULL};
    static const char *const cut[] = {"qps=4", "split_bytes=4K", "adaptive_routing=off", NULL};
    (void)state;
    fake_setup(1);
    check(plain);
    fake_setup(1);
    check(none);
    fake_setup(1);
    check(unordered);
    fake_setup(1);
    check(cut);
    fake_setup(1);
    fake_device(0)->ports[0].attr.max_msg_sz = 20480;
    check(plain);
}

static void every_rail_has_a_registration_of_its_own(void **state)
{
    static const char *const rails[] = {"rails=3", "qps=2", "split_bytes=4K", NULL};
    (void)state;
    fake_setup(3);
    fake_reorder(7);
    check(rails);
    assert_int_equal(fake_count_call(FAKE_REG_DMABUF), 6);
}

static void the_order_of_writes_is_as_free_as_the_option_says(void **state)
{
    static const char *const free_order[] = {NULL}, *const strict[] = {"relaxed_ordering=no", NULL};
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        traffic.on_device = true;
        fake_setup(1);
        assert_int_equal(traffic_begin(&traffic, i == 0 ? free_order : strict), WEFT_OK);
        assert_int_equal(fake_count_access(IBV_ACCESS_RELAXED_ORDERING), i == 0 ? 2 : 0);
        traffic_end(&traffic);
    }
}

/* Parts that are sent again come from that memory too. */
static void a_lost_rail_s_messages_go_on_over_others(void **state)
{
    static const char *const rails[] = {"rails=2", "qps=2", "split_bytes=4K", NULL};
    (void)state;
    for (uint32_t nth = 1; nth < 24; nth++) {
        fake_setup(2);
        fake_fault(&(fake_fault_t){
            .act = FAKE_STATUS, .kind = FAKE_WRITE_IMM, .nth = nth, .value = IBV_WC_RETRY_EXC_ERR});
        check(rails);
        assert_true(fake_happened());
    }
}

static weft_status_t kinds_of(uint32_t *kinds_p)
{
    static const char *const plain[] = {NULL};
    weft_net_props_t props = {.size = sizeof props};
    traffic_side_t side;
    weft_status_t status = side_open(&side, plain);
    status = status == WEFT_OK ? traffic_ops()->device_props(side.net, 0, &props) : status;
    *kinds_p = props.memory_kinds;
    side_close(&side);
    return status;
}

static void adapters_say_what_memory_they_take(void **state)
{
    uint32_t kinds = 0;
    (void)state;
    fake_setup(1);
    assert_int_equal(kinds_of(&kinds), WEFT_OK);
    assert_int_equal(kinds, WEFT_MEMORY_HOST | WEFT_MEMORY_CUDA);
    fake_setup(1);
    fake_device(0)->no_dmabuf = true;
    assert_int_equal(kinds_of(&kinds), WEFT_OK);
    assert_true(kinds == WEFT_MEMORY_HOST || access("/sys/module/nvidia_peermem", F_OK) == 0);
}

static void a_registration_that_is_refused_is_told(void **state)
{
    static const char *const rails[] = {"rails=2", NULL};
    static const struct {
        int cause;
        weft_status_t status;
        const char *says;
    } cases[] = {{EOPNOTSUPP, WEFT_ERR_UNSUPPORTED, "registers no dma-buf"},
                 {ENOMEM, WEFT_ERR_RESOURCE, "cannot register"}};
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        fake_setup(2);
        fake_fault(&(fake_fault_t){.act = FAKE_FAIL,
                                   .call = FAKE_REG_DMABUF,
                                   .nth = 1 + i / 2,
                                   .value = cases[i % 2].cause});
        traffic = (traffic_t){.on_device = true};
        assert_int_equal(traffic_begin(&traffic, rails), cases[i % 2].status);
        assert_non_null(strstr(traffic.sides[0].fake.error, cases[i % 2].says));
        traffic_end(&traffic);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_and_large_messages_arrive),
        cmocka_unit_test(the_order_of_writes_is_as_free_as_the_option_says),
        cmocka_unit_test(every_rail_has_a_registration_of_its_own),
        cmocka_unit_test(a_lost_rail_s_messages_go_on_over_others),
        cmocka_unit_test(adapters_say_what_memory_they_take),
        cmocka_unit_test(a_registration_that_is_refused_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
