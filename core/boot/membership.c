/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keeping the tree connected while ranks leave or die. The rule, a pure function of who did:
 * a rank's parent is its nearest ancestor that has not left or died; when none of its ancestors is
 * left, the lowest such rank. A rank whose parent leaves or dies connects to the next one by this rule, and both
 * then tell each other who left or died and what failed. Connections lead to lower ranks
 * under every view of who left, so there is never a cycle, and equal views make one tree. */
#include <string.h>

#include "core/base/error.h"
#include "core/boot/join_root.h"
#include "core/boot/neighbour.h"

/* A rank that is GONE without its goodbye being known is dead when this has passed. */
#define GONE_NS (2 * WEFT_NS_PER_S)

weft_status_t weft_kin_init(weft_health_t *health)
{
    uint32_t nranks = health->boot->nranks;
    health->kin = weft_os_alloc(nranks * sizeof *health->kin, 0);
    health->since = weft_os_alloc(nranks * sizeof *health->since, 0);
    if (health->kin == NULL || health->since == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for %u ranks", nranks);
    }
    return WEFT_OK;
}

void weft_kin_fini(weft_health_t *health)
{
    if (health->dialing) {
        weft_connector_end(&health->connector);
    }
    weft_os_free(health->kin);
    weft_os_free(health->since);
}

/* `rank` itself when it has none. */
static uint32_t parent_of(const weft_health_t *health, uint32_t rank)
{
    uint32_t at = rank;
    while (at > 0) {
        at = weft_tree_parent(at);
        if (health->kin[at] == WEFT_KIN_LIVE) {
            return at;
        }
    }
    while (at < rank && health->kin[at] != WEFT_KIN_LIVE) {
        at++;
    }
    return at;
}

uint32_t weft_kin_hop(const weft_health_t *health, uint32_t target)
{
    uint32_t me = health->boot->rank, at = target;
    for (;;) {
        uint32_t parent = parent_of(health, at);
        if (parent == me) {
            return at;
        }
        if (parent == at) {
            return parent_of(health, me);
        }
        at = parent;
    }
}

static void say_goodbye_of(weft_health_t *health, weft_watch_t *watch, uint32_t rank)
{
    weft_frame_t frame = {.type = WEFT_FRAME_GOODBYE, .from = rank};
    weft_watch_send(health, watch, &frame, NULL);
}

/* A new connection joins two parts of the tree that may know different things. */
static void synchronise(weft_health_t *health, weft_watch_t *watch)
{
    weft_notes_send(health, watch);
    for (uint32_t i = 0; i < health->boot->nranks; i++) {
        if (health->kin[i] == WEFT_KIN_LEFT && i != watch->rank) {
            say_goodbye_of(health, watch, i);
        }
    }
}

static void attach(weft_health_t *health, int fd, uint32_t rank, bool fresh)
{
    if (weft_watch_add(health, fd, rank) == WEFT_OK) {
        health->watches[health->count - 1].fresh = fresh;
        synchronise(health, &health->watches[health->count - 1]);
    } else {
        weft_watch_blame(health, health->boot->rank);
    }
}

static void dial_parent(weft_health_t *health)
{
    uint8_t label[WEFT_AUTH_LABEL];
    weft_boot_t *boot = health->boot;
    uint32_t parent = parent_of(health, boot->rank);
    if (health->dialing && health->dialed != parent) {
        weft_connector_end(&health->connector);
        health->dialing = false;
    }
    if (parent == boot->rank || health->dialing || weft_watch_find(health, parent) != NULL) {
        return;
    }
    weft_auth_label_make(label, WEFT_PURPOSE_TREE, boot->rank);
    weft_connector_begin(&health->connector, boot->tree_key, label, boot->requests[parent].addrs,
                         weft_join_request_addrs(&boot->requests[parent]),
                         weft_os_clock_ns() + WEFT_HANDSHAKE_NS);
    health->dialing = true;
    health->dialed = parent;
}

/* Who ought to connect to us now, and has not yet. */
static void count_awaited(weft_health_t *health)
{
    uint64_t now = weft_os_clock_ns();
    uint32_t me = health->boot->rank;
    health->awaited = 0;
    health->gone = 0;
    for (uint32_t i = 0; i < health->boot->nranks; i++) {
        bool awaited = health->kin[i] == WEFT_KIN_LIVE && i != me && parent_of(health, i) == me &&
                       weft_watch_find(health, i) == NULL;
        bool gone = health->kin[i] == WEFT_KIN_GONE;
        health->awaited += awaited;
        health->gone += gone;
        health->since[i] = !awaited && !gone ? 0 : health->since[i] != 0 ? health->since[i] : now;
    }
}

void weft_kin_rearrange(weft_health_t *health)
{
    if (health->over) {
        return;
    }
    dial_parent(health);
    count_awaited(health);
}

void weft_kin_leave(weft_health_t *health, uint32_t rank, const weft_watch_t *from)
{
    if (health->kin[rank] == WEFT_KIN_LEFT) {
        return;
    }
    health->kin[rank] = WEFT_KIN_LEFT;
    health->boot->listener.parting = true;
    for (uint32_t i = 0; i < health->count; i++) {
        if (&health->watches[i] != from) {
            say_goodbye_of(health, &health->watches[i], rank);
        }
    }
    if (rank != health->boot->rank) {
        health->events.left(health->arg, 0, rank, 0);
        weft_kin_rearrange(health);
    }
}

void weft_kin_enter(void *arg, int fd, const uint8_t label[WEFT_AUTH_LABEL])
{
    weft_health_t *health = arg;
    uint32_t rank;
    if (!weft_auth_label_read(label, WEFT_PURPOSE_TREE, &rank) || rank >= health->boot->nranks ||
        rank == health->boot->rank || health->kin[rank] == WEFT_KIN_LEFT ||
        weft_watch_find(health, rank) != NULL) {
        weft_os_close(fd);
        return;
    }
    /* Whoever comes here is alive, even if it did not answer before. Only a verdict is final. */
    if (health->kin[rank] == WEFT_KIN_GONE) {
        health->kin[rank] = WEFT_KIN_LIVE;
    }
    attach(health, fd, rank, false);
    weft_kin_rearrange(health);
}

void weft_kin_gone(weft_health_t *health, uint32_t rank)
{
    if (health->kin[rank] == WEFT_KIN_LIVE) {
        health->kin[rank] = WEFT_KIN_GONE;
        weft_kin_rearrange(health);
    }
}

void weft_kin_step(weft_health_t *health)
{
    /* Each turn either waits, or marks one more rank, or ends. */
    while (health->dialing) {
        weft_status_t status = weft_connector_step(&health->connector);
        if (status == WEFT_IN_PROGRESS) {
            return;
        }
        health->dialing = false;
        if (status == WEFT_OK) {
            attach(health, health->connector.fd, health->dialed, true);
        } else {
            weft_kin_gone(health, health->dialed);
        }
    }
}

void weft_kin_judge(weft_health_t *health, uint64_t now)
{
    char who[128];
    uint32_t doubtful = health->awaited + health->gone;
    for (uint32_t i = 0; doubtful > 0 && !health->over && i < health->boot->nranks; i++) {
        bool gone = health->kin[i] == WEFT_KIN_GONE;
        uint64_t limit = gone ? GONE_NS : health->unresponsive;
        if (health->since[i] == 0 || limit == 0 || now - health->since[i] < limit) {
            continue;
        }
        weft_boot_rank_text(health->boot, i, who, sizeof who);
        if (gone) {
            weft_fail(WEFT_ERR_PEER_DEAD, 0, "%s died: nobody listens at its address", who);
        } else {
            weft_fail(WEFT_ERR_PEER_UNRESPONSIVE, 0,
                      "%s did not connect again after its parent in the tree left", who);
        }
        weft_watch_blame(health, i);
    }
}
