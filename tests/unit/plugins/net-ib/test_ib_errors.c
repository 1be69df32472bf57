/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of the table of completion errors: nothing is missing, nothing repeats. */
#include <string.h>

#include "ib_errors.h"
#include "tests/support/unit.h"

static void every_status_has_a_cause_and_a_remedy(void **state)
{
    (void)state;
    const ib_cause_t *unknown = ib_cause_of((enum ibv_wc_status)4711);
    for (int i = IBV_WC_SUCCESS; i <= IBV_WC_TM_RNDV_INCOMPLETE; i++) {
        const ib_cause_t *cause = ib_cause_of((enum ibv_wc_status)i);
        assert_ptr_not_equal(cause, unknown);
        assert_true(strlen(cause->name) > 4);
        assert_true(strlen(cause->meaning) > 4);
        assert_true(strlen(cause->remedy) >= 4);
        assert_int_equal(cause->status == WEFT_OK, i == IBV_WC_SUCCESS);
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(cause->name, ib_cause_of((enum ibv_wc_status)k)->name);
        }
    }
}

static void status_of_tomorrow_is_an_error_too(void **state)
{
    (void)state;
    const ib_cause_t *cause = ib_cause_of((enum ibv_wc_status)(IBV_WC_TM_RNDV_INCOMPLETE + 1));
    assert_int_equal(cause->status, WEFT_ERR_LINK);
    assert_non_null(strstr(cause->name, "unknown"));
}

static void events_that_end_a_connection_have_words(void **state)
{
    (void)state;
    static const enum ibv_event_type types[] = {IBV_EVENT_CQ_ERR,       IBV_EVENT_QP_FATAL,
                                                IBV_EVENT_QP_REQ_ERR,   IBV_EVENT_QP_ACCESS_ERR,
                                                IBV_EVENT_PATH_MIG_ERR, IBV_EVENT_DEVICE_FATAL,
                                                IBV_EVENT_PORT_ERR};
    const char *nothing = ib_event_text(IBV_EVENT_COMM_EST);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        assert_string_not_equal(ib_event_text(types[i]), nothing);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_cause_and_a_remedy),
        cmocka_unit_test(status_of_tomorrow_is_an_error_too),
        cmocka_unit_test(events_that_end_a_connection_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
