/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NUMA nodes, read from folders as Linux has them. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/os/os_numa.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static void put(const char *name, const char *text)
{
    scratch_write(name, text, strlen(text));
}

static void expect(const char *folder, uint32_t first, uint32_t last, uint32_t nodes, uint32_t node)
{
    weft_os_cpu_set_t set;
    memset(&set, 0, sizeof set);
    for (uint32_t cpu = first; cpu <= last; cpu++) {
        set.word[cpu / 64] |= UINT64_C(1) << cpu % 64;
    }
    weft_os_numa_t numa = weft_os_numa_of(folder, &set);
    assert_int_equal(numa.nodes, nodes);
    assert_int_equal(numa.node, node);
}

static void the_node_of_a_set_is_the_one_that_has_all_of_it(void **state)
{
    (void)state;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", scratch_folder());
    expect(folder, 0, 3, 0, WEFT_OS_NODE_NONE); /* it tells nothing */
    put("online", "0\n");
    expect(folder, 0, 900, 1, 0);
    put("online", "1-2,4\n");
    static const char *const names[] = {"node1", "node2", "node4"};
    static const char *const lists[] = {"0-7,64-71\n", "8-15,72-79\n", "\n"};
    for (size_t i = 0; i < 3; i++) {
        char file[64];
        assert_int_equal(mkdir(scratch_path(names[i]), 0700), 0);
        snprintf(file, sizeof file, "%s/cpulist", names[i]);
        put(file, lists[i]);
    }
    expect(folder, 0, 7, 3, 1);
    expect(folder, 64, 66, 3, 1);
    expect(folder, 72, 79, 3, 2);
    expect(folder, 7, 8, 3, WEFT_OS_NODE_NONE);
    expect(folder, 16, 16, 3, WEFT_OS_NODE_NONE);
    put("node1/cpulist", "0-99999999999,3\n");
    expect(folder, 900, 1023, 3, 1);
}

static void this_machine_tells_something_or_nothing(void **state)
{
    (void)state;
    weft_os_numa_t numa = weft_os_numa_here();
    assert_true(numa.nodes > 0 || numa.node == WEFT_OS_NODE_NONE);
    assert_true(numa.nodes != 1 || numa.node != WEFT_OS_NODE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_node_of_a_set_is_the_one_that_has_all_of_it),
        cmocka_unit_test(this_machine_tells_something_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
