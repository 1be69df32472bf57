/* SPDX-License-Identifier: BSD-3-Clause
 *
 * net-local: messages between ranks that are threads of one process, for tests and measurements of
 * many ranks. A connection costs two records of less than a KiB, and nothing is scanned: a poll
 * visits the connections that have completions. One lock serves the process. Nobody else can reach
 * it, so it authenticates nobody, and the conformance tests of transports do not apply. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/plugin/net.h>

#define OUTSTANDING 8u /* of a kind and connection, power of two */
#define ADDRESS_BYTES 16u

struct weft_net_device {
    weft_net_t *net;
    weft_net_conn_t *ready, *last; /* with completions */
    _Atomic uint32_t busy;         /* ready is not empty */
};

struct weft_net_listener {
    weft_net_device_t *device;
    weft_net_conn_t *first, *last; /* not accepted yet */
    uint64_t accepted_ns;          /* when the last one was */
};

/* All options. */
typedef struct local_config {
    uint64_t slot_bytes;
    double accept_every;
} local_config_t;

struct weft_net {
    const weft_host_t *host;
    local_config_t config;
    weft_net_listener_t *listener;
    uint64_t number; /* among the instances of the process */
    weft_net_t *next;
};

typedef struct local_queue {
    weft_net_op_t ops[OUTSTANDING];
    uint32_t first, used;
} local_queue_t;

struct weft_net_conn {
    weft_net_device_t *device;
    weft_net_conn_t *peer; /* NULL: closed */
    weft_net_conn_t *next; /* of the listener's, or of the ready ones */
    weft_status_t status;  /* IN_PROGRESS until accepted */
    weft_net_conn_info_t info;
    local_queue_t queue[2]; /* sends, receives */
    weft_net_completion_t done[2 * OUTSTANDING];
    uint32_t ndone, taken;
    bool listed;
};

#define CHAINS 4096u
static pthread_mutex_t local_lock = PTHREAD_MUTEX_INITIALIZER;
static weft_net_t *local_nets[CHAINS]; /* by number */
static uint64_t local_numbers;

static weft_status_t local_create(const weft_host_t *host, const void *config, weft_net_t **net_p)
{
    weft_net_t *net = host->alloc(host, sizeof *net, 0);
    if (net == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    net->host = host;
    net->config = *(const local_config_t *)config;
    pthread_mutex_lock(&local_lock);
    net->number = ++local_numbers;
    net->next = local_nets[net->number % CHAINS];
    local_nets[net->number % CHAINS] = net;
    pthread_mutex_unlock(&local_lock);
    *net_p = net;
    return WEFT_OK;
}

static void local_destroy(weft_net_t *net)
{
    if (net == NULL) {
        return;
    }
    pthread_mutex_lock(&local_lock);
    weft_net_t **at = &local_nets[net->number % CHAINS];
    while (*at != net) {
        at = &(*at)->next;
    }
    *at = net->next;
    pthread_mutex_unlock(&local_lock);
    net->host->free(net->host, net);
}

static weft_status_t local_count(weft_net_t *net, uint32_t *count_p)
{
    (void)net;
    *count_p = 1;
    return WEFT_OK;
}

static weft_status_t local_props(weft_net_t *net, uint32_t index, weft_net_props_t *props)
{
    weft_net_props_t all = {.size = props->size,
                            .name = "local",
                            .memory_kinds = WEFT_MEMORY_HOST,
                            .latency_ns = 1000,
                            .bandwidth = 10000000000,
                            .max_outstanding = OUTSTANDING,
                            .max_message = 1 << 30,
                            .slot_bytes = net->config.slot_bytes,
                            .slots = 2};
    (void)index;
    memcpy(props, &all, props->size < sizeof all ? props->size : sizeof all);
    return WEFT_OK;
}

static weft_status_t local_open(weft_net_t *net, uint32_t index, weft_net_device_t **device_p)
{
    weft_net_device_t *device = net->host->alloc(net->host, sizeof *device, 0);
    (void)index;
    if (device == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    device->net = net;
    *device_p = device;
    return WEFT_OK;
}

static void local_close(weft_net_device_t *device)
{
    device->net->host->free(device->net->host, device);
}

static weft_status_t local_listen(weft_net_device_t *device, weft_net_address_t *address_p,
                                  weft_net_listener_t **listener_p)
{
    weft_net_t *net = device->net;
    weft_net_listener_t *listener = net->host->alloc(net->host, sizeof *listener, 0);
    if (listener == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    uint64_t process = (uint64_t)getpid();
    listener->device = device;
    *address_p = (weft_net_address_t){.bytes = ADDRESS_BYTES};
    memcpy(address_p->data, &process, sizeof process);
    memcpy(address_p->data + sizeof process, &net->number, sizeof net->number);
    pthread_mutex_lock(&local_lock);
    net->listener = listener;
    pthread_mutex_unlock(&local_lock);
    *listener_p = listener;
    return WEFT_OK;
}

static void local_list(weft_net_conn_t *conn)
{
    weft_net_device_t *device = conn->device;
    if (conn->listed) {
        return;
    }
    conn->listed = true;
    conn->next = NULL;
    *(device->ready != NULL ? &device->last->next : &device->ready) = conn;
    device->last = conn;
    atomic_store_explicit(&device->busy, 1, memory_order_release);
}

static void local_complete(weft_net_conn_t *conn, const weft_net_op_t *op, weft_status_t status,
                           uint64_t bytes)
{
    uint32_t at = (conn->taken + conn->ndone++) % (2 * OUTSTANDING);
    conn->done[at] = (weft_net_completion_t){
        .context = op->context, .status = status, .kind = op->kind, .bytes = bytes, .conn = conn};
    local_list(conn);
}

static weft_net_op_t *local_front(local_queue_t *queue)
{
    return &queue->ops[queue->first];
}

static void local_pop(local_queue_t *queue)
{
    queue->first = (queue->first + 1) % OUTSTANDING;
    queue->used--;
}

/* Ends a connection: what is posted completes with `status`. */
static void local_end(weft_net_conn_t *conn, weft_status_t status)
{
    conn->status = status;
    for (uint32_t kind = 0; kind < 2; kind++) {
        while (conn->queue[kind].used > 0) {
            local_complete(conn, local_front(&conn->queue[kind]), status, 0);
            local_pop(&conn->queue[kind]);
        }
    }
}

static void local_move(weft_net_conn_t *from, weft_net_conn_t *to)
{
    local_queue_t *sends = &from->queue[0], *receives = &to->queue[1];
    while (sends->used > 0 && receives->used > 0) {
        const weft_net_op_t *src = local_front(sends), *dst = local_front(receives);
        if (src->bytes > dst->bytes) {
            local_end(to, WEFT_ERR_PROTO);
            return;
        }
        if (src->bytes > 0) {
            memcpy(dst->buffer, src->buffer, src->bytes);
        }
        local_complete(from, src, WEFT_OK, src->bytes);
        local_complete(to, dst, WEFT_OK, src->bytes);
        local_pop(sends);
        local_pop(receives);
    }
}

static void local_free(weft_net_conn_t *conn)
{
    const weft_host_t *host = conn->device->net->host;
    weft_net_conn_t **at = &conn->device->ready, *before = NULL;
    while (conn->listed && *at != conn) {
        before = *at;
        at = &(*at)->next;
    }
    if (conn->listed) {
        *at = conn->next;
        conn->device->last = conn->device->last == conn ? before : conn->device->last;
    }
    if (conn->peer != NULL) {
        conn->peer->peer = NULL;
        local_end(conn->peer, WEFT_ERR_PEER_DEAD);
    }
    host->free(host, conn);
}

static void local_listener_close(weft_net_listener_t *listener)
{
    weft_net_t *net = listener->device->net;
    pthread_mutex_lock(&local_lock);
    net->listener = NULL;
    while (listener->first != NULL) {
        weft_net_conn_t *conn = listener->first;
        listener->first = conn->next;
        local_free(conn);
    }
    pthread_mutex_unlock(&local_lock);
    net->host->free(net->host, listener);
}

static weft_status_t local_reachable(weft_net_device_t *device, const weft_net_address_t *address)
{
    uint64_t process = (uint64_t)getpid();
    (void)device;
    if (address->bytes != ADDRESS_BYTES) {
        return WEFT_ERR_PROTO;
    }
    return memcmp(address->data, &process, sizeof process) == 0 ? WEFT_OK : WEFT_ERR_UNSUPPORTED;
}

static weft_net_conn_t *local_conn(weft_net_device_t *device, const uint8_t *label, bool connector)
{
    weft_net_conn_t *conn = device->net->host->alloc(device->net->host, sizeof *conn, 0);
    if (conn != NULL) {
        conn->device = device;
        conn->status = WEFT_IN_PROGRESS;
        conn->info = (weft_net_conn_info_t){
            .size = sizeof conn->info, .connector = connector, .peer = "this process"};
        memcpy(conn->info.label, label, WEFT_AUTH_LABEL);
    }
    return conn;
}

/* Makes both ends, so that accepting allocates nothing. The caller holds the lock. */
static weft_status_t local_join(weft_net_device_t *device, weft_net_listener_t *listener,
                                const uint8_t *label, weft_net_conn_t **conn_p)
{
    weft_net_conn_t *mine = local_conn(device, label, true);
    weft_net_conn_t *theirs = local_conn(listener->device, label, false);
    if (mine == NULL || theirs == NULL) {
        device->net->host->free(device->net->host, mine);
        device->net->host->free(device->net->host, theirs);
        return WEFT_ERR_RESOURCE;
    }
    mine->peer = theirs;
    theirs->peer = mine;
    *(listener->first != NULL ? &listener->last->next : &listener->first) = theirs;
    listener->last = theirs;
    *conn_p = mine;
    return WEFT_OK;
}

static weft_status_t local_connect(weft_net_device_t *device, const weft_net_address_t *address,
                                   const weft_net_conn_params_t *params, weft_net_conn_t **conn_p)
{
    uint64_t number;
    weft_status_t status = local_reachable(device, address);
    if (status != WEFT_OK) {
        return status;
    }
    memcpy(&number, address->data + sizeof number, sizeof number);
    pthread_mutex_lock(&local_lock);
    weft_net_t *net = local_nets[number % CHAINS];
    while (net != NULL && net->number != number) {
        net = net->next;
    }
    status = net != NULL && net->listener != NULL
                 ? local_join(device, net->listener, params->label, conn_p)
                 : device->net->host->set_error(device->net->host, WEFT_ERR_LINK, 0,
                                                "no instance %llu listens in this process",
                                                (unsigned long long)number);
    pthread_mutex_unlock(&local_lock);
    return status;
}

static weft_status_t local_status(weft_net_conn_t *conn)
{
    pthread_mutex_lock(&local_lock);
    weft_status_t status = conn->status;
    pthread_mutex_unlock(&local_lock);
    return status == WEFT_OK || status == WEFT_IN_PROGRESS
               ? status
               : conn->device->net->host->set_error(conn->device->net->host, status, 0,
                                                    "the other end closed");
}

static weft_status_t local_accept(weft_net_listener_t *listener, weft_net_conn_t **conn_p)
{
    const weft_net_t *net = listener->device->net;
    const uint64_t now = net->host->clock_ns(net->host);
    if ((double)(now - listener->accepted_ns) < net->config.accept_every * 1e9) {
        return WEFT_AGAIN;
    }
    pthread_mutex_lock(&local_lock);
    weft_net_conn_t *conn = listener->first;
    if (conn != NULL) {
        listener->accepted_ns = now;
        listener->first = conn->next;
        conn->next = NULL;
        if (conn->status == WEFT_IN_PROGRESS) {
            conn->status = conn->peer->status = WEFT_OK;
        }
        *conn_p = conn;
    }
    pthread_mutex_unlock(&local_lock);
    return conn != NULL ? WEFT_OK : WEFT_AGAIN;
}

static weft_status_t local_info(weft_net_conn_t *conn, weft_net_conn_info_t *info)
{
    size_t size = conn->info.size = info->size;
    memcpy(info, &conn->info, size < sizeof *info ? size : sizeof *info);
    return WEFT_OK;
}

static void local_conn_close(weft_net_conn_t *conn)
{
    if (conn != NULL) {
        pthread_mutex_lock(&local_lock);
        weft_net_conn_t *peer = conn->peer;
        if (peer != NULL && peer->status == WEFT_IN_PROGRESS && !peer->info.connector) {
            /* Nobody has accepted it: it stays in the listener's list, as one that ended. */
            peer->status = WEFT_ERR_PEER_DEAD;
        }
        local_free(conn);
        pthread_mutex_unlock(&local_lock);
    }
}

static weft_status_t local_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                                uint32_t *posted_p)
{
    pthread_mutex_lock(&local_lock);
    weft_status_t status = conn->status;
    for (*posted_p = 0; status == WEFT_OK && *posted_p < count; (*posted_p)++) {
        local_queue_t *queue = &conn->queue[ops[*posted_p].kind - WEFT_NET_SEND];
        if (queue->used == OUTSTANDING || conn->ndone + queue->used >= OUTSTANDING) {
            status = WEFT_AGAIN;
            break;
        }
        queue->ops[(queue->first + queue->used++) % OUTSTANDING] = ops[*posted_p];
    }
    if (conn->peer != NULL) {
        local_move(conn, conn->peer);
        local_move(conn->peer, conn);
    }
    pthread_mutex_unlock(&local_lock);
    return status;
}

static weft_status_t local_poll(weft_net_device_t *device, weft_net_completion_t *completions,
                                uint32_t max, uint32_t *count_p)
{
    *count_p = 0;
    if (atomic_load_explicit(&device->busy, memory_order_acquire) == 0) {
        return WEFT_OK;
    }
    pthread_mutex_lock(&local_lock);
    while (device->ready != NULL && *count_p < max) {
        weft_net_conn_t *conn = device->ready;
        while (conn->ndone > 0 && *count_p < max) {
            completions[(*count_p)++] = conn->done[conn->taken];
            conn->taken = (conn->taken + 1) % (2 * OUTSTANDING);
            conn->ndone--;
        }
        if (conn->ndone == 0) {
            device->ready = conn->next;
            conn->listed = false;
        }
    }
    atomic_store_explicit(&device->busy, device->ready != NULL, memory_order_release);
    pthread_mutex_unlock(&local_lock);
    return WEFT_OK;
}

static weft_status_t local_cancel(weft_net_conn_t *conn)
{
    pthread_mutex_lock(&local_lock);
    local_end(conn, WEFT_ERR_ABORTED);
    pthread_mutex_unlock(&local_lock);
    return WEFT_OK;
}

static weft_status_t local_attach(weft_net_conn_t *conn, weft_net_device_t *device)
{
    pthread_mutex_lock(&local_lock);
    conn->device = device;
    pthread_mutex_unlock(&local_lock);
    return WEFT_OK;
}

static const void *local_extension(weft_net_t *net, const char *name)
{
    static const weft_net_attach_t attach = {.size = sizeof attach, .attach = local_attach};
    (void)net;
    return strcmp(name, WEFT_NET_ATTACH) == 0 ? &attach : NULL;
}

static const weft_option_t options[] = {{.name = "slot_bytes",
                                         .type = WEFT_OPT_SIZE,
                                         .offset = offsetof(local_config_t, slot_bytes),
                                         .value = "1K",
                                         .help = "bytes of a slot",
                                         .min = 64,
                                         .max = 1 << 30},
                                        {.name = "accept_every",
                                         .type = WEFT_OPT_DURATION,
                                         .offset = offsetof(local_config_t, accept_every),
                                         .value = "0",
                                         .help = "time between two connections that a rank accepts",
                                         .max = 60},
                                        {.name = NULL}};

static const weft_net_ops_t ops = {.size = sizeof ops,
                                   .caps = WEFT_NET_CAP_MESSAGES,
                                   .create = local_create,
                                   .destroy = local_destroy,
                                   .device_count = local_count,
                                   .device_props = local_props,
                                   .device_open = local_open,
                                   .device_close = local_close,
                                   .listen = local_listen,
                                   .listener_close = local_listener_close,
                                   .reachable = local_reachable,
                                   .connect_begin = local_connect,
                                   .connect_poll = local_status,
                                   .accept = local_accept,
                                   .conn_info = local_info,
                                   .conn_check = local_status,
                                   .conn_close = local_conn_close,
                                   .post = local_post,
                                   .poll = local_poll,
                                   .cancel = local_cancel,
                                   .get_extension = local_extension};

static const weft_plugin_t plugin = {.magic = WEFT_PLUGIN_MAGIC,
                                     .abi_major = WEFT_ABI_NET_MAJOR,
                                     .abi_minor = WEFT_ABI_NET_MINOR,
                                     .size = sizeof plugin,
                                     .kind = WEFT_KIND_NET,
                                     .name = "net-local",
                                     .version = "1",
                                     .help = "messages between threads of one process",
                                     .options = options,
                                     .config_size = sizeof(local_config_t),
                                     .ops = &ops};

const weft_plugin_t *weft_plugin_entry(void)
{
    return &plugin;
}
