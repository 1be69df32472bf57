/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From a machine to its graph to what was asked for. */
#include "tools/topo/graph.h"

#include <string.h>

#include "core/base/error.h"
#include "core/config/number.h"
#include "core/topo/graph_text.h"
#include "core/topo/machine_text.h"
#include "tools/topo/graph_draw.h"
#include "tools/topo/graph_print.h"
#include "tools/whole_file.h"

static bool graph_take_pattern(topo_graph_request_t *request, const char *value)
{
    for (weft_graph_pattern_t p = WEFT_GRAPH_RING; p <= WEFT_GRAPH_TREE; p++) {
        if (strcmp(value, weft_graph_pattern_name(p)) == 0) {
            request->search.pattern = p;
            return true;
        }
    }
    tool_usage("--pattern is ring, chain or tree, got '%s'", value);
    return false;
}

static bool graph_take_channels(topo_graph_request_t *request, const char *value)
{
    uint64_t count = 0;
    const char *rest = value;
    if (weft_number_uint(value, &count, &rest) != WEFT_NUMBER_OK || *rest != '\0' || count == 0 ||
        count > WEFT_GRAPH_CHANNELS_MAX) {
        tool_usage("--channels is a number from 1 to %u, got '%s'", WEFT_GRAPH_CHANNELS_MAX, value);
        return false;
    }
    request->search.channels_max = (uint32_t)count;
    return true;
}

bool topo_graph_take(topo_graph_request_t *request, int id, const char *value, bool *wrong_p)
{
    *wrong_p = false;
    request->more |= id > TOPO_GRAPH && id <= TOPO_GRAPH_OUT;
    switch (id) {
    case TOPO_GRAPH:
        request->graph = true;
        return true;
    case TOPO_GRAPH_MACHINE:
        request->machine = value;
        return true;
    case TOPO_GRAPH_PATTERN:
        *wrong_p = !graph_take_pattern(request, value);
        return true;
    case TOPO_GRAPH_ONE_HOST:
        request->one_host = true;
        return true;
    case TOPO_GRAPH_STRAIGHT:
        request->search.straight = true;
        return true;
    case TOPO_GRAPH_CHANNELS:
        *wrong_p = !graph_take_channels(request, value);
        return true;
    case TOPO_GRAPH_IN:
        request->in = value;
        return true;
    case TOPO_GRAPH_OUT:
        request->out = value;
        return true;
    default:
        return false;
    }
}

static bool graph_is_stdout(const char *file)
{
    return file != NULL && strcmp(file, "-") == 0;
}

static void graph_write_text(const graph_view_t *view, FILE *out)
{
    weft_graph_print(view->graph, view->machine->name, out);
}

static weft_status_t graph_write(const graph_view_t *view, const char *file,
                                 void (*write)(const graph_view_t *view, FILE *out))
{
    if (file == NULL) {
        return WEFT_OK;
    }
    whole_file_t whole;
    weft_status_t status = whole_file_open(&whole, file);
    if (status != WEFT_OK) {
        return status;
    }
    write(view, whole.out);
    return whole_file_close(&whole);
}

static weft_status_t graph_put(const topo_graph_request_t *request, const graph_view_t *view,
                               bool json, const char *svg)
{
    weft_status_t status = graph_write(view, svg, graph_draw);
    if (status == WEFT_OK) {
        status = graph_write(view, request->out, graph_write_text);
    }
    if (status == WEFT_OK && !graph_is_stdout(svg) && !graph_is_stdout(request->out)) {
        status = graph_write(view, "-", json ? graph_print_json : graph_print);
    }
    return status;
}

weft_status_t topo_graph_show(const topo_graph_request_t *request, const weft_machine_t *machine,
                              bool json, const char *svg)
{
    weft_search_request_t search = request->search;
    weft_capacities_t capacities;
    weft_graph_t graph;
    weft_status_t status = weft_capacities_init(&capacities, machine);
    if (status != WEFT_OK) {
        return status;
    }
    search.hosts = !request->one_host;
    status = request->in != NULL ? weft_graph_load(request->in, &capacities, &graph)
                                 : weft_search(&graph, &capacities, &search);
    if (status == WEFT_OK) {
        const graph_view_t view = {machine, &capacities, &graph};
        status = graph_put(request, &view, json, svg);
        weft_graph_fini(&graph);
    }
    weft_capacities_fini(&capacities);
    return status;
}

bool topo_graph_check(const topo_graph_request_t *request, bool json, const char *svg)
{
    if (!request->graph) {
        tool_usage("--machine, --pattern, --one-host, --straight, --channels, --graph-in and "
                   "--graph-out need --graph");
        return false;
    }
    if (graph_is_stdout(svg) + graph_is_stdout(request->out) + json > 1) {
        tool_usage("one of --json, --svg - and --graph-out - can have standard output");
        return false;
    }
    return true;
}

weft_status_t topo_graph_show_file(const topo_graph_request_t *request, bool json, const char *svg)
{
    weft_machine_t machine;
    weft_status_t status = weft_machine_load(request->machine, &machine);
    if (status == WEFT_OK) {
        status = topo_graph_show(request, &machine, json, svg);
        weft_machine_fini(&machine);
    }
    return status;
}
