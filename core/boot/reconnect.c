/* SPDX-License-Identifier: BSD-3-Clause
 *
 * New connections of the tree: both ends. */
#include "core/boot/reconnect.h"

#include "core/base/log.h"
#include "core/boot/auth.h"
#include "core/boot/dissemination.h"
#include "core/boot/failure_detector.h"
#include "core/boot/health_state.h"
#include "core/boot/tree_repair.h"

/* The first byte shows that the other end believes in the connection too: it may have given up
 * while the handshake's last byte was on its way. A parent that is still in the join hears that it
 * need not send its exchanges again. */
static weft_frame_t reconnect_first_frame(const weft_boot_t *boot, uint32_t rank)
{
    return rank < boot->rank ? (weft_frame_t){.type = WEFT_FRAME_AGAIN,
                                              .from = boot->rank,
                                              .sequence = boot->sequence,
                                              .number = 1}
                             : (weft_frame_t){.type = WEFT_FRAME_BEAT, .from = boot->rank};
}

static void reconnect_attach(weft_health_t *health, int fd, uint32_t rank)
{
    const weft_frame_t first = reconnect_first_frame(health->boot, rank);
    if (health->membership.breaks[rank] != WEFT_BREAK_NONE) {
        weft_log(WEFT_LOG_INFO, "health",
                 "rank %u: the control connection to rank %u is there again", health->boot->rank,
                 rank);
        health->membership.breaks[rank] = WEFT_BREAK_NONE;
    }
    weft_membership_hear_again(&health->membership, weft_os_clock_ns());
    if (weft_neighbours_add(&health->neighbours, fd, rank) == WEFT_OK) {
        weft_neighbour_t *neighbour = &health->neighbours.list[health->neighbours.count - 1];
        neighbour->fresh = true;
        weft_neighbour_send(&health->neighbours, neighbour, &first, NULL);
        weft_disseminate_all_to(health, neighbour);
        weft_detector_beat(health, neighbour);
        weft_tree_expect(health);
    } else {
        weft_detector_declare_dead(health, health->boot->rank);
    }
}

/* A knock. What we send over a connection that the other end has lost is answered by a reset. Who
 * knocks lives: without a connection to it we make one. */
static void reconnect_test(weft_health_t *health, uint32_t rank)
{
    weft_neighbour_t *neighbour = weft_neighbours_find(&health->neighbours, rank);
    if (neighbour != NULL) {
        weft_detector_beat(health, neighbour);
        weft_neighbour_flush(neighbour);
    } else {
        weft_detector_trust(health, rank);
        weft_detector_doubt(health, rank);
        weft_tree_repair(health);
    }
}

void weft_reconnect_accept(weft_health_t *health, int fd, const uint8_t label[WEFT_AUTH_LABEL])
{
    uint32_t rank;
    weft_health_assert_owner(health);
    if (!weft_auth_label_read(label, WEFT_PURPOSE_TREE, &rank) || rank >= health->boot->nranks ||
        rank == health->boot->rank || health->membership.states[rank] == WEFT_MEMBER_LEFT) {
        weft_os_close(fd);
        return;
    }
    if (rank < health->boot->rank) { /* a parent: nobody else of a lower rank connects to us */
        reconnect_test(health, rank);
        weft_os_close(fd);
        return;
    }
    weft_neighbour_t *old = weft_neighbours_find(&health->neighbours, rank);
    if (old != NULL) {
        weft_neighbour_close(old); /* it has lost that one */
    }
    weft_detector_trust(health, rank);
    reconnect_attach(health, fd, rank);
    weft_tree_repair(health);
}

/* A rank that would be our parent for the first time was not found. Its kernel may answer: it is
 * stopped, and the network is well. It does not look for us, as it would behind a connection that
 * broke. */
static uint8_t reconnect_missed(const weft_connector_t *connector, uint8_t broke)
{
    bool first = broke == WEFT_BREAK_NONE || broke == WEFT_BREAK_STILL;
    return first && connector->heard ? WEFT_BREAK_STILL : WEFT_BREAK_UNREACHABLE;
}

/* Each turn either waits, or suspects one more rank, or ends. */
static void reconnect_step_parent(weft_health_t *health)
{
    weft_reconnect_t *reconnect = &health->reconnect;
    while (reconnect->active) {
        weft_status_t status = weft_connector_step(&reconnect->connector);
        if (status == WEFT_IN_PROGRESS) {
            return;
        }
        reconnect->active = false;
        if (status == WEFT_OK) {
            reconnect->since = 0;
            reconnect_attach(health, reconnect->connector.fd, reconnect->rank);
        } else if (status == WEFT_ERR_LINK) {
            weft_detector_refused(health, reconnect->rank);
        } else if (status == WEFT_ERR_TIMEOUT) {
            weft_detector_unreachable(health, reconnect->rank, reconnect->since,
                                      reconnect_missed(&reconnect->connector,
                                                       health->membership.breaks[reconnect->rank]));
        } else {
            weft_detector_suspect(health, reconnect->rank);
        }
    }
}

/* Whom we expect has listened, and is waited for; or it cannot be reached, and is looked for
 * again. */
static void reconnect_knocked(weft_health_t *health, weft_status_t status)
{
    const weft_reconnect_t *knock = &health->knock;
    if (status != WEFT_ERR_TIMEOUT) {
        health->membership.breaks[knock->rank] = WEFT_BREAK_SEEN;
    }
    if (status == WEFT_OK) {
        weft_os_close(knock->connector.fd);
        weft_tree_expect(health);
    } else if (status == WEFT_ERR_LINK) {
        weft_detector_refused(health, knock->rank);
    }
    weft_tree_repair(health);
}

/* A parent that was unreachable. Where somebody answers and does not want us, it does not live
 * there any more. */
static void reconnect_knocked_unreachable(weft_health_t *health, weft_status_t status)
{
    const weft_reconnect_t *knock = &health->knock;
    if (status == WEFT_OK) {
        weft_detector_trust(health, knock->rank);
        reconnect_attach(health, knock->connector.fd, knock->rank);
    } else if (status == WEFT_ERR_LINK || status == WEFT_ERR_AUTH) {
        health->membership.breaks[knock->rank] = WEFT_BREAK_SEEN;
    } else if (status == WEFT_ERR_TIMEOUT) {
        uint8_t *broke = &health->membership.breaks[knock->rank];
        *broke = reconnect_missed(&knock->connector, *broke);
    }
    weft_tree_repair(health);
}

static void reconnect_step_knock(weft_health_t *health)
{
    weft_reconnect_t *knock = &health->knock;
    while (knock->active) {
        weft_status_t status = weft_connector_step(&knock->connector);
        if (status == WEFT_IN_PROGRESS) {
            return;
        }
        knock->active = false;
        if (weft_membership_is_unreachable(&health->membership, knock->rank)) {
            reconnect_knocked_unreachable(health, status);
        } else {
            reconnect_knocked(health, status);
        }
    }
}

void weft_reconnect_step(weft_health_t *health)
{
    weft_health_assert_owner(health);
    reconnect_step_parent(health);
    reconnect_step_knock(health);
}

void weft_reconnect_prepare(const weft_health_t *health, struct pollfd entries[2], uint64_t *until)
{
    const weft_reconnect_t *both[2] = {&health->reconnect, &health->knock};
    for (uint32_t i = 0; i < 2; i++) {
        entries[i] = (struct pollfd){.fd = -1};
        if (both[i]->active) {
            weft_connector_prepare(&both[i]->connector, &entries[i], until);
        }
    }
}

void weft_reconnect_end(weft_health_t *health)
{
    if (health->reconnect.active) {
        weft_connector_end(&health->reconnect.connector);
    }
    if (health->knock.active) {
        weft_connector_end(&health->knock.connector);
    }
}
