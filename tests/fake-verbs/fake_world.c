/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The world of this process: its lock, its adapters before anybody opens them, and what a test
 * may do to them. */
#include "fake_world.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

world_t world = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .acked = PTHREAD_COND_INITIALIZER, .next_qp = QP_FIRST};

void *world_alloc(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (memory == NULL) {
        fprintf(stderr, "fake verbs: out of memory\n");
        abort();
    }
    return memory;
}

uint64_t world_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void device_make(uint32_t index)
{
    vdevice_t *device = &world.devices[index];
    memset(device, 0, sizeof *device);
    fake_device_t *spec = &device->spec;
    snprintf(spec->name, sizeof spec->name, "fake%u", index);
    spec->transport = IBV_TRANSPORT_IB;
    spec->max_inline = 256;
    spec->attr = (struct ibv_device_attr){.fw_ver = "1.0",
                                          .max_mr_size = UINT64_MAX,
                                          .page_size_cap = 4096,
                                          .max_qp = 4096,
                                          .max_qp_wr = 8192,
                                          .max_sge = SGE_MAX,
                                          .max_cq = 4096,
                                          .max_cqe = 65536,
                                          .max_mr = 1 << 20,
                                          .max_pd = 1024,
                                          .max_qp_rd_atom = 16,
                                          .max_pkeys = 4};
    spec->attr.node_guid = htobe64(UINT64_C(0x0200000000000000) + index);
    fake_device_ports(index, 1);
}

static void port_make(uint32_t index, uint32_t number)
{
    fake_port_t *port = &world.devices[index].spec.ports[number - 1];
    uint32_t serial = index * FAKE_PORTS_MAX + number;
    memset(port, 0, sizeof *port);
    port->attr = (struct ibv_port_attr){.state = IBV_PORT_ACTIVE,
                                        .max_mtu = IBV_MTU_4096,
                                        .active_mtu = IBV_MTU_4096,
                                        .max_msg_sz = 1u << 30,
                                        .pkey_tbl_len = 4,
                                        .lid = (uint16_t)serial,
                                        .sm_lid = 1,
                                        .active_width = 2,
                                        .active_speed = 32,
                                        .phys_state = 5,
                                        .link_layer = IBV_LINK_LAYER_INFINIBAND};
    /* Adapters of two processes are on two subnets: nothing gets from one to the other. */
    union ibv_gid *gid = &port->gids[0].gid;
    gid->global.subnet_prefix = htobe64(UINT64_C(0xfec0000000000000) + (uint64_t)getpid());
    gid->global.interface_id = htobe64(UINT64_C(0x0200000000000000) + serial);
    port->gids[0].gid_type = IBV_GID_TYPE_IB;
    port->ngids = 1;
}

void fake_port_roce(uint32_t index, uint32_t number)
{
    fake_port_t *port = &world.devices[index].spec.ports[number - 1];
    uint32_t serial = index * FAKE_PORTS_MAX + number;
    port->attr.link_layer = IBV_LINK_LAYER_ETHERNET;
    port->attr.lid = port->attr.sm_lid = 0;
    port->attr.active_mtu = IBV_MTU_1024;
    port->ngids = 4;
    for (uint32_t i = 0; i < 4; i++) {
        struct ibv_gid_entry *entry = &port->gids[i];
        bool mapped = i >= 2;
        uint64_t high = mapped ? 0 : UINT64_C(0xfe80000000000000);
        uint64_t low = mapped ? UINT64_C(0x0000ffff0a000000) : UINT64_C(0x020000fffe000000);
        *entry = (struct ibv_gid_entry){.gid_index = i,
                                        .gid_type = i % 2 == 0 ? IBV_GID_TYPE_ROCE_V1
                                                               : IBV_GID_TYPE_ROCE_V2,
                                        .ndev_ifindex = 1};
        entry->gid.global.subnet_prefix = htobe64(high);
        entry->gid.global.interface_id = htobe64(low + serial);
    }
}

void fake_device_ports(uint32_t index, uint32_t count)
{
    world.devices[index].spec.nports = count;
    for (uint32_t number = 1; number <= count; number++) {
        port_make(index, number);
    }
}

static void devices_make(uint32_t count)
{
    world.ndevices = count;
    for (uint32_t i = 0; i < count; i++) {
        device_make(i);
    }
}

static void forget(void)
{
    world.nfaults = 0;
    memset(world.kinds, 0, sizeof world.kinds);
    memset(world.calls, 0, sizeof world.calls);
}

void world_enter(void)
{
    pthread_mutex_lock(&world.lock);
    const char *script = getenv("FAKE_VERBS");
    /* A child whose parent has nothing open is a process of its own, on a subnet of its own. */
    bool forked = script != NULL && world.pid != getpid() && world.live.contexts == 0;
    if (!world.ready || forked) {
        world.ready = true;
        world.pid = getpid();
        devices_make(1);
        script_parse(script != NULL ? script : "");
    }
}

void world_leave(void)
{
    pthread_mutex_unlock(&world.lock);
}

void fake_setup(uint32_t count)
{
    world_enter();
    if (world.live.contexts > 0 || count > FAKE_DEVICES_MAX) {
        fprintf(stderr, "fake verbs: adapters are in use, or too many\n");
        abort();
    }
    devices_make(count);
    forget();
    world.reorder = 0;
    world_leave();
}

fake_device_t *fake_device(uint32_t index)
{
    return &world.devices[index].spec;
}

void fake_forget(void)
{
    world_enter();
    forget();
    world_leave();
}

void fake_reorder(uint32_t seed)
{
    world.reorder = seed;
}

void fake_living(fake_live_t *live)
{
    world_enter();
    *live = world.live;
    world_leave();
}

static void tell(uint32_t index, const struct ibv_async_event *event)
{
    for (vcontext_t *context = world.contexts; context != NULL; context = context->next) {
        if (context->verbs.context.device == &world.devices[index].base) {
            event_raise(context, event);
        }
    }
}

void fake_port_state(uint32_t index, uint32_t number, enum ibv_port_state state)
{
    world_enter();
    world.devices[index].spec.ports[number - 1].attr.state = state;
    struct ibv_async_event event = {.element = {.port_num = (int)number},
                                    .event_type = state == IBV_PORT_ACTIVE ? IBV_EVENT_PORT_ACTIVE
                                                                           : IBV_EVENT_PORT_ERR};
    tell(index, &event);
    engine_run();
    world_leave();
}

void fake_port_event(uint32_t index, uint32_t number, enum ibv_event_type type)
{
    struct ibv_async_event event = {.element = {.port_num = (int)number}, .event_type = type};
    world_enter();
    tell(index, &event);
    world_leave();
}

void world_device_fatal(uint32_t index)
{
    struct ibv_async_event event = {.event_type = IBV_EVENT_DEVICE_FATAL};
    world.devices[index].fatal = true;
    tell(index, &event);
    for (vcontext_t *context = world.contexts; context != NULL; context = context->next) {
        if (device_of(&context->verbs.context) == &world.devices[index]) {
            descriptor_raise(context->verbs.context.async_fd);
        }
    }
    for (vqp_t *qp = world.qps; qp != NULL; qp = qp->next) {
        if (device_of(qp->base.context) == &world.devices[index]) {
            descriptor_raise(qp->base.send_cq->channel->fd);
        }
    }
}

void fake_device_fatal(uint32_t index)
{
    world_enter();
    world_device_fatal(index);
    world_leave();
}

static vqp_t *qp_nth(uint32_t nth)
{
    vqp_t *qp = world.qps;
    for (uint32_t i = 1; i < nth && qp != NULL; i++) {
        qp = qp->next;
    }
    if (qp == NULL) {
        fprintf(stderr, "fake verbs: there are fewer than %u queue pairs\n", nth);
        abort();
    }
    return qp;
}

void fake_qp_event(uint32_t nth, enum ibv_event_type type)
{
    world_enter();
    vqp_t *qp = qp_nth(nth);
    struct ibv_async_event event = {.element = {.qp = &qp->base}, .event_type = type};
    if (type == IBV_EVENT_CQ_ERR) {
        event.element.cq = qp->base.send_cq;
    }
    event_raise(context_of(qp->base.context), &event);
    world_leave();
}

void fake_qp_break(uint32_t nth)
{
    world_enter();
    engine_fail(qp_nth(nth));
    world_leave();
}
