/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The root thread. A connection is first a pending peer of the listener. Then it has proved that it
 * holds the id and is a joiner, whose join request is awaited. Then it is the member of its
 * rank. */
#include "core/boot/join_root.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/boot/auth.h"
#include "core/boot/control_listener.h"
#include "core/boot/join_request.h"
#include "core/os/os.h"

#define JOINERS 64
#define JOINER_NS (2 * WEFT_NS_PER_S)
#define LINGER_NS (10 * WEFT_NS_PER_S)
#define REGISTER_BYTES (WEFT_WIRE_HEADER + WEFT_WIRE_JOIN_REQUEST)

typedef struct joiner {
    int fd;
    uint32_t bytes;
    uint64_t until;
    uint8_t frame[REGISTER_BYTES];
} joiner_t;

typedef struct member {
    int fd; /* −1: not here any more */
    bool arrived, ready;
    weft_join_request_t request;
} member_t;

typedef struct root {
    weft_control_listener_t listener;
    joiner_t joiners[JOINERS];
    uint32_t nranks; /* 0 = nobody came yet */
    uint32_t first;  /* rank that came first and so said nranks */
    uint32_t arrived, ready;
    bool welcomed, ended;
    weft_error_t failure; /* status OK: none yet */
    uint32_t told;        /* ranks that were told the failure, or died of it */
    member_t *members;
    struct pollfd *entries; /* listener, joiners, members */
    uint64_t until;
    uint64_t comm_id;
} root_t;

static void root_destroy(root_t *root)
{
    weft_control_listener_close(&root->listener);
    for (uint32_t i = 0; i < JOINERS; i++) {
        weft_os_close(root->joiners[i].fd);
    }
    for (uint32_t i = 0; root->members != NULL && i < root->nranks; i++) {
        weft_os_close(root->members[i].fd);
    }
    weft_os_free(root->members);
    weft_os_free(root->entries);
    weft_os_free(root);
}

/* Sends one small frame. A peer whose empty buffer does not take it is as good as gone. */
static void root_send(root_t *root, int fd, uint32_t type, uint32_t from, const uint8_t *payload,
                      uint32_t bytes)
{
    uint8_t message[WEFT_WIRE_MOST];
    int error;
    weft_frame_t frame = {.type = type, .bytes = bytes, .from = from, .comm_id = root->comm_id};
    weft_frame_encode(&frame, message);
    memcpy(message + WEFT_WIRE_HEADER, payload, bytes);
    (void)weft_os_send(fd, message, WEFT_WIRE_HEADER + bytes, &error);
}

static void root_send_error(root_t *root, int fd, const weft_error_t *error)
{
    uint8_t payload[WEFT_WIRE_ERROR];
    weft_error_encode(error, payload);
    /* The root speaks for no rank; rank 0 always exists. */
    root_send(root, fd, WEFT_FRAME_FAIL, 0, payload, sizeof payload);
}

/* The join has failed: all members, and `extra` if not −1, are told the same. The root stays for
 * the ranks that are still on their way. */
static void root_fail(root_t *root, int extra, weft_status_t status, const member_t *culprit,
                      const char *text)
{
    weft_error_t *error = &root->failure;
    weft_error_clear(error);
    error->status = status;
    if (culprit != NULL) {
        error->peer = (int32_t)culprit->request.rank;
        error->peer_pid = culprit->request.pid;
        memcpy(error->peer_host, culprit->request.host_name, sizeof error->peer_host);
    }
    snprintf(error->text, sizeof error->text, "%s", text);
    for (uint32_t i = 0; i < root->nranks; i++) {
        if (root->members[i].fd >= 0) {
            root_send_error(root, root->members[i].fd, error);
            weft_os_close(root->members[i].fd);
            root->members[i].fd = -1;
        }
    }
    if (extra >= 0) {
        root_send_error(root, extra, error);
    }
    uint64_t linger = weft_os_clock_ns() + LINGER_NS;
    root->until = linger < root->until ? linger : root->until;
    root->told = root->arrived + (extra >= 0);
    root->ended = root->told >= root->nranks;
}

static void root_refuse(root_t *root, int fd, const weft_join_request_t *request)
{
    weft_error_t error;
    weft_error_clear(&error);
    error.status = WEFT_ERR_STATE;
    snprintf(error.text, sizeof error.text,
             "stale unique id: all %u ranks have joined with it before rank %u of host %s, pid %d, "
             "came; make a new id for each communicator",
             root->nranks, request->rank, request->host_name, request->pid);
    root_send_error(root, fd, &error);
}

static bool root_allocate(root_t *root, const weft_join_request_t *request)
{
    member_t *members = weft_os_alloc(request->nranks * sizeof *members, 0);
    struct pollfd *entries = weft_os_alloc((1 + JOINERS + request->nranks) * sizeof *entries, 0);
    if (members == NULL || entries == NULL) {
        weft_os_free(members);
        weft_os_free(entries);
        return false;
    }
    for (uint32_t i = 0; i < request->nranks; i++) {
        members[i].fd = -1;
    }
    weft_os_free(root->entries);
    root->entries = entries;
    root->members = members;
    root->nranks = request->nranks;
    root->first = request->rank;
    return true;
}

static void root_welcome(root_t *root)
{
    for (uint32_t i = 0; i < root->nranks; i++) {
        uint8_t payload[WEFT_WIRE_JOIN_REQUEST];
        uint32_t parent = i == 0 ? 0 : (i - 1) / 2;
        weft_join_request_encode(&root->members[parent].request, payload);
        root_send(root, root->members[i].fd, WEFT_FRAME_WELCOME, parent, payload, sizeof payload);
    }
    root->welcomed = true;
}

/* Makes the connection the member of its rank, or finds what contradicts it and closes it. */
static void root_admit(root_t *root, int fd, const weft_join_request_t *request)
{
    char text[sizeof((weft_error_t *)0)->text];
    const member_t *other = NULL;
    if (root->failure.status != WEFT_OK) {
        root_send_error(root, fd, &root->failure);
        weft_os_close(fd);
        root->ended = ++root->told >= root->nranks;
        return;
    }
    if (root->welcomed) {
        root_refuse(root, fd, request);
        weft_os_close(fd);
        return;
    }
    if (request->nranks == 0 || request->nranks > WEFT_RANKS_MOST ||
        request->rank >= request->nranks) {
        snprintf(text, sizeof text,
                 "rank %u of host %s, pid %d, is out of range: it says that "
                 "there are %u ranks",
                 request->rank, request->host_name, request->pid, request->nranks);
    } else if (root->nranks != 0 && request->nranks != root->nranks) {
        other = &root->members[root->first];
        snprintf(text, sizeof text,
                 "the ranks disagree about their number: rank %u of host %s, "
                 "pid %d, says %u, rank %u of host %s, pid %d, says %u",
                 request->rank, request->host_name, request->pid, request->nranks,
                 other->request.rank, other->request.host_name, other->request.pid, root->nranks);
    } else if (root->nranks == 0 && !root_allocate(root, request)) {
        snprintf(text, sizeof text, "out of memory for %u ranks", request->nranks);
    } else if (root->members[request->rank].arrived) {
        other = &root->members[request->rank];
        snprintf(text, sizeof text,
                 "rank %u is claimed twice: by host %s, pid %d, and by host %s, "
                 "pid %d",
                 request->rank, other->request.host_name, other->request.pid, request->host_name,
                 request->pid);
    } else {
        root->members[request->rank] = (member_t){.fd = fd, .arrived = true, .request = *request};
        if (++root->arrived == root->nranks) {
            root_welcome(root);
        }
        return;
    }
    root_fail(root, fd, WEFT_ERR_ARG, other, text);
    weft_os_close(fd);
}

static void join_root_joiner_drop(joiner_t *joiner)
{
    weft_os_close(joiner->fd);
    joiner->fd = -1;
}

static void join_root_joiner_step(root_t *root, joiner_t *joiner)
{
    weft_frame_t frame;
    weft_join_request_t request;
    const char *why;
    int error;
    ssize_t got = weft_os_recv(joiner->fd, joiner->frame + joiner->bytes,
                               REGISTER_BYTES - joiner->bytes, &error);
    if (got == WEFT_OS_NONE) {
        return;
    }
    if (got <= 0) {
        join_root_joiner_drop(joiner);
        return;
    }
    joiner->bytes += (uint32_t)got;
    if (joiner->bytes < REGISTER_BYTES) {
        return;
    }
    if (weft_frame_decode(joiner->frame, UINT32_MAX, root->comm_id, &frame, &why) != WEFT_OK ||
        frame.type != WEFT_FRAME_JOIN ||
        weft_join_request_decode(joiner->frame + WEFT_WIRE_HEADER, &request, &why) != WEFT_OK ||
        frame.from != request.rank) {
        weft_log(WEFT_LOG_WARN, "boot", "root: closed a holder of the id that sent a bad frame");
        join_root_joiner_drop(joiner);
        return;
    }
    int fd = joiner->fd;
    joiner->fd = -1;
    root_admit(root, fd, &request);
}

/* A connection of the listener. The oldest joiner makes room for it if it must. */
static void root_accept(root_t *root, int fd, const uint8_t label[WEFT_AUTH_LABEL])
{
    uint32_t rank;
    joiner_t *joiner = &root->joiners[0];
    for (uint32_t i = 0; i < JOINERS && joiner->fd >= 0; i++) {
        joiner = root->joiners[i].fd < 0 || root->joiners[i].until < joiner->until
                     ? &root->joiners[i]
                     : joiner;
    }
    join_root_joiner_drop(joiner);
    if (!weft_auth_label_read(label, WEFT_PURPOSE_ROOT, &rank)) {
        weft_os_close(fd);
        return;
    }
    joiner->fd = fd;
    joiner->bytes = 0;
    joiner->until = weft_os_clock_ns() + JOINER_NS;
    join_root_joiner_step(root, joiner);
}

/* A member may say that its connections of the tree stand. Anything else, and the end, is its
 * death. */
static void join_root_member_step(root_t *root, member_t *member)
{
    uint8_t header[WEFT_WIRE_HEADER];
    char text[256];
    weft_frame_t frame;
    const char *why;
    int error;
    ssize_t got = weft_os_recv(member->fd, header, sizeof header, &error);
    if (got == WEFT_OS_NONE) {
        return;
    }
    if (got == (ssize_t)sizeof header && !member->ready && root->welcomed &&
        weft_frame_decode(header, root->nranks, root->comm_id, &frame, &why) == WEFT_OK &&
        frame.type == WEFT_FRAME_READY) {
        /* It stays connected, to hear if others fail. */
        member->ready = true;
        root->ended = ++root->ready == root->nranks;
        return;
    }
    weft_os_close(member->fd);
    member->fd = -1;
    if (member->ready) {
        return;
    }
    snprintf(text, sizeof text, "rank %u of host %s, pid %d, died while the ranks were joining",
             member->request.rank, member->request.host_name, member->request.pid);
    root_fail(root, -1, WEFT_ERR_PEER_DEAD, member, text);
}

/* Writes "3, 5-7" for the ranks that have not arrived, or are not ready if `welcomed`. Cut when
 * there are too many. */
static void root_list_missing(const root_t *root, bool welcomed, char *text, size_t bytes)
{
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < root->nranks; i++) {
        uint32_t end = i;
        while (end < root->nranks &&
               !(welcomed ? root->members[end].ready : root->members[end].arrived)) {
            end++;
        }
        if (end == i) {
            continue;
        }
        if (bytes - at < 48) {
            snprintf(text + at, bytes - at, ", and more");
            return;
        }
        int used = end - i == 1
                       ? snprintf(text + at, bytes - at, "%s%u", at > 0 ? ", " : "", i)
                       : snprintf(text + at, bytes - at, "%s%u-%u", at > 0 ? ", " : "", i, end - 1);
        at += (size_t)used;
        i = end;
    }
}

static void root_time_out(root_t *root)
{
    char ranks[256], text[sizeof((weft_error_t *)0)->text];
    root->ended = true;
    if (root->nranks == 0 || root->failure.status != WEFT_OK) {
        return;
    }
    root_list_missing(root, root->welcomed, ranks, sizeof ranks);
    uint32_t count = root->nranks - (root->welcomed ? root->ready : root->arrived);
    snprintf(text, sizeof text, "%u of %u ranks did not %s before init_timeout: rank%s %s", count,
             root->nranks, root->welcomed ? "connect to their neighbours" : "join",
             count == 1 ? "" : "s", ranks);
    root_fail(root, -1, WEFT_ERR_TIMEOUT, NULL, text);
    root->ended = true;
}

static uint32_t root_prepare(root_t *root, uint64_t *until)
{
    weft_control_listener_prepare(&root->listener, root->entries, until);
    struct pollfd *entries = root->entries + 1;
    for (uint32_t i = 0; i < JOINERS; i++) {
        entries[i] = (struct pollfd){.fd = root->joiners[i].fd, .events = POLLIN};
        if (root->joiners[i].fd >= 0 && root->joiners[i].until < *until) {
            *until = root->joiners[i].until;
        }
    }
    for (uint32_t i = 0; i < root->nranks; i++) {
        entries[JOINERS + i] = (struct pollfd){.fd = root->members[i].fd, .events = POLLIN};
    }
    return 1 + JOINERS + root->nranks;
}

/* Members first: they are as old as the entries, while a new one may replace the table. */
static void root_serve(root_t *root)
{
    const struct pollfd *entries = root->entries + 1;
    uint64_t now = weft_os_clock_ns();
    for (uint32_t i = 0; i < root->nranks && !root->ended; i++) {
        if (root->members[i].fd >= 0 && entries[JOINERS + i].revents != 0) {
            join_root_member_step(root, &root->members[i]);
        }
    }
    for (uint32_t i = 0; i < JOINERS && !root->ended; i++) {
        joiner_t *joiner = &root->joiners[i];
        if (joiner->fd >= 0) {
            join_root_joiner_step(root, joiner);
        }
        if (joiner->fd >= 0 && joiner->until <= now) {
            join_root_joiner_drop(joiner);
        }
    }
}

static void root_serve_listener(root_t *root, const struct pollfd *entry)
{
    int fd;
    uint8_t label[WEFT_AUTH_LABEL];
    while (!root->ended &&
           weft_control_listener_poll(&root->listener, entry, &fd, label) == WEFT_OK) {
        root_accept(root, fd, label);
    }
}

static void root_run(void *arg)
{
    root_t *root = arg;
    while (!root->ended) {
        uint64_t until = root->until;
        uint32_t count = root_prepare(root, &until);
        weft_os_poll(root->entries, count, until);
        /* A copy: a new joiner may replace the entries. */
        struct pollfd listener = root->entries[0];
        root_serve(root);
        root_serve_listener(root, &listener);
        if (!root->ended && weft_os_clock_ns() >= root->until) {
            root_time_out(root);
        }
    }
    root_destroy(root);
}

static weft_status_t root_make_id(const weft_boot_settings_t *settings, weft_id_t *id)
{
    double life = settings->init_timeout;
    id->created = (uint32_t)weft_os_wall_s();
    id->life = life > 0 && life < 1e9 ? (uint32_t)life + 1 : 0;
    id->count = weft_os_addrs(settings->interface, id->addrs, WEFT_ID_ADDRS);
    weft_status_t status = id->count > 0 ? WEFT_OK : weft_error_record()->status;
    if (status == WEFT_OK) {
        status = weft_os_random(id->secret, sizeof id->secret);
    }
    if (status == WEFT_OK) {
        status = weft_os_random(id->nonce, sizeof id->nonce);
    }
    return status;
}

weft_status_t weft_boot_id_create(const weft_boot_settings_t *settings, weft_unique_id_t *out)
{
    uint8_t key[32];
    weft_id_t id = {0};
    weft_status_t status = root_make_id(settings, &id);
    if (status != WEFT_OK) {
        return status;
    }
    root_t *root = weft_os_alloc(sizeof *root, 0);
    struct pollfd *entries = weft_os_alloc((1 + JOINERS) * sizeof *entries, 0);
    if (root == NULL || entries == NULL) {
        weft_os_free(root);
        weft_os_free(entries);
        weft_id_wipe(&id);
        return weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for a unique id");
    }
    root->entries = entries;
    root->until = weft_os_deadline(settings->init_timeout);
    root->comm_id = weft_id_comm(&id);
    for (uint32_t i = 0; i < JOINERS; i++) {
        root->joiners[i].fd = -1;
    }
    weft_id_key(&id, WEFT_PURPOSE_ROOT, key);
    status = weft_control_listener_open(&root->listener, WEFT_PURPOSE_ROOT, key);
    if (status != WEFT_OK) {
        goto err_root;
    }
    for (uint32_t i = 0; i < id.count; i++) {
        id.addrs[i].port = root->listener.port;
    }
    status = weft_os_thread_launch("weft-root", root_run, root);
    if (status != WEFT_OK) {
        goto err_root;
    }
    weft_id_encode(&id, out);
    sodium_memzero(key, sizeof key);
    weft_id_wipe(&id);
    return WEFT_OK;
err_root:
    sodium_memzero(key, sizeof key);
    weft_id_wipe(&id);
    root_destroy(root);
    return status;
}
