/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The listener of control connections. The acceptor of the SDK does the work; this file adds the
 * socket, the poll entry and the pause when the process is out of descriptors. */
#include "core/boot/control_listener.h"

#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/boot/id_exchange_given.h"
#include "core/os/os_fork.h"

#define LISTENER_BACKLOG 4096
#define LISTENER_PAUSE_NS (100 * WEFT_NS_PER_MS)
/* A process that may open few files gives pending peers this part of them, so that something is
 * left to load plugins with. */
#define LISTENER_SHARE 4

static weft_status_t control_listener_listen(weft_control_listener_t *listener, int *fd_p)
{
    const weft_port_range_t *ports = &listener->ports;
    uint32_t start = 0;
    weft_status_t status = WEFT_AGAIN;
    if (listener->port != 0 || ports->first == 0) {
        return weft_os_listen(LISTENER_BACKLOG, fd_p, &listener->port);
    }
    (void)weft_os_random(&start, sizeof start);
    const uint32_t span = weft_port_range_span(ports);
    const uint16_t last = weft_id_given_port();
    for (uint32_t i = 0; status == WEFT_AGAIN && i < span; i++) {
        listener->port = weft_port_range_at(ports, start, i);
        if (listener->port != last) {
            status = weft_os_listen(LISTENER_BACKLOG, fd_p, &listener->port);
        }
    }
    if (status == WEFT_AGAIN && last >= ports->first && last <= ports->last) {
        listener->port = last;
        status = weft_os_listen(LISTENER_BACKLOG, fd_p, &listener->port);
    }
    return status != WEFT_AGAIN
               ? status
               : weft_fail(WEFT_ERR_CONFIG, 0,
                           "all ports of boot.port_range = %u-%u are in use here; each rank of a "
                           "host needs one, and one more who makes the unique id",
                           ports->first, ports->last);
}

static void listener_has(int fd, bool has)
{
    if (has) {
        weft_os_close_in_children(fd);
    } else {
        weft_os_leave_to_children(fd);
    }
}

weft_status_t weft_control_listener_open(weft_control_listener_t *listener, const char *name,
                                         const uint8_t key[32])
{
    int fd = -1;
    *listener = (weft_control_listener_t){.port = listener->port, .ports = listener->ports};
    weft_auth_host_init(&listener->host, name, key);
    weft_acceptor_init(&listener->acceptor, &listener->host.host, -1);
    listener->acceptor.log_level = WEFT_LOG_WARN;
    listener->acceptor.has = listener_has;
    uint64_t share = weft_os_files_most() / LISTENER_SHARE + 1;
    if (share < listener->acceptor.places) {
        listener->acceptor.places = (uint32_t)share;
    }
    listener->open = true;
    weft_status_t status = weft_acceptor_wait_fd(&listener->acceptor, &listener->wait_fd);
    if (status == WEFT_OK) {
        status = control_listener_listen(listener, &fd);
    }
    if (status == WEFT_OK) {
        weft_acceptor_add(&listener->acceptor, fd);
    }
    return status;
}

void weft_control_listener_close(weft_control_listener_t *listener)
{
    if (listener->open) {
        weft_acceptor_fini(&listener->acceptor);
        weft_auth_host_fini(&listener->host);
        listener->open = false;
    }
}

void weft_control_listener_expect_leavers(weft_control_listener_t *listener)
{
    listener->acceptor.log_level = WEFT_LOG_INFO;
}

void weft_control_listener_prepare(const weft_control_listener_t *listener, struct pollfd *entry,
                                   uint64_t *until)
{
    bool paused = listener->paused_until > weft_os_clock_ns();
    uint64_t deadline = weft_acceptor_deadline_ns(&listener->acceptor);
    if (paused && listener->paused_until < deadline) {
        deadline = listener->paused_until;
    }
    *entry = (struct pollfd){.fd = paused ? -1 : listener->wait_fd, .events = POLLIN};
    *until = deadline < *until ? deadline : *until;
}

weft_status_t weft_control_listener_poll(weft_control_listener_t *listener,
                                         const struct pollfd *entry, int *fd_p,
                                         uint8_t label[WEFT_AUTH_LABEL])
{
    uint64_t now = weft_os_clock_ns();
    if (entry->revents == 0 && now < weft_acceptor_deadline_ns(&listener->acceptor)) {
        return WEFT_AGAIN;
    }
    weft_os_hold_forks(); /* no child between a socket and its mark */
    weft_status_t status = weft_acceptor_poll(&listener->acceptor, fd_p, label);
    weft_os_release_forks();
    if (status == WEFT_OK) {
        listener->refused = false;
        weft_os_tune_control(*fd_p);
        return WEFT_OK;
    }
    if (status != WEFT_AGAIN) {
        /* Out of descriptors, or denied: the socket stays readable, and to look away from it is
         * what keeps the thread from spinning. Whoever connects hears nothing of it. */
        listener->paused_until = now + LISTENER_PAUSE_NS;
        if (!listener->refused) {
            weft_log(WEFT_LOG_WARN, listener->host.name, "%s", weft_error_record()->text);
        }
        listener->refused = true;
    }
    return WEFT_AGAIN;
}
