/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Graphs as text: what comes back, what is refused, and that a graph has to fit the machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/topo/graph_text.h"
#include "core/topo/machine_text.h"
#include "core/topo/search.h"
#include "tests/support/unit.h"

static const char three[] = "weft-machine 1\n"
                            "gpu 0 pci=10GB/s\ngpu 1 pci=10GB/s\ngpu 2 pci=10GB/s\n"
                            "nic 0 speed=4GB/s pci=10GB/s\nnic 1 speed=4GB/s pci=10GB/s\n";
static weft_machine_t machine;
static weft_capacities_t capacities;

static int open_three(void **state)
{
    (void)state;
    assert_int_equal(weft_machine_parse("three", three, &machine), WEFT_OK);
    return weft_capacities_init(&capacities, &machine) == WEFT_OK ? 0 : -1;
}

static int close_three(void **state)
{
    (void)state;
    weft_capacities_fini(&capacities);
    weft_machine_fini(&machine);
    return 0;
}

static void what_the_search_finds_reads_back(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        char text[4096], again[4096];
        weft_graph_t found, read;
        weft_search_request_t request = {.pattern = (weft_graph_pattern_t)(i % 3), .hosts = i > 2};
        assert_int_equal(weft_search(&found, &capacities, &request), WEFT_OK);
        FILE *out = fmemopen(text, sizeof text, "w");
        weft_graph_print(&found, "three", out);
        assert_int_equal(fclose(out), 0);
        if (weft_graph_parse("f", text, &capacities, &read) != WEFT_OK) {
            fail_msg("%s\n%s", weft_error_record()->text, text);
        }
        out = fmemopen(again, sizeof again, "w");
        weft_graph_print(&read, "three", out);
        assert_int_equal(fclose(out), 0);
        assert_string_equal(text, again);
        assert_int_equal(read.proof, WEFT_GRAPH_GIVEN);
        assert_int_equal(read.speed, found.speed);
        weft_graph_fini(&read);
        weft_graph_fini(&found);
    }
}

static void a_graph_by_hand_is_measured(void **state)
{
    (void)state;
    weft_graph_t graph;
    char name[80];
    assert_int_equal(weft_graph_parse("f",
                                      "weft-graph 1\ngraph pattern=ring hosts=yes\n"
                                      "channel 0 in=0 out=1 order 2 1 0\n"
                                      "channel 1 in=0 out=1 order 0 1 2\n",
                                      &capacities, &graph),
                     WEFT_OK);
    assert_int_equal(graph.nchannels, 2);
    assert_int_equal(graph.speed, 2000); /* both come in by one port of 4 GB/s */
    assert_int_equal(weft_graph_bandwidth(&graph, &capacities), 4000);
    assert_int_equal(graph.uses, 2);
    weft_capacities_edge_name(&capacities, graph.tight, name, sizeof name);
    assert_string_equal(name, "the port of NIC0, receiving");
    weft_graph_fini(&graph);
}

#define RING "weft-graph 1\ngraph pattern=ring hosts=yes\n"

static void a_wrong_file_names_line_and_what_was_expected(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } wrong[] = {
        {"graph\n", "f:1: expected \"weft-graph 1\" as the first line"},
        {"weft-graph 1\nchannel 0 order 0 1 2\n",
         "f:2: expected the line \"graph\" before channels"},
        {"weft-graph 1\ngraph hosts=no\n", "f:2: expected pattern=ring, chain or tree"},
        {"weft-graph 1\ngraph pattern=star\n",
         "f:2: pattern is \"star\", expected ring, chain or tree"},
        {RING "graph pattern=ring\n", "f:3: a second line \"graph\", expected channels"},
        {RING "channels 0\n", "f:3: found \"channels\", expected graph or channel"},
        {RING "channel 1 in=0 out=0 order 0 1 2\n",
         "f:3: expected channel 0: they are numbered as they stand"},
        {RING "channel 0 in=2 out=0 order 0 1 2\n", "f:3: in is NIC 2, the machine has 2"},
        {RING "channel 0 in=0 out=1 0 1 2\n", "f:3: expected \"order\" and all participants"},
        {RING "channel 0 in=0 out=1 order 0 1\n", "f:3: 2 participants, the machine has 3"},
        {RING "channel 0 in=0 out=1 order 0 1 2 0\n",
         "f:3: more than 3 participants, the machine has 3"},
        {RING "channel 0 in=0 out=1 order 0 1 3\n",
         "f:3: participant 3, the machine has 3, from 0"},
        {RING "channel 0 in=0 out=1 order 0 1 1\n", "f:3: channel 0 has participant 1 twice"},
        {RING "channel 0 order 0 1 2\n",
         "f:3: channel 0 has no NIC in and NIC out of the machine's 2"},
        {RING "channel 0 in=0 in=0 out=1 order 0 1 2\n", "f:3: in is given twice"},
        {RING "channel 0 in=0 out=1 out=1 order 0 1 2\n", "f:3: out is given twice"},
        {RING "channel 0 in=0 out=1 order 0 1 x=2\n", "f:3: expected a participant, found \"x=\""},
        {RING "channel x=0 in=0 out=1 order 0 1 2\n",
         "f:3: expected channel 0: they are numbered as they stand"},
        {RING "x=channel 0 in=0 out=1 order 0 1 2\n",
         "f:3: found \"channel\", expected graph or channel"},
        {"weft-graph 1\ngraph pattern=ring pattern=tree\n", "f:2: pattern is given twice"},
        {"weft-graph 1\ngraph pattern=ring hosts=no hosts=yes\n", "f:2: hosts is given twice"},
        {"weft-graph 1 2\n", "f:1: expected \"weft-graph 1\" as the first line"},
        {RING "\n", "f:4: the file ends, expected a channel"},
        {"weft-graph 1\ngraph pattern=ring hosts=no\nchannel 0 in=0 out=0 order 0 1 2\n",
         "f:3: channel 0 has NICs, but no host follows, or there are 2"},
        {"weft-graph 1\ngraph pattern=tree hosts=yes\nchannel 0 in=0 out=1 order 0 1 2\n",
         "f:3: channel 0 is a tree with two NICs"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        weft_graph_t graph;
        assert_int_equal(weft_graph_parse("f", wrong[i].text, &capacities, &graph),
                         WEFT_ERR_CONFIG);
        assert_string_equal(weft_error_record()->text, wrong[i].error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_search_finds_reads_back),
        cmocka_unit_test(a_graph_by_hand_is_measured),
        cmocka_unit_test(a_wrong_file_names_line_and_what_was_expected),
    };
    return cmocka_run_group_tests(tests, open_three, close_three);
}
