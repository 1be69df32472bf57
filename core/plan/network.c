/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See network.h: structures, mates and classes. */
#include "core/plan/network.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/ends.h"
#include "core/plan/hash.h"

static weft_status_t network_no_memory(const weft_network_t *net)
{
    return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for the network of %u ranks",
                     net->nranks);
}

weft_status_t weft_network_init(weft_network_t *net, uint32_t nranks, const uint32_t *host)
{
    uint32_t table = 16;
    while (table < 2 * (uint64_t)nranks && table < 1u << 31) {
        table *= 2;
    }
    *net = (weft_network_t){.nranks = nranks, .table_mask = table - 1, .host = host};
    net->shape = weft_os_alloc(nranks * sizeof *net->shape, 0);
    net->first_port = weft_os_alloc(((size_t)nranks + 1) * sizeof *net->first_port, 0);
    net->table = weft_os_alloc(table * sizeof *net->table, 0);
    net->seen = weft_os_alloc(2 * (size_t)nranks * sizeof *net->seen, 0);
    net->colour = weft_os_alloc(nranks * sizeof *net->colour, 0);
    net->first = weft_os_alloc(nranks * sizeof *net->first, 0);
    net->size = weft_os_alloc(nranks * sizeof *net->size, 0);
    if (net->shape == NULL || net->first_port == NULL || net->table == NULL || net->seen == NULL ||
        net->colour == NULL || net->first == NULL || net->size == NULL) {
        return network_no_memory(net);
    }
    return WEFT_OK;
}

void weft_network_fini(weft_network_t *net)
{
    for (uint32_t i = 0; i < net->nshapes; i++) {
        weft_os_free(net->shapes[i].chunks);
        if (net->shapes[i].owned) {
            weft_plan_destroy(net->shapes[i].plan);
        }
    }
    weft_os_free(net->shapes);
    weft_os_free(net->ports);
    weft_os_free(net->shape);
    weft_os_free(net->first_port);
    weft_os_free(net->table);
    weft_os_free(net->seen);
    weft_os_free(net->colour);
    weft_os_free(net->first);
    weft_os_free(net->size);
}

/* At least `want` items; twice as many as before. */
static bool network_grow(void **items_p, uint64_t *room_p, uint64_t used, uint64_t want,
                         size_t size)
{
    if (want <= *room_p) {
        return true;
    }
    uint64_t room = 2 * *room_p > want ? 2 * *room_p : want;
    void *more = weft_os_alloc(room * size, 0);
    if (more == NULL) {
        return false;
    }
    if (used != 0) {
        memcpy(more, *items_p, used * size);
    }
    weft_os_free(*items_p);
    *items_p = more;
    *room_p = room;
    return true;
}

/* Their order is all one. */
static uint64_t network_hash_operands(const weft_plan_operand_t *operands, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool port = operands[i].kind == WEFT_OPERAND_PORT;
        sum += weft_hash_mix(operands[i].kind | (port ? (uint64_t)operands[i].index << 8 : 0));
    }
    return sum;
}

static uint64_t network_hash_move(const weft_plan_t *plan, const weft_code_t *code)
{
    const weft_plan_view_t view = weft_plan_view(plan, code->n), *move = &view;
    uint64_t hash = WEFT_HASH_START;
    hash = weft_hash_add(hash, (uint64_t)weft_plan_packs(move) << 56 | (uint64_t)move->ndst << 48 |
                                   (uint64_t)move->nsrc << 40 | (uint64_t)move->nafter << 32 |
                                   move->cnt);
    hash = weft_hash_mix(hash ^ network_hash_operands(move->dst, move->ndst));
    hash = weft_hash_mix(hash ^ network_hash_operands(move->src, move->nsrc));
    for (uint32_t i = 0; i < move->nafter; i++) {
        hash = weft_hash_add(hash, (uint64_t)move->after[i].lane << 32 | move->after[i].pc);
    }
    return hash;
}

/* Which ports share a peer is a part of the structure, though not who it is. */
static uint64_t network_hash_ports(weft_network_t *net, const weft_plan_t *plan, uint64_t hash)
{
    for (uint32_t i = 0; i < plan->nports; i++) {
        const weft_plan_port_t *port = &plan->ports[i];
        uint64_t *seen = &net->seen[2 * (uint64_t)port->peer + port->sends];
        if (*seen >> 32 != (uint64_t)net->added + 1) {
            *seen = ((uint64_t)net->added + 1) << 32 | i;
        }
        hash = weft_hash_mix(hash ^ (*seen & UINT32_MAX) ^ (uint64_t)port->lane << 33 ^
                             (uint64_t)port->sends << 32);
    }
    return hash;
}

/* Equal MOVEs in a row count as one that is repeated, written as a LOOP or not: where a chunk
 * number wraps, plans that do the same are cut in different places. */
typedef struct row {
    uint64_t hash, move, times;
} row_t;

static void network_add_moves(row_t *row, uint64_t move, uint64_t times)
{
    if (row->times != 0 && row->move == move) {
        row->times += times;
        return;
    }
    if (row->times != 0) {
        row->hash = weft_hash_add(weft_hash_add(row->hash, row->move), row->times);
    }
    row->move = move;
    row->times = times;
}

/* Instructions that others wait for by number stay where they are: nothing is taken together. */
static uint64_t network_hash_lane(uint64_t hash, const weft_plan_t *plan,
                                  const weft_plan_lane_t *lane, bool together)
{
    row_t row = {.hash = hash};
    for (uint32_t pc = 0; pc < lane->ncode; pc++) {
        const weft_code_t *code = &lane->code[pc];
        if (code->opcode == WEFT_CODE_MOVE) {
            uint64_t move = network_hash_move(plan, code);
            network_add_moves(&row, together ? move : weft_hash_add(move, pc), 1);
        } else if (together && code->opcode == WEFT_CODE_LOOP && code->mate == pc + 2 &&
                   code[1].opcode == WEFT_CODE_MOVE) {
            uint64_t move = network_hash_move(plan, &code[1]);
            network_add_moves(&row, move, code->n);
            pc = code->mate;
        } else {
            uint64_t other = weft_hash_add((uint64_t)code->opcode << 32 | code->n,
                                           code->opcode == WEFT_CODE_BAR ? code->mask : 0);
            network_add_moves(&row, together ? other : weft_hash_add(other, pc), 1);
        }
    }
    network_add_moves(&row, 0, 1);
    return row.hash;
}

static uint64_t network_hash_shape(weft_network_t *net, const weft_plan_t *plan)
{
    uint64_t hash = weft_hash_add(WEFT_HASH_START, (uint64_t)plan->nlanes << 32 | plan->nports);
    hash = network_hash_ports(net, plan, hash);
    bool together = plan->nafters == 0;
    for (uint32_t lane = 0; lane < plan->nlanes; lane++) {
        hash = network_hash_lane(hash, plan, &plan->lanes[lane], together);
    }
    return hash;
}

static weft_status_t network_add_shape(weft_network_t *net, weft_plan_t *plan, uint64_t hash,
                                       bool owned)
{
    void *shapes = net->shapes;
    uint64_t room = net->shapes_room;
    size_t nports = (size_t)plan->nports + 1;
    uint64_t *chunks = weft_os_alloc(2 * nports * sizeof *chunks, 0);
    if (chunks == NULL || !network_grow(&shapes, &room, net->nshapes, (uint64_t)net->nshapes + 1,
                                        sizeof *net->shapes)) {
        weft_os_free(chunks);
        return network_no_memory(net);
    }
    net->shapes = shapes;
    net->shapes_room = (uint32_t)room;
    net->shapes[net->nshapes++] =
        (weft_network_shape_t){.hash = hash,
                               .plan = plan,
                               .owned = owned,
                               .facts = weft_plan_facts(plan, chunks, chunks + nports),
                               .chunks = chunks,
                               .messages = chunks + nports};
    return WEFT_OK;
}

static weft_status_t network_add_ports(weft_network_t *net, const weft_plan_t *plan)
{
    uint64_t first = net->first_port[net->added];
    void *ports = net->ports;
    if (!network_grow(&ports, &net->ports_room, first, first + plan->nports, sizeof *net->ports)) {
        return network_no_memory(net);
    }
    net->ports = ports;
    for (uint32_t i = 0; i < plan->nports; i++) {
        const weft_plan_port_t *port = &plan->ports[i];
        net->ports[first + i] = (weft_network_port_t){
            .peer = port->peer,
            .name = port->peer,
            .key = 2 * (uint32_t)port->channel + (port->sends ? 0 : 1),
            .level = (uint8_t)weft_cost_level(net->host, net->added, port->peer)};
    }
    net->first_port[net->added + 1] = first + plan->nports;
    return WEFT_OK;
}

weft_status_t weft_network_add(weft_network_t *net, weft_plan_t *plan, bool owned)
{
    weft_status_t status = network_add_ports(net, plan);
    if (status != WEFT_OK) {
        return status;
    }
    uint64_t hash = network_hash_shape(net, plan);
    uint32_t at = (uint32_t)hash & net->table_mask;
    while (net->table[at] != 0 && net->shapes[net->table[at] - 1].hash != hash) {
        at = (at + 1) & net->table_mask;
    }
    if (net->table[at] == 0) {
        status = network_add_shape(net, plan, hash, owned);
        if (status != WEFT_OK) {
            return status;
        }
        net->table[at] = net->nshapes;
    } else if (owned) {
        weft_plan_destroy(plan);
    }
    net->shape[net->added++] = net->table[at] - 1;
    return WEFT_OK;
}

bool weft_network_resembles(weft_network_t *net, const weft_plan_t *plan)
{
    memset(net->seen, 0, 2 * (size_t)net->nranks * sizeof *net->seen);
    return network_hash_shape(net, plan) == net->shapes[0].hash;
}

static uint32_t network_owner_of(const weft_plan_end_t *end)
{
    return weft_plan_end_sends(end) ? end->from : end->to;
}

static void network_report_lonely(const weft_network_t *net, const weft_plan_end_t *end,
                                  weft_network_result_t *result)
{
    uint32_t rank = network_owner_of(end);
    bool sends = weft_plan_end_sends(end);
    result->verdict = WEFT_VERDICT_UNMATCHED;
    snprintf(result->text, sizeof result->text,
             "rank %u lane %u pc 0: port %u %s rank %u channel %u, which has no port for it", rank,
             net->shapes[net->shape[rank]].plan->ports[end->port].lane, end->port,
             sends ? "sends to" : "receives from", sends ? end->to : end->from, end->key >> 1);
}

static void network_join_ends(weft_network_t *net, const weft_plan_end_t *ends,
                              weft_network_result_t *result)
{
    uint64_t nports = net->first_port[net->nranks];
    for (uint64_t i = 0; i < nports; i += 2) {
        if (i + 1 == nports || !weft_plan_ends_match(&ends[i], &ends[i + 1])) {
            network_report_lonely(net, &ends[i], result);
            return;
        }
        net->ports[net->first_port[ends[i].from] + ends[i].port].mate = ends[i + 1].port;
        net->ports[net->first_port[ends[i].to] + ends[i + 1].port].mate = ends[i].port;
    }
}

weft_status_t weft_network_pair(weft_network_t *net, weft_network_result_t *result)
{
    uint64_t nports = net->first_port[net->nranks];
    weft_plan_end_t *ends = weft_os_alloc((nports + 1) * sizeof *ends, 0);
    if (ends == NULL) {
        return network_no_memory(net);
    }
    for (uint32_t rank = 0; rank < net->nranks; rank++) {
        uint64_t first = net->first_port[rank];
        for (uint64_t i = first; i < net->first_port[rank + 1]; i++) {
            const weft_network_port_t *port = &net->ports[i];
            ends[i] = weft_plan_end(rank, port->peer, port->key >> 1, (port->key & 1) == 0,
                                    (uint32_t)(i - first));
        }
    }
    weft_status_t status = weft_plan_ends_sort(&ends, nports);
    if (status == WEFT_OK) {
        network_join_ends(net, ends, result);
    }
    weft_os_free(ends);
    return status;
}

static uint64_t network_colour_of(const weft_network_t *net, uint32_t rank)
{
    uint64_t hash = net->colour[rank];
    for (uint64_t i = net->first_port[rank]; i < net->first_port[rank + 1]; i++) {
        const weft_network_port_t *port = &net->ports[i];
        hash = weft_hash_mix((hash << 7 | hash >> 57) ^
                             ((uint64_t)net->colour[port->peer] << 32 | port->mate) ^
                             (uint64_t)port->level << 31);
    }
    return hash;
}

/* Numbers equal hashes alike, in the order of ranks; returns how many there are. */
static uint32_t network_number(weft_network_t *net, const uint64_t *hashes)
{
    uint32_t classes = 0;
    memset(net->table, 0, ((size_t)net->table_mask + 1) * sizeof *net->table);
    for (uint32_t rank = 0; rank < net->nranks; rank++) {
        uint32_t at = (uint32_t)weft_hash_mix(hashes[rank]) & net->table_mask;
        while (net->table[at] != 0 && hashes[net->first[net->table[at] - 1]] != hashes[rank]) {
            at = (at + 1) & net->table_mask;
        }
        if (net->table[at] == 0) {
            net->first[classes] = rank;
            net->size[classes] = 0;
            net->table[at] = ++classes;
        }
        net->colour[rank] = net->table[at] - 1;
        net->size[net->colour[rank]]++;
    }
    return classes;
}

weft_status_t weft_network_refine(weft_network_t *net, uint32_t rounds)
{
    uint64_t *hashes = weft_os_alloc(net->nranks * sizeof *hashes, 0);
    if (hashes == NULL) {
        return network_no_memory(net);
    }
    memcpy(net->colour, net->shape, net->nranks * sizeof *net->colour);
    bool stable = false;
    net->nclasses = net->nshapes;
    for (uint32_t round = 0; round < rounds && !stable; round++) {
        for (uint32_t rank = 0; rank < net->nranks; rank++) {
            hashes[rank] = network_colour_of(net, rank);
        }
        uint32_t classes = network_number(net, hashes);
        stable = classes == net->nclasses;
        net->nclasses = classes;
    }
    if (!stable) {
        for (uint32_t rank = 0; rank < net->nranks; rank++) {
            hashes[rank] = rank;
        }
        net->nclasses = network_number(net, hashes);
    }
    weft_os_free(hashes);
    return WEFT_OK;
}
