/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Growing. The members tell each other over their communicator which id they join with, and the
 * numbers of the newcomers. Then all join a new family, as for a first communicator. A consensus in
 * it says that all came to the end, so that the call has one outcome. */
#include "core/comm/grow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/join_request.h"
#include "core/boot/id_create.h"
#include "core/comm/comm_create.h"
#include "core/comm/consensus_run.h"
#include "core/comm/comm_exchange.h"
#include "core/comm/family_setup.h"
#include "core/comm/grow_watch.h"
#include "core/comm/handle.h"

#define TICKET "weft_comm_ticket"
#define GROW "weft_comm_grow"
#define JOIN "weft_comm_join"

/* A member's death is heard by then. */
#define GROW_HEARS_NS WEFT_NS_PER_S
#define GROW_LOOK_NS (5 * WEFT_NS_PER_MS)

/* Tickets ------------------------------------------------------------------------------------- */

/* What a call takes from the communicator. */
typedef struct grow_parent {
    weft_family_t *family; /* a reference; NULL: there is no such communicator */
    uint64_t id;
    uint32_t nranks, rank;
    weft_status_t status; /* its failure */
} grow_parent_t;

static void grow_look(weft_comm_state_t *state, void *arg)
{
    grow_parent_t *parent = arg;
    *parent = (grow_parent_t){.family = state->self.family,
                              .id = state->self.id,
                              .nranks = state->self.nranks,
                              .rank = state->self.rank,
                              .status = WEFT_OK};
    weft_family_retain(parent->family);
    if (weft_comm_has_failed(state)) {
        (void)weft_failure_copy(&state->failure, weft_error_record());
        parent->status = weft_error_record()->status;
    }
}

static weft_status_t grow_take_parent(weft_comm_t *comm, const char *call, grow_parent_t *parent)
{
    *parent = (grow_parent_t){.family = NULL};
    weft_status_t status = weft_handle_visit(comm, call, grow_look, parent);
    if (parent->status != WEFT_OK) {
        weft_health_await(parent->family->boot); /* not inside the visit: that holds up all */
    }
    return status == WEFT_OK ? parent->status : status;
}

static void grow_release_parent(const grow_parent_t *parent)
{
    weft_error_t kept = *weft_error_record();
    if (parent->family != NULL) {
        weft_family_release(parent->family);
    }
    *weft_error_record() = kept;
}

static bool grow_is_taken(const uint8_t *taken, uint32_t rank)
{
    return (taken[rank / 8] >> rank % 8 & 1) != 0;
}

/* Notes that a newcomer has this number. */
static weft_status_t grow_take_number(const char *call, uint8_t *taken, uint32_t rank,
                                      uint32_t nranks, uint32_t at)
{
    if (rank >= nranks) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: ranks[%u] is %u, out of range 0 … %u", call, at,
                         rank, nranks - 1);
    }
    if (grow_is_taken(taken, rank)) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "%s: rank %u is given to two newcomers, again as number "
                         "%u of the list",
                         call, rank, at);
    }
    taken[rank / 8] |= (uint8_t)(1u << rank % 8);
    return WEFT_OK;
}

/* Checks how many there will be, and returns zeroed memory with a bit for each. */
static weft_status_t grow_make_taken(const char *call, uint32_t members, uint32_t count,
                                     uint8_t **taken_p)
{
    if (count > WEFT_RANKS_MOST - members) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: %u newcomers and %u members are more than %u ranks",
                         call, count, members, WEFT_RANKS_MOST);
    }
    *taken_p = weft_os_alloc((members + count + 7) / 8, 0);
    return *taken_p != NULL ? WEFT_OK
                            : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "%s: no memory for %u ranks",
                                        call, members + count);
}

static weft_status_t grow_write_tickets(const grow_parent_t *parent, const uint32_t *ranks,
                                        uint32_t count, weft_ticket_t *tickets)
{
    uint8_t *taken = NULL;
    weft_ticket_content_t content = {.nranks = parent->nranks + count, .parent = parent->id};
    weft_status_t status = grow_make_taken(TICKET, parent->nranks, count, &taken);
    for (uint32_t i = 0; status == WEFT_OK && ranks != NULL && i < count; i++) {
        status = grow_take_number(TICKET, taken, ranks[i], content.nranks, i);
    }
    if (status == WEFT_OK) {
        status = weft_boot_id_create(&parent->family->settings.boot, &content.id);
    }
    for (uint32_t i = 0; status == WEFT_OK && i < count; i++) {
        content.rank = ranks != NULL ? ranks[i] : parent->nranks + i;
        weft_ticket_encode(&content, &tickets[i]);
    }
    weft_os_free(taken);
    return status;
}

weft_status_t weft_grow_tickets(weft_comm_t *comm, const uint32_t *ranks, uint32_t count,
                                weft_ticket_t *tickets)
{
    grow_parent_t parent;
    weft_status_t status = grow_take_parent(comm, TICKET, &parent);
    if (status == WEFT_OK) {
        status = grow_write_tickets(&parent, ranks, count, tickets);
    }
    grow_release_parent(&parent);
    return status;
}

/* The grown communicator ---------------------------------------------------------------------- */

/* All that came agree that all came. On failure the communicator is gone. */
static weft_status_t grow_settle(const char *call, weft_comm_state_t *state, weft_comm_t *grown)
{
    weft_voters_t voters;
    weft_consensus_value_t value;
    const weft_voters_wish_t wish = {.call = GROW, .root = WEFT_ROOT_SETTLE};
    weft_status_t status = weft_voters_take(grown, &wish, &voters);
    if (status == WEFT_OK) {
        status = weft_consensus_run(&voters, call, 0, 1, &value);
        weft_voters_fini(&voters);
    }
    if (status == WEFT_OK && value.gone.count > 0) {
        status = weft_comm_has_failed(state)
                     ? weft_comm_failure(state)
                     : weft_fail(WEFT_ERR_PEER_LEFT, 0,
                                 "%s: rank %u gave up before the communicator was complete", call,
                                 value.gone.first);
    }
    return status;
}

/* Who joins what. */
typedef struct grow_join {
    const char *call;
    weft_unique_id_t id;
    uint32_t nranks, rank;
    int32_t maker;                      /* of the id: a rank there; −1: not known */
    const weft_comm_options_t *options; /* of a newcomer */
    const weft_config_t *like;          /* of a member */
} grow_join_t;

static weft_status_t grow_make(const grow_join_t *join, weft_comm_t **grown_p)
{
    weft_comm_state_t *state = NULL;
    weft_comm_t *grown = NULL;
    weft_status_t status =
        weft_comm_create(join->nranks, &join->id, join->rank, join->options, join->like, &state);
    if (status == WEFT_ERR_PEER_DEAD && weft_error_record()->peer < 0) {
        weft_error_record()->peer = join->maker; /* the one that the join knows by no number */
    }
    if (status != WEFT_OK) {
        return status;
    }
    status = weft_handle_add(state, &grown);
    status = status == WEFT_OK ? grow_settle(join->call, state, grown) : status;
    if (status == WEFT_OK) {
        *grown_p = grown;
        return status;
    }
    weft_error_t kept = *weft_error_record();
    if (grown != NULL) {
        weft_handle_remove(grown);
    }
    weft_comm_free(state);
    *weft_error_record() = kept;
    return status;
}

weft_status_t weft_grow_join(const weft_ticket_t *ticket, const weft_comm_options_t *options,
                             weft_comm_t **grown_p)
{
    weft_ticket_content_t content;
    weft_status_t status = weft_ticket_decode(ticket, &content);
    if (status != WEFT_OK) {
        return status;
    }
    grow_join_t join = {.call = JOIN,
                        .id = content.id,
                        .nranks = content.nranks,
                        .rank = content.rank,
                        .maker = -1,
                        .options = options};
    return grow_make(&join, grown_p);
}

/* Members ------------------------------------------------------------------------------------- */

#define GROW_BAD UINT32_MAX

/* What a member tells the others first. */
typedef struct grow_word {
    uint32_t tickets; /* that it gives; BAD: they cannot be used */
    uint8_t id[WEFT_UNIQUE_ID_BYTES];
} grow_word_t;

_Static_assert(sizeof(grow_word_t) == 4 + WEFT_UNIQUE_ID_BYTES, "the same bytes on all ranks");

/* One growth, on a member. */
typedef struct grow {
    grow_parent_t parent;
    grow_word_t word;
    uint8_t *taken;   /* per rank of the grown communicator, a bit: it is a newcomer */
    uint32_t *number; /* per member: its rank there */
    uint32_t giver;
    grow_join_t join;
    uint64_t until; /* its end, as far as it is not the join's to say */
} grow_t;

static weft_status_t grow_check_ticket(const grow_t *g, const weft_ticket_content_t *content,
                                       uint32_t count, uint32_t at)
{
    if (content->parent != g->parent.id) {
        return weft_fail(WEFT_ERR_ARG, 0, GROW ": ticket %u is one of another communicator", at);
    }
    if (content->nranks != g->parent.nranks + count) {
        return weft_fail(WEFT_ERR_ARG, 0, GROW ": ticket %u is one of %u, given are %u", at,
                         content->nranks - g->parent.nranks, count);
    }
    return at > 0 && memcmp(g->word.id, content->id.bytes, sizeof g->word.id) != 0
               ? weft_fail(WEFT_ERR_ARG, 0,
                           GROW ": ticket %u and ticket 0 are of two calls of " TICKET, at)
               : WEFT_OK;
}

/* Reads the tickets of this member into its word and the numbers. */
static weft_status_t grow_read_tickets(grow_t *g, const weft_ticket_t *tickets, uint32_t count)
{
    weft_ticket_content_t content;
    weft_status_t status = grow_make_taken(GROW, g->parent.nranks, count, &g->taken);
    for (uint32_t i = 0; status == WEFT_OK && i < count; i++) {
        status = weft_ticket_decode(&tickets[i], &content);
        status = status == WEFT_OK ? grow_check_ticket(g, &content, count, i) : status;
        if (status == WEFT_OK) {
            memcpy(g->word.id, content.id.bytes, sizeof g->word.id);
            status = grow_take_number(GROW, g->taken, content.rank, content.nranks, i);
        }
    }
    g->word.tickets = status == WEFT_OK ? count : GROW_BAD;
    return status;
}

/* Writes who that is into the error. */
static void grow_name_member(const grow_t *g, uint32_t member)
{
    weft_error_t *error = weft_error_record();
    weft_family_t *family = g->parent.family;
    weft_os_lock(&family->lock);
    const weft_comm_state_t *state = weft_family_find(family, g->parent.id);
    if (state != NULL) {
        const weft_boot_peer_t *peer =
            &weft_boot_peers(family->boot)[state->self.family_rank[member]];
        error->peer_pid = peer->pid;
        snprintf(error->peer_host, sizeof error->peer_host, "%s", peer->host_name);
    }
    weft_os_unlock(&family->lock);
}

/* Exactly one member gives tickets; all come to the same verdict. */
static weft_status_t grow_choose(grow_t *g, const grow_word_t *words)
{
    uint32_t givers = 0;
    for (uint32_t r = 0; r < g->parent.nranks; r++) {
        if (words[r].tickets != 0) {
            g->giver = givers++ == 0 ? r : g->giver;
        }
    }
    if (givers != 1) {
        return weft_fail(WEFT_ERR_ARG, 0, GROW ": %u ranks gave tickets, exactly one must", givers);
    }
    const grow_word_t *given = &words[g->giver];
    if (given->tickets == GROW_BAD) {
        weft_fail(WEFT_ERR_ARG, 0,
                  GROW ": rank %u gave tickets that cannot be used; its own error says why",
                  g->giver);
        weft_error_record()->peer = (int32_t)g->giver;
        grow_name_member(g, g->giver);
        return WEFT_ERR_ARG;
    }
    memcpy(g->join.id.bytes, given->id, sizeof given->id);
    g->join.nranks = g->parent.nranks + given->tickets;
    return WEFT_OK;
}

static weft_status_t grow_tell_ids(grow_t *g, weft_comm_state_t *state)
{
    grow_word_t *words = weft_os_alloc(g->parent.nranks * sizeof *words, 0);
    if (words == NULL) {
        weft_fail(WEFT_ERR_RESOURCE, ENOMEM, GROW ": no memory for %u ranks", g->parent.nranks);
        weft_comm_fail(state, -1); /* the others wait for the word */
        return weft_comm_failure(state);
    }
    weft_status_t status =
        weft_comm_exchange(state, WEFT_ROOT_GROW, &g->word, sizeof g->word, words);
    status = status == WEFT_OK ? grow_choose(g, words) : status;
    weft_os_free(words);
    return status;
}

/* The members take the numbers that the newcomers leave, in their order. */
static void grow_number_members(grow_t *g)
{
    uint32_t member = 0;
    for (uint32_t r = 0; r < g->join.nranks && member < g->parent.nranks; r++) {
        if (!grow_is_taken(g->taken, r)) {
            g->number[member++] = r;
        }
    }
    g->join.rank = g->number[g->parent.rank];
    g->join.maker = (int32_t)g->number[g->giver];
}

static weft_status_t grow_tell_numbers(grow_t *g, weft_comm_state_t *state)
{
    size_t bytes = (g->join.nranks + 7) / 8;
    uint8_t *mine = weft_os_alloc(bytes, 0);
    uint8_t *all = weft_os_alloc(g->parent.nranks * bytes, 0);
    g->number = weft_os_alloc(g->parent.nranks * sizeof *g->number, 0);
    weft_status_t status = WEFT_ERR_RESOURCE;
    if (mine != NULL && all != NULL && g->number != NULL) {
        if (g->giver == g->parent.rank) {
            memcpy(mine, g->taken, bytes);
        }
        status = weft_comm_exchange(state, WEFT_ROOT_GROW, mine, bytes, all);
    } else {
        weft_fail(WEFT_ERR_RESOURCE, ENOMEM, GROW ": no memory for %u ranks", g->join.nranks);
        weft_comm_fail(state, -1);
        status = weft_comm_failure(state);
    }
    if (status == WEFT_OK) {
        weft_os_free(g->taken);
        memcpy(mine, all + g->giver * bytes, bytes);
        g->taken = mine;
        mine = NULL;
        grow_number_members(g);
    }
    weft_os_free(mine);
    weft_os_free(all);
    return status;
}

/* What the members tell each other, over their communicator. */
static weft_status_t grow_meet(grow_t *g, weft_comm_t *comm)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_comm_enter(comm, GROW, &state);
    if (status != WEFT_OK) {
        return status;
    }
    status = weft_comm_has_failed(state) ? weft_comm_failure(state) : grow_tell_ids(g, state);
    if (status == WEFT_OK) {
        status = grow_tell_numbers(g, state);
    }
    weft_comm_leave(state);
    return status;
}

/* Who ends early in the join has a number there and no name, but the members know each other. */
static void grow_name_joiner(const grow_t *g)
{
    const weft_error_t *error = weft_error_record();
    uint32_t member = 0;
    while (member < g->parent.nranks && (int64_t)g->number[member] != error->peer) {
        member++;
    }
    if (error->peer_pid < 0 && member < g->parent.nranks) {
        grow_name_member(g, member);
    }
}

/* The communicator knows best why the join failed. Where nobody listens the giver has ended just
 * now, and it is about to hear that. */
static weft_status_t grow_find_cause(const grow_t *g, weft_comm_t *comm, weft_status_t status)
{
    weft_error_t kept = *weft_error_record(), failure = {.size = sizeof failure};
    uint64_t until = status == WEFT_ERR_STATE ? weft_os_clock_ns() + GROW_HEARS_NS : 0;
    while (weft_comm_error(comm, &failure) == WEFT_OK && failure.status == WEFT_OK &&
           weft_os_clock_ns() < until) {
        weft_os_sleep_ns(GROW_LOOK_NS);
    }
    *weft_error_record() = failure.status != WEFT_OK ? failure : kept;
    if (failure.status == WEFT_OK) {
        grow_name_joiner(g);
    }
    return weft_error_record()->status;
}

static weft_grow_watch_setup_t grow_watch_setup(const grow_t *g, weft_comm_t *comm)
{
    return (weft_grow_watch_setup_t){.comm = comm,
                                     .id = &g->join.id,
                                     .nranks = g->join.nranks,
                                     .rank = g->join.rank,
                                     .number = g->number,
                                     .members = g->parent.nranks,
                                     .until = g->until};
}

/* Joins; the giver, whose process mostly has the root, looks after the members meanwhile. */
static weft_status_t grow_join_watched(grow_t *g, weft_comm_t *comm, weft_comm_t **grown_p)
{
    weft_grow_watch_t *watch = NULL;
    const weft_grow_watch_setup_t setup = grow_watch_setup(g, comm);
    weft_status_t status = WEFT_OK;
    if (g->giver == g->parent.rank && g->parent.nranks > 1) {
        /* Without a watch a death may be found by the deadline only. */
        (void)weft_grow_watch_start(&setup, &watch);
    }
    status = grow_make(&g->join, grown_p);
    weft_error_t kept = *weft_error_record();
    weft_grow_watch_end(watch);
    *weft_error_record() = kept;
    return status == WEFT_OK ? status : grow_find_cause(g, comm, status);
}

/* The members did not come to an end: whoever has begun to join hears it from the root. */
static void grow_end_join(grow_t *g, weft_comm_t *comm)
{
    const weft_error_t why = *weft_error_record();
    if (g->number == NULL) {
        g->number = weft_os_alloc(g->parent.nranks * sizeof *g->number, 0);
    }
    if (g->number != NULL) {
        memcpy(g->join.id.bytes, g->word.id, sizeof g->word.id);
        g->join.nranks = g->parent.nranks + g->word.tickets;
        g->giver = g->parent.rank;
        grow_number_members(g);
        const weft_grow_watch_setup_t setup = grow_watch_setup(g, comm);
        weft_grow_speak(&setup, &why);
    }
}

weft_status_t weft_grow(weft_comm_t *comm, const weft_ticket_t *tickets, uint32_t count,
                        weft_comm_t **grown_p)
{
    grow_t g = {.join = {.call = GROW}};
    weft_error_t why;
    weft_status_t status = grow_take_parent(comm, GROW, &g.parent), read = WEFT_OK;
    if (g.parent.family == NULL) {
        return status;
    }
    g.join.like = g.parent.family->config;
    g.until = weft_os_deadline(g.parent.family->settings.boot.init_timeout);
    if (count > 0) {
        weft_error_t kept = *weft_error_record();
        read = grow_read_tickets(&g, tickets, count);
        why = *weft_error_record();
        *weft_error_record() = kept;
    }
    status = status == WEFT_OK ? grow_meet(&g, comm) : status;
    if (status == WEFT_ERR_ARG && read != WEFT_OK) {
        *weft_error_record() = why;
        status = read;
    }
    if (status == WEFT_OK) {
        status = grow_join_watched(&g, comm, grown_p);
    } else if (count > 0 && read == WEFT_OK) {
        grow_end_join(&g, comm);
    }
    weft_os_free(g.taken);
    weft_os_free(g.number);
    grow_release_parent(&g.parent);
    return status;
}
