/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Both ends of connections that are made again while ranks join. */
#include "core/boot/link_renewal.h"

#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/boot/auth.h"
#include "core/boot/wire.h"
#include "core/os/os.h"

/* A child that has answered a knock comes again, unless it dies before that: it is asked again. */
#define RENEWAL_KNOCK_NS (WEFT_NS_PER_S / 2)

static bool renewal_is_parent(const weft_boot_t *boot, const weft_tree_link_t *link)
{
    return link == &boot->links[WEFT_TREE_PARENT];
}

static uint64_t renewal_knock_at(const weft_tree_link_t *link)
{
    return link->seen != 0 ? link->seen + RENEWAL_KNOCK_NS : 0;
}

void weft_link_renewal_say(const weft_boot_t *boot, weft_tree_link_t *link, uint32_t type)
{
    uint8_t header[WEFT_WIRE_HEADER];
    int error = 0;
    weft_frame_t frame = {.type = type,
                          .from = boot->rank,
                          .sequence = type == WEFT_FRAME_AGAIN ? link->took : 0,
                          .comm_id = boot->comm_id};
    weft_frame_encode(&frame, header);
    if (!weft_os_send_all(link->fd, header, sizeof header, &error)) {
        link->reset = error != 0; /* receiving would only see an end */
    }
}

void weft_link_renewal_end(weft_tree_link_t *link)
{
    if (link->connector != NULL) {
        weft_connector_end(link->connector);
        weft_os_free(link->connector);
        link->connector = NULL;
    }
    if (link->reset) {
        weft_os_close(link->fd);
        link->fd = -1;
        link->reset = false;
        link->broke = weft_os_clock_ns();
    }
}

bool weft_link_renewal_begin(weft_tree_link_t *link)
{
    weft_os_close(link->fd);
    link->fd = -1;
    link->seen = 0;
    link->broke = weft_os_clock_ns();
    return link->made <= WEFT_AGAIN_MOST;
}

void weft_link_renewal_attach(weft_tree_link_t *link, int fd)
{
    weft_link_renewal_end(link);
    weft_os_close(link->fd);
    link->fd = fd;
    link->fresh = link->made > 0;
    link->torn = link->reset = link->quiet = link->part = false;
    link->made++;
    link->sent = 0;
    link->broke = 0;
}

void weft_link_renewal_accept(weft_boot_t *boot, int fd, const uint8_t label[WEFT_AUTH_LABEL])
{
    uint32_t rank = UINT32_MAX;
    bool known = weft_auth_label_read(label, WEFT_PURPOSE_TREE, &rank) && rank < boot->nranks;
    for (uint32_t i = 0; known && i < WEFT_TREE_LINKS; i++) {
        weft_tree_link_t *link = &boot->links[i];
        if (link->rank != rank || rank == boot->rank) {
            continue;
        }
        if (!renewal_is_parent(boot, link)) {
            /* A child that comes again has given up the connection that it had. */
            weft_link_renewal_attach(link, fd);
            return;
        }
        if (link->fd >= 0 && !link->torn) {
            weft_link_renewal_say(boot, link, WEFT_FRAME_BEAT);
        }
    }
    weft_os_close(fd);
}

void weft_link_renewal_prepare(const weft_boot_t *boot, struct pollfd entries[WEFT_RENEWAL_ENTRIES],
                               uint64_t *until)
{
    weft_control_listener_prepare(&boot->listener, &entries[0], until);
    for (uint32_t i = 0; i < WEFT_TREE_LINKS; i++) {
        const weft_tree_link_t *link = &boot->links[i];
        entries[1 + i] = (struct pollfd){.fd = -1};
        if (link->connector != NULL) {
            weft_connector_prepare(link->connector, &entries[1 + i], until);
        } else if (link->broke != 0) {
            uint64_t wake = renewal_knock_at(link);
            *until = wake < *until ? wake : *until;
        }
    }
}

/* A child that listens lives. */
static void renewal_reached(weft_boot_t *boot, weft_tree_link_t *link, int fd)
{
    if (renewal_is_parent(boot, link)) {
        weft_log(WEFT_LOG_INFO, "boot", "rank %u: the control connection to rank %u is there again",
                 boot->rank, link->rank);
        weft_link_renewal_attach(link, fd);
        weft_link_renewal_say(boot, link, WEFT_FRAME_AGAIN);
    } else {
        weft_link_renewal_end(link);
        link->seen = weft_os_clock_ns();
        weft_os_close(fd);
    }
}

static weft_status_t renewal_connect(const weft_boot_t *boot, weft_tree_link_t *link)
{
    uint8_t label[WEFT_AUTH_LABEL];
    const weft_join_request_t *request = &boot->requests[link->rank];
    link->connector = weft_os_alloc(sizeof *link->connector, 0);
    if (link->connector == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for a connection");
    }
    weft_auth_label_make(label, WEFT_PURPOSE_TREE, boot->rank);
    weft_connector_begin(link->connector, boot->tree_key, label, request->addrs,
                         weft_join_request_addrs(request),
                         weft_os_clock_ns() + weft_connector_patience(boot->settings.unresponsive));
    return WEFT_OK;
}

static weft_status_t renewal_step_link(weft_boot_t *boot, weft_tree_link_t *link)
{
    weft_status_t status = WEFT_OK;
    if (link->connector == NULL && weft_os_clock_ns() >= renewal_knock_at(link)) {
        status = renewal_connect(boot, link);
    }
    if (status != WEFT_OK || link->connector == NULL) {
        return status;
    }
    status = weft_connector_step(link->connector);
    if (status == WEFT_OK) {
        renewal_reached(boot, link, link->connector->fd);
    }
    if (status == WEFT_ERR_TIMEOUT && link->connector->heard) {
        weft_os_free(link->connector); /* its kernel is there: it is stopped, or has much to do */
        link->connector = NULL;
        link->seen = 0;
        return WEFT_OK;
    }
    return status == WEFT_IN_PROGRESS ? WEFT_OK : status;
}

weft_status_t weft_link_renewal_step(weft_boot_t *boot, const struct pollfd *listener,
                                     weft_tree_link_t **link_p)
{
    int fd;
    uint8_t label[WEFT_AUTH_LABEL];
    while (weft_control_listener_poll(&boot->listener, listener, &fd, label) == WEFT_OK) {
        weft_link_renewal_accept(boot, fd, label);
    }
    for (uint32_t i = 0; i < WEFT_TREE_LINKS; i++) {
        if (boot->links[i].broke != 0) {
            weft_status_t status = renewal_step_link(boot, &boot->links[i]);
            if (status != WEFT_OK) {
                *link_p = &boot->links[i];
                return status;
            }
        }
    }
    return WEFT_OK;
}
