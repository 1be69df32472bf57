/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft topo --graph`: options, the search or a graph file, and the outputs. */
#ifndef WEFT_TOPO_TOOL_GRAPH_H
#define WEFT_TOPO_TOOL_GRAPH_H

#include "core/topo/search.h"
#include "tools/tool.h"

enum {
    TOPO_GRAPH = 2000, /* beyond letters and the options that all share */
    TOPO_GRAPH_MACHINE,
    TOPO_GRAPH_PATTERN,
    TOPO_GRAPH_ONE_HOST,
    TOPO_GRAPH_STRAIGHT,
    TOPO_GRAPH_CHANNELS,
    TOPO_GRAPH_IN,
    TOPO_GRAPH_OUT
};

/* Rows for the table of options. */
#define TOPO_GRAPH_OPTIONS                                                                         \
    {0, "graph", NULL, "the channels of rings, chains or trees over the machine", TOPO_GRAPH},     \
        {0, "machine", "FILE", "with --graph: the machine of this text, not this one",             \
         TOPO_GRAPH_MACHINE},                                                                      \
        {0, "pattern", "NAME", "with --graph: ring (default), chain or tree", TOPO_GRAPH_PATTERN}, \
        {0, "one-host", NULL, "with --graph: inside one host, without NICs", TOPO_GRAPH_ONE_HOST}, \
        {0, "straight", NULL, "with --graph: channels stay on their rail", TOPO_GRAPH_STRAIGHT},   \
        {0, "channels", "N", "with --graph: at most so many (32)", TOPO_GRAPH_CHANNELS},           \
        {0, "graph-in", "FILE", "with --graph: show this graph, do not search", TOPO_GRAPH_IN},    \
    {                                                                                              \
        0, "graph-out", "FILE", "with --graph: write the graph; - = standard output",              \
            TOPO_GRAPH_OUT                                                                         \
    }

typedef struct topo_graph_request {
    bool graph;
    bool more;                      /* an option that says something of the graph */
    const char *machine, *in, *out; /* files */
    weft_search_request_t search;   /* hosts is set from one_host */
    bool one_host;
} topo_graph_request_t;

/* Takes an option of the rows above. Returns false for another one; *wrong_p is set if the value is
 * not good, which has been said. */
bool topo_graph_take(topo_graph_request_t *request, int id, const char *value, bool *wrong_p);
/* Returns false if the options do not go together, which has been said. */
bool topo_graph_check(const topo_graph_request_t *request, bool json, const char *svg);
/* Shows the graph of a machine, or of the one in the file of `request`; svg: file or NULL. */
weft_status_t topo_graph_show(const topo_graph_request_t *request, const weft_machine_t *machine,
                              bool json, const char *svg);
weft_status_t topo_graph_show_file(const topo_graph_request_t *request, bool json, const char *svg);

#endif
