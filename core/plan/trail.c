/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The trail of the values of a run. */
#include "core/plan/trail.h"

#include <string.h>

#include "core/os/os.h"

/* Sets of ranks of a value: in it at least once, twice, three times. */
#define SETS 3u
/* Bytes of all sets; beyond them ranks are not counted. */
#define RANKS_BYTES_MAX (UINT64_C(256) << 20)

bool weft_trail_init(weft_run_t *run)
{
    weft_run_trail_t *trail = run->trail;
    uint64_t values = run->memory.ncells + run->memory.nslots + 1;
    *trail = (weft_run_trail_t){.words = (run->n + 63) / 64, .now = values - 1};
    trail->values = weft_os_alloc(values * sizeof *trail->values, 0);
    if (trail->values == NULL) {
        return false;
    }
    uint64_t bytes = values * SETS * trail->words * sizeof *trail->ranks;
    trail->ranks = run->reduces && bytes <= RANKS_BYTES_MAX ? weft_os_alloc(bytes, 0) : NULL;
    return true;
}

void weft_trail_fini(weft_run_t *run)
{
    if (run->trail != NULL) {
        weft_os_free(run->trail->ranks);
        weft_os_free(run->trail->values);
        run->trail = NULL;
    }
}

uint64_t weft_trail_input(const weft_run_t *run, uint32_t chunk, uint32_t pass)
{
    return (uint64_t)pass * run->ranks[0].chunks[WEFT_OPERAND_IN] + chunk;
}

const weft_trail_value_t *weft_trail_of(const weft_run_t *run, uint64_t cell)
{
    return &run->trail->values[cell];
}

static uint64_t *trail_sets(const weft_run_trail_t *trail, uint64_t value)
{
    return trail->ranks + value * SETS * trail->words;
}

static void trail_clear_now(weft_run_trail_t *trail)
{
    trail->values[trail->now] = (weft_trail_value_t){.input = WEFT_TRAIL_NOTHING};
    if (trail->ranks != NULL) {
        memset(trail_sets(trail, trail->now), 0, SETS * trail->words * sizeof *trail->ranks);
    }
}

static void trail_join_input(weft_trail_value_t *value, uint64_t input)
{
    value->input =
        value->input == WEFT_TRAIL_NOTHING || value->input == input ? input : WEFT_TRAIL_MIXED;
}

/* Counts of both values, added. */
static void trail_add_ranks(const weft_run_trail_t *trail, uint64_t to, uint64_t from)
{
    for (uint32_t i = 0; trail->ranks != NULL && i < trail->words; i++) {
        uint64_t *a = trail_sets(trail, to) + i;
        const uint64_t *b = trail_sets(trail, from) + i;
        uint32_t two = trail->words, three = 2 * trail->words;
        a[three] |= b[three] | (a[two] & b[0]) | (a[0] & b[two]);
        a[two] |= b[two] | (a[0] & b[0]);
        a[0] |= b[0];
    }
}

static void trail_add(const weft_run_trail_t *trail, uint64_t from)
{
    weft_trail_value_t *now = &trail->values[trail->now];
    const weft_trail_value_t *one = &trail->values[from];
    now->made = one->made;
    now->folded = one->folded;
    now->finals = one->finals > now->finals ? one->finals : now->finals;
    trail_join_input(now, one->input);
    trail_add_ranks(trail, trail->now, from);
}

static void trail_add_input(weft_run_t *run, const weft_run_lane_t *lane,
                            const weft_plan_place_t *here, uint32_t chunk)
{
    const weft_run_trail_t *trail = run->trail;
    weft_trail_value_t *now = &trail->values[trail->now];
    now->made = *here;
    now->folded = false;
    trail_join_input(now, weft_trail_input(run, chunk, lane->cursor.pass));
    if (trail->ranks != NULL) {
        uint64_t *once = trail_sets(trail, trail->now) + lane->rank / 64;
        uint64_t *twice = once + trail->words, bit = UINT64_C(1) << lane->rank % 64;
        twice[trail->words] |= *twice & bit;
        *twice |= *once & bit;
        *once |= bit;
    }
}

static void trail_add_source(weft_run_t *run, const weft_run_lane_t *lane,
                             const weft_run_member_t *member, const weft_plan_place_t *here,
                             uint32_t i)
{
    uint32_t kind = member->move.src[i].kind;
    if (kind == WEFT_OPERAND_PORT) {
        trail_add(run->trail, run->memory.ncells + run->queues.list[member->src[i]].first);
        return;
    }
    uint32_t chunk = weft_run_chunk_now(run, lane, member, &member->move.src[i], member->src[i]);
    if (kind != WEFT_OPERAND_IN) {
        trail_add(run->trail, weft_run_cell_of(run, lane, member, kind, chunk));
        return;
    }
    /* In place, IN may have been written over. */
    uint32_t alias =
        run->input->in_place ? weft_plan_alias(lane->plan, lane->rank, chunk) : WEFT_RUN_NONE;
    uint64_t cell =
        alias == WEFT_RUN_NONE ? 0 : weft_run_cell_of(run, lane, member, WEFT_OPERAND_OUT, alias);
    if (alias != WEFT_RUN_NONE && run->cells[cell].tag == lane->cursor.pass + 1) {
        trail_add(run->trail, cell);
    } else {
        trail_add_input(run, lane, here, chunk);
    }
}

void weft_trail_read(weft_run_t *run, const weft_run_lane_t *lane, const weft_run_member_t *member)
{
    const weft_plan_view_t *move = &member->move;
    weft_plan_place_t here = {lane->name, lane->lane, member->pc};
    weft_trail_value_t *now = &run->trail->values[run->trail->now];
    bool final = (move->flags & WEFT_MOVE_FINAL) != 0;
    trail_clear_now(run->trail);
    for (uint32_t i = 0; i < move->nsrc; i++) {
        trail_add_source(run, lane, member, &here, i);
    }
    now->finals += final;
    now->writer = lane->lane;
    if (move->nsrc > 1 || final) {
        now->made = here;
        now->folded = true;
    }
}

static void trail_copy_now(const weft_run_trail_t *trail, uint64_t to)
{
    trail->values[to] = trail->values[trail->now];
    if (trail->ranks != NULL) {
        memcpy(trail_sets(trail, to), trail_sets(trail, trail->now),
               SETS * trail->words * sizeof *trail->ranks);
    }
}

void weft_trail_write(weft_run_t *run, const weft_run_lane_t *lane, const weft_run_member_t *member)
{
    const weft_plan_view_t *move = &member->move;
    for (uint32_t i = 0; i < move->ndst; i++) {
        uint32_t kind = move->dst[i].kind;
        if (kind == WEFT_OPERAND_PORT) {
            trail_copy_now(run->trail, run->memory.ncells + run->queues.list[member->dst[i]].last);
        } else {
            uint32_t chunk = weft_run_chunk_now(run, lane, member, &move->dst[i], member->dst[i]);
            trail_copy_now(run->trail, weft_run_cell_of(run, lane, member, kind, chunk));
        }
    }
}

/* How often a rank is in a value: 0 to 3, 3 being more than twice. */
static uint32_t trail_times(const weft_run_trail_t *trail, uint64_t value, uint32_t rank)
{
    const uint64_t *once = trail_sets(trail, value) + rank / 64;
    uint32_t times = 0;
    for (uint32_t i = 0; i < SETS; i++) {
        times += (uint32_t)(once[(size_t)i * trail->words] >> rank % 64) & 1;
    }
    return times;
}

typedef struct trail_list {
    char *text;
    size_t bytes, used;
    uint32_t ranks; /* in the list */
} trail_list_t;

/* Leaves the list as it is if there is no room. */
static void trail_list_put(trail_list_t *list, const char *before, uint32_t first, uint32_t last)
{
    char text[64];
    int length = first == last       ? snprintf(text, sizeof text, "%s%u", before, first)
                 : first + 1 == last ? snprintf(text, sizeof text, "%s%u, %u", before, first, last)
                                     : snprintf(text, sizeof text, "%s%u-%u", before, first, last);
    if (length > 0 && list->used + (size_t)length + sizeof ", …" <= list->bytes) {
        memcpy(list->text + list->used, text, (size_t)length + 1);
        list->used += (size_t)length;
    } else if (strstr(list->text, "…") == NULL) {
        list->used += (size_t)snprintf(list->text + list->used, list->bytes - list->used, ", …");
    }
    list->ranks += last - first + 1;
}

/* Appends the ranks that are in the value so often, with `what` before them: "missing: ranks 0-3,
 * 7". */
static uint32_t trail_list_ranks(const weft_run_t *run, uint64_t value, uint32_t times,
                                 const char *what, trail_list_t *list)
{
    const char *before = what;
    list->ranks = 0;
    for (uint32_t rank = 0; rank < run->n; rank++) {
        uint32_t last = rank;
        if (trail_times(run->trail, value, rank) != times) {
            continue;
        }
        while (last + 1 < run->n && trail_times(run->trail, value, last + 1) == times) {
            last++;
        }
        trail_list_put(list, before, rank, last);
        before = ", ";
        rank = last;
    }
    return list->ranks;
}

size_t weft_trail_word_ranks(const weft_run_t *run, uint64_t cell, char *text, size_t bytes)
{
    trail_list_t list = {.text = text, .bytes = bytes};
    uint32_t first[2] = {0, 0}, count[2] = {0, 0}, more;
    text[0] = '\0';
    if (run->trail->ranks == NULL) {
        return 0;
    }
    count[0] = trail_list_ranks(run, cell, 0, "missing in it: ranks ", &list);
    count[1] = trail_list_ranks(run, cell, 2,
                                count[0] > 0 ? "; twice: ranks " : "twice in it: ranks ", &list);
    more = trail_list_ranks(
        run, cell, 3, list.used > 0 ? "; more often: ranks " : "more than twice in it: ranks ",
        &list);
    for (uint32_t rank = run->n; rank-- > 0;) {
        uint32_t times = trail_times(run->trail, cell, rank);
        first[0] = times == 0 ? rank : first[0];
        first[1] = times == 2 ? rank : first[1];
    }
    /* One rank alone reads better as a sentence. */
    if (count[0] == 1 && count[1] + more == 0) {
        list.used = (size_t)snprintf(text, bytes, "rank %u is missing in it", first[0]);
    } else if (count[1] == 1 && count[0] + more == 0) {
        list.used = (size_t)snprintf(text, bytes, "it contains rank %u twice", first[1]);
    }
    return list.used;
}
