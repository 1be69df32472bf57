/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See link_ports.h. */
#include "core/exec/link_ports.h"

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/exec/link_adapters.h"
#include "core/exec/port_export.h"
#include "core/exec/slot_pool.h"

bool weft_links_can_commit(const weft_links_t *links, const weft_transport_t *transport)
{
    const weft_net_map_t *map = transport->map;
    return links->setup.fifo.small_bytes > 0 && WEFT_HAS(map, weft_net_map_t, commit) &&
           map->commit != NULL && map->discard != NULL;
}

/* `way`: 0 is what the connector sends. */
static weft_status_t ports_make_mapped_one(weft_links_t *links, weft_link_t *link, bool sends,
                                           uint8_t *base, uint32_t way)
{
    const weft_links_setup_t *setup = &links->setup;
    const weft_transport_t *transport = weft_links_transport(links, link->transport);
    weft_pair_layout_t layout = weft_links_layout(links);
    weft_mapped_port_t *mapped = sends ? &link->send.mapped : &link->receive.mapped;
    weft_mapped_port_init(mapped, link->node.peer, sends, base + layout.head[way],
                          setup->fifo.slots, setup->fifo.slot_bytes);
    weft_mapped_port_set_payloads(mapped, &setup->fifo, base + layout.small[way],
                                  base + layout.slots[way]);
    mapped->windows = setup->windows;
    weft_payload_location_init(&mapped->location, &setup->sharing, &mapped->control->handshake,
                               link->node.peer, sends, setup->fifo.slots, setup->fifo.slot_bytes);
    if (!sends || !weft_links_can_commit(links, transport)) {
        return WEFT_OK;
    }
    weft_slot_store_t store = {.map = transport->map,
                               .conn = link->conn,
                               .small_at = layout.small[way],
                               .slots_at = layout.slots[way]};
    return weft_slot_pool_join(&links->pool, mapped, &store);
}

static weft_status_t ports_make_mapped(weft_links_t *links, weft_link_t *link, bool connector)
{
    void *base;
    uint64_t bytes, needed = weft_links_layout(links).bytes;
    const weft_transport_t *transport = weft_links_transport(links, link->transport);
    weft_status_t status = transport->map->region(link->conn, &base, &bytes);
    if (status != WEFT_OK) {
        return status;
    }
    if (bytes < needed) {
        return weft_fail(WEFT_ERR_PROTO, 0, "%s maps %llu bytes with rank %u, %llu needed",
                         transport->loaded->plugin->name, (unsigned long long)bytes,
                         link->node.peer, (unsigned long long)needed);
    }
    status = ports_make_mapped_one(links, link, true, base, connector ? 0 : 1);
    return status == WEFT_OK ? ports_make_mapped_one(links, link, false, base, connector ? 1 : 0)
                             : status;
}

static bool ports_shall_be_gpudirect(weft_links_t *links, uint32_t i)
{
    if (!links->decided[i]) {
        links->decided[i] = true;
        links->gpudirect[i] =
            weft_gpudirect_suits(&links->setup.gpudirect, weft_links_transport(links, i));
    }
    return links->gpudirect[i];
}

static weft_status_t ports_register_gpudirect(weft_links_t *links, const weft_link_t *link,
                                              void *memory, uint64_t bytes,
                                              weft_net_region_t **region_p)
{
    weft_transports_lock(links->setup.transports);
    weft_status_t status = weft_gpudirect_register(
        &links->setup.gpudirect, weft_links_transport(links, link->transport),
        links->adapter[link->transport], memory, bytes, region_p);
    weft_transports_unlock(links->setup.transports);
    return status;
}

/* Makes a port with slots on the device, if they can be had. The allocation is not under the
 * lock: a device may wait for its kernels before it has memory, and those for another
 * communicator. */
static bool ports_make_gpudirect(weft_links_t *links, const weft_link_t *link,
                                 const weft_message_port_params_t *params,
                                 weft_gpudirect_port_t *port, weft_net_region_t **region_p)
{
    const weft_gpudirect_t *gpudirect = &links->setup.gpudirect;
    uint64_t bytes = weft_message_port_bytes(params->slots, params->slot_bytes);
    void *memory = NULL;
    weft_status_t status = gpudirect->ops->alloc(gpudirect->kernel, bytes, &memory);
    if (status == WEFT_OK) {
        status = ports_register_gpudirect(links, link, memory, bytes, region_p);
    }
    if (status == WEFT_OK) {
        status = weft_gpudirect_port_init(port, params, gpudirect, memory);
    }
    if (status == WEFT_OK) {
        return true;
    }
    weft_log(WEFT_LOG_INFO, "links", "the slots %s rank %u stay on the host: %s",
             params->sends ? "to" : "from", params->peer, weft_error_record()->text);
    if (*region_p != NULL) {
        weft_links_dereg(links, link->transport, *region_p);
        *region_p = NULL;
    }
    if (memory != NULL) {
        gpudirect->ops->free(gpudirect->kernel, memory);
    }
    return false;
}

/* A connection that has ended by now is no failure of the link: who uses the port hears of it, and
 * a peer that had nothing to send and has left holds up nobody. */
static weft_status_t ports_open_message(weft_message_port_t *message, weft_net_region_t *region)
{
    weft_status_t status = weft_message_port_open(message, region);
    return status == WEFT_ERR_LINK || status == WEFT_ERR_PEER_DEAD ? WEFT_OK : status;
}

/* Registers the slots where the transport registers memory, so that no message pays for it. */
static weft_status_t ports_make_message(weft_links_t *links, weft_link_t *link, bool sends)
{
    weft_link_port_t *port = sends ? &link->send : &link->receive;
    weft_net_region_t *region = NULL;
    const weft_transport_t *transport = weft_links_transport(links, link->transport);
    weft_message_port_params_t params = {.loaded = transport->loaded,
                                         .net = transport->ops,
                                         .conn = link->conn,
                                         .list = &links->busy,
                                         .slot_bytes = links->setup.fifo.slot_bytes,
                                         .slots = links->setup.fifo.slots,
                                         .peer = link->node.peer,
                                         .sends = sends,
                                         .device = links->setup.gpudirect.memory != NULL};
    if (ports_shall_be_gpudirect(links, link->transport) &&
        ports_make_gpudirect(links, link, &params, &port->gpudirect, &region)) {
        return ports_open_message(&port->message, region);
    }
    if (links->setup.gpudirect.memory == NULL) {
        params.payload = transport->payload;
    }
    weft_status_t status = weft_message_port_init(&port->message, &params);
    if (status == WEFT_OK) {
        status = weft_links_reg(links, link->transport, port->message.memory,
                                port->message.memory_bytes, &region);
    }
    return status == WEFT_OK ? ports_open_message(&port->message, region) : status;
}

weft_status_t weft_link_make_ports(weft_links_t *links, weft_link_t *link, bool connector)
{
    const weft_transport_t *transport = weft_links_transport(links, link->transport);
    weft_status_t status;
    if (transport->map != NULL) {
        status = ports_make_mapped(links, link, connector);
        links->mapped++;
    } else {
        status = ports_make_message(links, link, true);
        status = status == WEFT_OK ? ports_make_message(links, link, false) : status;
        link->settled[0] = link->settled[1] = true;
        links->messages++;
    }
    link->state = WEFT_LINK_READY;
    weft_log(WEFT_LOG_DEBUG, "links", "rank %u to %u channel %u over %s%s", links->setup.rank,
             link->node.peer, link->node.channel, transport->loaded->plugin->name,
             weft_link_is_gpudirect(link) ? ", slots on the device" : "");
    return status;
}

/* Memory that the peer may still write to outlives the link, and so does the connection, which
 * tells whether the peer lives. */
static void ports_leave_locations(weft_links_t *links, weft_link_t *link)
{
    if (link->receive.head.ops == NULL || !weft_port_is_mapped(&link->receive.head)) {
        return;
    }
    weft_payload_location_t *receive = &link->receive.mapped.location;
    weft_payload_location_t *send = &link->send.mapped.location;
    bool sent = weft_payload_location_leave(send), received = weft_payload_location_leave(receive);
    if (!sent || !received) {
        weft_transports_retain(links->setup.transports, link->transport, link->conn, send, receive);
        link->conn = NULL;
    }
}

void weft_link_leave_ports(weft_links_t *links, weft_link_t *link)
{
    weft_port_unexport(&link->send.head);
    weft_port_unexport(&link->receive.head);
    ports_leave_locations(links, link);
}

static void ports_close_one(weft_links_t *links, const weft_link_t *link, weft_link_port_t *port)
{
    if (port->head.ops == NULL) {
        return; /* not made */
    }
    if (!weft_port_is_mapped(&port->head) && port->message.region != NULL) {
        weft_links_dereg(links, link->transport, port->message.region);
    }
    weft_port_fini(&port->head);
}

void weft_link_close_ports(weft_links_t *links, weft_link_t *link)
{
    ports_close_one(links, link, &link->send);
    ports_close_one(links, link, &link->receive);
}
