/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Adapters as a program sees them: the list, contexts, attributes, ports and their tables. */
#include "fake_world.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* What a test has changed since the last list: other threads read the rest. */
static void device_refresh(vdevice_t *device)
{
    struct ibv_device *base = &device->base;
    bool ib = device->spec.transport == IBV_TRANSPORT_IB;
    if (base->transport_type != device->spec.transport || base->node_type == 0 ||
        strcmp(base->name, device->spec.name) != 0) {
        base->node_type = ib ? IBV_NODE_CA : IBV_NODE_RNIC;
        base->transport_type = device->spec.transport;
        memcpy(base->name, device->spec.name, sizeof base->name);
    }
}

struct ibv_device **ibv_get_device_list(int *count_p)
{
    world_enter();
    int cause = script_call(FAKE_GET_DEVICE_LIST);
    struct ibv_device **list = NULL;
    if (cause == 0) {
        list = world_alloc((world.ndevices + 1) * sizeof(struct ibv_device *));
        world.live.lists++;
        for (uint32_t i = 0; i < world.ndevices; i++) {
            device_refresh(&world.devices[i]);
            list[i] = &world.devices[i].base;
        }
    }
    if (count_p != NULL) {
        *count_p = list != NULL ? (int)world.ndevices : 0;
    }
    world_leave();
    errno = cause;
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
    world_enter();
    world.live.lists--;
    free(list);
    world_leave();
}

const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
    return ((vdevice_t *)device)->spec.attr.node_guid;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    vcontext_t *context = NULL;
    world_enter();
    uint32_t wish = ((vdevice_t *)device)->spec.vectors;
    int vectors = wish > 0 ? (int)wish : 1;
    int cause = script_call(FAKE_OPEN_DEVICE);
    int fd = cause == 0 ? eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE) : -1;
    cause = cause == 0 && fd < 0 ? errno : cause;
    if (cause == 0) {
        context = world_alloc(sizeof *context);
        context->verbs.sz = sizeof context->verbs;
        context->verbs.query_port = device_query_port;
        context->verbs.context = (struct ibv_context){.device = device,
                                                      .cmd_fd = -1,
                                                      .async_fd = fd,
                                                      .num_comp_vectors = vectors,
                                                      .abi_compat = __VERBS_ABI_IS_EXTENDED};
        context->verbs.context.ops.poll_cq = queue_poll;
        context->verbs.context.ops.req_notify_cq = queue_arm;
        context->verbs.context.ops.post_send = engine_post_send;
        context->verbs.context.ops.post_recv = engine_post_recv;
        context->next = world.contexts;
        world.contexts = context;
        world.live.contexts++;
    }
    world_leave();
    errno = cause;
    return context != NULL ? &context->verbs.context : NULL;
}

int ibv_close_device(struct ibv_context *verbs)
{
    vcontext_t *context = context_of(verbs);
    world_enter();
    if (context->users > 0) {
        fprintf(stderr, "fake verbs: %s is closed with %u objects in use\n", verbs->device->name,
                context->users);
        abort();
    }
    vcontext_t **link = &world.contexts;
    while (*link != context) {
        link = &(*link)->next;
    }
    *link = context->next;
    world.live.contexts--;
    close(verbs->async_fd);
    free(context);
    world_leave();
    return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    world_enter();
    int cause = script_call(FAKE_QUERY_DEVICE);
    const fake_device_t *spec = &device_of(context)->spec;
    *attr = spec->attr;
    attr->phys_port_cnt = (uint8_t)spec->nports;
    world_leave();
    errno = cause;
    return cause;
}

const fake_port_t *device_port(const vdevice_t *device, uint32_t number)
{
    return number >= 1 && number <= device->spec.nports ? &device->spec.ports[number - 1] : NULL;
}

int device_query_port(struct ibv_context *context, uint8_t number, struct ibv_port_attr *attr,
                      size_t bytes)
{
    world_enter();
    int cause = script_call(FAKE_QUERY_PORT);
    const fake_port_t *port = device_port(device_of(context), number);
    if (cause == 0 && port != NULL) {
        struct ibv_port_attr mine = port->attr;
        mine.gid_tbl_len = FAKE_GIDS_MAX;
        memset(attr, 0, bytes);
        memcpy(attr, &mine, bytes < sizeof mine ? bytes : sizeof mine);
    }
    world_leave();
    return cause == 0 && port == NULL ? EINVAL : cause;
}

int ibv_query_port(struct ibv_context *context, uint8_t number, struct _compat_ibv_port_attr *attr)
{
    return device_query_port(context, number, (struct ibv_port_attr *)attr,
                             offsetof(struct ibv_port_attr, port_cap_flags2));
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max,
                             uint32_t flags, size_t entry_bytes)
{
    size_t count = 0;
    world_enter();
    int cause = script_make(FAKE_QUERY_GID_TABLE, context);
    const fake_device_t *spec = &device_of(context)->spec;
    for (uint32_t p = 0; p < spec->nports && cause == 0; p++) {
        for (uint32_t i = 0; i < spec->ports[p].ngids && count < max; i++) {
            entries[count] = spec->ports[p].gids[i];
            entries[count++].port_num = p + 1;
        }
    }
    world_leave();
    cause = flags != 0 || entry_bytes != sizeof *entries ? EINVAL : cause;
    return cause != 0 ? -cause : (ssize_t)count;
}

static const struct ibv_gid_entry *gid_find(struct ibv_context *context, uint32_t number,
                                            uint32_t index)
{
    const fake_port_t *port = device_port(device_of(context), number);
    for (uint32_t i = 0; port != NULL && i < port->ngids; i++) {
        if (port->gids[i].gid_index == index) {
            return &port->gids[i];
        }
    }
    return NULL;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t number, uint32_t index,
                      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_bytes)
{
    const struct ibv_gid_entry *found = gid_find(context, number, index);
    if (found == NULL || flags != 0 || entry_bytes != sizeof *entry) {
        return found == NULL ? ENODATA : EINVAL;
    }
    *entry = *found;
    entry->port_num = number;
    return 0;
}

int ibv_query_gid(struct ibv_context *context, uint8_t number, int index, union ibv_gid *gid)
{
    const struct ibv_gid_entry *found = gid_find(context, number, (uint32_t)index);
    memset(gid, 0, sizeof *gid);
    if (found != NULL) {
        *gid = found->gid;
    }
    return index >= 0 && index < (int)FAKE_GIDS_MAX ? 0 : -1;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t number, int index, __be16 *pkey)
{
    const fake_port_t *port = device_port(device_of(context), number);
    if (port == NULL || index < 0 || index >= port->attr.pkey_tbl_len) {
        return -1;
    }
    *pkey = htobe16(index == 0 ? 0xffff : 0);
    return 0;
}

const char *ibv_port_state_str(enum ibv_port_state state)
{
    static const char *const names[] = {"no state change (NOP)", "down", "init", "armed", "active",
                                        "in active defer"};
    return (uint32_t)state < sizeof names / sizeof names[0] ? names[state] : "invalid state";
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
    return status == IBV_WC_SUCCESS ? "success" : "failure";
}

const char *ibv_event_type_str(enum ibv_event_type type)
{
    return type <= IBV_EVENT_WQ_FATAL ? "event" : "unknown";
}

const char *ibv_node_type_str(enum ibv_node_type type)
{
    return type == IBV_NODE_RNIC ? "iWARP NIC" : "InfiniBand channel adapter";
}

int ibv_fork_init(void)
{
    world_enter();
    int cause = script_call(FAKE_FORK_INIT);
    world_leave();
    return cause;
}
