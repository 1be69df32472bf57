/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The index of links: finds what was added and nothing else, in chains that stay short, in memory
 * proportional to the links. */
#include <stdlib.h>

#include "core/exec/link_table.h"
#include "tests/support/unit.h"

enum { LINKS = 4096 };

static uint32_t longest_chain(const weft_link_table_t *table)
{
    uint32_t longest = 0;
    for (uint32_t i = 0; i < table->nchains; i++) {
        uint32_t length = 0;
        for (const weft_link_node_t *node = table->chains[i]; node != NULL; node = node->next) {
            length++;
        }
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Numbers of channels as program.c makes them: copies in the upper bits, the plan's below. */
static uint32_t channel_of(uint32_t i, uint32_t copies, uint32_t channels)
{
    return i / channels % copies << 17 | i % channels;
}

static void check_table(uint32_t copies, uint32_t channels)
{
    static weft_link_node_t nodes[LINKS];
    weft_link_table_t table = {.chains = NULL};
    for (uint32_t i = 0; i < LINKS; i++) {
        nodes[i] = (weft_link_node_t){.peer = i / (copies * channels),
                                      .channel = channel_of(i, copies, channels)};
        assert_null(weft_link_table_find(&table, nodes[i].peer, nodes[i].channel));
        assert_int_equal(weft_link_table_add(&table, &nodes[i]), WEFT_OK);
        assert_true(table.nchains < 2 * (i + 1) || table.nchains == 8);
    }
    for (uint32_t i = 0; i < LINKS; i++) {
        assert_ptr_equal(weft_link_table_find(&table, nodes[i].peer, nodes[i].channel), &nodes[i]);
    }
    assert_null(weft_link_table_find(&table, LINKS, 0));
    assert_null(weft_link_table_find(&table, 0, UINT32_MAX));
    /* A list would have one chain of all. */
    assert_in_range(longest_chain(&table), 1, 10);
    weft_link_table_fini(&table);
}

static void look_ups_are_not_linear_in_the_links(void **state)
{
    static const uint32_t shapes[][2] = {{1, 1}, {1, 2}, {8, 1}, {32, 4}, {1, LINKS}, {64, 64}};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        check_table(shapes[i][0], shapes[i][1]);
    }
}

static void an_empty_table_has_nothing_and_no_memory(void **state)
{
    weft_link_table_t table = {.chains = NULL};
    (void)state;
    assert_null(weft_link_table_find(&table, 0, 0));
    assert_null(table.chains);
    weft_link_table_fini(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(look_ups_are_not_linear_in_the_links),
        cmocka_unit_test(an_empty_table_has_nothing_and_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
