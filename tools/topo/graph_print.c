/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One line a channel: where it comes in, its order, where it leaves. */
#include "tools/topo/graph_print.h"

#include "tools/json.h"

static double graph_print_total(const graph_view_t *view)
{
    return weft_graph_bandwidth(view->graph, view->capacities) / 1e3;
}

static void graph_print_channel(const graph_view_t *view, uint32_t channel, FILE *out)
{
    uint32_t ends[WEFT_MACHINE_DEVICES_MAX + 2];
    graph_name_t name;
    bool tree = view->graph->pattern == WEFT_GRAPH_TREE;
    uint32_t count = graph_view_path(view, channel, ends);
    fprintf(out, "  channel %u:", channel);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(out, "%s%s",
                i == 0 ? " "
                : tree ? " - "
                       : " > ",
                graph_view_end_name(view, ends[i], name));
    }
    fputc('\n', out);
}

void graph_print(const graph_view_t *view, FILE *out)
{
    const weft_graph_t *graph = view->graph;
    graph_name_t name;
    char edge[96];
    const weft_machine_t *of = view->machine;
    fprintf(out, "%s: %s, channels %u x %.3f GB/s = %.3f GB/s, %s",
            of->name[0] != '\0' ? of->name : of->source, graph_view_pattern(view, name),
            graph->nchannels, graph->speed / 1e3, graph_print_total(view), graph_view_proof(view));
    if (graph->proof == WEFT_GRAPH_FOUND) {
        fprintf(out, " (none has more than %.3f GB/s)", graph->bound / 1e3);
    }
    fputc('\n', out);
    if (graph->tight != WEFT_MACHINE_NONE) {
        weft_capacities_edge_name(view->capacities, graph->tight, edge, sizeof edge);
        fprintf(out, "  limit: %s, %.3f GB/s for %u\n", edge,
                view->capacities->bandwidths[graph->tight] / 1e3, graph->uses);
    }
    if (view->capacities->assumed > 0) {
        fprintf(out, "  bandwidths that the machine does not tell, and that were assumed: %u\n",
                view->capacities->assumed);
    }
    for (uint32_t c = 0; c < graph->nchannels; c++) {
        graph_print_channel(view, c, out);
    }
}

static void graph_print_json_channel(const graph_view_t *view, uint32_t channel, json_t *json)
{
    const weft_graph_channel_t *ends = &view->graph->channels[channel];
    json_open(json, NULL, '{');
    if (ends->nic_in != WEFT_GRAPH_NO_NIC) {
        json_unsigned(json, "nic_in", ends->nic_in);
        json_unsigned(json, "nic_out", ends->nic_out);
    }
    json_open(json, "order", '[');
    for (uint32_t i = 0; i < view->graph->nparticipants; i++) {
        json_unsigned(json, NULL, weft_graph_order(view->graph, channel)[i]);
    }
    json_close(json, ']');
    json_close(json, '}');
}

void graph_print_json(const graph_view_t *view, FILE *out)
{
    const weft_graph_t *graph = view->graph;
    json_t json = {.out = out};
    char edge[96];
    json_open(&json, NULL, '{');
    json_string(&json, "machine", view->machine->name);
    json_string(&json, "pattern", weft_graph_pattern_name(graph->pattern));
    json_bool(&json, "hosts", graph->hosts);
    json_string(&json, "participants", graph_view_kind(view));
    json_unsigned(&json, "nparticipants", graph->nparticipants);
    json_unsigned(&json, "nics", view->capacities->nnics);
    json_unsigned(&json, "nchannels", graph->nchannels);
    json_unsigned(&json, "channel_mb_per_second", graph->speed);
    json_unsigned(&json, "total_mb_per_second", weft_graph_bandwidth(graph, view->capacities));
    json_unsigned(&json, "bound_mb_per_second", graph->bound);
    json_string(&json, "proof", weft_graph_proof_name(graph->proof));
    json_unsigned(&json, "steps", graph->steps);
    json_unsigned(&json, "assumed", view->capacities->assumed);
    if (graph->tight != WEFT_MACHINE_NONE) {
        weft_capacities_edge_name(view->capacities, graph->tight, edge, sizeof edge);
        json_string(&json, "limit", edge);
    }
    json_open(&json, "channels", '[');
    for (uint32_t c = 0; c < graph->nchannels; c++) {
        graph_print_json_channel(view, c, &json);
    }
    json_close(&json, ']');
    json_close(&json, '}');
}
