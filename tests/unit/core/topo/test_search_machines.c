/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Known machines, each a file of machines/ that says in lines "#: …" what the search has to find
 * and why: PATTERN [hosts] [straight]: CHANNELS x BANDWIDTH, REASON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/topo/machine_text.h"
#include "core/topo/search.h"
#include "core/os/os.h"
#include "core/topo/text_line.h"
#include "tests/support/unit.h"

#define FOLDER WEFT_SOURCE_DIR "/tests/unit/core/topo/machines/"

static const char *const machines[] = {
    "dgx-1v", "dgx-a100", "hgx-h100", "gb200-nvl72", "mi250-like",
    "cpu-2s", "pcie-8",   "cloud-vm", "nothing",
};
#define NMACHINES (sizeof machines / sizeof machines[0])

typedef struct opened {
    weft_machine_t machine;
    weft_capacities_t capacities;
    char *text;
} opened_t;

static void open_machine(opened_t *o, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, FOLDER "%s.machine", name);
    assert_int_equal(weft_text_read(path, &o->text), WEFT_OK);
    if (weft_machine_parse(path, o->text, &o->machine) != WEFT_OK) {
        fail_msg("%s", weft_error_record()->text);
    }
    assert_int_equal(weft_capacities_init(&o->capacities, &o->machine), WEFT_OK);
}

static void close_machine(opened_t *o)
{
    weft_capacities_fini(&o->capacities);
    weft_machine_fini(&o->machine);
    weft_os_free(o->text);
}

static weft_graph_t search(const opened_t *o, weft_search_request_t request)
{
    weft_graph_t graph;
    assert_int_equal(weft_search(&graph, &o->capacities, &request), WEFT_OK);
    return graph;
}

/* "ring hosts: 8 x 25GB/s, …" */
static void check_line(const char *name, const opened_t *o, const char *line)
{
    weft_search_request_t request = {0};
    char words[64] = "";
    unsigned channels = 0;
    double bandwidth = 0;
    assert_int_equal(sscanf(line, "%63[^:]: %u x %lfGB/s", words, &channels, &bandwidth), 3);
    request.pattern = strncmp(words, "tree", 4) == 0    ? WEFT_GRAPH_TREE
                      : strncmp(words, "chain", 5) == 0 ? WEFT_GRAPH_CHAIN
                                                        : WEFT_GRAPH_RING;
    request.hosts = strstr(words, "hosts") != NULL;
    request.straight = strstr(words, "straight") != NULL;
    weft_graph_t graph = search(o, request);
    if (graph.nchannels != channels || graph.speed != (uint32_t)(bandwidth * 1e3 + 0.5)) {
        fail_msg("%s, %s: found %u x %u MB/s (%s, bound %u, %llu steps), expected %u x %.3f GB/s",
                 name, words, graph.nchannels, graph.speed, weft_graph_proof_name(graph.proof),
                 graph.bound, (unsigned long long)graph.steps, channels, bandwidth);
    }
    weft_graph_fini(&graph);
}

static void machines_have_the_channels_that_their_files_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < NMACHINES; i++) {
        opened_t o;
        open_machine(&o, machines[i]);
        const char *line = strstr(o.text, "#: ");
        assert_non_null(line);
        for (; line != NULL; line = strstr(line + 1, "#: ")) {
            check_line(machines[i], &o, line + 3);
        }
        close_machine(&o);
    }
}

static uint32_t allocations_left = UINT32_MAX;

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes)
{
    return allocations_left-- == 0 ? NULL : __real_calloc(count, bytes);
}

static void a_search_whose_nth_allocation_fails_is_an_error(void **state)
{
    (void)state;
    const weft_search_request_t request = {.pattern = WEFT_GRAPH_RING, .channels_max = 2};
    weft_status_t status = WEFT_ERR_RESOURCE;
    opened_t o;
    open_machine(&o, "hgx-h100");
    for (uint32_t n = 0; status != WEFT_OK; n++) {
        weft_graph_t graph;
        allocations_left = n;
        status = weft_search(&graph, &o.capacities, &request);
        allocations_left = UINT32_MAX;
        if (status == WEFT_OK) {
            assert_true(n > 10);
            weft_graph_fini(&graph);
        } else {
            assert_int_equal(status, WEFT_ERR_RESOURCE);
        }
    }
    close_machine(&o);
}

/* Each participant once in every channel, and the speed that the channels really have: counted here
 * from the routes. */
static void check_whole(const weft_graph_t *graph, const weft_capacities_t *capacities)
{
    uint32_t p = capacities->nparticipants;
    uint8_t *seen = calloc(p, 1);
    assert_non_null(seen);
    for (uint32_t c = 0; c < graph->nchannels; c++) {
        memset(seen, 0, p);
        for (uint32_t i = 0; i < p; i++) {
            assert_false(seen[weft_graph_order(graph, c)[i]]++);
        }
    }
    free(seen);
}

static void count_hop(const weft_capacities_t *capacities, uint32_t from, uint32_t to,
                      uint32_t *uses)
{
    const weft_route_t *route = weft_capacities_route(capacities, from, to);
    for (uint32_t i = 0; i < route->nedges; i++) {
        uses[route->edges[i]]++;
    }
}

static void rings_over_nics_are_whole_and_fit_the_machine(void **state)
{
    (void)state;
    for (size_t i = 0; i + 1 < NMACHINES; i++) {
        opened_t o;
        open_machine(&o, machines[i]);
        weft_graph_t graph = search(&o, (weft_search_request_t){.hosts = true});
        uint32_t p = graph.nparticipants;
        uint32_t *uses = calloc(o.capacities.nedges, sizeof *uses);
        assert_non_null(uses);
        check_whole(&graph, &o.capacities);
        for (uint32_t c = 0; c < graph.nchannels; c++) {
            const uint16_t *order = weft_graph_order(&graph, c);
            count_hop(&o.capacities, p + graph.channels[c].nic_in, order[0], uses);
            count_hop(&o.capacities, order[p - 1], p + graph.channels[c].nic_out, uses);
            for (uint32_t v = 0; v + 1 < p; v++) {
                count_hop(&o.capacities, order[v], order[v + 1], uses);
            }
        }
        for (uint32_t e = 0; e < o.capacities.nedges; e++) {
            assert_true((uint64_t)uses[e] * graph.speed <= o.capacities.bandwidths[e]);
        }
        free(uses);
        weft_graph_fini(&graph);
        close_machine(&o);
    }
}

static void every_nic_has_a_channel_each_way_at_its_nearest_gpu(void **state)
{
    (void)state;
    static const char *const names[] = {"dgx-a100", "hgx-h100", "mi250-like", "cpu-2s"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        opened_t o;
        open_machine(&o, names[i]);
        weft_graph_t graph = search(&o, (weft_search_request_t){.hosts = true});
        uint32_t p = graph.nparticipants, in = 0, out = 0;
        for (uint32_t c = 0; c < graph.nchannels; c++) {
            const weft_graph_channel_t *channel = &graph.channels[c];
            const uint16_t *order = weft_graph_order(&graph, c);
            uint32_t least_in = WEFT_ALGO_PATH_UNKNOWN, least_out = WEFT_ALGO_PATH_UNKNOWN;
            for (uint32_t v = 0; v < p; v++) {
                uint32_t path = weft_capacities_route(&o.capacities, p + channel->nic_in, v)->path;
                least_in = path < least_in ? path : least_in;
                path = weft_capacities_route(&o.capacities, v, p + channel->nic_out)->path;
                least_out = path < least_out ? path : least_out;
            }
            assert_int_equal(
                weft_capacities_route(&o.capacities, p + channel->nic_in, order[0])->path,
                least_in);
            assert_int_equal(
                weft_capacities_route(&o.capacities, order[p - 1], p + channel->nic_out)->path,
                least_out);
            in |= 1u << channel->nic_in;
            out |= 1u << channel->nic_out;
        }
        assert_int_equal(in, (1u << o.capacities.nnics) - 1);
        assert_int_equal(out, (1u << o.capacities.nnics) - 1);
        weft_graph_fini(&graph);
        close_machine(&o);
    }
}

static void straight_channels_stay_on_their_rail(void **state)
{
    (void)state;
    for (size_t i = 0; i + 1 < NMACHINES; i++) {
        opened_t o;
        open_machine(&o, machines[i]);
        weft_graph_t graph = search(&o, (weft_search_request_t){.hosts = true, .straight = true});
        for (uint32_t c = 0; c < graph.nchannels; c++) {
            assert_int_equal(o.capacities.rails[graph.channels[c].nic_in],
                             o.capacities.rails[graph.channels[c].nic_out]);
        }
        weft_graph_fini(&graph);
        close_machine(&o);
    }
}

/* Every rank searches by itself; nothing but the machine and the request may matter. */
static void the_same_machine_gives_the_same_graph(void **state)
{
    (void)state;
    for (size_t i = 0; i < NMACHINES; i++) {
        opened_t o;
        open_machine(&o, machines[i]);
        for (int pattern = 0; pattern < 3; pattern++) {
            weft_search_request_t request = {.pattern = (weft_graph_pattern_t)pattern,
                                             .hosts = i % 2 == 0};
            weft_graph_t a = search(&o, request), b = search(&o, request);
            assert_int_equal(a.nchannels, b.nchannels);
            assert_int_equal(a.steps, b.steps);
            assert_memory_equal(a.channels, b.channels, sizeof a.channels);
            assert_memory_equal(a.order, b.order, a.nchannels * a.nparticipants * sizeof *a.order);
            check_whole(&a, &o.capacities);
            weft_graph_fini(&a);
            weft_graph_fini(&b);
        }
        close_machine(&o);
    }
}

/* The bars are in milliseconds; what a test can hold to is steps. */
static void the_search_stops_after_its_steps(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t steps;
    } least[] = {{"dgx-1v", 1000}, {"mi250-like", 1000}, {"gb200-nvl72", 1000}, {"pcie-8", 1}};
    for (size_t i = 0; i < sizeof least / sizeof least[0]; i++) {
        opened_t o;
        open_machine(&o, least[i].name);
        for (int hosts = 0; hosts < 2; hosts++) {
            weft_graph_t few =
                search(&o, (weft_search_request_t){.hosts = hosts != 0, .steps = least[i].steps});
            /* A quarter more for nearer hops; each attempt ends with a look at all ends. */
            assert_true(few.steps <= least[i].steps * 5 / 4 + 1024);
            assert_true(few.nchannels > 0);
            check_whole(&few, &o.capacities);
            weft_graph_fini(&few);
        }
        close_machine(&o);
    }
}

static void limits_that_contradict_each_other_are_refused(void **state)
{
    (void)state;
    opened_t o;
    weft_graph_t graph;
    open_machine(&o, "cpu-2s");
    assert_int_equal(weft_search(&graph, &o.capacities,
                                 &(weft_search_request_t){.channels_min = 3, .channels_max = 2}),
                     WEFT_ERR_ARG);
    assert_int_equal(
        weft_search(&graph, &o.capacities, &(weft_search_request_t){.channels_max = 65}),
        WEFT_ERR_ARG);
    graph =
        search(&o, (weft_search_request_t){.hosts = true, .channels_min = 3, .channels_max = 3});
    assert_int_equal(graph.nchannels, 3);
    weft_graph_fini(&graph);
    close_machine(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_have_the_channels_that_their_files_say),
        cmocka_unit_test(a_search_whose_nth_allocation_fails_is_an_error),
        cmocka_unit_test(rings_over_nics_are_whole_and_fit_the_machine),
        cmocka_unit_test(every_nic_has_a_channel_each_way_at_its_nearest_gpu),
        cmocka_unit_test(straight_channels_stay_on_their_rail),
        cmocka_unit_test(the_same_machine_gives_the_same_graph),
        cmocka_unit_test(the_search_stops_after_its_steps),
        cmocka_unit_test(limits_that_contradict_each_other_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
