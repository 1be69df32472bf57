/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scripted faults: counting, matching, and the form they have in the environment. */
#include "fake_world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const call_names[FAKE_CALLS] = {
    [FAKE_FORK_INIT] = "fork_init",     [FAKE_GET_DEVICE_LIST] = "get_device_list",
    [FAKE_OPEN_DEVICE] = "open_device", [FAKE_QUERY_DEVICE] = "query_device",
    [FAKE_QUERY_PORT] = "query_port",   [FAKE_QUERY_GID_TABLE] = "query_gid_table",
    [FAKE_ALLOC_PD] = "alloc_pd",       [FAKE_REG_MR] = "reg_mr",
    [FAKE_REG_DMABUF] = "reg_dmabuf",   [FAKE_CREATE_CHANNEL] = "create_channel",
    [FAKE_CREATE_CQ] = "create_cq",     [FAKE_CREATE_QP] = "create_qp",
    [FAKE_MODIFY_QP] = "modify_qp",     [FAKE_POST_SEND] = "post_send",
    [FAKE_POST_RECV] = "post_recv",     [FAKE_POLL_CQ] = "poll_cq",
    [FAKE_REQ_NOTIFY] = "req_notify",   [FAKE_DEREG_MR] = "dereg_mr"};

static const char *const kind_names[FAKE_KINDS] = {
    [FAKE_SEND] = "send", [FAKE_WRITE] = "write", [FAKE_WRITE_IMM] = "write_imm",
    [FAKE_READ] = "read", [FAKE_RECV] = "recv",   [FAKE_ANY] = "any"};

static const char *const act_names[] = {
    [FAKE_FAIL] = "call", [FAKE_STATUS] = "status", [FAKE_AFTER] = "after", [FAKE_TWICE] = "twice",
    [FAKE_HOLD] = "hold", [FAKE_STALL] = "stall",   [FAKE_DIE] = "die"};

static bool is_of_call(fake_act_t act)
{
    return act == FAKE_FAIL || act == FAKE_DIE;
}

const char *fake_call_name(fake_call_t call)
{
    return call_names[call];
}

const char *fake_kind_name(fake_kind_t kind)
{
    return kind_names[kind];
}

int script_call(fake_call_t call)
{
    uint32_t nth = ++world.calls[call];
    for (uint32_t i = 0; i < world.nfaults; i++) {
        fault_t *fault = &world.faults[i];
        if (!is_of_call(fault->what.act) || fault->what.call != call || fault->what.nth != nth) {
            continue;
        }
        fault->happened = true;
        if (fault->what.act == FAKE_FAIL) {
            return fault->what.value;
        }
        world_device_fatal((uint32_t)fault->what.value);
    }
    return 0;
}

int script_make(fake_call_t call, struct ibv_context *context)
{
    int cause = script_call(call);
    return cause == 0 && device_of(context)->fatal ? EIO : cause;
}

fault_t *script_meet(fake_kind_t kind)
{
    uint32_t nth = ++world.kinds[kind];
    uint32_t any = ++world.kinds[FAKE_ANY];
    for (uint32_t i = 0; i < world.nfaults; i++) {
        fault_t *fault = &world.faults[i];
        bool fits = (fault->what.kind == kind && fault->what.nth == nth) ||
                    (fault->what.kind == FAKE_ANY && fault->what.nth == any);
        if (!is_of_call(fault->what.act) && fits) {
            fault->happened = true;
            return fault;
        }
    }
    return NULL;
}

void script_push(vcq_t *cq, const vcqe_t *entry, const fault_t *fault)
{
    if (fault != NULL && fault->what.act == FAKE_HOLD && !fault->released) {
        entry->qp->held[entry->recv ? 1 : 0] = true;
    }
    queue_push(cq, entry);
    if (fault != NULL && fault->what.act == FAKE_TWICE) {
        queue_push(cq, entry);
    }
}

static void fault_add(const fake_fault_t *fault)
{
    if (world.nfaults == FAULTS_MAX || fault->nth == 0) {
        fprintf(stderr, "fake verbs: too many faults, or a zeroth one\n");
        abort();
    }
    world.faults[world.nfaults++] = (fault_t){.what = *fault};
}

void fake_fault(const fake_fault_t *fault)
{
    world_enter();
    fault_add(fault);
    world_leave();
}

bool fake_happened(void)
{
    return world.nfaults > 0 && world.faults[world.nfaults - 1].happened;
}

void fake_release(void)
{
    world_enter();
    for (uint32_t i = 0; i < world.nfaults; i++) {
        world.faults[i].released = true;
    }
    for (vqp_t *qp = world.qps; qp != NULL; qp = qp->next) {
        qp->held[0] = qp->held[1] = false;
        queue_notify((vcq_t *)qp->base.send_cq);
        queue_notify((vcq_t *)qp->base.recv_cq);
    }
    engine_run();
    world_leave();
}

uint32_t fake_count_kind(fake_kind_t kind)
{
    return world.kinds[kind];
}

uint32_t fake_count_vectors(uint32_t index)
{
    return (uint32_t)__builtin_popcountll(world.devices[index].vectors);
}

uint32_t fake_count_call(fake_call_t call)
{
    return world.calls[call];
}

/* Index of `word` in a table of names, or `count`. */
static uint32_t name_find(const char *const *names, uint32_t count, const char *word)
{
    uint32_t i = 0;
    while (i < count && strcmp(names[i], word) != 0) {
        i++;
    }
    return i;
}

static bool fault_parse(const char *word)
{
    char act[16], name[24];
    fake_fault_t fault = {.nth = 0};
    int got = sscanf(word, "%15[^:]:%23[^:]:%u=%d", act, name, &fault.nth, &fault.value);
    uint32_t number = name_find(act_names, sizeof act_names / sizeof act_names[0], act);
    if (got < 3 || number == sizeof act_names / sizeof act_names[0] || fault.nth == 0) {
        return false;
    }
    fault.act = (fake_act_t)number;
    bool call = is_of_call(fault.act);
    uint32_t most = call ? (uint32_t)FAKE_CALLS : (uint32_t)FAKE_KINDS;
    uint32_t which = name_find(call ? call_names : kind_names, most, name);
    fault.call = call ? (fake_call_t)which : FAKE_CALLS;
    fault.kind = call ? FAKE_KINDS : (fake_kind_t)which;
    fault_add(&fault);
    return which < most;
}

static void ports_each(uint32_t ports, bool roce)
{
    for (uint32_t i = 0; i < world.ndevices; i++) {
        fake_device_ports(i, ports);
        for (uint32_t port = 1; roce && port <= ports; port++) {
            fake_port_roce(i, port);
        }
    }
}

static bool word_parse(const char *word, bool *roce_p)
{
    unsigned value = 0;
    uint32_t count = world.ndevices;
    if (sscanf(word, "devices=%u", &value) == 1 && value <= FAKE_DEVICES_MAX) {
        for (uint32_t i = count; i < value; i++) {
            world.devices[i] = world.devices[0];
            snprintf(world.devices[i].spec.name, sizeof world.devices[i].spec.name, "fake%u", i);
        }
        world.ndevices = value;
        ports_each(1, *roce_p);
    } else if (sscanf(word, "ports=%u", &value) == 1 && value >= 1 && value <= FAKE_PORTS_MAX) {
        ports_each(value, *roce_p);
    } else if (strcmp(word, "link=roce") == 0) {
        *roce_p = true;
        ports_each(world.devices[0].spec.nports, true);
    } else if (sscanf(word, "inline=%u", &value) == 1) {
        for (uint32_t i = 0; i < count; i++) {
            world.devices[i].spec.max_inline = value;
        }
    } else if (strcmp(word, "transport=iwarp") == 0) {
        for (uint32_t i = 0; i < count; i++) {
            world.devices[i].spec.transport = IBV_TRANSPORT_IWARP;
        }
    } else if (sscanf(word, "reorder=%u", &value) == 1) {
        world.reorder = value;
    } else {
        return strcmp(word, "link=ib") == 0 || strcmp(word, "transport=ib") == 0 ||
               fault_parse(word);
    }
    return true;
}

void script_parse(const char *text)
{
    char copy[512], *rest = NULL;
    bool roce = false;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        if (!word_parse(word, &roce)) {
            fprintf(stderr, "fake verbs: FAKE_VERBS has a bad word: %s\n", word);
            abort();
        }
    }
}
