/* SPDX-License-Identifier: BSD-3-Clause
 *
 * net-null: the smallest net plugin. Both ends of a connection are in one instance, and a message
 * is one copy. The address is a random name of the instance, so it reaches no other instance. */
#include <string.h>
#include <weft/plugin/net.h>

struct weft_net_device { weft_net_t *net; };
struct weft_net_listener { weft_net_t *net; };
struct weft_net {
    const weft_host_t *host;
    uint64_t slot_bytes; /* the whole config struct */
    weft_net_address_t address;
    weft_net_device_t device; weft_net_listener_t listener;
    weft_net_conn_t *conns;
};
enum { FREE, POSTED, DONE };
struct weft_net_conn {
    weft_net_t *net;
    weft_net_conn_t *next, *peer;
    weft_status_t status; /* IN_PROGRESS until accepted, OK, or the error that ended it */
    weft_net_conn_info_t info;
    int state[3]; /* by kind: one send and one receive may be outstanding */
    weft_net_op_t ops[3];
    weft_net_completion_t done[3];
};
static weft_status_t null_create(const weft_host_t *host, const void *config, weft_net_t **net_p) {
    weft_net_t *net = host->alloc(host, sizeof *net, 0);
    if (net == NULL) { return WEFT_ERR_RESOURCE; }
    *net = (weft_net_t){host, *(const uint64_t *)config, {16, {0}}, {net}, {net}, NULL};
    weft_status_t status = host->random(host, net->address.data, 16);
    if (status != WEFT_OK) { host->free(host, net); }
    *net_p = net; return status;
}
static void null_destroy(weft_net_t *net) { if (net != NULL) { net->host->free(net->host, net); } }
static weft_status_t null_count(weft_net_t *net, uint32_t *p) { *p = net != NULL; return WEFT_OK; }
static weft_status_t null_props(weft_net_t *net, uint32_t index, weft_net_props_t *props) {
    weft_net_props_t all = {.size = props->size, .name = "null", .memory_kinds = WEFT_MEMORY_HOST,
        .latency_ns = 100, .bandwidth = 10000000000, .max_outstanding = 1, .max_message = 1 << 30,
        .slot_bytes = net->slot_bytes, .slots = 2};
    if (index > 0) { return net->host->set_error(net->host, WEFT_ERR_ARG, 0, "device %u", index); }
    memcpy(props, &all, props->size < sizeof all ? props->size : sizeof all);
    return WEFT_OK;
}
static weft_status_t null_open(weft_net_t *net, uint32_t index, weft_net_device_t **device_p) {
    *device_p = &net->device; return index == 0 ? WEFT_OK : WEFT_ERR_ARG;
}
static void null_close(weft_net_device_t *device) { (void)device; }
static weft_status_t null_listen(weft_net_device_t *device, weft_net_address_t *address_p,
                                 weft_net_listener_t **listener_p) {
    *address_p = device->net->address; *listener_p = &device->net->listener; return WEFT_OK;
}
static void null_listener_close(weft_net_listener_t *listener) { (void)listener; }
static weft_status_t null_reachable(weft_net_device_t *device, const weft_net_address_t *address) {
    const weft_net_address_t *mine = &device->net->address;
    const weft_host_t *host = device->net->host;
    weft_status_t status = address->bytes != mine->bytes ? WEFT_ERR_PROTO : WEFT_ERR_UNSUPPORTED;
    int same = address->bytes == mine->bytes && !memcmp(address->data, mine->data, mine->bytes);
    return same ? WEFT_OK : host->set_error(host, status, 0, "an address of another instance");
}
static weft_status_t null_conn_add(weft_net_t *net, const uint8_t *label, weft_net_conn_t *peer,
                                   weft_net_conn_t **conn_p) {
    weft_net_conn_t *conn = net->host->alloc(net->host, sizeof *conn, 0);
    if (conn == NULL) { return WEFT_ERR_RESOURCE; }
    *conn = (weft_net_conn_t){.net = net, .next = net->conns, .peer = peer};
    conn->status = peer == NULL ? WEFT_IN_PROGRESS : WEFT_OK;
    conn->info = (weft_net_conn_info_t){sizeof conn->info, {0}, peer == NULL, "this instance"};
    memcpy(conn->info.label, label, WEFT_AUTH_LABEL);
    if (peer != NULL) { peer->peer = conn; peer->status = WEFT_OK; }
    *conn_p = net->conns = conn; return WEFT_OK;
}
static weft_status_t null_connect(weft_net_device_t *device, const weft_net_address_t *address,
                                  const weft_net_conn_params_t *params, weft_net_conn_t **conn_p) {
    weft_status_t status = null_reachable(device, address);
    return status != WEFT_OK ? status : null_conn_add(device->net, params->label, NULL, conn_p);
}
static weft_status_t null_connect_poll(weft_net_conn_t *conn) { return conn->status; }
static weft_status_t null_accept(weft_net_listener_t *listener, weft_net_conn_t **conn_p) {
    weft_net_conn_t *from = listener->net->conns;
    while (from != NULL && from->status != WEFT_IN_PROGRESS) { from = from->next; }
    return from != NULL ? null_conn_add(from->net, from->info.label, from, conn_p) : WEFT_AGAIN;
}
static weft_status_t null_info(weft_net_conn_t *conn, weft_net_conn_info_t *info) {
    size_t size = conn->info.size = info->size;
    memcpy(info, &conn->info, size < sizeof *info ? size : sizeof *info); return WEFT_OK;
}
static void null_finish(weft_net_conn_t *conn, uint32_t kind, weft_status_t status, uint64_t n) {
    if (conn->state[kind] != POSTED) { return; }
    conn->done[kind] = (weft_net_completion_t){conn->ops[kind].context, status, kind, n, conn};
    conn->state[kind] = DONE;
}
static weft_status_t null_fail(weft_net_conn_t *conn, weft_status_t status, const char *why) {
    conn->status = status;
    null_finish(conn, WEFT_NET_SEND, status, 0); null_finish(conn, WEFT_NET_RECV, status, 0);
    return conn->net->host->set_error(conn->net->host, status, 0, "%s: %s", conn->info.peer, why);
}
static weft_status_t null_check(weft_net_conn_t *conn) {
    return conn->peer == NULL ? null_fail(conn, WEFT_ERR_PEER_DEAD, "closed") : conn->status;
}
static void null_conn_close(weft_net_conn_t *conn) {
    weft_net_conn_t **link = conn != NULL ? &conn->net->conns : NULL;
    if (link == NULL) { return; }
    while (*link != conn) { link = &(*link)->next; }
    *link = conn->next;
    if (conn->peer != NULL) { conn->peer->peer = NULL; }
    conn->net->host->free(conn->net->host, conn);
}
static weft_status_t null_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                               uint32_t *posted_p) {
    for (*posted_p = 0; conn->status == WEFT_OK && *posted_p < count; (*posted_p)++) {
        uint32_t kind = ops[*posted_p].kind;
        if (conn->state[kind] != FREE) { return WEFT_AGAIN; }
        conn->ops[kind] = ops[*posted_p]; conn->state[kind] = POSTED;
    }
    return conn->status;
}
static void null_move(weft_net_conn_t *from, weft_net_conn_t *to) {
    const weft_net_op_t *src = &from->ops[WEFT_NET_SEND], *dst = &to->ops[WEFT_NET_RECV];
    if (from->state[WEFT_NET_SEND] != POSTED || to->state[WEFT_NET_RECV] != POSTED) { return; }
    if (src->bytes > dst->bytes) { (void)null_fail(to, WEFT_ERR_PROTO, "too long"); return; }
    if (src->bytes > 0) { memcpy(dst->buffer, src->buffer, src->bytes); }
    null_finish(from, WEFT_NET_SEND, WEFT_OK, src->bytes);
    null_finish(to, WEFT_NET_RECV, WEFT_OK, src->bytes);
}
static weft_status_t null_poll(weft_net_device_t *device, weft_net_completion_t *completions,
                               uint32_t max, uint32_t *count_p) {
    weft_status_t last = WEFT_OK; /* of connections that failed one is told at a time */
    *count_p = 0;
    for (weft_net_conn_t *c = device->net->conns; c != NULL && last == WEFT_OK; c = c->next) {
        if (c->peer != NULL) { null_move(c->peer, c); }
        if (c->peer == NULL && c->status == WEFT_OK) { (void)null_check(c); }
        for (uint32_t kind = 1; kind < 3 && *count_p < max; kind++) {
            if (c->state[kind] != DONE) { continue; }
            completions[(*count_p)++] = c->done[kind]; c->state[kind] = FREE; last = c->status;
        }
    } return WEFT_OK;
}
static weft_status_t null_cancel(weft_net_conn_t *conn) {
    (void)null_fail(conn, WEFT_ERR_ABORTED, "cancelled"); return WEFT_OK;
}
static const weft_option_t options[] = {
    {"slot_bytes", WEFT_OPT_SIZE, 0, "64K", "bytes of a slot", NULL, 64, 1 << 30, 0, 0}, {0}};
static const weft_net_ops_t ops = {sizeof ops, WEFT_NET_CAP_MESSAGES, 0, null_create, null_destroy,
    null_count, null_props, null_open, null_close, null_listen, null_listener_close, null_reachable,
    null_connect, null_connect_poll, null_accept, null_info, null_check, null_conn_close, null_post,
    null_poll, null_cancel, NULL, NULL, NULL, NULL};
static const weft_plugin_t plugin = {WEFT_PLUGIN_MAGIC, WEFT_ABI_NET_MAJOR, WEFT_ABI_NET_MINOR,
    sizeof plugin, WEFT_KIND_NET, "net-null", "1", "messages inside one instance", options,
    sizeof(uint64_t), &ops};
const weft_plugin_t *weft_plugin_entry(void) { return &plugin; }
