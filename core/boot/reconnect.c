/* SPDX-License-Identifier: BSD-3-Clause
 *
 * New connections of the tree: both ends. */
#include "core/boot/reconnect.h"

#include "core/boot/auth.h"
#include "core/boot/dissemination.h"
#include "core/boot/failure_detector.h"
#include "core/boot/health_state.h"
#include "core/boot/tree_repair.h"

/* The first byte shows that the other end believes in the connection too: it may have given up while
 * the handshake's last byte was on its way. */
static void reconnect_attach(weft_health_t *health, int fd, uint32_t rank)
{
    weft_frame_t beat = {.type = WEFT_FRAME_BEAT, .from = health->boot->rank};
    if (weft_neighbours_add(&health->neighbours, fd, rank) == WEFT_OK) {
        weft_neighbour_t *neighbour = &health->neighbours.list[health->neighbours.count - 1];
        neighbour->fresh = true;
        weft_neighbour_send(&health->neighbours, neighbour, &beat, NULL);
        weft_disseminate_all_to(health, neighbour);
        weft_detector_beat(health, neighbour);
    } else {
        weft_detector_declare_dead(health, health->boot->rank);
    }
}

void weft_reconnect_accept(weft_health_t *health, int fd, const uint8_t label[WEFT_AUTH_LABEL])
{
    uint32_t rank;
    weft_health_assert_owner(health);
    if (!weft_auth_label_read(label, WEFT_PURPOSE_TREE, &rank) || rank >= health->boot->nranks ||
        rank == health->boot->rank || health->membership.states[rank] == WEFT_MEMBER_LEFT ||
        weft_neighbours_find(&health->neighbours, rank) != NULL) {
        weft_os_close(fd);
        return;
    }
    weft_detector_trust(health, rank);
    reconnect_attach(health, fd, rank);
    weft_tree_repair(health);
}

void weft_reconnect_step(weft_health_t *health)
{
    weft_reconnect_t *reconnect = &health->reconnect;
    weft_health_assert_owner(health);
    /* Each turn either waits, or suspects one more rank, or ends. */
    while (reconnect->active) {
        weft_status_t status = weft_connector_step(&reconnect->connector);
        if (status == WEFT_IN_PROGRESS) {
            return;
        }
        reconnect->active = false;
        if (status == WEFT_OK) {
            reconnect_attach(health, reconnect->connector.fd, reconnect->parent);
        } else {
            weft_detector_suspect(health, reconnect->parent);
        }
    }
}
