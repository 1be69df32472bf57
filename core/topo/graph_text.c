/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading, checking and writing of graphs. */
#include "core/topo/graph_text.h"

#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/topo/text_line.h"

typedef struct graph_text {
    weft_text_line_t line;
    const weft_capacities_t *capacities;
    weft_graph_t *graph;
    bool described; /* the line "graph" was there */
} graph_text_t;

static bool graph_text_at(const graph_text_t *text, const char *key)
{
    return strcmp(text->line.key, key) == 0;
}

static void graph_text_refuse_again(graph_text_t *text, bool given)
{
    if (given) {
        weft_text_refuse(&text->line, "%s is given twice", text->line.key);
    }
}

static void graph_text_take_pattern(graph_text_t *text)
{
    for (weft_graph_pattern_t p = WEFT_GRAPH_RING; p <= WEFT_GRAPH_TREE; p++) {
        if (strcmp(text->line.word, weft_graph_pattern_name(p)) == 0) {
            text->graph->pattern = p;
            return;
        }
    }
    weft_text_refuse(&text->line, "pattern is \"%.40s\", expected ring, chain or tree",
                     text->line.word);
}

static void graph_text_take_hosts(graph_text_t *text)
{
    text->graph->hosts = strcmp(text->line.word, "yes") == 0;
    if (!text->graph->hosts && strcmp(text->line.word, "no") != 0) {
        weft_text_refuse(&text->line, "hosts is \"%.40s\", expected yes or no", text->line.word);
    }
}

static void graph_text_take_graph(graph_text_t *text)
{
    bool pattern = false, hosts = false;
    if (text->described) {
        weft_text_refuse(&text->line, "a second line \"graph\", expected channels");
    }
    text->described = true;
    while (weft_text_next_word(&text->line)) {
        if (graph_text_at(text, "pattern")) {
            graph_text_refuse_again(text, pattern);
            graph_text_take_pattern(text);
            pattern = true;
        } else if (graph_text_at(text, "hosts")) {
            graph_text_refuse_again(text, hosts);
            graph_text_take_hosts(text);
            hosts = true;
        } else {
            weft_text_refuse(&text->line, "expected pattern=… or hosts=…");
        }
    }
    if (!pattern) {
        weft_text_refuse(&text->line, "expected pattern=ring, chain or tree");
    }
}

static uint32_t graph_text_nic(graph_text_t *text)
{
    uint32_t nnics = text->capacities->nnics;
    uint32_t nic = weft_text_count(&text->line, text->line.key, 1u << 20);
    if (nic >= nnics) {
        weft_text_refuse(&text->line, "%s is NIC %u, the machine has %u", text->line.key, nic,
                         nnics);
    }
    return nic;
}

static void graph_text_take_order(graph_text_t *text, uint16_t *order)
{
    uint32_t p = text->graph->nparticipants, count = 0;
    while (weft_text_next_word(&text->line)) {
        if (text->line.key[0] != '\0') {
            weft_text_refuse(&text->line, "expected a participant, found \"%s=\"", text->line.key);
        }
        uint32_t next = weft_text_count(&text->line, "participant", 1u << 20);
        if (count == p) {
            weft_text_refuse(&text->line, "more than %u participants, the machine has %u", p, p);
            return;
        }
        if (next >= p) {
            weft_text_refuse(&text->line, "participant %u, the machine has %u, from 0", next, p);
            return;
        }
        order[count++] = (uint16_t)next;
    }
    if (count < p) {
        weft_text_refuse(&text->line, "%u participants, the machine has %u", count, p);
    }
}

/* Faults that the check finds are faults of this line, because it looks at all until here. */
static void graph_text_check(graph_text_t *text)
{
    if (text->line.status == WEFT_OK &&
        weft_graph_check(text->graph, text->capacities) != WEFT_OK) {
        const weft_error_t why = *weft_error_record();
        weft_text_refuse(&text->line, "%s", why.text);
    }
}

static void graph_text_take_channel(graph_text_t *text)
{
    weft_graph_t *graph = text->graph;
    weft_graph_channel_t channel = {WEFT_GRAPH_NO_NIC, WEFT_GRAPH_NO_NIC};
    if (!text->described || graph->nchannels == WEFT_GRAPH_CHANNELS_MAX) {
        weft_text_refuse(&text->line, text->described
                                          ? "more than 64 channels"
                                          : "expected the line \"graph\" before channels");
        return;
    }
    if (!weft_text_next_word(&text->line) || text->line.key[0] != '\0' ||
        weft_text_count(&text->line, "channel", WEFT_GRAPH_CHANNELS_MAX) != graph->nchannels) {
        weft_text_refuse(&text->line, "expected channel %u: they are numbered as they stand",
                         graph->nchannels);
    }
    while (weft_text_next_word(&text->line) && text->line.key[0] != '\0') {
        if (graph_text_at(text, "in")) {
            graph_text_refuse_again(text, channel.nic_in != WEFT_GRAPH_NO_NIC);
            channel.nic_in = graph_text_nic(text);
        } else if (graph_text_at(text, "out")) {
            graph_text_refuse_again(text, channel.nic_out != WEFT_GRAPH_NO_NIC);
            channel.nic_out = graph_text_nic(text);
        } else {
            weft_text_refuse(&text->line, "expected in=NIC, out=NIC or \"order\"");
        }
    }
    if (!weft_text_is(&text->line, "order")) {
        weft_text_refuse(&text->line, "expected \"order\" and all participants");
        return;
    }
    graph_text_take_order(text, graph->order + (size_t)graph->nchannels * graph->nparticipants);
    graph->channels[graph->nchannels++] = channel;
    graph_text_check(text);
}

static void graph_text_take_all(graph_text_t *text)
{
    weft_text_take_head(&text->line, "weft-graph");
    while (text->line.status == WEFT_OK && weft_text_next_line(&text->line)) {
        if (weft_text_is(&text->line, "graph")) {
            graph_text_take_graph(text);
        } else if (weft_text_is(&text->line, "channel")) {
            graph_text_take_channel(text);
        } else {
            weft_text_refuse(&text->line, "found \"%.40s\", expected graph or channel",
                             text->line.word);
        }
    }
    if (text->graph->nchannels == 0) {
        weft_text_refuse(&text->line, "the file ends, expected a channel");
    }
}

weft_status_t weft_graph_parse(const char *file, const char *text,
                               const weft_capacities_t *capacities, weft_graph_t *graph_p)
{
    weft_graph_t graph;
    graph_text_t reader = {.capacities = capacities, .graph = &graph};
    weft_status_t status = weft_graph_init(&graph, capacities, WEFT_GRAPH_CHANNELS_MAX);
    if (status != WEFT_OK) {
        return status;
    }
    weft_text_begin(&reader.line, file, text);
    graph_text_take_all(&reader);
    status =
        reader.line.status == WEFT_OK ? weft_graph_measure(&graph, capacities) : reader.line.status;
    if (status != WEFT_OK) {
        weft_graph_fini(&graph);
        return status;
    }
    graph.proof = WEFT_GRAPH_GIVEN;
    *graph_p = graph;
    return WEFT_OK;
}

weft_status_t weft_graph_load(const char *path, const weft_capacities_t *capacities,
                              weft_graph_t *graph_p)
{
    char *text = NULL;
    weft_status_t status = weft_text_read(path, &text);
    status = status == WEFT_OK ? weft_graph_parse(path, text, capacities, graph_p) : status;
    weft_os_free(text);
    return status;
}

void weft_graph_print(const weft_graph_t *graph, const char *name, FILE *out)
{
    fprintf(out, "weft-graph 1\n# %s: %u x %u MB/s\n", name, graph->nchannels, graph->speed);
    fprintf(out, "graph pattern=%s hosts=%s\n", weft_graph_pattern_name(graph->pattern),
            graph->hosts ? "yes" : "no");
    for (uint32_t c = 0; c < graph->nchannels; c++) {
        const weft_graph_channel_t *channel = &graph->channels[c];
        fprintf(out, "channel %u", c);
        if (channel->nic_in != WEFT_GRAPH_NO_NIC) {
            fprintf(out, " in=%u out=%u", channel->nic_in, channel->nic_out);
        }
        fputs(" order", out);
        for (uint32_t i = 0; i < graph->nparticipants; i++) {
            fprintf(out, " %u", weft_graph_order(graph, c)[i]);
        }
        fputc('\n', out);
    }
}

static weft_status_t graph_text_check_order(const weft_graph_t *graph, uint32_t channel)
{
    const uint16_t *order = weft_graph_order(graph, channel);
    for (uint32_t i = 0; i < graph->nparticipants; i++) {
        if (order[i] >= graph->nparticipants) {
            return weft_fail(WEFT_ERR_PLAN, 0, "channel %u has participant %u of %u", channel,
                             order[i], graph->nparticipants);
        }
        for (uint32_t j = 0; j < i; j++) {
            if (order[i] == order[j]) {
                return weft_fail(WEFT_ERR_PLAN, 0, "channel %u has participant %u twice", channel,
                                 order[i]);
            }
        }
    }
    return WEFT_OK;
}

weft_status_t weft_graph_check(const weft_graph_t *graph, const weft_capacities_t *capacities)
{
    bool nics = weft_graph_uses_nics(graph, capacities);
    weft_status_t status = WEFT_OK;
    if (graph->nparticipants != capacities->nparticipants ||
        graph->nchannels > WEFT_GRAPH_CHANNELS_MAX || graph->nchannels == 0) {
        return weft_fail(WEFT_ERR_PLAN, 0, "%u channels of %u participants, the machine has %u",
                         graph->nchannels, graph->nparticipants, capacities->nparticipants);
    }
    for (uint32_t c = 0; c < graph->nchannels && status == WEFT_OK; c++) {
        const weft_graph_channel_t *channel = &graph->channels[c];
        uint32_t least = nics ? 0 : WEFT_GRAPH_NO_NIC;
        uint32_t most = nics ? capacities->nnics - 1 : WEFT_GRAPH_NO_NIC;
        if (channel->nic_in < least || channel->nic_in > most || channel->nic_out < least ||
            channel->nic_out > most) {
            return weft_fail(WEFT_ERR_PLAN, 0,
                             nics ? "channel %u has no NIC in and NIC out of the machine's %u"
                                  : "channel %u has NICs, but no host follows, or there are %u",
                             c, capacities->nnics);
        }
        if (graph->pattern == WEFT_GRAPH_TREE && channel->nic_in != channel->nic_out) {
            return weft_fail(WEFT_ERR_PLAN, 0, "channel %u is a tree with two NICs", c);
        }
        status = graph_text_check_order(graph, c);
    }
    return status;
}
