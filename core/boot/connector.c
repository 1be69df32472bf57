/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connecting: connect, hello, reply, proof, and what to try next when one of these fails. */
#include "core/boot/connector.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/auth.h"
#include "core/boot/control_listener.h"
#include "core/os/os.h"

/* An acceptor under attack may drop us without having looked; this many closed handshakes, spread
 * over some two seconds, mean that it refuses us. */
#define MOST_CLOSED 16
#define BACKOFF_NS (4 * WEFT_NS_PER_MS)
#define BACKOFF_MOST_NS (200 * WEFT_NS_PER_MS)

enum stage { STAGE_PAUSE, STAGE_CONNECT, STAGE_REPLY, STAGE_DONE };

void weft_connector_begin(weft_connector_t *connector, const uint8_t key[32],
                          const uint8_t label[WEFT_AUTH_LABEL], const weft_os_addr_t *addrs,
                          uint32_t count, uint64_t until)
{
    memset(connector, 0, sizeof *connector);
    connector->fd = -1;
    connector->stage = STAGE_PAUSE;
    connector->until = until;
    connector->backoff = BACKOFF_NS;
    connector->count = count < WEFT_ID_ADDRS ? count : WEFT_ID_ADDRS;
    memcpy(connector->addrs, addrs, connector->count * sizeof *addrs);
    memcpy(connector->key, key, sizeof connector->key);
    memcpy(connector->label, label, sizeof connector->label);
}

void weft_connector_end(weft_connector_t *connector)
{
    if (connector->stage != STAGE_DONE) {
        weft_os_close(connector->fd);
        connector->fd = -1;
    }
    sodium_memzero(connector->key, sizeof connector->key);
    sodium_memzero(&connector->auth, sizeof connector->auth);
}

void weft_connector_prepare(const weft_connector_t *connector, struct pollfd *entry,
                            uint64_t *until)
{
    *entry = (struct pollfd){.fd = connector->fd,
                             .events = connector->stage == STAGE_CONNECT ? POLLOUT : POLLIN};
    uint64_t wake =
        connector->stage_until < connector->until ? connector->stage_until : connector->until;
    if (wake < *until) {
        *until = wake;
    }
}

static void addresses_text(const weft_connector_t *connector, char *text, size_t bytes)
{
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < connector->count; i++) {
        char one[WEFT_OS_ADDR_TEXT];
        weft_os_addr_text(&connector->addrs[i], one);
        int used = snprintf(text + at, bytes - at, "%s%s", i > 0 ? ", " : "", one);
        at += used > 0 && (size_t)used < bytes - at ? (size_t)used : 0;
    }
}

static weft_status_t give_up(weft_connector_t *connector, weft_status_t status)
{
    char text[3 * WEFT_OS_ADDR_TEXT + 8];
    addresses_text(connector, text, sizeof text);
    weft_connector_end(connector);
    switch (status) {
    case WEFT_ERR_AUTH:
        return weft_fail(status, 0,
                         "%s closes every handshake: it belongs to another job or holds another id",
                         text);
    case WEFT_ERR_TIMEOUT:
        return weft_fail(status, connector->last_errno, "no connection to %s", text);
    default:
        return weft_fail(status, connector->last_errno, "nobody listens at %s", text);
    }
}

/* The attempt failed: the next address, after a pause when all were tried. */
static weft_status_t attempt_failed(weft_connector_t *connector, int error, bool closed)
{
    weft_os_close(connector->fd);
    connector->fd = -1;
    connector->stage = STAGE_PAUSE;
    connector->last_errno = error;
    connector->attempts += closed;
    connector->refusals = error == ECONNREFUSED ? connector->refusals + 1 : 0;
    if (connector->refusals >= connector->count) {
        return give_up(connector, WEFT_ERR_LINK);
    }
    if (connector->attempts >= MOST_CLOSED) {
        return give_up(connector, WEFT_ERR_AUTH);
    }
    connector->at = (connector->at + 1) % connector->count;
    connector->stage_until = 0;
    if (connector->at == 0 || closed) {
        connector->stage_until = weft_os_clock_ns() + connector->backoff;
        connector->backoff =
            connector->backoff * 2 < BACKOFF_MOST_NS ? connector->backoff * 2 : BACKOFF_MOST_NS;
    }
    return WEFT_IN_PROGRESS;
}

static weft_status_t start(weft_connector_t *connector)
{
    weft_status_t status = weft_os_connect(&connector->addrs[connector->at], &connector->fd);
    if (status == WEFT_ERR_LINK) {
        return attempt_failed(connector, weft_error_record()->os_errno, false);
    }
    if (status != WEFT_OK) {
        weft_connector_end(connector);
        return status;
    }
    connector->stage = STAGE_CONNECT;
    connector->stage_until = weft_os_clock_ns() + WEFT_HANDSHAKE_NS;
    return WEFT_IN_PROGRESS;
}

static weft_status_t greet(weft_connector_t *connector)
{
    uint8_t hello[WEFT_AUTH_HELLO];
    int error = weft_os_connect_result(connector->fd);
    if (error != 0) {
        return attempt_failed(connector, error, false);
    }
    weft_os_tune_control(connector->fd);
    weft_status_t status =
        weft_auth_client_begin(connector->key, &connector->auth, connector->label, hello);
    if (status != WEFT_OK) {
        weft_connector_end(connector);
        return status;
    }
    if (weft_os_send(connector->fd, hello, sizeof hello, &error) != (ssize_t)sizeof hello) {
        return attempt_failed(connector, error, true);
    }
    connector->stage = STAGE_REPLY;
    connector->bytes = 0;
    return WEFT_IN_PROGRESS;
}

static weft_status_t prove(weft_connector_t *connector)
{
    uint8_t proof[WEFT_AUTH_PROOF];
    int error = 0;
    ssize_t got = weft_os_recv(connector->fd, connector->reply + connector->bytes,
                               sizeof connector->reply - connector->bytes, &error);
    if (got == WEFT_OS_NONE) {
        return WEFT_IN_PROGRESS;
    }
    if (got <= 0) {
        return attempt_failed(connector, error, true);
    }
    connector->bytes += (uint32_t)got;
    if (connector->bytes < sizeof connector->reply) {
        return WEFT_IN_PROGRESS;
    }
    if (weft_auth_client_finish(connector->key, &connector->auth, connector->reply, proof) !=
            WEFT_OK ||
        weft_os_send(connector->fd, proof, sizeof proof, &error) != (ssize_t)sizeof proof) {
        return attempt_failed(connector, error, true);
    }
    connector->stage = STAGE_DONE;
    weft_connector_end(connector);
    return WEFT_OK;
}

/* Whether a poll would find the descriptor ready; stages are entered without waiting first. */
static bool ready(const weft_connector_t *connector)
{
    struct pollfd entry;
    uint64_t unused = WEFT_NEVER;
    weft_connector_prepare(connector, &entry, &unused);
    return weft_os_poll(&entry, 1, 0) > 0;
}

weft_status_t weft_connector_step(weft_connector_t *connector)
{
    uint64_t now = weft_os_clock_ns();
    if (connector->stage == STAGE_DONE) {
        return WEFT_OK;
    }
    if (now >= connector->until) {
        return give_up(connector, WEFT_ERR_TIMEOUT);
    }
    if (connector->stage == STAGE_PAUSE) {
        return now >= connector->stage_until ? start(connector) : WEFT_IN_PROGRESS;
    }
    if (!ready(connector)) {
        return now >= connector->stage_until ? attempt_failed(connector, ETIMEDOUT, false)
                                             : WEFT_IN_PROGRESS;
    }
    return connector->stage == STAGE_CONNECT ? greet(connector) : prove(connector);
}

weft_status_t weft_connector_run(weft_connector_t *connector)
{
    weft_status_t status;
    while ((status = weft_connector_step(connector)) == WEFT_IN_PROGRESS) {
        struct pollfd entry;
        uint64_t until = WEFT_NEVER;
        weft_connector_prepare(connector, &entry, &until);
        weft_os_poll(&entry, 1, until);
    }
    return status;
}
