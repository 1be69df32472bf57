/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections of the tree until the health thread owns them. */
#include "core/boot/tree_link.h"

#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/boot/boot.h"
#include "core/boot/link_renewal.h"
#include "core/boot/root_client.h"
#include "core/os/os.h"

/* Poll entries of a wait: the links, what makes them again, and the root. */
#define TURN_ROOT (WEFT_TREE_LINKS + WEFT_RENEWAL_ENTRIES)
#define TURN_ENTRIES (TURN_ROOT + 1)
/* The rest of a header follows soon. */
#define PART_NS WEFT_NS_PER_MS

weft_status_t weft_tree_adopt_failure(const weft_boot_t *boot,
                                      const uint8_t payload[WEFT_WIRE_ERROR], uint32_t from)
{
    weft_error_t error;
    const char *why;
    if (weft_error_decode(payload, boot->nranks, &error, &why) != WEFT_OK) {
        weft_fail(WEFT_ERR_PROTO, 0, "rank %u sent an error record with a bad %s", from, why);
        return weft_boot_set_culprit(boot, from);
    }
    error.comm_id = boot->comm_id;
    if (error.rank < 0) {
        error.rank = (int32_t)boot->rank;
    }
    *weft_error_record() = error;
    return error.status;
}

void weft_tree_spread_failure(weft_boot_t *boot)
{
    uint8_t message[WEFT_WIRE_MOST];
    weft_frame_t frame = {.type = WEFT_FRAME_FAIL,
                          .bytes = WEFT_WIRE_ERROR,
                          .from = boot->rank,
                          .comm_id = boot->comm_id};
    if (boot->failed) {
        return;
    }
    boot->failed = true;
    weft_frame_encode(&frame, message);
    weft_error_encode(weft_error_record(), message + WEFT_WIRE_HEADER);
    for (uint32_t i = 0; i < WEFT_TREE_LINKS; i++) {
        int error;
        if (boot->links[i].fd >= 0 && !boot->links[i].torn) {
            (void)weft_os_send(boot->links[i].fd, message, sizeof message, &error);
        }
    }
}

void weft_tree_give_up(weft_boot_t *boot)
{
    char who[128];
    weft_error_t before = *weft_error_record();
    weft_boot_rank_text(boot, boot->rank, who, sizeof who);
    weft_fail(before.status, before.os_errno, "%s gave up: %.380s", who, before.text);
    weft_boot_set_culprit(boot, boot->rank);
    weft_tree_spread_failure(boot);
    *weft_error_record() = before;
}

static weft_status_t tree_link_died(const weft_boot_t *boot, uint32_t rank, const char *what,
                                    int error)
{
    char who[128];
    weft_boot_rank_text(boot, rank, who, sizeof who);
    weft_fail(WEFT_ERR_PEER_DEAD, error, "%s died during %s", who, what);
    return weft_boot_set_culprit(boot, rank);
}

/* A rank that died could not connect anew so often. */
static weft_status_t tree_link_breaks(const weft_boot_t *boot, const weft_tree_link_t *link,
                                      const char *what, int error)
{
    char who[128];
    weft_boot_rank_text(boot, link->rank, who, sizeof who);
    weft_fail(WEFT_ERR_LINK, error,
              "the control connection to %s broke %u times during %s; a firewall swallows what is "
              "sent or ends connections, or a network on the way has a smaller MTU than the "
              "interface",
              who, link->made, what);
    return weft_boot_set_culprit(boot, link->rank);
}

static weft_status_t tree_link_unreachable(const weft_boot_t *boot, uint32_t rank, const char *what)
{
    char who[128];
    weft_boot_rank_text(boot, rank, who, sizeof who);
    weft_fail(WEFT_ERR_PEER_UNRESPONSIVE, 0,
              "%s cannot be reached during %s (option boot.unresponsive)", who, what);
    return weft_boot_set_culprit(boot, rank);
}

static weft_status_t tree_link_timed_out(weft_boot_t *boot, uint32_t rank, const char *what)
{
    char who[128];
    weft_boot_rank_text(boot, rank, who, sizeof who);
    weft_fail(WEFT_ERR_TIMEOUT, 0, "%s did not take part in %s before init_timeout", who, what);
    return weft_boot_set_culprit(boot, rank);
}

/* Where a connection breaks, the network may have reset it or be away. One that ends on which the
 * other end has said nothing yet was given up by it. Any other end is the rank's. */
static weft_status_t tree_link_ended(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                                     int error)
{
    if (!link->fresh && !link->reset && error == 0) {
        return tree_link_died(boot, link->rank, what, error);
    }
    weft_log(WEFT_LOG_INFO, "boot", "rank %u: the control connection to rank %u broke: %s",
             boot->rank, link->rank, strerror(error));
    return weft_link_renewal_begin(link) ? WEFT_OK : tree_link_breaks(boot, link, what, error);
}

/* Receives `bytes` that are on their way. OK, and *whole says whether they came. */
static weft_status_t tree_link_take(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                                    uint8_t *message, size_t bytes, bool *whole)
{
    size_t have = 0;
    uint64_t until = weft_os_deadline(1.0);
    while (have < bytes && weft_os_clock_ns() < until) {
        struct pollfd entry = {.fd = link->fd, .events = POLLIN};
        int error = 0;
        if (weft_os_poll(&entry, 1, until) < 0) {
            return weft_error_record()->status;
        }
        ssize_t got = weft_os_recv(link->fd, message + have, bytes - have, &error);
        if (got == 0 || got == WEFT_OS_BROKEN) {
            *whole = false;
            return tree_link_ended(boot, link, what, error);
        }
        have += got > 0 ? (size_t)got : 0;
    }
    *whole = have == bytes;
    return *whole ? WEFT_OK : tree_link_died(boot, link->rank, what, 0);
}

/* Gives the bytes to the kernel. AGAIN: the connection broke. */
static weft_status_t tree_link_put(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                                   const uint8_t *data, size_t bytes, uint64_t until);

/* Sends header and payload. */
static weft_status_t tree_link_put_record(weft_boot_t *boot, weft_tree_link_t *link,
                                          const char *what, const weft_tree_record_t *record,
                                          uint64_t until)
{
    weft_status_t status =
        tree_link_put(boot, link, what, record->header, sizeof record->header, until);
    if (status == WEFT_OK) {
        link->sent = record->sequence + 1;
        status = tree_link_put(boot, link, what, record->payload, record->bytes, until);
    }
    return status;
}

/* The other end of a new connection says from which exchange on it has not taken our frames: none
 * are lacking if it has joined. */
static weft_status_t tree_link_resume(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                                      uint32_t least, uint64_t until)
{
    weft_status_t status = WEFT_OK;
    link->fresh = false;
    link->sent = least;
    if (link != &boot->links[WEFT_TREE_PARENT]) {
        weft_link_renewal_say(boot, link, WEFT_FRAME_AGAIN);
    }
    const weft_tree_record_t *record = boot->records;
    while (status == WEFT_OK &&
           (record = weft_tree_record_for(boot, link, least, record)) != NULL) {
        status = tree_link_put_record(boot, link, what, record, until);
        record = record->next;
    }
    return status == WEFT_AGAIN ? WEFT_OK : status;
}

/* A whole header is at the front of this link. Takes the frame if it is a failure, which is
 * returned, or one of connections that are made again. A parent that has joined may say more before
 * it answers, and says that again later. */
static weft_status_t tree_link_serve(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                                     const weft_frame_t *frame, uint64_t until)
{
    uint8_t message[WEFT_WIRE_LONGEST];
    const bool parent = link == &boot->links[WEFT_TREE_PARENT];
    const bool again = frame->type == WEFT_FRAME_AGAIN;
    bool whole = false;
    if (!weft_frame_is_failure(frame) && !again && frame->type != WEFT_FRAME_BEAT &&
        (!link->fresh || !parent || frame->bytes > sizeof message - WEFT_WIRE_HEADER)) {
        link->fresh = false;
        link->quiet = true;
        return WEFT_OK;
    }
    weft_status_t status =
        tree_link_take(boot, link, what, message, WEFT_WIRE_HEADER + frame->bytes, &whole);
    if (!whole) {
        return status;
    }
    if (weft_frame_is_failure(frame)) {
        return weft_tree_adopt_failure(boot, message + WEFT_WIRE_HEADER, link->rank);
    }
    return again && (link->fresh || !parent)
               ? tree_link_resume(boot, link, what, frame->sequence, until)
               : WEFT_OK;
}

/* Looks at what a link holds, and leaves it there if it is not for this wait. `before` is the error
 * that sending had. Returns OK if nothing is wrong. */
static weft_status_t tree_link_look(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                                    int before, uint64_t until)
{
    uint8_t header[WEFT_WIRE_HEADER];
    weft_frame_t frame;
    const char *why;
    int error = 0;
    ssize_t got = weft_os_peek(link->fd, header, sizeof header, &error);
    link->part = got > 0 && got < (ssize_t)sizeof header;
    link->quiet = link->part;
    if (got == 0 || got == WEFT_OS_BROKEN ||
        (link->part && link->fresh && header[0] == WEFT_CONNECTOR_ALIVE)) {
        return tree_link_ended(boot, link, what, before != 0 ? before : error);
    }
    if (got < (ssize_t)sizeof header) {
        return WEFT_OK;
    }
    if (weft_frame_decode(header, boot->nranks, boot->comm_id, &frame, &why) == WEFT_OK) {
        return tree_link_serve(boot, link, what, &frame, until);
    }
    link->fresh = false; /* whoever reads it says what is wrong */
    link->quiet = true;
    return WEFT_OK;
}

static weft_status_t tree_link_put(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                                   const uint8_t *data, size_t bytes, uint64_t until)
{
    weft_status_t status = WEFT_OK;
    link->torn = true;
    while (bytes > 0) {
        int error = 0;
        ssize_t done = weft_os_send(link->fd, data, bytes, &error);
        if (done == WEFT_OS_BROKEN) {
            /* It may have said why before it closed. */
            status = tree_link_look(boot, link, what, error, until);
            if (status == WEFT_OK && link->fd >= 0) {
                status = tree_link_ended(boot, link, what, error);
            }
            return status == WEFT_OK ? WEFT_AGAIN : status;
        }
        if (done == WEFT_OS_NONE) {
            struct pollfd entry = {.fd = link->fd, .events = POLLOUT};
            int ready = weft_os_poll(&entry, 1, until);
            if (ready < 0) {
                return weft_error_record()->status;
            }
            if (ready == 0 && weft_os_clock_ns() >= until) {
                return tree_link_timed_out(boot, link->rank, what);
            }
            continue;
        }
        data += done;
        bytes -= (size_t)done;
    }
    link->torn = false;
    return WEFT_OK;
}

/* Connections that are made again. Who cannot be had any more has died. */
static weft_status_t tree_link_renew(weft_boot_t *boot, const char *what,
                                     const struct pollfd *listener)
{
    weft_tree_link_t *link = NULL;
    weft_status_t status = weft_link_renewal_step(boot, listener, &link);
    return status == WEFT_OK || status == WEFT_ERR_RESOURCE || status == WEFT_ERR_SYSTEM ? status
           : status == WEFT_ERR_TIMEOUT
               ? tree_link_unreachable(boot, link->rank, what)
               : tree_link_died(boot, link->rank, what, weft_error_record()->os_errno);
}

/* Waits once for something to happen, and serves all but what `link` has to read. A wait that ends
 * without it names its rank. */
static weft_status_t tree_link_turn(weft_boot_t *boot, const weft_tree_link_t *link,
                                    const char *what, uint64_t until)
{
    struct pollfd entries[TURN_ENTRIES];
    uint64_t wake = until;
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < WEFT_TREE_LINKS; i++) {
        const weft_tree_link_t *one = &boot->links[i];
        uint64_t soon = one->part ? weft_os_clock_ns() + PART_NS : until;
        wake = soon < wake ? soon : wake;
        entries[i] = (struct pollfd){.fd = one->quiet ? -1 : one->fd, .events = POLLIN};
    }
    weft_link_renewal_prepare(boot, entries + WEFT_TREE_LINKS, &wake);
    entries[TURN_ROOT] = (struct pollfd){.fd = -1};
    if (boot->root != NULL) {
        weft_root_client_prepare(boot->root, &entries[TURN_ROOT], &wake);
    }
    int ready = weft_os_poll(entries, TURN_ENTRIES, wake);
    if (ready < 0) {
        weft_tree_give_up(boot);
        return weft_error_record()->status;
    }
    if (ready == 0 && weft_os_clock_ns() >= until) {
        return tree_link_timed_out(boot, link->rank, what);
    }
    for (uint32_t i = 0; status == WEFT_OK && i < WEFT_TREE_LINKS; i++) {
        weft_tree_link_t *one = &boot->links[i];
        if (one->fd >= 0 && (entries[i].revents != 0 || one->part) && (one != link || one->fresh)) {
            status = tree_link_look(boot, one, what, 0, until);
        }
    }
    if (status == WEFT_OK &&
        (entries[TURN_ROOT].revents != 0 || (boot->root != NULL && boot->root->seeks))) {
        status = weft_root_client_watch(boot->root);
    }
    return status == WEFT_OK ? tree_link_renew(boot, what, &entries[WEFT_TREE_LINKS]) : status;
}

/* Waits until the connection is there, and both ends have what the other had not taken. */
static weft_status_t tree_link_await(weft_boot_t *boot, const weft_tree_link_t *link,
                                     const char *what, uint64_t until)
{
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < WEFT_TREE_LINKS; i++) {
        boot->links[i].quiet = boot->links[i].part = false;
    }
    while (status == WEFT_OK && (link->fd < 0 || link->fresh)) {
        status = tree_link_turn(boot, link, what, until);
    }
    return status;
}

weft_status_t weft_tree_link_recv(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                                  void *data, size_t bytes, uint64_t until)
{
    uint8_t *to = data;
    weft_status_t status = tree_link_await(boot, link, what, until);
    const uint32_t made = link->made;
    while (status == WEFT_OK && bytes > 0) {
        int error = 0;
        if (link->fd < 0 || link->made != made) {
            return WEFT_AGAIN;
        }
        ssize_t got = weft_os_recv(link->fd, to, bytes, &error);
        if (got == 0 || got == WEFT_OS_BROKEN) {
            status = tree_link_ended(boot, link, what, error);
        } else if (got == WEFT_OS_NONE) {
            status = tree_link_turn(boot, link, what, until);
        } else {
            to += got;
            bytes -= (size_t)got;
        }
    }
    return status;
}

weft_status_t weft_tree_link_next(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                                  uint64_t until, weft_frame_t *frame, const char **why)
{
    uint8_t header[WEFT_WIRE_HEADER], payload[WEFT_WIRE_ERROR];
    weft_status_t status;
    while ((status = weft_tree_link_recv(boot, link, what, header, sizeof header, until)) ==
           WEFT_OK) {
        status = weft_frame_decode(header, boot->nranks, boot->comm_id, frame, why);
        if (status != WEFT_OK) {
            return status;
        }
        *why = NULL;
        if (weft_frame_is_failure(frame)) {
            status = weft_tree_link_recv(boot, link, what, payload, sizeof payload, until);
            return status != WEFT_OK ? status : weft_tree_adopt_failure(boot, payload, link->rank);
        }
        if (frame->type == WEFT_FRAME_AGAIN && link != &boot->links[WEFT_TREE_PARENT]) {
            status = tree_link_resume(boot, link, what, frame->sequence, until);
        } else if (frame->type != WEFT_FRAME_AGAIN && frame->type != WEFT_FRAME_BEAT) {
            return WEFT_OK;
        }
        if (status != WEFT_OK) {
            return status;
        }
    }
    return status;
}

weft_status_t weft_tree_link_send(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                                  const weft_tree_record_t *record, uint64_t until)
{
    weft_status_t status = WEFT_AGAIN;
    if (link->fd >= 0 && !link->fresh) {
        /* The other end may have asked for it while we waited for another link. */
        status = link->sent > record->sequence
                     ? WEFT_OK
                     : tree_link_put_record(boot, link, what, record, until);
    }
    return status == WEFT_AGAIN ? tree_link_await(boot, link, what, until) : status;
}
