/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections of the tree until the health thread owns them. */
#include "core/boot/tree_link.h"

#include <string.h>

#include "core/base/error.h"
#include "core/boot/boot.h"
#include "core/os/os.h"

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

static weft_status_t tree_link_died(const weft_boot_t *boot, uint32_t rank, const char *what,
                                    int error)
{
    char who[128];
    weft_boot_rank_text(boot, rank, who, sizeof who);
    weft_fail(WEFT_ERR_PEER_DEAD, error, "%s died during %s", who, what);
    return weft_boot_set_culprit(boot, rank);
}

/* The header of a FAIL frame is at the front of this link: receives the frame. */
static weft_status_t tree_link_take_failure(weft_boot_t *boot, weft_tree_link_t *link,
                                            const char *what)
{
    uint8_t message[WEFT_WIRE_MOST];
    size_t have = 0;
    uint64_t until = weft_os_deadline(1.0);
    while (have < sizeof message && weft_os_clock_ns() < until) {
        struct pollfd entry = {.fd = link->fd, .events = POLLIN};
        int error = 0;
        if (weft_os_poll(&entry, 1, until) < 0) {
            return weft_error_record()->status;
        }
        ssize_t got = weft_os_recv(link->fd, message + have, sizeof message - have, &error);
        if (got == 0 || got == WEFT_OS_BROKEN) {
            return tree_link_died(boot, link->rank, what, error);
        }
        have += got > 0 ? (size_t)got : 0;
    }
    if (have < sizeof message) {
        return tree_link_died(boot, link->rank, what, 0);
    }
    return weft_tree_adopt_failure(boot, message + WEFT_WIRE_HEADER, link->rank);
}

/* Looks at what a link holds, and leaves it there. Returns OK if nothing is wrong, else the failure
 * that the link reports, or that it has ended. *quiet is set when the link holds something that is
 * not for this wait. */
static weft_status_t tree_link_look(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                                    bool *quiet)
{
    uint8_t header[WEFT_WIRE_HEADER];
    weft_frame_t frame;
    const char *why;
    int error = 0;
    ssize_t got = weft_os_peek(link->fd, header, sizeof header, &error);
    if (got == 0 || got == WEFT_OS_BROKEN) {
        return tree_link_died(boot, link->rank, what, error);
    }
    if (got == (ssize_t)sizeof header &&
        weft_frame_decode(header, boot->nranks, boot->comm_id, &frame, &why) == WEFT_OK &&
        weft_frame_is_failure(&frame)) {
        return tree_link_take_failure(boot, link, what);
    }
    *quiet = got > 0;
    return WEFT_OK;
}

static weft_status_t tree_link_timed_out(weft_boot_t *boot, uint32_t rank, const char *what)
{
    char who[128];
    weft_boot_rank_text(boot, rank, who, sizeof who);
    weft_fail(WEFT_ERR_TIMEOUT, 0, "%s did not take part in %s before init_timeout", who, what);
    return weft_boot_set_culprit(boot, rank);
}

/* Waits until `link` has something to read. */
static weft_status_t tree_link_wait(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                                    uint64_t until)
{
    bool quiet[WEFT_TREE_LINKS] = {false};
    for (;;) {
        struct pollfd entries[WEFT_TREE_LINKS];
        for (uint32_t i = 0; i < WEFT_TREE_LINKS; i++) {
            entries[i] = (struct pollfd){.fd = quiet[i] ? -1 : boot->links[i].fd, .events = POLLIN};
        }
        int ready = weft_os_poll(entries, WEFT_TREE_LINKS, until);
        if (ready < 0) {
            return weft_error_record()->status;
        }
        if (ready == 0) {
            if (weft_os_clock_ns() >= until) {
                return tree_link_timed_out(boot, link->rank, what);
            }
            continue;
        }
        if (entries[link - boot->links].revents != 0) {
            return WEFT_OK;
        }
        for (uint32_t i = 0; i < WEFT_TREE_LINKS; i++) {
            weft_status_t status = WEFT_OK;
            if (entries[i].revents != 0) {
                status = tree_link_look(boot, &boot->links[i], what, &quiet[i]);
            }
            if (status != WEFT_OK) {
                return status;
            }
        }
    }
}

weft_status_t weft_tree_link_recv(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                                  void *data, size_t bytes, uint64_t until)
{
    uint8_t *to = data;
    while (bytes > 0) {
        int error = 0;
        ssize_t got = weft_os_recv(link->fd, to, bytes, &error);
        if (got == 0 || got == WEFT_OS_BROKEN) {
            return tree_link_died(boot, link->rank, what, error);
        }
        if (got == WEFT_OS_NONE) {
            weft_status_t status = tree_link_wait(boot, link, what, until);
            if (status != WEFT_OK) {
                return status;
            }
            continue;
        }
        to += got;
        bytes -= (size_t)got;
    }
    return WEFT_OK;
}

/* The peer takes no bytes any more. It may have said why before it closed. */
static weft_status_t tree_link_send_broken(weft_boot_t *boot, weft_tree_link_t *link, int error)
{
    bool quiet;
    weft_status_t status = tree_link_look(boot, link, "initialisation", &quiet);
    return status != WEFT_OK ? status : tree_link_died(boot, link->rank, "initialisation", error);
}

weft_status_t weft_tree_link_send(weft_boot_t *boot, weft_tree_link_t *link, const void *data,
                                  size_t bytes, uint64_t until)
{
    const uint8_t *from = data;
    link->torn = true;
    while (bytes > 0) {
        int error = 0;
        ssize_t done = weft_os_send(link->fd, from, bytes, &error);
        if (done == WEFT_OS_BROKEN) {
            return tree_link_send_broken(boot, link, error);
        }
        if (done == WEFT_OS_NONE) {
            struct pollfd entry = {.fd = link->fd, .events = POLLOUT};
            int ready = weft_os_poll(&entry, 1, until);
            if (ready < 0) {
                return weft_error_record()->status;
            }
            if (ready == 0 && weft_os_clock_ns() >= until) {
                return tree_link_timed_out(boot, link->rank, "initialisation");
            }
            continue;
        }
        from += done;
        bytes -= (size_t)done;
    }
    link->torn = false;
    return WEFT_OK;
}
