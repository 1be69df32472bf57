/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Repair of the control tree: whom to connect to, and whom to expect. */
#include "core/boot/tree_repair.h"

#include "core/boot/auth.h"
#include "core/boot/health_state.h"

#define REPAIR_CONNECT_NS (2 * WEFT_NS_PER_S)

static void tree_repair_connect(weft_health_t *health)
{
    uint8_t label[WEFT_AUTH_LABEL];
    weft_boot_t *boot = health->boot;
    weft_reconnect_t *reconnect = &health->reconnect;
    uint32_t parent = weft_membership_parent(&health->membership, boot->rank);
    if (reconnect->active && reconnect->parent != parent) {
        weft_connector_end(&reconnect->connector);
        reconnect->active = false;
    }
    if (parent == boot->rank || reconnect->active ||
        weft_neighbours_find(&health->neighbours, parent) != NULL) {
        return;
    }
    const weft_join_request_t *request = &boot->requests[parent];
    weft_auth_label_make(label, WEFT_PURPOSE_TREE, boot->rank);
    weft_connector_begin(&reconnect->connector, boot->tree_key, label, request->addrs,
                         weft_join_request_addrs(request), weft_os_clock_ns() + REPAIR_CONNECT_NS);
    reconnect->active = true;
    reconnect->parent = parent;
}

void weft_tree_repair(weft_health_t *health)
{
    weft_health_assert_owner(health);
    if (!health->detection_ended) {
        tree_repair_connect(health);
        weft_membership_update(&health->membership, &health->neighbours);
    }
}
