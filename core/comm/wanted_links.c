/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See wanted_links.h. */
#include "core/comm/wanted_links.h"

#include "core/comm/question.h"
#include "core/exec/links.h"

void weft_wanted_links_ask(const weft_comm_state_t *state, uint32_t peer, uint32_t channel)
{
    weft_assert_owner(state);
    if (peer < state->self.rank) {
        weft_health_ask(
            state->self.family->boot, state->self.id, state->self.family_rank[peer],
            &(weft_signature_t){.coll = WEFT_SEND_RECV,
                                .op = WEFT_ASKS_TO_CONNECT,
                                .root = weft_links_number(state->links, peer, channel)});
    }
}

/* Returns the communicator if this thread may make links for it, and owns it then: its own, or one
 * that nobody owns. Whoever drives a communicator makes its links. *keeps_p: it is not over yet.
 * The caller holds the family's lock. */
static weft_comm_state_t *wanted_own(weft_comm_state_t *mine, const weft_wanted_link_t *link,
                                     bool *keeps_p)
{
    uint32_t owner;
    weft_comm_state_t *state = weft_family_find(mine->self.family, link->comm_id);
    *keeps_p = state != NULL && link->peer < state->self.nranks && !weft_comm_has_failed(state);
    if (!*keeps_p || state == mine) {
        return *keeps_p ? state : NULL;
    }
    return weft_comm_own(state, WEFT_OWNER_PROGRESS, &owner) ? state : NULL;
}

/* A communicator stays for as long as it is owned: whoever frees it waits. */
static bool wanted_offer(const weft_comm_state_t *mine, weft_comm_state_t *state,
                         const weft_wanted_link_t *link)
{
    const bool under_way = weft_links_offer(state->links, link->peer, link->number);
    if (state != mine) {
        weft_comm_disown(state);
    }
    return under_way;
}

/* Looks after the first of the table. Returns whether it is under way. */
static bool wanted_serve_first(weft_comm_state_t *mine)
{
    weft_family_t *family = mine->self.family;
    weft_wanted_link_t link;
    bool keeps = false, under_way = false;
    weft_os_lock(&family->lock);
    weft_comm_state_t *state = weft_wanted_table_take(&family->members.wanted, &link)
                                   ? wanted_own(mine, &link, &keeps)
                                   : NULL;
    if (state != NULL) {
        weft_os_unlock(&family->lock);
        keeps = under_way = wanted_offer(mine, state, &link);
        weft_os_lock(&family->lock);
    }
    if (keeps) {
        weft_wanted_table_add(&family->members.wanted, &link);
    }
    weft_os_unlock(&family->lock);
    return under_way;
}

/* Notes connections of lower ranks, too: what these send needs slots of this rank. Those for which
 * the table has no room are told of the next time. */
static void wanted_note_accepted(weft_family_t *family)
{
    weft_early_note_t note;
    while (weft_wanted_table_count(&family->members.wanted) < WEFT_WANTED_LINKS &&
           weft_transports_take_note(family->transports, &note)) {
        weft_os_lock(&family->lock);
        weft_wanted_table_add(&family->members.wanted,
                              &(weft_wanted_link_t){.comm_id = note.comm_id,
                                                    .peer = note.from,
                                                    .number = note.channel});
        weft_os_unlock(&family->lock);
    }
}

void weft_wanted_links_listen(weft_comm_state_t *state, uint64_t now)
{
    weft_assert_owner(state);
    if (!weft_links_listen(state->links, now)) {
        return;
    }
    wanted_note_accepted(state->self.family);
    bool under_way = false;
    for (uint32_t n = weft_wanted_table_count(&state->self.family->members.wanted); n > 0; n--) {
        under_way |= wanted_serve_first(state);
    }
    if (under_way) {
        weft_links_expect(state->links, now);
    }
}
