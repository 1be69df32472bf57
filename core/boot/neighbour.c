/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections of the health thread: their table, sending and receiving. */
#include "core/boot/neighbour.h"

#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/os/os_folder.h"

/* Unsent bytes beyond which frames that will be repeated anyway are dropped. */
#define NEIGHBOUR_OUT_SOFT ((size_t)16 * 1024)
/* Unsent bytes that do not wait for the end of the step. */
#define NEIGHBOUR_OUT_BATCH ((size_t)4 * 1024)
/* Room for unsent bytes that a connection has from its beginning: what must be said of a lack of
 * memory needs none. */
#define NEIGHBOUR_OUT_LEAST (2 * NEIGHBOUR_OUT_BATCH)

/* Room for twice as many as now. The list keeps its contents, the poll entries do not. */
static weft_status_t neighbour_neighbours_grow(weft_neighbours_t *neighbours)
{
    uint32_t room = neighbours->room == 0 ? 8 : neighbours->room * 2;
    weft_neighbour_t *list = weft_os_alloc(room * sizeof *list, 0);
    struct pollfd *entries =
        weft_os_alloc((WEFT_NEIGHBOURS_RESERVED + 2 * room) * sizeof *entries, 0);
    if (list == NULL || entries == NULL) {
        weft_os_free(list);
        weft_os_free(entries);
        return weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for control connections");
    }
    if (neighbours->count > 0) {
        memcpy(list, neighbours->list, neighbours->count * sizeof *list);
    }
    weft_os_free(neighbours->list);
    weft_os_free(neighbours->entries);
    neighbours->list = list;
    neighbours->entries = entries;
    neighbours->room = room;
    return WEFT_OK;
}

weft_status_t weft_neighbours_init(weft_neighbours_t *neighbours, const weft_boot_t *boot)
{
    *neighbours = (weft_neighbours_t){.boot = boot};
    return neighbour_neighbours_grow(neighbours);
}

uint64_t weft_neighbours_bytes(const weft_neighbours_t *neighbours, uint32_t *descriptors_p)
{
    uint64_t bytes = neighbours->room * sizeof *neighbours->list +
                     (WEFT_NEIGHBOURS_RESERVED + 2 * neighbours->room) * sizeof(struct pollfd);
    for (uint32_t i = 0; i < neighbours->count; i++) {
        const weft_neighbour_t *neighbour = &neighbours->list[i];
        bytes += neighbour->out_room;
        *descriptors_p += (neighbour->fd >= 0 ? 1u : 0u) + (neighbour->process >= 0 ? 1u : 0u);
    }
    return bytes;
}

void weft_neighbours_fini(weft_neighbours_t *neighbours)
{
    for (uint32_t i = 0; i < neighbours->count; i++) {
        weft_neighbour_close(&neighbours->list[i]);
    }
    weft_os_free(neighbours->list);
    weft_os_free(neighbours->entries);
    *neighbours = (weft_neighbours_t){.count = 0};
}

static bool neighbour_is_here(const weft_boot_t *boot, uint32_t rank)
{
    const weft_join_request_t *peer = &boot->requests[rank], *me = &boot->requests[boot->rank];
    return memcmp(peer->host_id, me->host_id, sizeof me->host_id) == 0 &&
           peer->space == me->space && peer->space != 0;
}

bool weft_neighbour_is_visible(const weft_boot_t *boot, uint32_t rank)
{
    return neighbour_is_here(boot, rank) &&
           boot->requests[rank].pid != boot->requests[boot->rank].pid;
}

bool weft_neighbour_listens(const weft_boot_t *boot, uint32_t rank)
{
    const weft_join_request_t *peer = &boot->requests[rank];
    uint32_t count = weft_join_request_addrs(peer);
    bool listens = !neighbour_is_here(boot, rank);
    for (uint32_t i = 0; i < count && !listens; i++) {
        int fd = -1;
        weft_status_t status = weft_os_connect(&peer->addrs[i], &fd);
        bool refused =
            status == WEFT_OK ? weft_os_connect_result(fd) != 0 : status == WEFT_ERR_LINK;
        weft_os_close(fd);
        listens = !refused;
    }
    return listens;
}

/* Children of a killed rank that hold copies of its descriptors keep its connections open, so where
 * the process itself can be seen it is watched too. Ranks may be threads of our own process. */
static int neighbour_watch_process(const weft_boot_t *boot, uint32_t rank)
{
    const weft_join_request_t *peer = &boot->requests[rank];
    return weft_neighbour_is_visible(boot, rank) ? weft_os_process_watch(peer->pid, peer->started)
                                                 : -1;
}

weft_status_t weft_neighbours_add(weft_neighbours_t *neighbours, int fd, uint32_t rank)
{
    if (neighbours->count == neighbours->room) {
        weft_status_t status = neighbour_neighbours_grow(neighbours);
        if (status != WEFT_OK) {
            weft_os_close(fd);
            return status;
        }
    }
    /* A new connection in a rank without memory is made all the same: there may be some later. */
    uint8_t *out = weft_os_alloc(NEIGHBOUR_OUT_LEAST, 0);
    neighbours->list[neighbours->count++] =
        (weft_neighbour_t){.fd = fd,
                           .process = neighbour_watch_process(neighbours->boot, rank),
                           .rank = rank,
                           .out = out,
                           .out_room = out != NULL ? NEIGHBOUR_OUT_LEAST : 0};
    return WEFT_OK;
}

weft_neighbour_t *weft_neighbours_find(const weft_neighbours_t *neighbours, uint32_t rank)
{
    for (uint32_t i = 0; i < neighbours->count; i++) {
        if (neighbours->list[i].fd >= 0 && neighbours->list[i].rank == rank) {
            return &neighbours->list[i];
        }
    }
    return NULL;
}

void weft_neighbours_compact(weft_neighbours_t *neighbours)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < neighbours->count; i++) {
        if (neighbours->list[i].fd >= 0) {
            if (kept != i) {
                neighbours->list[kept] = neighbours->list[i];
            }
            kept++;
        }
    }
    neighbours->count = kept;
}

/* True: no bytes wait. */
static bool neighbour_is_flushed(const weft_neighbour_t *neighbour)
{
    return neighbour->out_at == neighbour->out_end;
}

uint32_t weft_neighbours_prepare(weft_neighbours_t *neighbours)
{
    struct pollfd *pair = neighbours->entries + WEFT_NEIGHBOURS_RESERVED;
    for (uint32_t i = 0; i < neighbours->count; i++) {
        const weft_neighbour_t *neighbour = &neighbours->list[i];
        short events = neighbour_is_flushed(neighbour) ? POLLIN : POLLIN | POLLOUT;
        *pair++ = (struct pollfd){.fd = neighbour->fd, .events = events};
        *pair++ = (struct pollfd){.fd = neighbour->process, .events = POLLIN};
    }
    return WEFT_NEIGHBOURS_RESERVED + 2 * neighbours->count;
}

void weft_neighbour_close(weft_neighbour_t *neighbour)
{
    if (neighbour->fd >= 0) {
        /* A forked child may hold a copy of the descriptor; the peer shall see the end all the
         * same. */
        weft_os_shutdown(neighbour->fd);
    }
    weft_os_close(neighbour->fd);
    weft_os_close(neighbour->process);
    weft_os_free(neighbour->out);
    neighbour->fd = -1;
    neighbour->process = -1;
    neighbour->out = NULL;
}

void weft_neighbour_flush(weft_neighbour_t *neighbour)
{
    while (neighbour->out_at < neighbour->out_end) {
        int error;
        ssize_t done = weft_os_send(neighbour->fd, neighbour->out + neighbour->out_at,
                                    neighbour->out_end - neighbour->out_at, &error);
        if (done == WEFT_OS_NONE) {
            return;
        }
        if (done == WEFT_OS_BROKEN) {
            /* These bytes reach nobody. The kernel says why once, so receiving finds an end
             * only. */
            neighbour->broken_by = error;
            neighbour->ended_sending = true;
            break;
        }
        neighbour->out_at += (size_t)done;
    }
    neighbour->out_at = 0;
    neighbour->out_end = 0;
}

void weft_neighbours_flush(weft_neighbours_t *neighbours)
{
    for (uint32_t i = 0; i < neighbours->count; i++) {
        if (neighbours->list[i].fd >= 0 && !neighbour_is_flushed(&neighbours->list[i])) {
            weft_neighbour_flush(&neighbours->list[i]);
        }
    }
}

void weft_neighbour_end_sending(weft_neighbour_t *neighbour)
{
    bool served = !neighbour->fresh && neighbour->in_served == neighbour->in_bytes;
    if (!neighbour->ended_sending && served && neighbour_is_flushed(neighbour)) {
        weft_os_shutdown(neighbour->fd);
        neighbour->ended_sending = true;
    }
}

static bool neighbour_make_room(weft_neighbour_t *neighbour, size_t bytes)
{
    if (neighbour->out_end + bytes <= neighbour->out_room) {
        return true;
    }
    size_t held = neighbour->out_end - neighbour->out_at, room = neighbour->out_room;
    uint8_t *old = neighbour->out, *out = old;
    if (held + bytes > room) {
        room = 2 * (held + bytes);
        out = weft_os_alloc(room, 0);
    }
    if (out == NULL) {
        return false;
    }
    if (held > 0) {
        memmove(out, old + neighbour->out_at, held);
    }
    if (out != old) {
        weft_os_free(old);
    }
    neighbour->out = out;
    neighbour->out_at = 0;
    neighbour->out_end = held;
    neighbour->out_room = room;
    return true;
}

void weft_neighbour_send(const weft_neighbours_t *neighbours, weft_neighbour_t *neighbour,
                         const weft_frame_t *frame, const uint8_t *payload)
{
    bool repeated = frame->type == WEFT_FRAME_BEAT || frame->type == WEFT_FRAME_ASK ||
                    frame->type == WEFT_FRAME_ANSWER;
    if (frame->type == WEFT_FRAME_ASK && neighbour->asked == 0) {
        neighbour->asked = weft_os_clock_ns();
    }
    if (neighbour->fd < 0 || neighbour->ended_sending ||
        (repeated && neighbour->out_end - neighbour->out_at > NEIGHBOUR_OUT_SOFT) ||
        !neighbour_make_room(neighbour, WEFT_WIRE_HEADER + frame->bytes)) {
        return;
    }
    weft_frame_t sent = *frame;
    sent.comm_id = neighbours->boot->comm_id;
    weft_frame_encode(&sent, neighbour->out + neighbour->out_end);
    if (frame->bytes > 0) {
        memcpy(neighbour->out + neighbour->out_end + WEFT_WIRE_HEADER, payload, frame->bytes);
    }
    neighbour->out_end += WEFT_WIRE_HEADER + frame->bytes;
    if (neighbour->out_end - neighbour->out_at >= NEIGHBOUR_OUT_BATCH) {
        weft_neighbour_flush(neighbour);
    }
}

void weft_neighbour_send_made(weft_neighbour_t *neighbour, const uint8_t header[WEFT_WIRE_HEADER],
                              const uint8_t *payload, size_t bytes)
{
    if (neighbour->fd < 0 || neighbour->ended_sending ||
        !neighbour_make_room(neighbour, WEFT_WIRE_HEADER + bytes)) {
        return;
    }
    memcpy(neighbour->out + neighbour->out_end, header, WEFT_WIRE_HEADER);
    if (bytes > 0) {
        memcpy(neighbour->out + neighbour->out_end + WEFT_WIRE_HEADER, payload, bytes);
    }
    neighbour->out_end += WEFT_WIRE_HEADER + bytes;
}

void weft_neighbours_flood(weft_neighbours_t *neighbours, const weft_neighbour_t *except,
                           const weft_frame_t *frame, const uint8_t *payload)
{
    bool silent = neighbours->muted || neighbours->quiet;
    for (uint32_t i = 0; i < neighbours->count && !silent; i++) {
        if (&neighbours->list[i] != except) {
            weft_neighbour_send(neighbours, &neighbours->list[i], frame, payload);
        }
    }
}

weft_status_t weft_neighbour_receive(weft_neighbour_t *neighbour, int *errno_p)
{
    neighbour->in_bytes -= neighbour->in_served;
    memmove(neighbour->in, neighbour->in + neighbour->in_served, neighbour->in_bytes);
    neighbour->in_served = 0;
    *errno_p = 0;
    ssize_t got = weft_os_recv(neighbour->fd, neighbour->in + neighbour->in_bytes,
                               sizeof neighbour->in - neighbour->in_bytes, errno_p);
    if (got == WEFT_OS_NONE) {
        return WEFT_AGAIN;
    }
    if (got <= 0) {
        *errno_p = got == 0 ? neighbour->broken_by : *errno_p;
        return WEFT_ERR_LINK;
    }
    neighbour->fresh = false;
    neighbour->in_bytes += (uint32_t)got;
    return WEFT_OK;
}

weft_status_t weft_neighbour_next_frame(const weft_neighbours_t *neighbours,
                                        weft_neighbour_t *neighbour, weft_frame_t *frame,
                                        const uint8_t **payload_p, const char **why)
{
    const weft_boot_t *boot = neighbours->boot;
    const uint8_t *at = neighbour->in + neighbour->in_served;
    uint32_t bytes = neighbour->in_bytes - neighbour->in_served;
    if (bytes < WEFT_WIRE_HEADER) {
        return WEFT_AGAIN;
    }
    weft_status_t status = weft_frame_decode(at, boot->nranks, boot->comm_id, frame, why);
    if (status != WEFT_OK) {
        return status;
    }
    if (frame->bytes > WEFT_WIRE_LONGEST - WEFT_WIRE_HEADER) {
        *why = "length";
        return WEFT_ERR_PROTO;
    }
    if (bytes < WEFT_WIRE_HEADER + frame->bytes) {
        return WEFT_AGAIN;
    }
    *payload_p = at + WEFT_WIRE_HEADER;
    neighbour->in_served += WEFT_WIRE_HEADER + frame->bytes;
    /* Who asks may hear nobody. */
    neighbour->asked = frame->type == WEFT_FRAME_ASK ? neighbour->asked : 0;
    neighbour->doubted = neighbour->doubted && neighbour->asked != 0;
    return WEFT_OK;
}
