/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Views: groups are numbered in the order in which the ranks meet them, so that equal topologies
 * look equal, whatever their groups were called before. */
#include "core/plan/topo_view.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/hash.h"

/* What a view points to. */
typedef struct topo_view_memory {
    const uint32_t *group[WEFT_TOPO_VIEW_LEVELS_MAX];
    uint32_t ngroups[WEFT_TOPO_VIEW_LEVELS_MAX];
    uint32_t words[];
} topo_view_memory_t;

typedef struct topo_view_making {
    weft_topo_view_t *view;
    const weft_algo_topo_t *from;
    const uint32_t *ranks;
    uint32_t n;
    uint32_t *next;   /* free memory: what is found is kept there */
    uint32_t *number; /* room for one number for each group of `from` */
} topo_view_making_t;

static uint32_t topo_view_rank(const topo_view_making_t *making, uint32_t i)
{
    return making->ranks != NULL ? making->ranks[i] : i;
}

/* Numbers the groups of a level in next[0 … n−1]; returns how many there are. */
static uint32_t topo_view_number(topo_view_making_t *making, const uint32_t *group,
                                 uint32_t ngroups)
{
    uint32_t count = 0;
    memset(making->number, 0, ngroups * sizeof *making->number);
    for (uint32_t i = 0; i < making->n; i++) {
        uint32_t *number = &making->number[group != NULL ? group[topo_view_rank(making, i)] : 0];
        if (*number == 0) {
            *number = ++count;
        }
        making->next[i] = *number - 1;
    }
    return count;
}

/* Keeps the level that was numbered last, unless it tells nothing that the hosts, or the level
 * before it, do not tell. Groups of one level lie in each other's, so equal numbers are equal
 * groups. */
static void topo_view_keep_level(topo_view_making_t *making, uint32_t count, bool hosts)
{
    weft_topo_view_t *view = making->view;
    uint32_t at = view->topo.nlevels;
    bool known = at > 0 && view->memory->ngroups[at - 1] == count;
    if (known && hosts) {
        at--; /* the hosts take the place of the level that is equal to them */
    } else if (!hosts && (known || count == 1 || count == making->n)) {
        return;
    }
    view->memory->ngroups[at] = count;
    view->memory->group[at] = making->next;
    making->next += making->n;
    view->topo.nlevels = at + 1;
    if (hosts) {
        view->topo.host_level = at;
        view->topo.host = view->memory->group[at];
        view->topo.nhosts = count;
    }
}

/* What is known by host, by the numbers that the hosts have now; `number` still holds them. */
static const uint32_t *topo_view_keep_by_host(topo_view_making_t *making, const uint32_t *by_host)
{
    uint32_t *kept = making->next;
    if (by_host == NULL) {
        return NULL;
    }
    for (uint32_t host = 0; host < making->from->nhosts; host++) {
        if (making->number[host] != 0) {
            kept[making->number[host] - 1] = by_host[host];
        }
    }
    making->next += making->view->topo.nhosts;
    return kept;
}

static void topo_view_keep_hosts(topo_view_making_t *making, const uint32_t *host, uint32_t nhosts)
{
    const weft_algo_topo_t *from = making->from;
    weft_algo_topo_t *topo = &making->view->topo;
    topo_view_keep_level(making, topo_view_number(making, host, nhosts), true);
    if (weft_algo_topo_has_levels(from)) {
        topo->rails = topo_view_keep_by_host(making, from->rails);
    }
    if (weft_algo_topo_has_rings(from) && from->kinds != NULL) {
        topo->kinds = from->kinds;
        topo->kind = topo_view_keep_by_host(making, from->kind);
    }
}

/* The devices of the ranks, if one has a device. */
static void topo_view_keep_devices(topo_view_making_t *making)
{
    const weft_algo_topo_t *from = making->from;
    bool any = false;
    if (!weft_algo_topo_has_rings(from) || from->device == NULL) {
        return;
    }
    for (uint32_t i = 0; i < making->n; i++) {
        making->next[i] = from->device[topo_view_rank(making, i)];
        any = any || making->next[i] != WEFT_ALGO_NONE;
    }
    if (any) {
        making->view->topo.device = making->next;
        making->next += making->n;
    }
}

/* Sorts `from` into `to` by group, and keeps the order within a group. */
static void topo_view_sort(const topo_view_making_t *making, uint32_t level, const uint32_t *from,
                           uint32_t *to)
{
    const uint32_t *group = making->view->memory->group[level];
    uint32_t *first = making->number, ngroups = making->view->memory->ngroups[level];
    memset(first, 0, (ngroups + 1) * sizeof *first);
    for (uint32_t i = 0; i < making->n; i++) {
        first[group[i] + 1]++;
    }
    for (uint32_t g = 0; g < ngroups; g++) {
        first[g + 1] += first[g];
    }
    for (uint32_t i = 0; i < making->n; i++) {
        to[first[group[from[i]]]++] = from[i];
    }
}

/* Sorts by the innermost level first: the outermost one, the last, decides most. Keeps the order
 * only if it is not that of the ranks. */
static void topo_view_find_order(topo_view_making_t *making)
{
    weft_topo_view_t *view = making->view;
    uint32_t n = making->n, *order = making->next, *other = making->next + n;
    bool ordered = true;
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
    }
    for (uint32_t level = view->topo.nlevels; level-- > 0;) {
        topo_view_sort(making, level, order, other);
        uint32_t *spare = order;
        order = other;
        other = spare;
    }
    for (uint32_t i = 0; i < n; i++) {
        ordered = ordered && order[i] == i;
        other[order[i]] = i;
    }
    if (!ordered) {
        view->topo.order = order;
        view->topo.position = other;
        making->next += 2 * (size_t)n;
    }
}

static uint32_t topo_view_most_groups(const weft_algo_topo_t *from)
{
    uint32_t most = from->nhosts > 0 ? from->nhosts : 1;
    for (uint32_t i = 0; weft_algo_topo_has_levels(from) && i < from->nlevels; i++) {
        most = from->ngroups[i] > most ? from->ngroups[i] : most;
    }
    return most;
}

static void topo_view_fill(topo_view_making_t *making)
{
    const weft_algo_topo_t *from = making->from;
    making->view->topo.ngroups = making->view->memory->ngroups;
    making->view->topo.group = making->view->memory->group;
    if (!weft_algo_topo_has_levels(from)) {
        topo_view_keep_hosts(making, from->host, from->nhosts > 0 ? from->nhosts : 1);
    }
    for (uint32_t i = 0; weft_algo_topo_has_levels(from) && i < from->nlevels; i++) {
        if (i == from->host_level) {
            topo_view_keep_hosts(making, from->host, from->nhosts);
        } else {
            uint32_t count = topo_view_number(making, from->group[i], from->ngroups[i]);
            topo_view_keep_level(making, count, false);
        }
    }
    topo_view_find_order(making);
    topo_view_keep_devices(making);
}

/* Where `words` has what `at` points to in the view's words. */
static const uint32_t *topo_view_moved(const weft_topo_view_t *view, const uint32_t *at,
                                       const uint32_t *words)
{
    return at == NULL ? NULL : words + (at - view->memory->words);
}

/* Gives back what was needed only to make the view: communicators keep views for long. */
static weft_status_t topo_view_shrink(weft_topo_view_t *view, size_t used)
{
    size_t bytes = sizeof *view->memory + used * sizeof *view->memory->words;
    topo_view_memory_t *less = weft_os_alloc(bytes, 0);
    if (less == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for the topology of %u ranks",
                         view->nranks);
    }
    memcpy(less, view->memory, bytes);
    for (uint32_t i = 0; i < view->topo.nlevels; i++) {
        less->group[i] = topo_view_moved(view, view->memory->group[i], less->words);
    }
    view->topo.host = less->group[view->topo.host_level];
    view->topo.order = topo_view_moved(view, view->topo.order, less->words);
    view->topo.position = topo_view_moved(view, view->topo.position, less->words);
    view->topo.rails = topo_view_moved(view, view->topo.rails, less->words);
    view->topo.kind = topo_view_moved(view, view->topo.kind, less->words);
    view->topo.device = topo_view_moved(view, view->topo.device, less->words);
    view->topo.ngroups = less->ngroups;
    view->topo.group = less->group;
    weft_os_free(view->memory);
    view->memory = less;
    view->bytes = bytes;
    return WEFT_OK;
}

weft_status_t weft_topo_view_init(weft_topo_view_t *view, const weft_algo_topo_t *from,
                                  const uint32_t *ranks, uint32_t n)
{
    uint32_t most = topo_view_most_groups(from);
    uint32_t levels = weft_algo_topo_has_levels(from) ? from->nlevels : 1;
    *view = (weft_topo_view_t){.topo = {.size = sizeof view->topo}, .nranks = n};
    most = most > n ? most : n;
    /* Levels, order, positions and devices; rails, kinds and numbers. */
    size_t words = ((size_t)levels + 3) * n + 3 * ((size_t)most + 1);
    view->memory = weft_os_alloc(sizeof *view->memory + words * sizeof *view->memory->words, 0);
    if (view->memory == NULL || levels > WEFT_TOPO_VIEW_LEVELS_MAX) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM,
                         "no memory for the topology of %u ranks and %u levels", n, levels);
    }
    uint32_t *first = view->memory->words;
    topo_view_making_t making = {.view = view,
                                 .from = from,
                                 .ranks = ranks,
                                 .n = n,
                                 .number = first + (words - most - 1),
                                 .next = first};
    topo_view_fill(&making);
    weft_status_t status = topo_view_shrink(view, (size_t)(making.next - first));
    return status == WEFT_OK ? weft_topo_orders_init(&view->orders, &view->topo, from, ranks, n)
                             : status;
}

void weft_topo_view_fini(weft_topo_view_t *view)
{
    weft_os_free(view->memory);
    weft_topo_orders_fini(&view->orders);
    *view = (weft_topo_view_t){.memory = NULL};
}

static uint64_t topo_view_hash_array(uint64_t hash, const uint32_t *array, uint32_t n)
{
    for (uint32_t i = 0; array != NULL && i < n; i++) {
        hash = weft_hash_add(hash, array[i]);
    }
    return hash;
}

static uint64_t topo_view_hash_orders(uint64_t hash, const uint32_t *const *order, uint32_t count,
                                      uint32_t nranks)
{
    hash = weft_hash_add(hash, count);
    for (uint32_t i = 0; i < count; i++) {
        hash = topo_view_hash_array(hash, order[i], nranks);
    }
    return hash;
}

static uint64_t topo_view_hash_kinds(uint64_t hash, const weft_algo_topo_t *topo, uint32_t nranks)
{
    for (uint32_t host = 0; topo->kinds != NULL && host < topo->nhosts; host++) {
        uint32_t kind = topo->kind[host];
        hash = weft_hash_add(hash, kind != WEFT_ALGO_NONE ? topo->kinds[kind].id : 0);
    }
    return topo_view_hash_array(hash, topo->device, nranks);
}

uint64_t weft_topo_view_hash(const weft_algo_topo_t *topo, uint32_t nranks)
{
    uint64_t hash = weft_hash_add(WEFT_HASH_START, topo->nhosts);
    hash = topo_view_hash_array(hash, topo->host, nranks);
    if (!weft_algo_topo_has_levels(topo)) {
        return hash;
    }
    hash = weft_hash_add(weft_hash_add(hash, topo->nlevels), topo->host_level);
    for (uint32_t i = 0; i < topo->nlevels; i++) {
        hash = topo_view_hash_array(hash, topo->group[i], i == topo->host_level ? 0 : nranks);
    }
    hash = topo_view_hash_array(weft_hash_add(hash, topo->order != NULL), topo->order, nranks);
    hash =
        topo_view_hash_array(weft_hash_add(hash, topo->rails != NULL), topo->rails, topo->nhosts);
    if (!weft_algo_topo_has_rings(topo)) {
        return hash;
    }
    hash = topo_view_hash_orders(hash, topo->ring, topo->nrings, nranks);
    hash = topo_view_hash_orders(hash, topo->chain, topo->nchains, nranks);
    return topo_view_hash_kinds(hash, topo, nranks);
}
