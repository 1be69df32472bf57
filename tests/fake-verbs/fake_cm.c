/* SPDX-License-Identifier: BSD-3-Clause
 *
 * librdmacm-fake: stands in for librdmacm.so.1 beside the fake verbs library, for connections
 * inside one process. Port p of fake adapter d has the address 10.99.d.p, and a program that
 * links this library sees no interfaces but those and the loopback. */
#include <rdma/rdma_cma.h>

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fake.h"

#define PORT_FIRST 20000
#define DATA_MAX 64

typedef struct fevent {
    struct fevent *next;
    struct rdma_cm_event base;
    uint8_t data[DATA_MAX];
} fevent_t;

typedef struct fchannel {
    struct rdma_event_channel base;
    fevent_t *first;
} fchannel_t;

typedef struct fid {
    struct rdma_cm_id base;
    struct fid *next;
    struct fid *peer; /* of a connection */
    uint32_t host;    /* address, as a number */
    uint16_t port;
    uint32_t to_host;
    uint16_t to_port;
    bool listens;
    bool routed;
    bool established; /* which nobody has told it */
    uint32_t qp;
} fid_t;

static struct {
    pthread_mutex_t lock;
    fid_t *ids;
    uint16_t next_port;
    struct ibv_context contexts[FAKE_DEVICES_MAX]; /* nothing but the device in each */
    fake_cm_t script;
    bool was_odd;
} cm = {.lock = PTHREAD_MUTEX_INITIALIZER, .next_port = PORT_FIRST};

static int failed(int cause)
{
    errno = cause;
    return cause == 0 ? 0 : -1;
}

static void *zeroed(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

/* Lock held. */
static void event_push(fid_t *id, enum rdma_cm_event_type type, int status,
                       const struct rdma_conn_param *param)
{
    fchannel_t *channel = (fchannel_t *)id->base.channel;
    fevent_t *event = zeroed(sizeof *event);
    uint64_t one = 1;
    event->base = (struct rdma_cm_event){.id = &id->base, .event = type, .status = status};
    if (param != NULL && param->private_data_len <= DATA_MAX) {
        event->base.param.conn = *param;
        event->base.param.conn.private_data = event->data;
        memcpy(event->data, param->private_data, param->private_data_len);
    }
    fevent_t **link = &channel->first;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = event;
    if (write(channel->base.fd, &one, sizeof one) < 0) {
        abort();
    }
}

/* Lock held. */
static void tell(fid_t *id, enum rdma_cm_event_type type, int status,
                 const struct rdma_conn_param *param)
{
    bool odd = cm.script.odd_nth == 1;
    cm.script.odd_nth -= cm.script.odd_nth > 0 ? 1 : 0;
    if (odd) {
        cm.was_odd = true;
        event_push(id, (enum rdma_cm_event_type)cm.script.odd_event, 0, NULL);
    }
    if (!odd || !cm.script.odd_instead || type == RDMA_CM_EVENT_CONNECT_REQUEST) {
        event_push(id, type, status, param);
    }
}

/* Lock held. */
static void tell_acceptor(fid_t *id)
{
    id->established = cm.script.late_acceptor;
    if (!id->established) {
        tell(id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
    }
}

void fake_cm(const fake_cm_t *script)
{
    pthread_mutex_lock(&cm.lock);
    cm.script = *script;
    cm.was_odd = false;
    for (fid_t *id = cm.ids; id != NULL; id = id->next) {
        if (id->established) {
            tell_acceptor(id);
        }
    }
    pthread_mutex_unlock(&cm.lock);
}

bool fake_cm_was_odd(void)
{
    return cm.was_odd;
}

uint32_t fake_cm_living(void)
{
    uint32_t count = 0;
    pthread_mutex_lock(&cm.lock);
    for (const fid_t *id = cm.ids; id != NULL; id = id->next) {
        count++;
    }
    pthread_mutex_unlock(&cm.lock);
    return count;
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
    fchannel_t *channel = zeroed(sizeof *channel);
    channel->base.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    return &channel->base;
}

/* Lock held. */
static fid_t *id_make(struct rdma_event_channel *channel, void *context)
{
    fid_t *id = zeroed(sizeof *id);
    id->base.channel = channel;
    id->base.context = context;
    id->next = cm.ids;
    cm.ids = id;
    return id;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id_p, void *context,
                   enum rdma_port_space space)
{
    pthread_mutex_lock(&cm.lock);
    fid_t *id = id_make(channel, context);
    id->base.ps = space;
    *id_p = &id->base;
    pthread_mutex_unlock(&cm.lock);
    return 0;
}

/* What of its events nobody has taken goes with it. */
static void events_forget(fid_t *id)
{
    fchannel_t *channel = (fchannel_t *)id->base.channel;
    uint64_t one;
    for (fevent_t **link = &channel->first; *link != NULL;) {
        fevent_t *event = *link;
        if (event->base.id != &id->base) {
            link = &event->next;
            continue;
        }
        *link = event->next;
        free(event);
        if (read(channel->base.fd, &one, sizeof one) < 0) {
            abort();
        }
    }
}

int rdma_destroy_id(struct rdma_cm_id *base)
{
    fid_t *id = (fid_t *)base;
    pthread_mutex_lock(&cm.lock);
    events_forget(id);
    fid_t **link = &cm.ids;
    while (*link != id) {
        link = &(*link)->next;
    }
    *link = id->next;
    if (id->peer != NULL) {
        fake_qp_cut(id->qp);
        fake_qp_cut(id->peer->qp);
        tell(id->peer, RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
        id->peer->peer = NULL;
    }
    pthread_mutex_unlock(&cm.lock);
    free(id);
    return 0;
}

/* Requests that nobody has taken are rejected. */
void rdma_destroy_event_channel(struct rdma_event_channel *base)
{
    fchannel_t *channel = (fchannel_t *)base;
    while (channel->first != NULL) {
        fevent_t *event = channel->first;
        channel->first = event->next;
        if (event->base.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
            rdma_destroy_id(event->base.id);
        }
        free(event);
    }
    close(base->fd);
    free(channel);
}

/* Which adapter has an address. */
static int place(fid_t *id, const struct sockaddr *any)
{
    const struct sockaddr_in *address = (const struct sockaddr_in *)(const void *)any;
    uint32_t host = any->sa_family == AF_INET ? ntohl(address->sin_addr.s_addr) : 0;
    uint32_t index = (host >> 8) & 0xff;
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    if (host >> 16 != (10 << 8 | 99) || list == NULL || index >= (uint32_t)count) {
        ibv_free_device_list(list);
        return EADDRNOTAVAIL;
    }
    cm.contexts[index].device = list[index];
    ibv_free_device_list(list);
    id->host = host;
    id->base.verbs = &cm.contexts[index];
    id->base.port_num = (uint8_t)host;
    return 0;
}

int rdma_bind_addr(struct rdma_cm_id *base, struct sockaddr *any)
{
    return failed(place((fid_t *)base, any));
}

int rdma_listen(struct rdma_cm_id *base, int backlog)
{
    fid_t *id = (fid_t *)base;
    (void)backlog;
    pthread_mutex_lock(&cm.lock);
    bool busy = cm.script.listens_busy > 0;
    cm.script.listens_busy -= busy ? 1 : 0;
    id->listens = !busy;
    id->port = cm.next_port++;
    pthread_mutex_unlock(&cm.lock);
    return failed(busy ? EADDRINUSE : 0);
}

__be16 rdma_get_src_port(struct rdma_cm_id *base)
{
    return htons(((fid_t *)base)->port);
}

int rdma_resolve_addr(struct rdma_cm_id *base, struct sockaddr *from, struct sockaddr *to,
                      int timeout_ms)
{
    fid_t *id = (fid_t *)base;
    const struct sockaddr_in *address = (const struct sockaddr_in *)(const void *)to;
    int cause = place(id, from);
    (void)timeout_ms;
    id->to_host = ntohl(address->sin_addr.s_addr);
    id->to_port = ntohs(address->sin_port);
    pthread_mutex_lock(&cm.lock);
    if (cause == 0 && cm.script.no_address) {
        tell(id, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, NULL);
    } else if (cause == 0 && !cm.script.no_answer) {
        tell(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL);
    }
    pthread_mutex_unlock(&cm.lock);
    return failed(cause);
}

int rdma_resolve_route(struct rdma_cm_id *base, int timeout_ms)
{
    fid_t *id = (fid_t *)base;
    (void)timeout_ms;
    pthread_mutex_lock(&cm.lock);
    bool again = id->routed;
    id->routed = true;
    if (!again) {
        tell(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL);
    }
    pthread_mutex_unlock(&cm.lock);
    return failed(again ? EINVAL : 0);
}

static fid_t *door_find(const fid_t *id)
{
    fid_t *door = cm.ids;
    while (door != NULL &&
           (!door->listens || door->host != id->to_host || door->port != id->to_port)) {
        door = door->next;
    }
    return door;
}

/* A request of somebody who saw the port but not the token. */
static void stranger_ask(fid_t *door)
{
    static const uint8_t guess[20];
    struct rdma_conn_param param = {.private_data = guess, .private_data_len = sizeof guess};
    fid_t *child = id_make(door->base.channel, NULL);
    tell(child, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &param);
}

int rdma_connect(struct rdma_cm_id *base, struct rdma_conn_param *param)
{
    fid_t *id = (fid_t *)base;
    pthread_mutex_lock(&cm.lock);
    if (id->peer != NULL) {
        pthread_mutex_unlock(&cm.lock);
        return failed(EINVAL);
    }
    fid_t *door = door_find(id);
    bool busy = cm.script.connects_busy > 0;
    cm.script.connects_busy -= busy ? 1 : 0;
    if (door != NULL && !busy) {
        for (; cm.script.strangers > 0; cm.script.strangers--) {
            stranger_ask(door);
        }
        fid_t *child = id_make(door->base.channel, door->base.context);
        child->base.verbs = door->base.verbs;
        child->base.port_num = door->base.port_num;
        id->qp = param->qp_num;
        id->peer = child;
        child->peer = id;
        tell(child, RDMA_CM_EVENT_CONNECT_REQUEST, 0, param);
    } else if (!busy) {
        tell(id, RDMA_CM_EVENT_UNREACHABLE, -ECONNREFUSED, NULL);
    }
    pthread_mutex_unlock(&cm.lock);
    return failed(busy ? EADDRINUSE : 0);
}

int rdma_accept(struct rdma_cm_id *base, struct rdma_conn_param *param)
{
    fid_t *id = (fid_t *)base;
    int cause = ECONNRESET;
    pthread_mutex_lock(&cm.lock);
    id->qp = param->qp_num;
    if (id->peer != NULL) {
        cause = fake_qp_join(id->peer->qp, id->peer->base.port_num, id->qp, base->port_num);
    }
    if (cause == 0) {
        tell_acceptor(id);
        tell(id->peer, RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
    }
    pthread_mutex_unlock(&cm.lock);
    return failed(cause);
}

int rdma_reject(struct rdma_cm_id *base, const void *data, uint8_t bytes)
{
    fid_t *id = (fid_t *)base;
    (void)data;
    (void)bytes;
    pthread_mutex_lock(&cm.lock);
    if (id->peer != NULL) {
        tell(id->peer, RDMA_CM_EVENT_REJECTED, -ECONNREFUSED, NULL);
        id->peer->peer = NULL;
        id->peer = NULL;
    }
    pthread_mutex_unlock(&cm.lock);
    return 0;
}

int rdma_get_cm_event(struct rdma_event_channel *base, struct rdma_cm_event **event_p)
{
    fchannel_t *channel = (fchannel_t *)base;
    uint64_t one;
    pthread_mutex_lock(&cm.lock);
    fevent_t *event = channel->first;
    if (event != NULL) {
        channel->first = event->next;
        *event_p = &event->base;
        if (read(base->fd, &one, sizeof one) < 0) {
            abort();
        }
    }
    pthread_mutex_unlock(&cm.lock);
    return failed(event != NULL ? 0 : EAGAIN);
}

int rdma_ack_cm_event(struct rdma_cm_event *base)
{
    free((char *)base - offsetof(fevent_t, base));
    return 0;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t bytes)
{
    (void)id;
    (void)level;
    (void)name;
    (void)value;
    (void)bytes;
    return 0;
}

const char *rdma_event_str(enum rdma_cm_event_type type)
{
    return type == RDMA_CM_EVENT_REJECTED      ? "RDMA_CM_EVENT_REJECTED"
           : type == RDMA_CM_EVENT_ADDR_ERROR  ? "RDMA_CM_EVENT_ADDR_ERROR"
           : type == RDMA_CM_EVENT_UNREACHABLE ? "RDMA_CM_EVENT_UNREACHABLE"
                                               : "an event";
}

/* Interfaces
 * ------------------------------------------------------------------------------------- */

typedef struct fif {
    struct ifaddrs base;
    struct sockaddr_in address, mask;
    char name[16];
} fif_t;

static struct ifaddrs *interface_make(const char *name, uint32_t host, unsigned flags,
                                      struct ifaddrs *next)
{
    fif_t *made = zeroed(sizeof *made);
    snprintf(made->name, sizeof made->name, "%s", name);
    made->address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(host)}};
    made->mask = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(0xffffff00u)}};
    made->base = (struct ifaddrs){.ifa_next = next,
                                  .ifa_name = made->name,
                                  .ifa_flags = flags | IFF_UP | IFF_RUNNING,
                                  .ifa_addr = (struct sockaddr *)(void *)&made->address,
                                  .ifa_netmask = (struct sockaddr *)(void *)&made->mask};
    return &made->base;
}

int getifaddrs(struct ifaddrs **list_p)
{
    char name[16];
    *list_p = interface_make("lo", INADDR_LOOPBACK, IFF_LOOPBACK, NULL);
    for (uint32_t i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "iw%u", i);
        *list_p = interface_make(name, 10u << 24 | 99u << 16 | i << 8 | 1u, 0, *list_p);
    }
    return 0;
}

void freeifaddrs(struct ifaddrs *list)
{
    while (list != NULL) {
        struct ifaddrs *next = list->ifa_next;
        free(list);
        list = next;
    }
}
