/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whose graph is used: a file's, a topo plugin's, the search's, and what does not fit is
 * refused. */
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/plugin/find_graph.h"
#include "core/topo/machine_text.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static weft_machine_t machine;
static weft_capacities_t capacities;

static int open_machine(void **state)
{
    (void)state;
    const char *file = WEFT_SOURCE_DIR "/tests/unit/core/topo/machines/cpu-2s.machine";
    return weft_machine_load(file, &machine) != WEFT_OK ||
           weft_capacities_init(&capacities, &machine) != WEFT_OK;
}

static int close_machine(void **state)
{
    (void)state;
    weft_capacities_fini(&capacities);
    weft_machine_fini(&machine);
    return 0;
}

/* A plugin that answers with `text`, and keeps what it was asked. */
static const char *text;
static char asked_machine[4096];
static uint32_t asked_pattern, asked_hosts;

static weft_status_t sample_graph(weft_topo_t *topo, const char *described, uint32_t pattern,
                                  uint32_t hosts, char *to, size_t bytes)
{
    (void)topo;
    snprintf(asked_machine, sizeof asked_machine, "%s", described);
    asked_pattern = pattern;
    asked_hosts = hosts;
    if (text == NULL) {
        return WEFT_ERR_UNSUPPORTED;
    }
    snprintf(to, bytes, "%s", text);
    return WEFT_OK;
}

static const weft_topo_ops_t ops = {.size = sizeof ops, .graph = sample_graph};

static weft_status_t ask(const weft_topo_ops_t *of, weft_graph_pattern_t pattern,
                         weft_graph_t *graph_p)
{
    const weft_graph_wanted_t wanted = {&machine, &capacities, pattern, true};
    return weft_find_graph_by(of, NULL, "sample", &wanted, graph_p);
}

static void a_plugin_gets_the_machine_and_gives_the_graph(void **state)
{
    (void)state;
    weft_graph_t graph;
    weft_machine_t same;
    text = "weft-graph 1\ngraph pattern=ring hosts=yes\nchannel 0 in=1 out=0 order 1 0\n";
    assert_int_equal(ask(&ops, WEFT_GRAPH_RING, &graph), WEFT_OK);
    assert_int_equal(asked_pattern, WEFT_TOPO_RING);
    assert_int_equal(asked_hosts, 1);
    assert_int_equal(graph.nchannels, 1);
    assert_int_equal(weft_graph_order(&graph, 0)[0], 1);
    assert_int_equal(graph.speed, 25000);
    assert_int_equal(graph.proof, WEFT_GRAPH_GIVEN);
    weft_graph_fini(&graph);
    assert_int_equal(weft_machine_parse("asked", asked_machine, &same), WEFT_OK);
    assert_int_equal(same.nnodes, 2);
    weft_machine_fini(&same);
}

static void a_plugin_whose_graph_does_not_fit_is_named(void **state)
{
    (void)state;
    weft_graph_t graph;
    text = "weft-graph 1\ngraph pattern=ring hosts=yes\nchannel 0 in=1 out=0 order 1 1\n";
    assert_int_equal(ask(&ops, WEFT_GRAPH_RING, &graph), WEFT_ERR_PLUGIN);
    assert_non_null(strstr(weft_error_record()->text, "graph of plugin sample:3: "));
    text = "weft-graph 1\ngraph pattern=ring hosts=yes\nchannel 0 in=1 out=0 order 1 0\n";
    assert_int_equal(ask(&ops, WEFT_GRAPH_TREE, &graph), WEFT_ERR_PLUGIN);
    assert_int_equal(asked_pattern, WEFT_TOPO_TREE);
    assert_non_null(strstr(weft_error_record()->text, "graph of a ring, of a tree is needed"));
}

static void plugins_without_a_graph_leave_it_to_the_core(void **state)
{
    (void)state;
    const weft_topo_ops_t older = {.size = offsetof(weft_topo_ops_t, graph)},
                          none = {.size = sizeof none};
    weft_graph_t graph;
    text = NULL;
    assert_int_equal(ask(&ops, WEFT_GRAPH_RING, &graph), WEFT_ERR_UNSUPPORTED);
    assert_int_equal(ask(&older, WEFT_GRAPH_RING, &graph), WEFT_ERR_UNSUPPORTED);
    assert_int_equal(ask(&none, WEFT_GRAPH_RING, &graph), WEFT_ERR_UNSUPPORTED);
}

static void a_file_of_the_configuration_comes_first(void **state)
{
    (void)state;
    weft_graph_t graph;
    const weft_graph_wanted_t ring = {&machine, &capacities, WEFT_GRAPH_RING, true},
                              tree = {&machine, &capacities, WEFT_GRAPH_TREE, true};
    weft_settings_t settings = {.core = {.rings = "", .trees = ""}};
    static const char file[] = "weft-graph 1\ngraph pattern=tree hosts=yes\n"
                               "channel 0 in=1 out=1 order 1 0\n";
    settings.core.trees = scratch_write("trees", file, sizeof file - 1);
    assert_int_equal(weft_find_graph(NULL, &settings, &tree, &graph), WEFT_OK);
    assert_int_equal(graph.nchannels, 1);
    assert_int_equal(graph.channels[0].nic_in, 1);
    weft_graph_fini(&graph);
    settings.core.rings = settings.core.trees;
    assert_int_equal(weft_find_graph(NULL, &settings, &ring, &graph), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "graph of a tree, of a ring is needed"));
    settings.core.rings = "/nowhere";
    assert_int_equal(weft_find_graph(NULL, &settings, &ring, &graph), WEFT_ERR_SYSTEM);
    assert_string_equal(weft_error_record()->text,
                        "[core] rings: cannot read /nowhere: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plugin_gets_the_machine_and_gives_the_graph),
        cmocka_unit_test(a_plugin_whose_graph_does_not_fit_is_named),
        cmocka_unit_test(plugins_without_a_graph_leave_it_to_the_core),
        cmocka_unit_test(a_file_of_the_configuration_comes_first),
    };
    return cmocka_run_group_tests(tests, open_machine, close_machine);
}
