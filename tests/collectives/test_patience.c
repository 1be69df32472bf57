/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls that wait for their operation before they return a request, and waits that end early. */
#include <stdlib.h>

#include "core/os/os.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

static int is_complete_when_the_call_returns(weft_comm_t *comm, uint32_t rank, uint32_t n,
                                             void *arg)
{
    int wrong = 0;
    (void)arg;
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t value = 1;
        weft_request_t *request = (weft_request_t *)&wrong;
        weft_call_t call = {.size = sizeof call, .request_p = &request, .patience = 30};
        NEED(weft_all_reduce(&value, &value, 1, WEFT_UINT32, WEFT_SUM, comm, &call) == WEFT_OK);
        NEED(request == NULL && value == n);
    }
    return wrong;
}

static int returns_a_request_when_patience_ends(weft_comm_t *comm, uint32_t rank, uint32_t n,
                                                void *arg)
{
    uint32_t value = 7;
    weft_request_t *request = NULL;
    weft_call_t call = {.size = sizeof call, .request_p = &request, .patience = 0.05};
    int wrong = 0;
    (void)arg;
    (void)n;
    if (rank == 1) {
        weft_os_sleep_ns(300 * WEFT_NS_PER_MS);
        return weft_send(&value, 1, WEFT_UINT32, 0, comm, NULL) != WEFT_OK;
    }
    uint64_t began = weft_os_clock_ns();
    value = 0;
    NEED(weft_recv(&value, 1, WEFT_UINT32, 1, comm, &call) == WEFT_OK);
    NEED(request != NULL && weft_os_clock_ns() - began >= 50 * WEFT_NS_PER_MS);
    NEED(weft_request_wait_for(&request, 0) == WEFT_IN_PROGRESS);
    NEED(weft_request_wait_for(&request, 0.01) == WEFT_IN_PROGRESS && request != NULL);
    NEED(weft_request_wait_for(&request, 30) == WEFT_OK && request == NULL && value == 7);
    return wrong;
}

static int tells_the_failure(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    uint32_t values[2] = {0};
    weft_request_t *request = NULL;
    weft_call_t call = {.size = sizeof call, .request_p = &request, .patience = 30};
    weft_error_t error = {.size = sizeof error};
    int wrong = 0;
    (void)arg;
    (void)n;
    NEED(weft_all_reduce(values, values, 1 + rank, WEFT_UINT32, WEFT_SUM, comm, &call) ==
         WEFT_ERR_MISMATCH);
    NEED(request == NULL);
    NEED(weft_last_error(&error) == WEFT_OK && error.status == WEFT_ERR_MISMATCH);
    NEED(weft_barrier(comm, &call) == WEFT_ERR_MISMATCH && request == NULL);
    return wrong;
}

static int is_no_matter_in_a_group(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    uint32_t mine = rank, theirs = n;
    weft_request_t *requests[2] = {NULL, NULL};
    weft_call_t sends = {.size = sizeof sends, .request_p = &requests[0], .patience = 30};
    weft_call_t receives = {.size = sizeof receives, .request_p = &requests[1], .patience = 30};
    int wrong = 0;
    (void)arg;
    NEED(weft_group_start() == WEFT_OK);
    NEED(weft_send(&mine, 1, WEFT_UINT32, (rank + 1) % n, comm, &sends) == WEFT_OK);
    NEED(weft_recv(&theirs, 1, WEFT_UINT32, (rank + n - 1) % n, comm, &receives) == WEFT_OK);
    NEED(weft_group_end() == WEFT_OK);
    for (int i = 0; i < 2; i++) {
        NEED(requests[i] != NULL && weft_request_wait_for(&requests[i], 30) == WEFT_OK);
    }
    NEED(theirs == (rank + n - 1) % n);
    return wrong;
}

static void a_patient_call_is_complete_when_it_returns(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(1, is_complete_when_the_call_returns), 0);
    assert_int_equal(ranks_run_nets(3, is_complete_when_the_call_returns), 0);
}

static void a_patient_call_returns_a_request_when_patience_ends(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(2, returns_a_request_when_patience_ends), 0);
}

static void a_patient_call_tells_the_failure(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(2, tells_the_failure), 0);
}

static void patience_is_no_matter_in_a_group(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_nets(3, is_no_matter_in_a_group), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_patient_call_is_complete_when_it_returns),
        cmocka_unit_test(a_patient_call_returns_a_request_when_patience_ends),
        cmocka_unit_test(a_patient_call_tells_the_failure),
        cmocka_unit_test(patience_is_no_matter_in_a_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
