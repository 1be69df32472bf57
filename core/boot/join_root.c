/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The root thread. A connection is first in the listener (a stranger), then a guest (has proved that it
 * holds the id, must say who it is), then sits in the seat of its rank. */
#include "core/boot/join_root.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/boot/join_request.h"
#include "core/boot/control_listener.h"
#include "core/os/os.h"

#define GUESTS 64
#define LINGER_NS (10 * WEFT_NS_PER_S)
#define REGISTER_BYTES (WEFT_WIRE_HEADER + WEFT_WIRE_JOIN_REQUEST)

typedef struct guest {
    int fd;
    uint32_t bytes;
    uint64_t until;
    uint8_t frame[REGISTER_BYTES];
} guest_t;

typedef struct seat {
    int fd;
    bool taken, ready;
    weft_join_request_t request;
} seat_t;

typedef struct root {
    weft_control_listener_t listener;
    guest_t guests[GUESTS];
    uint32_t nranks; /* 0 = nobody came yet */
    uint32_t first;  /* rank that came first and so said nranks */
    uint32_t taken, ready;
    bool welcomed, ended;
    weft_error_t verdict; /* status OK: none yet */
    uint32_t told;        /* claimants that had a verdict, or died of it */
    seat_t *seats;
    struct pollfd *entries; /* listener, guests, seats */
    uint64_t until;
    uint64_t comm_id;
} root_t;

static void root_destroy(root_t *root)
{
    weft_control_listener_close(&root->listener);
    for (uint32_t i = 0; i < GUESTS; i++) {
        weft_os_close(root->guests[i].fd);
    }
    for (uint32_t i = 0; root->seats != NULL && i < root->nranks; i++) {
        weft_os_close(root->seats[i].fd);
    }
    weft_os_free(root->seats);
    weft_os_free(root->entries);
    weft_os_free(root);
}

/* Sends one small frame; a peer whose empty buffer does not take it is as good as gone. */
static void tell(root_t *root, int fd, uint32_t type, uint32_t from, const uint8_t *payload,
                 uint32_t bytes)
{
    uint8_t message[WEFT_WIRE_MOST];
    int error;
    weft_frame_t frame = {.type = type, .bytes = bytes, .from = from, .comm_id = root->comm_id};
    weft_frame_encode(&frame, message);
    memcpy(message + WEFT_WIRE_HEADER, payload, bytes);
    (void)weft_os_send(fd, message, WEFT_WIRE_HEADER + bytes, &error);
}

static void tell_error(root_t *root, int fd, const weft_error_t *error)
{
    uint8_t payload[WEFT_WIRE_ERROR];
    weft_error_encode(error, payload);
    /* The root speaks for no rank; rank 0 always exists. */
    tell(root, fd, WEFT_FRAME_FAIL, 0, payload, sizeof payload);
}

/* The verdict: all that sit here, and `extra` if not −1, get the same words. The root stays for those
 * that are still on their way. */
static void fail_all(root_t *root, int extra, weft_status_t status, const seat_t *culprit,
                     const char *text)
{
    weft_error_t *error = &root->verdict;
    weft_error_clear(error);
    error->status = status;
    if (culprit != NULL) {
        error->peer = (int32_t)culprit->request.rank;
        error->peer_pid = culprit->request.pid;
        memcpy(error->peer_host, culprit->request.host_name, sizeof error->peer_host);
    }
    snprintf(error->text, sizeof error->text, "%s", text);
    for (uint32_t i = 0; i < root->nranks; i++) {
        if (root->seats[i].fd >= 0) {
            tell_error(root, root->seats[i].fd, error);
            weft_os_close(root->seats[i].fd);
            root->seats[i].fd = -1;
        }
    }
    if (extra >= 0) {
        tell_error(root, extra, error);
    }
    uint64_t linger = weft_os_clock_ns() + LINGER_NS;
    root->until = linger < root->until ? linger : root->until;
    root->told = root->taken + (extra >= 0);
    root->ended = root->told >= root->nranks;
}

static void refuse_one(root_t *root, int fd, const weft_join_request_t *request)
{
    weft_error_t error;
    weft_error_clear(&error);
    error.status = WEFT_ERR_STATE;
    snprintf(error.text, sizeof error.text,
             "stale unique id: all %u ranks have joined with it before rank %u of host %s, pid %d, "
             "came; make a new id for each communicator",
             root->nranks, request->rank, request->host_name, request->pid);
    tell_error(root, fd, &error);
}

static bool allocate(root_t *root, const weft_join_request_t *request)
{
    seat_t *seats = weft_os_alloc(request->nranks * sizeof *seats, 0);
    struct pollfd *entries =
        weft_os_alloc((WEFT_DOOR_ENTRIES + GUESTS + request->nranks) * sizeof *entries, 0);
    if (seats == NULL || entries == NULL) {
        weft_os_free(seats);
        weft_os_free(entries);
        return false;
    }
    for (uint32_t i = 0; i < request->nranks; i++) {
        seats[i].fd = -1;
    }
    weft_os_free(root->entries);
    root->entries = entries;
    root->seats = seats;
    root->nranks = request->nranks;
    root->first = request->rank;
    return true;
}

static void welcome_all(root_t *root)
{
    for (uint32_t i = 0; i < root->nranks; i++) {
        uint8_t payload[WEFT_WIRE_JOIN_REQUEST];
        uint32_t parent = i == 0 ? 0 : (i - 1) / 2;
        weft_join_request_encode(&root->seats[parent].request, payload);
        tell(root, root->seats[i].fd, WEFT_FRAME_WELCOME, parent, payload, sizeof payload);
    }
    root->welcomed = true;
}

/* Takes a seat, or finds the contradiction. The descriptor is the seat's, or closed. */
static void sit(root_t *root, int fd, const weft_join_request_t *request)
{
    char text[sizeof((weft_error_t *)0)->text];
    const seat_t *other = NULL;
    if (root->verdict.status != WEFT_OK) {
        tell_error(root, fd, &root->verdict);
        weft_os_close(fd);
        root->ended = ++root->told >= root->nranks;
        return;
    }
    if (root->welcomed) {
        refuse_one(root, fd, request);
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
        other = &root->seats[root->first];
        snprintf(text, sizeof text,
                 "the ranks disagree about their number: rank %u of host %s, "
                 "pid %d, says %u, rank %u of host %s, pid %d, says %u",
                 request->rank, request->host_name, request->pid, request->nranks,
                 other->request.rank, other->request.host_name, other->request.pid, root->nranks);
    } else if (root->nranks == 0 && !allocate(root, request)) {
        snprintf(text, sizeof text, "out of memory for %u ranks", request->nranks);
    } else if (root->seats[request->rank].taken) {
        other = &root->seats[request->rank];
        snprintf(text, sizeof text,
                 "rank %u is claimed twice: by host %s, pid %d, and by host %s, "
                 "pid %d",
                 request->rank, other->request.host_name, other->request.pid, request->host_name,
                 request->pid);
    } else {
        root->seats[request->rank] = (seat_t){.fd = fd, .taken = true, .request = *request};
        if (++root->taken == root->nranks) {
            welcome_all(root);
        }
        return;
    }
    fail_all(root, fd, WEFT_ERR_ARG, other, text);
    weft_os_close(fd);
}

static void guest_drop(guest_t *guest)
{
    weft_os_close(guest->fd);
    guest->fd = -1;
}

static void guest_step(root_t *root, guest_t *guest)
{
    weft_frame_t frame;
    weft_join_request_t request;
    const char *why;
    int error;
    ssize_t got =
        weft_os_recv(guest->fd, guest->frame + guest->bytes, REGISTER_BYTES - guest->bytes, &error);
    if (got == WEFT_OS_NONE) {
        return;
    }
    if (got <= 0) {
        guest_drop(guest);
        return;
    }
    guest->bytes += (uint32_t)got;
    if (guest->bytes < REGISTER_BYTES) {
        return;
    }
    if (weft_frame_decode(guest->frame, UINT32_MAX, root->comm_id, &frame, &why) != WEFT_OK ||
        frame.type != WEFT_FRAME_REGISTER ||
        weft_join_request_decode(guest->frame + WEFT_WIRE_HEADER, &request, &why) != WEFT_OK ||
        frame.from != request.rank) {
        weft_log(WEFT_LOG_WARN, "boot", "root: closed a holder of the id that sent a bad frame");
        guest_drop(guest);
        return;
    }
    int fd = guest->fd;
    guest->fd = -1;
    sit(root, fd, &request);
}

static void enter(void *arg, int fd, const uint8_t label[WEFT_AUTH_LABEL])
{
    root_t *root = arg;
    uint32_t rank;
    guest_t *guest = &root->guests[0];
    for (uint32_t i = 0; i < GUESTS && guest->fd >= 0; i++) {
        guest = root->guests[i].fd < 0 || root->guests[i].until < guest->until ? &root->guests[i]
                                                                               : guest;
    }
    guest_drop(guest);
    if (!weft_auth_label_read(label, WEFT_PURPOSE_ROOT, &rank)) {
        weft_os_close(fd);
        return;
    }
    guest->fd = fd;
    guest->bytes = 0;
    guest->until = weft_os_clock_ns() + WEFT_HANDSHAKE_NS;
    guest_step(root, guest);
}

/* A seated rank may only say that its tree stands; anything else, and the end, is its death. */
static void seat_step(root_t *root, seat_t *seat)
{
    uint8_t header[WEFT_WIRE_HEADER];
    char text[256];
    weft_frame_t frame;
    const char *why;
    int error;
    ssize_t got = weft_os_recv(seat->fd, header, sizeof header, &error);
    if (got == WEFT_OS_NONE) {
        return;
    }
    if (got == (ssize_t)sizeof header && !seat->ready && root->welcomed &&
        weft_frame_decode(header, root->nranks, root->comm_id, &frame, &why) == WEFT_OK &&
        frame.type == WEFT_FRAME_READY) {
        /* It stays connected, to hear if others fail. */
        seat->ready = true;
        root->ended = ++root->ready == root->nranks;
        return;
    }
    weft_os_close(seat->fd);
    seat->fd = -1;
    if (seat->ready) {
        return;
    }
    snprintf(text, sizeof text, "rank %u of host %s, pid %d, died while the ranks were joining",
             seat->request.rank, seat->request.host_name, seat->request.pid);
    fail_all(root, -1, WEFT_ERR_PEER_DEAD, seat, text);
}

/* "3, 5-7" of the ranks for which `missing` holds; cut with "…" when there are too many. */
static void list_missing(const root_t *root, bool joined, char *text, size_t bytes)
{
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < root->nranks; i++) {
        uint32_t end = i;
        while (end < root->nranks && !(joined ? root->seats[end].ready : root->seats[end].taken)) {
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

static void deadline(root_t *root)
{
    char ranks[256], text[sizeof((weft_error_t *)0)->text];
    root->ended = true;
    if (root->nranks == 0 || root->verdict.status != WEFT_OK) {
        return;
    }
    list_missing(root, root->welcomed, ranks, sizeof ranks);
    uint32_t count = root->nranks - (root->welcomed ? root->ready : root->taken);
    snprintf(text, sizeof text, "%u of %u ranks did not %s before init_timeout: rank%s %s", count,
             root->nranks, root->welcomed ? "connect to their neighbours" : "join",
             count == 1 ? "" : "s", ranks);
    fail_all(root, -1, WEFT_ERR_TIMEOUT, NULL, text);
    root->ended = true;
}

static uint32_t prepare(root_t *root, uint64_t *until)
{
    weft_control_listener_prepare(&root->listener, root->entries, until);
    struct pollfd *entries = root->entries + WEFT_DOOR_ENTRIES;
    for (uint32_t i = 0; i < GUESTS; i++) {
        entries[i] = (struct pollfd){.fd = root->guests[i].fd, .events = POLLIN};
        if (root->guests[i].fd >= 0 && root->guests[i].until < *until) {
            *until = root->guests[i].until;
        }
    }
    for (uint32_t i = 0; i < root->nranks; i++) {
        entries[GUESTS + i] = (struct pollfd){.fd = root->seats[i].fd, .events = POLLIN};
    }
    return WEFT_DOOR_ENTRIES + GUESTS + root->nranks;
}

/* Seats first: they are as old as the entries, while a new guest may replace the table. */
static void serve(root_t *root)
{
    const struct pollfd *entries = root->entries + WEFT_DOOR_ENTRIES;
    uint64_t now = weft_os_clock_ns();
    for (uint32_t i = 0; i < root->nranks && !root->ended; i++) {
        if (root->seats[i].fd >= 0 && entries[GUESTS + i].revents != 0) {
            seat_step(root, &root->seats[i]);
        }
    }
    for (uint32_t i = 0; i < GUESTS && !root->ended; i++) {
        guest_t *guest = &root->guests[i];
        if (guest->fd >= 0) {
            guest_step(root, guest);
        }
        if (guest->fd >= 0 && guest->until <= now) {
            guest_drop(guest);
        }
    }
}

static void root_run(void *arg)
{
    root_t *root = arg;
    while (!root->ended) {
        struct pollfd listener[WEFT_DOOR_ENTRIES];
        uint64_t until = root->until;
        uint32_t count = prepare(root, &until);
        weft_os_poll(root->entries, count, until);
        memcpy(listener, root->entries, sizeof listener);
        serve(root);
        if (!root->ended) {
            weft_control_listener_step(&root->listener, listener, enter, root);
        }
        if (!root->ended && weft_os_clock_ns() >= root->until) {
            deadline(root);
        }
    }
    root_destroy(root);
}

static weft_status_t make_id(const weft_boot_settings_t *settings, weft_id_t *id)
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

weft_status_t weft_root_start(const weft_boot_settings_t *settings, weft_unique_id_t *out)
{
    uint8_t key[32];
    weft_id_t id = {0};
    weft_status_t status = make_id(settings, &id);
    if (status != WEFT_OK) {
        return status;
    }
    root_t *root = weft_os_alloc(sizeof *root, 0);
    struct pollfd *entries = weft_os_alloc((WEFT_DOOR_ENTRIES + GUESTS) * sizeof *entries, 0);
    if (root == NULL || entries == NULL) {
        weft_os_free(root);
        weft_os_free(entries);
        weft_id_wipe(&id);
        return weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for a unique id");
    }
    root->entries = entries;
    root->until = weft_os_deadline(settings->init_timeout);
    root->comm_id = weft_id_comm(&id);
    for (uint32_t i = 0; i < GUESTS; i++) {
        root->guests[i].fd = -1;
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
