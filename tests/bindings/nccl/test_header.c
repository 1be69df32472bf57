/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The binding's types against a real nccl.h. */
#include <stdio.h>

#include "tests/bindings/nccl/facts.h"
#include "tests/support/unit.h"

static void numbers_are_those_of_the_header(void **state)
{
    (void)state;
    printf("nccl.h of version %d\n", facts_header_version);
    for (int i = 0; facts_of_header[i].name != NULL; i++) {
        assert_string_equal(facts_own[i].name, facts_of_header[i].name);
        if (facts_own[i].value != facts_of_header[i].value) {
            fail_msg("%s: %lld, in nccl.h %lld", facts_own[i].name, facts_own[i].value,
                     facts_of_header[i].value);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_are_those_of_the_header)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
