/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Repair of the control tree: whom to connect to, and whom to expect. */
#include "core/boot/tree_repair.h"

#include "core/boot/auth.h"
#include "core/boot/health_state.h"

#define REPAIR_CONNECT_NS (2 * WEFT_NS_PER_S)

/* Who cannot be reached is given up before whoever waits for us gives us up: behind a cut one rank
 * after the other is tried. */
static uint64_t tree_repair_patience(const weft_health_t *health)
{
    uint64_t half = health->detector.unresponsive / 2;
    return half > 0 && half < REPAIR_CONNECT_NS ? half : REPAIR_CONNECT_NS;
}

static void tree_repair_begin(const weft_health_t *health, weft_reconnect_t *reconnect,
                              uint32_t rank, uint64_t patience)
{
    uint8_t label[WEFT_AUTH_LABEL];
    const weft_boot_t *boot = health->boot;
    const weft_join_request_t *request = &boot->requests[rank];
    weft_auth_label_make(label, WEFT_PURPOSE_TREE, boot->rank);
    weft_connector_begin(&reconnect->connector, boot->tree_key, label, request->addrs,
                         weft_join_request_addrs(request), weft_os_clock_ns() + patience);
    reconnect->active = true;
    reconnect->rank = rank;
}

static void tree_repair_stop(weft_reconnect_t *reconnect)
{
    if (reconnect->active) {
        weft_connector_end(&reconnect->connector);
        reconnect->active = false;
    }
}

void weft_tree_expect(weft_health_t *health)
{
    weft_health_assert_owner(health);
    uint64_t until = weft_os_clock_ns() + WEFT_HEALTH_LEAVE_NS;
    health->leave_until = until < health->seek_until ? until : health->seek_until;
}

void weft_tree_repair_seek(weft_health_t *health, uint32_t rank, uint64_t since)
{
    if (health->reconnect.rank != rank) {
        tree_repair_stop(&health->reconnect);
    }
    health->reconnect.rank = rank;
    health->reconnect.since = since;
    weft_tree_expect(health);
}

static void tree_repair_connect(weft_health_t *health)
{
    weft_reconnect_t *reconnect = &health->reconnect;
    uint32_t me = health->boot->rank;
    uint32_t parent = weft_membership_parent(&health->membership, me);
    if (reconnect->rank != parent) {
        tree_repair_stop(reconnect);
    }
    if (parent != me && !reconnect->active &&
        weft_neighbours_find(&health->neighbours, parent) == NULL) {
        if (reconnect->rank != parent || reconnect->since == 0) {
            weft_tree_repair_seek(health, parent, weft_os_clock_ns());
        }
        tree_repair_begin(health, reconnect, parent, tree_repair_patience(health));
    }
}

bool weft_tree_is_cut(const weft_health_t *health)
{
    const weft_membership_t *membership = &health->membership;
    bool cut = health->reconnect.active;
    for (uint32_t i = 0; i < membership->ndoubts && !cut; i++) {
        uint32_t rank = membership->doubts[i];
        bool still = membership->breaks[rank] == WEFT_BREAK_STILL;
        cut = weft_membership_is_away(membership, rank) && !(still && health->taken);
    }
    return cut && !health->detection_ended;
}

/* Whoever is unreachable is looked for as long as it would be our parent. Others look for the
 * rest. */
static void tree_repair_drop_unreachable(weft_health_t *health)
{
    weft_membership_t *membership = &health->membership;
    uint32_t me = membership->rank;
    if (weft_neighbours_find(&health->neighbours, weft_membership_parent(membership, me)) == NULL) {
        return;
    }
    for (uint32_t i = 0; i < membership->ndoubts; i++) {
        uint32_t rank = membership->doubts[i];
        if (weft_membership_is_unreachable(membership, rank)) {
            membership->states[rank] = WEFT_MEMBER_LIVE;
            if (weft_membership_parent(membership, me) == rank) {
                membership->states[rank] = WEFT_MEMBER_SUSPECT;
            } else {
                membership->breaks[rank] = WEFT_BREAK_NONE;
            }
        }
    }
}

static uint32_t tree_repair_count_away(const weft_membership_t *membership)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < membership->ndoubts; i++) {
        count += weft_membership_is_away(membership, membership->doubts[i]);
    }
    return count;
}

/* One after the other, in turns. Who has connected needs no knock any more. All share the time that
 * one would have: who lives seeks us only after a doubt of its own, and may come last, behind those
 * that stand still. */
static void tree_repair_knock(weft_health_t *health)
{
    const weft_membership_t *membership = &health->membership;
    const uint32_t away = tree_repair_count_away(membership);
    weft_reconnect_t *knock = &health->knock;
    if (knock->active && !weft_membership_is_away(membership, knock->rank)) {
        tree_repair_stop(knock);
    }
    uint32_t last = 0;
    while (last < membership->ndoubts && membership->doubts[last] != knock->rank) {
        last++;
    }
    for (uint32_t i = 1; i <= membership->ndoubts && !knock->active; i++) {
        uint32_t rank = membership->doubts[(last + i) % membership->ndoubts];
        if (weft_membership_is_away(membership, rank)) {
            tree_repair_begin(health, knock, rank, tree_repair_patience(health) / away);
        }
    }
}

/* Those whom we expect, and of whose connection nothing is known. */
static void tree_repair_look_for_awaited(weft_membership_t *membership)
{
    for (uint32_t i = 0; i < membership->ndoubts; i++) {
        uint32_t rank = membership->doubts[i];
        if (membership->states[rank] == WEFT_MEMBER_LIVE &&
            membership->breaks[rank] == WEFT_BREAK_NONE) {
            membership->breaks[rank] = WEFT_BREAK_NEW;
        }
    }
}

/* Who leaves, and whose word a neighbour that left did not take, is the one to say it to those
 * below that one. They may be behind the same cut. */
void weft_tree_repair(weft_health_t *health)
{
    weft_health_assert_owner(health);
    if (!health->detection_ended) {
        tree_repair_connect(health);
        tree_repair_drop_unreachable(health);
        weft_membership_update(&health->membership, &health->neighbours);
        if (health->leaving && health->missed) {
            tree_repair_look_for_awaited(&health->membership);
        }
        tree_repair_knock(health);
    }
}

void weft_tree_repair_below_silent(weft_health_t *health)
{
    weft_health_assert_owner(health);
    tree_repair_look_for_awaited(&health->membership);
    weft_tree_repair(health);
}
