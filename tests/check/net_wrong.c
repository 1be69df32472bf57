/* SPDX-License-Identifier: BSD-3-Clause
 *
 * net-wrong: the plugin of net_right.c, which makes the mistake that its option `wrong` names. One
 * mistake is one line here and one in mistakes_net.txt. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net_right.h"

#define MOMENT 20 /* mistakes of the data path are made this time */

struct wrong_config {
    const char *wrong;
};

static char mistake[64]; /* a copy: instances come and go */
static const weft_host_t *host;
static int moment;
static const weft_net_ops_t *const right = &net_right_ops;

bool wrong_is(const char *name)
{
    return strcmp(mistake, name) == 0;
}

bool wrong_now(const char *name)
{
    return wrong_is(name) && ++moment == MOMENT;
}

static void hang(void)
{
    for (;;) {
        sleep(1000);
    }
}

/* The undefined-behaviour sanitizer would end the process before it. */
__attribute__((no_sanitize("undefined", "address"))) static void crash(void)
{
    *wrong_nowhere = 1;
}

/* Control -------------------------------------------------------------------------------------- */

static weft_status_t wrong_create(const weft_host_t *h, const void *config, weft_net_t **net_p)
{
    snprintf(mistake, sizeof mistake, "%s", ((const struct wrong_config *)config)->wrong);
    host = h;
    if (wrong_is("create-number"))
        return (weft_status_t)77;
    if (wrong_is("create-again"))
        return WEFT_AGAIN;
    if (wrong_is("create-silent"))
        return WEFT_ERR_SYSTEM;
    if (wrong_is("create-nothing"))
        return WEFT_OK;
    if (wrong_is("create-crash"))
        crash();
    if (wrong_is("create-hang"))
        hang();
    if (wrong_is("create-exit"))
        exit(0);
    if (wrong_is("create-skip"))
        _exit(77);
    if (wrong_is("create-leak"))
        (void)h->alloc(h, 100, 0);
    if (wrong_is("create-malloc")) { /* past the host, where only the kit looks */
        void *volatile lost = malloc(100);
        (void)lost;
    }
    if (wrong_is("alloc-align"))
        (void)h->alloc(h, 100, 24);
    if (wrong_is("error-ok"))
        return h->set_error(h, WEFT_OK, 0, "all is well");
    return right->create(h, config, net_p);
}

static void wrong_destroy(weft_net_t *net)
{
    if (wrong_is("destroy-crash"))
        crash();
    if (wrong_is("destroy-hang"))
        hang();
    if (wrong_is("destroy-exit"))
        _exit(0);
    if (wrong_is("destroy-nothing"))
        return;
    right->destroy(net);
}

static weft_status_t wrong_count(weft_net_t *net, uint32_t *count_p)
{
    if (wrong_is("count-number"))
        return (weft_status_t)5;
    if (wrong_is("count-silent"))
        return WEFT_ERR_SYSTEM;
    return right->device_count(net, count_p);
}

/* Bytes that are taken: the least that a transport may have is right, if it says so ("short"). */
static uint64_t message_most(void)
{
    if (wrong_is("short"))
        return UINT64_C(1) << 20;
    return wrong_is("message-limit") ? UINT64_C(64) << 20 : UINT64_MAX;
}

static weft_status_t wrong_props(weft_net_t *net, uint32_t index, weft_net_props_t *props)
{
    weft_status_t status = right->device_props(net, index, props);
    if (wrong_is("props-number"))
        return (weft_status_t)3;
    if (wrong_is("props-silent"))
        return WEFT_ERR_SYSTEM;
    if (wrong_is("props-size"))
        props->size = 16;
    if (wrong_is("props-name"))
        memset(props->name, 'x', sizeof props->name);
    if (wrong_is("props-pci"))
        memset(props->pci, 'x', sizeof props->pci);
    if (wrong_is("props-outstanding"))
        props->max_outstanding = 0;
    if (wrong_is("props-slots"))
        props->slots = 1;
    if (wrong_is("props-slots-many"))
        props->slots = 1 << 20;
    if (wrong_is("props-bandwidth"))
        props->bandwidth = 0;
    if (wrong_is("props-latency"))
        props->latency_ns = 0;
    if (wrong_is("props-kinds"))
        props->memory_kinds = 0;
    if (wrong_is("props-message"))
        props->max_message = 100;
    if (wrong_is("short") && props->size == sizeof *props)
        props->max_message = message_most();
    if (wrong_is("props-slot"))
        props->slot_bytes = UINT64_C(1) << 40;
    if (wrong_is("props-slot-none"))
        props->slot_bytes = 0;
    return status;
}

static weft_net_device_t *first_device;

static weft_status_t wrong_open(weft_net_t *net, uint32_t index, weft_net_device_t **device_p)
{
    if (wrong_is("open-number"))
        return (weft_status_t)9;
    if (wrong_is("open-silent"))
        return WEFT_ERR_RESOURCE;
    if (wrong_is("open-nothing"))
        return WEFT_OK;
    if (wrong_is("open-crash"))
        crash();
    if (wrong_is("open-twice") && first_device != NULL) {
        *device_p = first_device;
        return WEFT_OK;
    }
    weft_status_t status = right->device_open(net, index, device_p);
    first_device = *device_p;
    return status;
}

static weft_status_t wrong_listen(weft_net_device_t *device, weft_net_address_t *address_p,
                                  weft_net_listener_t **listener_p)
{
    if (wrong_is("listen-number"))
        return (weft_status_t)5;
    if (wrong_is("listen-silent"))
        return WEFT_ERR_SYSTEM;
    if (wrong_is("listen-nothing"))
        return WEFT_OK;
    if (wrong_is("listen-hang"))
        hang();
    weft_status_t status = right->listen(device, address_p, listener_p);
    if (wrong_is("address-empty"))
        address_p->bytes = 0;
    if (wrong_is("address-long"))
        address_p->bytes = 4000;
    if (wrong_is("address-other"))
        address_p->data[0] ^= 1;
    return status;
}

static weft_status_t wrong_reachable(weft_net_device_t *device, const weft_net_address_t *address)
{
    if (wrong_is("reachable-number"))
        return (weft_status_t)7;
    if (wrong_is("reachable-silent"))
        return WEFT_ERR_UNSUPPORTED;
    if (wrong_is("reachable-crash"))
        crash();
    return right->reachable(device, address);
}

/* Connections ---------------------------------------------------------------------------------- */

static weft_net_conn_t *first_conn;

static weft_status_t wrong_connect(weft_net_device_t *device, const weft_net_address_t *address,
                                   const weft_net_conn_params_t *params, weft_net_conn_t **conn_p)
{
    if (wrong_is("begin-number"))
        return (weft_status_t)8;
    if (wrong_is("begin-silent"))
        return WEFT_ERR_RESOURCE;
    if (wrong_is("begin-nothing"))
        return WEFT_OK;
    if (wrong_is("begin-crash"))
        crash();
    return right->connect_begin(device, address, params, conn_p);
}

static weft_status_t wrong_connect_poll(weft_net_conn_t *conn)
{
    if (wrong_is("connect-again"))
        return WEFT_AGAIN;
    if (wrong_is("connect-number"))
        return (weft_status_t)12;
    if (wrong_is("connect-silent"))
        return WEFT_ERR_LINK;
    if (wrong_is("connect-auth"))
        return WEFT_ERR_AUTH;
    if (wrong_is("connect-never"))
        return WEFT_IN_PROGRESS;
    if (wrong_is("connect-hang"))
        hang();
    return right->connect_poll(conn);
}

static weft_status_t wrong_accept(weft_net_listener_t *listener, weft_net_conn_t **conn_p)
{
    if (wrong_is("accept-number"))
        return (weft_status_t)6;
    if (wrong_is("accept-silent"))
        return WEFT_ERR_SYSTEM;
    if (wrong_is("accept-nothing"))
        return WEFT_OK;
    if (wrong_is("accept-crash"))
        crash();
    if (wrong_is("accept-hang"))
        hang();
    if (wrong_is("accept-twice") && first_conn != NULL) {
        *conn_p = first_conn;
        return WEFT_OK;
    }
    weft_status_t status = right->accept(listener, conn_p);
    first_conn = status == WEFT_OK ? *conn_p : first_conn;
    if (wrong_is("accept-again") && status == WEFT_OK)
        return WEFT_AGAIN;
    return status;
}

static weft_status_t wrong_info(weft_net_conn_t *conn, weft_net_conn_info_t *info)
{
    weft_status_t status = right->conn_info(conn, info);
    if (wrong_is("info-number"))
        return (weft_status_t)2;
    if (wrong_is("info-silent"))
        return WEFT_ERR_STATE;
    if (wrong_is("info-connector"))
        info->connector ^= 1;
    if (wrong_is("info-label"))
        info->label[20] ^= 1;
    if (wrong_is("info-peer"))
        memset(info->peer, 'x', sizeof info->peer);
    return status;
}

static weft_status_t wrong_check(weft_net_conn_t *conn)
{
    return wrong_is("check-blind") ? WEFT_OK : right->conn_check(conn);
}

static void wrong_conn_close(weft_net_conn_t *conn)
{
    if (wrong_is("close-crash"))
        crash();
    if (wrong_is("close-hang"))
        hang();
    right->conn_close(conn);
}

/* Messages ------------------------------------------------------------------------------------- */

static weft_status_t wrong_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                                uint32_t *posted_p)
{
    bool sends = ops->kind == WEFT_NET_SEND;
    *posted_p = 0;
    if (ops->bytes > message_most())
        return host->set_error(host, WEFT_ERR_ARG, 0, "message too long");
    if (sends && wrong_now("post-fail")) {
        moment = MOMENT - 1; /* it stays so; what is posted stays open */
        return host->set_error(host, WEFT_ERR_LINK, 0, "the cable is out");
    }
    if (wrong_now("post-silent"))
        return WEFT_ERR_LINK;
    if (wrong_now("post-number"))
        return (weft_status_t)55;
    if (wrong_now("post-hang"))
        hang();
    if (wrong_now("post-crash"))
        crash();
    if (wrong_now("post-exit"))
        exit(0);
    if (wrong_now("post-none"))
        return *posted_p = 0, WEFT_OK;
    weft_status_t status = right->post(conn, ops, count, posted_p);
    if (wrong_now("post-over"))
        *posted_p = count + 1;
    if (wrong_now("post-again"))
        return WEFT_AGAIN;
    if (sends && ops->bytes > 200 && wrong_now("post-scribble")) {
        ((uint8_t *)ops->buffer)[ops->bytes - 1] ^= 1;
    }
    return status;
}

static void wrong_complete(weft_net_completion_t *c, uint32_t *count_p, uint32_t max)
{
    weft_net_completion_t *last = &c[*count_p - 1];
    if (wrong_now("context-none"))
        last->context = NULL;
    if (wrong_now("context-other"))
        last->context = (uint8_t *)last->context + 8;
    if (wrong_now("kind-other"))
        last->kind = 3 - last->kind;
    if (wrong_now("kind-none"))
        last->kind = 0;
    if (wrong_now("conn-other"))
        last->conn = (weft_net_conn_t *)(void *)&moment;
    if (wrong_now("conn-none"))
        last->conn = NULL;
    if (wrong_now("bytes-long"))
        last->bytes += 1;
    if (wrong_now("bytes-short"))
        last->bytes -= 1;
    if (wrong_now("bytes-none"))
        last->bytes = 0;
    if (wrong_now("status-number"))
        last->status = (weft_status_t)3;
    if (wrong_now("status-again"))
        last->status = WEFT_AGAIN;
    if (wrong_now("status-mismatch"))
        last->status = WEFT_ERR_MISMATCH;
    if (wrong_now("status-arg"))
        last->status = WEFT_ERR_ARG;
    if (wrong_now("status-aborted"))
        last->status = WEFT_ERR_ABORTED;
    if (wrong_now("complete-lost"))
        --*count_p;
    if (*count_p > 0 && *count_p < max && wrong_now("complete-twice")) {
        c[*count_p] = c[*count_p - 1];
        ++*count_p;
    }
    for (uint32_t i = 1; i < *count_p && wrong_is("complete-order"); i++) {
        if (c[i].kind == c[i - 1].kind && c[i].conn == c[i - 1].conn) {
            weft_net_completion_t one = c[i];
            c[i] = c[i - 1];
            c[i - 1] = one;
        }
    }
}

static weft_status_t wrong_poll(weft_net_device_t *device, weft_net_completion_t *completions,
                                uint32_t max, uint32_t *count_p)
{
    if (wrong_now("poll-hang"))
        hang();
    if (wrong_now("poll-crash"))
        crash();
    if (wrong_now("poll-silent"))
        return WEFT_ERR_SYSTEM;
    if (wrong_now("poll-mismatch"))
        return WEFT_ERR_MISMATCH;
    if (wrong_now("poll-number"))
        return (weft_status_t)44;
    if (wrong_now("poll-again"))
        return *count_p = 0, WEFT_AGAIN;
    if (wrong_now("poll-over"))
        return *count_p = max + 1, WEFT_OK;
    weft_status_t status = right->poll(device, completions, max, count_p);
    if (status == WEFT_OK && *count_p > 0) {
        wrong_complete(completions, count_p, max);
    }
    return status;
}

static weft_status_t wrong_attach(weft_net_conn_t *conn, weft_net_device_t *device)
{
    const weft_net_attach_t *attach = right->get_extension(NULL, WEFT_NET_ATTACH);
    if (wrong_is("attach-number"))
        return (weft_status_t)4;
    if (wrong_is("attach-silent"))
        return WEFT_ERR_STATE;
    if (wrong_is("attach-crash"))
        crash();
    return attach->attach(conn, device);
}

static const void *wrong_extension(weft_net_t *net, const char *name)
{
    static const weft_net_attach_t attach = {sizeof attach, wrong_attach};
    if (wrong_is("extension-crash"))
        crash();
    return right->get_extension(net, name) != NULL ? &attach : NULL;
}

static weft_net_ops_t ops;

const weft_plugin_t *weft_plugin_entry(void)
{
    static const weft_option_t options[] = {{.name = "wrong",
                                             .type = WEFT_OPT_STRING,
                                             .offset = offsetof(struct wrong_config, wrong),
                                             .value = "",
                                             .help = "the mistake to make; empty: none"},
                                            {.name = NULL}};
    static const weft_plugin_t plugin = {.magic = WEFT_PLUGIN_MAGIC,
                                         .abi_major = WEFT_ABI_NET_MAJOR,
                                         .abi_minor = WEFT_ABI_NET_MINOR,
                                         .size = sizeof plugin,
                                         .kind = WEFT_KIND_NET,
                                         .name = "net-wrong",
                                         .version = "1",
                                         .help = "a transport with a mistake",
                                         .options = options,
                                         .config_size = sizeof(struct wrong_config),
                                         .ops = &ops};
    ops = net_right_ops;
    ops.create = wrong_create;
    ops.destroy = wrong_destroy;
    ops.device_count = wrong_count;
    ops.device_props = wrong_props;
    ops.device_open = wrong_open;
    ops.listen = wrong_listen;
    ops.reachable = wrong_reachable;
    ops.connect_begin = wrong_connect;
    ops.connect_poll = wrong_connect_poll;
    ops.accept = wrong_accept;
    ops.conn_info = wrong_info;
    ops.conn_check = wrong_check;
    ops.conn_close = wrong_conn_close;
    ops.post = wrong_post;
    ops.poll = wrong_poll;
    ops.get_extension = wrong_extension;
    return &plugin;
}
