/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transports of a family: opening, choosing per peer, accepting for whoever is meant. */
#include "core/exec/transports.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/os/assert.h"
#include "core/plugin/net_props.h"
#include "core/plugin/plugin_status.h"

/* A connection that outlives its communicator: see weft_transports_retain(). */
typedef struct kept {
    struct kept *next;
    weft_net_conn_t *conn;
    uint32_t transport; /* index */
    weft_payload_location_t send, receive;
} kept_t;

struct weft_transports {
    weft_os_mutex_t lock;
    weft_transport_t entry[WEFT_TRANSPORTS_MAX];
    uint32_t plugins; /* those with an instance */
    uint32_t count;   /* of entries, gaps included */
    uint32_t nranks, rank;
    weft_connect_layout_t layout;
    size_t info_bytes; /* of one rank */
    uint8_t *infos;    /* connect info of all ranks */
    uint8_t *serving;  /* per rank: index of the transport */
    weft_link_ways_t ways;
    weft_avoided_t avoided;
    weft_early_t early;
    kept_t *kept;
};

static weft_status_t transports_plugin_create(weft_transport_t *transport)
{
    transport->ops = transport->loaded->plugin->ops;
    const weft_loaded_t *loaded = transport->loaded;
    weft_call_note_t before = weft_call_enter(loaded->plugin->name, "create");
    weft_status_t status =
        weft_plugin_status(loaded, "create", WEFT_RETURNS_FINAL,
                           transport->ops->create(loaded->host, loaded->config, &transport->net));
    weft_call_leave(before);
    if (status != WEFT_OK) {
        return status;
    }
    const bool maps = (transport->ops->caps & WEFT_NET_CAP_MAP) != 0;
    transport->map = maps ? transport->ops->get_extension(transport->net, WEFT_NET_MAP) : NULL;
    if (maps && transport->map == NULL) {
        return weft_fail(WEFT_ERR_PLUGIN, 0, "%s: no %s, which WEFT_NET_CAP_MAP promises (%s)",
                         loaded->plugin->name, WEFT_NET_MAP, loaded->path);
    }
    if (WEFT_HAS(transport->ops, weft_net_ops_t, get_extension)) {
        transport->attach = transport->ops->get_extension(transport->net, WEFT_NET_ATTACH);
        transport->payload = transport->ops->get_extension(transport->net, WEFT_NET_PAYLOAD);
        transport->dmabuf = transport->ops->get_extension(transport->net, WEFT_NET_DMABUF);
    }
    return WEFT_OK;
}

static weft_status_t transports_device_open(weft_transport_t *transport, uint32_t device)
{
    const weft_loaded_t *loaded = transport->loaded;
    transport->device = device;
    weft_call_note_t before = weft_call_enter(loaded->plugin->name, "device_open");
    weft_status_t status = weft_net_props_read(loaded, transport->net, device, &transport->props);
    if (status == WEFT_OK) {
        status = transport->ops->device_open(transport->net, device, &transport->adapter);
        status = weft_plugin_status(loaded, "device_open", WEFT_RETURNS_FINAL, status);
    }
    if (status == WEFT_OK) {
        status =
            transport->ops->listen(transport->adapter, &transport->address, &transport->listener);
        status = weft_plugin_status(loaded, "listen", WEFT_RETURNS_FINAL, status);
    }
    weft_call_leave(before);
    return status;
}

static void transports_device_close(weft_transport_t *transport)
{
    if (transport->listener != NULL) {
        transport->ops->listener_close(transport->listener);
    }
    if (transport->adapter != NULL) {
        transport->ops->device_close(transport->adapter);
    }
}

/* Memory that is mapped is the same whatever device it belongs to. */
static weft_status_t transports_plugin_open(weft_transports_t *transports, uint32_t place)
{
    weft_transport_t *first = &transports->entry[place];
    const char *name = first->loaded->plugin->name;
    uint32_t devices = 0;
    weft_status_t status = transports_plugin_create(first);
    if (status == WEFT_OK) {
        status = first->ops->device_count(first->net, &devices);
        status = weft_plugin_status(first->loaded, "device_count", WEFT_RETURNS_FINAL, status);
    }
    if (status != WEFT_OK || devices == 0) {
        weft_log(WEFT_LOG_INFO, name, "no usable device");
        return status;
    }
    weft_transport_t blank = *first;
    status = transports_device_open(first, 0);
    uint32_t most = first->map != NULL ? 1 : WEFT_TRANSPORT_DEVICES;
    for (uint32_t d = 1; status == WEFT_OK && d < devices && d < most; d++) {
        uint32_t index = place + d * WEFT_TRANSPORT_PLUGINS;
        weft_transport_t *transport = &transports->entry[index];
        *transport = blank;
        if (transports_device_open(transport, d) == WEFT_OK) {
            transports->count = index + 1 > transports->count ? index + 1 : transports->count;
            continue;
        }
        weft_log(WEFT_LOG_WARN, name, "device %u is left out: %s", d, weft_error_record()->text);
        transports_device_close(transport);
        *transport = (weft_transport_t){.loaded = NULL};
    }
    return status;
}

weft_status_t weft_transports_create(const weft_registry_t *registry, uint32_t nranks,
                                     uint32_t rank, weft_transports_t **transports_p)
{
    weft_transports_t *transports = weft_os_alloc(sizeof *transports, 0);
    if (transports == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate transports");
    }
    transports->nranks = nranks;
    transports->rank = rank;
    transports->early = (weft_early_t){.lock = &transports->lock, .entry = transports->entry};
    const weft_loaded_t *loaded;
    for (uint32_t i = 0; (loaded = weft_registry_get(registry, WEFT_KIND_NET, i)) != NULL; i++) {
        if (i == WEFT_TRANSPORT_PLUGINS) {
            weft_transports_destroy(transports);
            return weft_fail(WEFT_ERR_CONFIG, 0, "more than %u net plugins are listed",
                             WEFT_TRANSPORT_PLUGINS);
        }
        transports->entry[i].loaded = loaded;
        transports->plugins = i + 1;
        transports->count = transports->count > i + 1 ? transports->count : i + 1;
        weft_status_t status = transports_plugin_open(transports, i);
        if (status != WEFT_OK) {
            weft_transports_destroy(transports);
            return status;
        }
    }
    *transports_p = transports;
    return WEFT_OK;
}

/* Takes it off the list. */
static void transports_kept_close(weft_transports_t *transports, kept_t **link)
{
    kept_t *kept = *link;
    *link = kept->next;
    weft_payload_location_close(&kept->send);
    weft_payload_location_close(&kept->receive);
    transports->entry[kept->transport].ops->conn_close(kept->conn);
    weft_os_free(kept);
}

static void transports_kept_sweep(weft_transports_t *transports)
{
    weft_os_mutex_assert_held(&transports->lock);
    for (kept_t **link = &transports->kept; *link != NULL;) {
        kept_t *kept = *link;
        if ((weft_payload_location_left(&kept->send) &&
             weft_payload_location_left(&kept->receive)) ||
            transports->entry[kept->transport].ops->conn_check(kept->conn) != WEFT_OK) {
            transports_kept_close(transports, link);
        } else {
            link = &kept->next;
        }
    }
}

void weft_transports_retain(weft_transports_t *transports, uint32_t index, weft_net_conn_t *conn,
                            const weft_payload_location_t *send,
                            const weft_payload_location_t *receive)
{
    kept_t *kept = weft_os_alloc(sizeof *kept, 0);
    weft_os_lock(&transports->lock);
    if (kept != NULL) {
        *kept = (kept_t){.next = transports->kept,
                         .conn = conn,
                         .transport = index,
                         .send = *send,
                         .receive = *receive};
        transports->kept = kept;
    } else {
        transports->entry[index].ops->conn_close(conn); /* the memory stays the kernel's */
    }
    weft_os_unlock(&transports->lock);
}

void weft_transports_destroy(weft_transports_t *transports)
{
    if (transports == NULL) {
        return;
    }
    weft_early_close(&transports->early);
    while (transports->kept != NULL) {
        transports_kept_close(transports, &transports->kept);
    }
    for (uint32_t i = transports->count; i-- > 0;) {
        weft_transport_t *transport = &transports->entry[i];
        transports_device_close(transport);
        if (i < WEFT_TRANSPORT_PLUGINS && transport->net != NULL) {
            transport->ops->destroy(transport->net);
        }
    }
    weft_os_free(transports->infos);
    weft_os_free(transports->serving);
    weft_os_free(transports);
}

uint32_t weft_transports_count(const weft_transports_t *transports)
{
    return transports->count;
}

const weft_transport_t *weft_transports_get(const weft_transports_t *transports, uint32_t i)
{
    return &transports->entry[i];
}

weft_connect_layout_t weft_transports_own_layout(const weft_transports_t *transports)
{
    weft_connect_layout_t layout = {{0}};
    for (uint32_t i = 0; i < transports->count; i++) {
        layout.bytes[i] = weft_transport_address_bytes(&transports->entry[i].address);
    }
    return layout;
}

weft_status_t weft_transports_set_layout(weft_transports_t *transports,
                                         const weft_connect_layout_t *layout, size_t *bytes_p)
{
    const weft_connect_layout_t own = weft_transports_own_layout(transports);
    for (uint32_t i = 0; i < WEFT_TRANSPORTS_MAX; i++) {
        if (layout->bytes[i] < own.bytes[i] || layout->bytes[i] > WEFT_NET_ADDRESS_MAX) {
            return weft_fail(WEFT_ERR_PROTO, 0,
                             "the ranks agreed on %u bytes for addresses of transport %u, where "
                             "this rank's has %u, and %u is the limit",
                             layout->bytes[i], i, own.bytes[i], WEFT_NET_ADDRESS_MAX);
        }
    }
    transports->layout = *layout;
    size_t bytes = weft_connect_bytes(&transports->layout, WEFT_TRANSPORTS_MAX);
    transports->info_bytes = bytes > 0 ? bytes : 1;
    *bytes_p = transports->info_bytes;
    return WEFT_OK;
}

/* For each transport a byte with the length of the address, and room for the longest; nothing where
 * no rank has an address. */
void weft_transports_connect_info(const weft_transports_t *transports, uint8_t *info)
{
    memset(info, 0, transports->info_bytes);
    for (uint32_t i = 0; i < transports->count; i++) {
        const weft_net_address_t *address = &transports->entry[i].address;
        uint8_t *at = info + weft_connect_bytes(&transports->layout, i);
        uint8_t bytes = weft_transport_address_bytes(address);
        if (bytes > 0) {
            at[0] = bytes;
            memcpy(at + 1, address->data, bytes);
        }
    }
}

/* The bytes came from the peer: a length beyond the layout is no address. */
void weft_transports_address(const weft_transports_t *transports, uint32_t peer, uint32_t index,
                             weft_net_address_t *address)
{
    uint32_t longest = transports->layout.bytes[index];
    const uint8_t *at = transports->infos + peer * transports->info_bytes +
                        weft_connect_bytes(&transports->layout, index);
    *address = (weft_net_address_t){.bytes = longest > 0 && at[0] <= longest ? at[0] : 0};
    memcpy(address->data, at + 1, address->bytes);
}

static bool transports_reaches(const weft_transports_t *transports, uint32_t index, uint32_t peer)
{
    const weft_transport_t *transport = &transports->entry[index];
    weft_net_address_t address;
    if (index >= transports->count || transport->adapter == NULL) {
        return false;
    }
    weft_transports_address(transports, peer, index, &address);
    return address.bytes > 0 && transport->ops->reachable(transport->adapter, &address) == WEFT_OK;
}

/* The first entry in the order of the INI that reaches the peer, or transports->count. */
static uint32_t transports_reaching(const weft_transports_t *transports, uint32_t peer)
{
    for (uint32_t place = 0; place < transports->plugins; place++) {
        for (uint32_t i = place; i < transports->count; i += WEFT_TRANSPORT_PLUGINS) {
            if (transports_reaches(transports, i, peer)) {
                return i;
            }
        }
    }
    return transports->count;
}

static weft_status_t transports_none_reaches(const weft_transports_t *transports, uint32_t peer)
{
    char tried[320] = " none is loaded";
    for (uint32_t i = 0; i < transports->plugins; i++) {
        size_t at = i > 0 ? strlen(tried) : 0;
        snprintf(tried + at, sizeof tried - at, "%s %s (%s)",
                 i > 0 ? "," : " tried:", transports->entry[i].loaded->plugin->name,
                 transports->entry[i].adapter == NULL ? "no device here" : "does not reach it");
    }
    weft_status_t status = weft_fail(
        WEFT_ERR_LINK, 0, "no transport from rank %u to rank %u;%s; add one to [core] net",
        transports->rank, peer, tried);
    weft_error_record()->peer = (int32_t)peer;
    return status;
}

weft_status_t weft_transports_choose(weft_transports_t *transports, uint8_t *infos,
                                     uint32_t *used_p)
{
    uint32_t n = transports->nranks;
    transports->infos = infos;
    transports->serving = weft_os_alloc(n, 0);
    if (transports->serving == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate addresses of %u ranks", n);
    }
    *used_p = 0;
    for (uint32_t peer = 0; peer < n; peer++) {
        if (peer == transports->rank) {
            continue;
        }
        uint32_t index = transports_reaching(transports, peer);
        if (index == transports->count) {
            return transports_none_reaches(transports, peer);
        }
        transports->serving[peer] = (uint8_t)index;
        *used_p |= UINT32_C(1) << index;
    }
    return WEFT_OK;
}

uint32_t weft_transports_index(const weft_transports_t *transports, uint32_t peer)
{
    return transports->serving[peer];
}

void weft_transports_set_ways(weft_transports_t *transports, const weft_link_ways_t *ways)
{
    transports->ways = *ways;
}

uint32_t weft_transports_number(const weft_transports_t *transports, uint32_t peer, uint32_t number)
{
    return weft_connect_devices(&transports->layout) == 1
               ? weft_link_without_way(number)
               : weft_link_number(&transports->ways, transports->rank, peer, number);
}

uint32_t weft_transports_spread(const weft_transports_t *transports, uint32_t peer, uint32_t number,
                                uint32_t tries, uint32_t *count_p)
{
    uint32_t first = transports->serving[peer];
    uint32_t found[WEFT_TRANSPORT_DEVICES] = {first}, count = 1;
    for (uint32_t i = first + WEFT_TRANSPORT_PLUGINS; i < transports->count;
         i += WEFT_TRANSPORT_PLUGINS) {
        if (transports_reaches(transports, i, peer)) {
            found[count++] = i;
        }
    }
    if (count_p != NULL) {
        *count_p = count;
    }
    const char *nic = weft_link_nic(&transports->ways, transports->rank, peer, number);
    uint32_t at = weft_link_turn(number);
    for (uint32_t i = 0; nic != NULL && i < count; i++) {
        at = weft_link_is_nic(transports->entry[found[i]].props.name, nic) ? i : at;
    }
    return tries == 0 ? weft_avoided_pass_over(&transports->avoided, found, count, at)
                      : found[(at + tries) % count];
}

void weft_transports_avoid(weft_transports_t *transports, uint32_t index, const char *why)
{
    const weft_transport_t *t = &transports->entry[index];
    weft_avoided_add(&transports->avoided, index, t->loaded->plugin->name, t->props.name, why);
}

uint64_t weft_transports_table_bytes(const weft_transports_t *transports)
{
    return transports->nranks * (transports->info_bytes + sizeof *transports->serving);
}

void weft_transports_lock(weft_transports_t *transports)
{
    weft_os_lock(&transports->lock);
}

void weft_transports_unlock(weft_transports_t *transports)
{
    weft_os_unlock(&transports->lock);
}

void weft_transports_add_user(weft_transports_t *transports, weft_transports_user_t *user)
{
    weft_os_lock(&transports->lock);
    weft_early_add_user(&transports->early, user);
    transports_kept_sweep(transports);
    weft_os_unlock(&transports->lock);
}

void weft_transports_remove_user(weft_transports_t *transports, weft_transports_user_t *user)
{
    weft_os_lock(&transports->lock);
    weft_early_remove_user(&transports->early, user);
    weft_os_unlock(&transports->lock);
}

weft_status_t weft_transports_take_in(weft_transports_t *transports, bool first)
{
    weft_os_lock(&transports->lock);
    weft_status_t status = weft_early_take_in(&transports->early, transports->count, first);
    weft_os_unlock(&transports->lock);
    return status;
}

bool weft_transports_take_note(weft_transports_t *transports, weft_early_note_t *note)
{
    weft_os_lock(&transports->lock);
    bool taken = weft_early_take_note(&transports->early, note);
    weft_os_unlock(&transports->lock);
    return taken;
}

weft_status_t weft_transports_accept(weft_transports_t *transports,
                                     const weft_transports_user_t *user, uint32_t *index_p,
                                     weft_net_conn_t **conn_p, weft_conn_label_t *label)
{
    weft_os_lock(&transports->lock);
    weft_status_t status =
        weft_early_accept(&transports->early, transports->count, user, index_p, conn_p, label);
    weft_os_unlock(&transports->lock);
    return status;
}
