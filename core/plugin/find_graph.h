/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The graph of a machine: from a file of the configuration, else from the first topo plugin that
 * has one, else from the search. */
#ifndef WEFT_PLUGIN_FIND_GRAPH_H
#define WEFT_PLUGIN_FIND_GRAPH_H

#include <weft/plugin/topo.h>

#include "core/plugin/registry.h"
#include "core/topo/graph.h"

/* The most channels that are searched for. */
#define WEFT_FIND_GRAPH_CHANNELS 16u

/* What is looked for. */
typedef struct weft_graph_wanted {
    const weft_machine_t *machine;
    const weft_capacities_t *capacities; /* of the machine */
    weft_graph_pattern_t pattern;        /* ring or tree */
    bool hosts;                          /* the machine is one of several hosts */
} weft_graph_wanted_t;

/* Finds it. Free the graph with weft_graph_fini(). ERR_CONFIG: a file does not fit the machine;
 * ERR_PLUGIN: nor does a plugin's text; ERR_RESOURCE, or any error of a plugin. */
weft_status_t weft_find_graph(const weft_registry_t *registry, const weft_settings_t *settings,
                              const weft_graph_wanted_t *wanted, weft_graph_t *graph_p);

/* The same of one instance of a topo plugin. ERR_UNSUPPORTED: it has none. */
weft_status_t weft_find_graph_by(const weft_topo_ops_t *ops, weft_topo_t *topo, const char *plugin,
                                 const weft_graph_wanted_t *wanted, weft_graph_t *graph_p);

#endif
