/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The search against exhaustive search, on random machines of up to six devices: the same
 * bottleneck bandwidth and number of channels in every one. */
#include <stdlib.h>
#include <string.h>

#include "core/topo/search.h"
#include "tests/support/part.h"
#include "tests/support/unit.h"

#define MACHINES (1000u / PARTS)
#define MOST_DEVICES 6u
#define MOST_EDGES 512u
#define MOST_WAYS 4096u

typedef struct random_machine {
    weft_machine_t machine;
    weft_machine_package_t packages[2];
    weft_machine_node_t nodes[3];
    weft_machine_branch_t branches[6];
    weft_machine_device_t devices[MOST_DEVICES];
    weft_machine_link_t links[24];
    uint64_t seed;
} random_machine_t;

static uint32_t draw(random_machine_t *r, uint32_t below)
{
    r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->seed >> 33) % below;
}

static double draw_bandwidth(random_machine_t *r, bool even)
{
    static const double usual[] = {10e9, 12e9, 20e9, 25e9, 50e9, 6e9, 0, 100e9};
    return even ? usual[draw(r, 8)] : 1e6 * (1 + draw(r, 100000));
}

static void draw_places(random_machine_t *r, bool even)
{
    weft_machine_t *m = &r->machine;
    m->npackages = 1 + draw(r, 2);
    m->nnodes = m->npackages + draw(r, 2);
    m->socket = draw_bandwidth(r, even);
    for (uint32_t i = 0; i < m->nnodes; i++) {
        r->nodes[i] = (weft_machine_node_t){.index = i,
                                            .package = i % m->npackages,
                                            .cores = 4,
                                            .pus = 4,
                                            .bandwidth = draw_bandwidth(r, even)};
    }
    m->nbranches = 1 + draw(r, 6);
    for (uint32_t i = 0; i < m->nbranches; i++) {
        bool root = i == 0 || draw(r, 2) == 0;
        uint32_t parent = root ? WEFT_MACHINE_NONE : draw(r, i);
        uint32_t node = draw(r, m->nnodes);
        r->branches[i] = (weft_machine_branch_t){.parent = parent,
                                                 .node = root ? node : r->branches[parent].node,
                                                 .bandwidth = draw_bandwidth(r, even)};
    }
}

static void draw_links(random_machine_t *r, bool even)
{
    weft_machine_t *m = &r->machine;
    uint32_t kind = draw(r, 4), same = draw(r, 2);
    double bandwidth = draw_bandwidth(r, even);
    for (uint32_t i = 0; i < m->ngpus && kind == 1; i++) {
        r->links[m->nlinks++] =
            (weft_machine_link_t){i, WEFT_MACHINE_NONE, same ? bandwidth : draw_bandwidth(r, even)};
    }
    for (uint32_t i = 0; i < m->ngpus && kind > 1; i++) {
        for (uint32_t j = i + 1; j < m->ngpus; j++) {
            if (draw(r, kind) > 0 && m->nlinks < 24) {
                r->links[m->nlinks++] =
                    (weft_machine_link_t){i, j, same ? bandwidth : draw_bandwidth(r, even)};
            }
        }
    }
}

/* Half of the machines have bandwidths of few kinds, as real ones do. */
static void draw_machine(random_machine_t *r, uint64_t seed)
{
    *r = (random_machine_t){.seed = seed * 7919 + 1};
    weft_machine_t *m = &r->machine;
    bool even = draw(r, 2) == 0;
    m->packages = r->packages;
    m->nodes = r->nodes;
    m->branches = r->branches;
    m->devices = r->devices;
    m->links = r->links;
    strcpy(m->name, "random");
    draw_places(r, even);
    m->ngpus = draw(r, MOST_DEVICES + 1);
    m->ndevices = m->ngpus + draw(r, MOST_DEVICES + 1 - m->ngpus);
    if (m->ngpus == 0 && m->ndevices + m->nnodes > MOST_DEVICES) {
        m->ndevices = MOST_DEVICES - m->nnodes;
    }
    for (uint32_t i = 0; i < m->ndevices; i++) {
        uint32_t branch = draw(r, 8) == 0 ? WEFT_MACHINE_NONE : draw(r, m->nbranches);
        bool gpu = i < m->ngpus;
        r->devices[i] = (weft_machine_device_t){
            .kind = gpu ? WEFT_DEVICE_GPU : WEFT_DEVICE_NIC,
            .number = gpu ? i : i - m->ngpus,
            .branch = branch,
            .node = branch != WEFT_MACHINE_NONE ? r->branches[branch].node : WEFT_MACHINE_NONE,
            .rail = draw(r, 4) == 0 ? WEFT_MACHINE_NONE : draw(r, 3),
            .pci = draw_bandwidth(r, even),
            .speed = draw_bandwidth(r, even)};
    }
    draw_links(r, even);
}

/* ---- exhaustive search ----------------------------------------------------------------------- */

/* All ways to run a channel, each as how often it uses every edge. */
typedef struct brute {
    const weft_capacities_t *capacities;
    const weft_search_request_t *request;
    uint32_t nways, nedges;
    uint32_t edges[MOST_EDGES]; /* that some way uses */
    uint8_t uses[MOST_WAYS][MOST_EDGES];
    uint64_t over, under; /* the best, as a fraction */
    uint32_t channels;    /* the fewest with the best */
} brute_t;

static bool brute_nics(const brute_t *b)
{
    return b->request->hosts && b->capacities->nnics > 0;
}

static void brute_hop(brute_t *b, uint32_t from, uint32_t to, bool both)
{
    for (int back = 0; back <= (both ? 1 : 0); back++) {
        const weft_route_t *route = back ? weft_capacities_route(b->capacities, to, from)
                                         : weft_capacities_route(b->capacities, from, to);
        for (uint32_t i = 0; i < route->nedges; i++) {
            b->uses[b->nways][route->edges[i]]++;
        }
    }
}

static void brute_note(brute_t *b, const uint32_t *order, uint32_t in, uint32_t out)
{
    uint32_t p = b->capacities->nparticipants;
    bool tree = b->request->pattern == WEFT_GRAPH_TREE;
    assert_true(b->nways < MOST_WAYS);
    memset(b->uses[b->nways], 0, sizeof b->uses[0]);
    for (uint32_t i = 0; i + 1 < p; i++) {
        brute_hop(b, order[i], order[i + 1], tree);
    }
    if (brute_nics(b)) {
        brute_hop(b, p + in, order[0], tree);
        if (!tree) {
            brute_hop(b, order[p - 1], p + out, false);
        }
    } else if (b->request->pattern == WEFT_GRAPH_RING && !b->request->hosts && p > 1) {
        brute_hop(b, order[p - 1], order[0], false);
    }
    for (uint32_t i = 0; i < b->nways; i++) {
        if (memcmp(b->uses[i], b->uses[b->nways], sizeof b->uses[0]) == 0) {
            return;
        }
    }
    b->nways++;
}

static bool brute_may(const brute_t *b, uint32_t in, uint32_t out)
{
    uint32_t a = b->capacities->rails[in], z = b->capacities->rails[out];
    if (b->request->pattern == WEFT_GRAPH_TREE) {
        return in == out;
    }
    return !b->request->straight || a == z || a == WEFT_MACHINE_NONE || z == WEFT_MACHINE_NONE;
}

static void brute_ends(brute_t *b, const uint32_t *order)
{
    if (!brute_nics(b)) {
        brute_note(b, order, 0, 0);
        return;
    }
    for (uint32_t in = 0; in < b->capacities->nnics; in++) {
        for (uint32_t out = 0; out < b->capacities->nnics; out++) {
            if (brute_may(b, in, out)) {
                brute_note(b, order, in, out);
            }
        }
    }
}

static void brute_orders(brute_t *b, uint32_t *order, uint32_t at)
{
    uint32_t p = b->capacities->nparticipants;
    if (at == p) {
        brute_ends(b, order);
    }
    for (uint32_t i = at; i < p; i++) {
        uint32_t x = order[at];
        order[at] = order[i];
        order[i] = x;
        brute_orders(b, order, at + 1);
        order[i] = order[at];
        order[at] = x;
    }
}

static uint64_t brute_best(const brute_t *b)
{
    return b->under > 0 ? b->over / b->under : 0;
}

/* Every multiset of ways. More ways use no less: what is too slow already is not looked at. */
static void brute_choose(brute_t *b, const uint32_t *uses, uint32_t count, uint32_t from)
{
    const uint32_t *bandwidths = b->capacities->bandwidths;
    uint64_t over = 0, under = 0; /* speed of each; 0/0: nothing is used */
    uint32_t sum[MOST_EDGES];
    for (uint32_t e = 0; e < b->nedges; e++) {
        if (uses[e] > 0 && (under == 0 || bandwidths[b->edges[e]] * under < over * uses[e])) {
            over = bandwidths[b->edges[e]];
            under = uses[e];
        }
    }
    if (under > 0) {
        uint64_t had = b->over * under, has = over * count * b->under;
        if (b->under == 0 || has > had || (has == had && count < b->channels)) {
            b->over = over * count;
            b->under = under;
            b->channels = count;
        }
        if (over * b->request->channels_max * b->under < b->over * under) {
            return;
        }
    }
    for (uint32_t way = from; way < b->nways && count < b->request->channels_max; way++) {
        for (uint32_t e = 0; e < b->nedges; e++) {
            sum[e] = uses[e] + b->uses[way][b->edges[e]];
        }
        brute_choose(b, sum, count + 1, way);
    }
}

static void brute_run(brute_t *b, const weft_capacities_t *capacities,
                      const weft_search_request_t *request)
{
    uint32_t order[MOST_DEVICES], none[MOST_EDGES] = {0};
    *b = (brute_t){.capacities = capacities, .request = request};
    assert_true(capacities->nedges <= MOST_EDGES);
    for (uint32_t i = 0; i < capacities->nparticipants; i++) {
        order[i] = i;
    }
    brute_orders(b, order, 0);
    for (uint32_t e = 0; e < capacities->nedges; e++) {
        bool used = false;
        for (uint32_t way = 0; way < b->nways; way++) {
            used = used || b->uses[way][e] > 0;
        }
        if (used) {
            b->edges[b->nedges++] = e;
        }
    }
    brute_choose(b, none, 0, 0);
}

/* ---- the comparison -------------------------------------------------------------------------- */

/* Every order has each participant once, and NICs where they belong. */
static void whole(const weft_graph_t *graph, const weft_capacities_t *capacities)
{
    bool nics = graph->hosts && capacities->nnics > 0;
    for (uint32_t c = 0; c < graph->nchannels; c++) {
        const uint16_t *order = weft_graph_order(graph, c);
        uint64_t seen = 0;
        for (uint32_t i = 0; i < graph->nparticipants; i++) {
            seen |= UINT64_C(1) << order[i];
        }
        assert_int_equal(seen, (UINT64_C(1) << graph->nparticipants) - 1);
        assert_int_equal(nics, graph->channels[c].nic_in < capacities->nnics);
        assert_int_equal(nics, graph->channels[c].nic_out < capacities->nnics);
    }
}

static brute_t brute;
static uint32_t proved; /* machines whose graph the search itself knows to be the best */

static void compare(uint32_t seed)
{
    random_machine_t r;
    weft_capacities_t capacities;
    weft_graph_t graph;
    draw_machine(&r, seed);
    assert_int_equal(weft_capacities_init(&capacities, &r.machine), WEFT_OK);
    weft_search_request_t request = {.pattern = (weft_graph_pattern_t)draw(&r, 3),
                                     .hosts = draw(&r, 3) > 0,
                                     .straight = draw(&r, 3) == 0,
                                     .channels_max = 1 + draw(&r, 3)};
    assert_int_equal(weft_search(&graph, &capacities, &request), WEFT_OK);
    whole(&graph, &capacities);
    brute_run(&brute, &capacities, &request);
    uint32_t found = weft_graph_bandwidth(&graph, &capacities);
    if (found != brute_best(&brute) || (found > 0 && graph.nchannels != brute.channels)) {
        fail_msg("machine %u, %s%s%s of %u GPUs, %u NICs, at most %u channels: found %u x %u MB/s "
                 "(%s), there are %u with %llu",
                 seed, weft_graph_pattern_name(request.pattern), request.hosts ? ", hosts" : "",
                 request.straight ? ", straight" : "", r.machine.ngpus, capacities.nnics,
                 request.channels_max, graph.nchannels, graph.speed,
                 weft_graph_proof_name(graph.proof), brute.channels,
                 (unsigned long long)brute_best(&brute));
    }
    assert_true(graph.bound >= found);
    proved += graph.proof == WEFT_GRAPH_BEST;
    weft_graph_fini(&graph);
    weft_capacities_fini(&capacities);
}

static void the_search_finds_what_exhaustive_search_finds(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < MACHINES; seed++) {
        compare(seed);
    }
    print_message("proved by the search itself: %u of %u\n", proved, MACHINES);
    assert_true(proved >= MACHINES * 9 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_search_finds_what_exhaustive_search_finds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
