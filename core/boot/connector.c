/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connecting: which address to try, the handshake, and what to try next when it fails. */
#include "core/boot/connector.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/auth.h"
#include "core/os/os.h"

/* An acceptor under attack may drop us without having looked; this many closed handshakes, spread
 * over some two seconds, mean that it refuses us. */
#define CONNECTOR_CLOSED_MOST 16
#define CONNECTOR_BACKOFF_NS (4 * WEFT_NS_PER_MS)
#define CONNECTOR_BACKOFF_MOST_NS (200 * WEFT_NS_PER_MS)

/* A listener whose backlog is full drops who asks, and the kernel asks again after 1, 3, 7 seconds.
 * A new attempt asks at once. A network on which an answer takes longer needs the longer ones: one
 * of them comes early, so that nobody there spends four seconds on each connection. */
#define CONNECTOR_SHORT_ATTEMPT_NS (WEFT_NS_PER_S / 4)
#define CONNECTOR_SHORT_ATTEMPTS 16
#define CONNECTOR_EARLY_EVERY 4 /* rounds over all addresses */
#define CONNECTOR_EARLY_ATTEMPT_NS WEFT_NS_PER_S
#define CONNECTOR_ATTEMPT_NS (2 * WEFT_NS_PER_S)
/* Whoever is connected waits in a queue that moves; to give up would be to lose the place. */
#define CONNECTOR_HANDSHAKE_NS (5 * WEFT_NS_PER_S)

#define CONNECTOR_UNHEARD_NS (3 * WEFT_NS_PER_S)
#define CONNECTOR_AWAY_NS (10 * WEFT_NS_PER_S)

uint64_t weft_connector_patience(double unresponsive)
{
    uint64_t limit = unresponsive > 0 && unresponsive < 1e9
                         ? (uint64_t)(unresponsive * (double)WEFT_NS_PER_S)
                         : CONNECTOR_AWAY_NS;
    return limit > CONNECTOR_UNHEARD_NS + WEFT_AGAIN_NS ? limit - CONNECTOR_UNHEARD_NS
                                                        : WEFT_AGAIN_NS;
}

enum { STAGE_PAUSE, STAGE_CONNECT, STAGE_HANDSHAKE, STAGE_DONE };

void weft_connector_begin(weft_connector_t *connector, const uint8_t key[32],
                          const uint8_t label[WEFT_AUTH_LABEL], const weft_os_addr_t *addrs,
                          uint32_t count, uint64_t until)
{
    memset(connector, 0, sizeof *connector);
    connector->fd = -1;
    connector->stage = STAGE_PAUSE;
    connector->until = until;
    connector->backoff = CONNECTOR_BACKOFF_NS;
    connector->count = count < WEFT_ID_ADDRS ? count : WEFT_ID_ADDRS;
    memcpy(connector->addrs, addrs, connector->count * sizeof *addrs);
    weft_auth_host_init(&connector->host, "connector", key);
    memcpy(connector->label, label, sizeof connector->label);
}

void weft_connector_begin_root(weft_connector_t *connector, const weft_id_t *id, uint32_t rank,
                               uint64_t until)
{
    uint8_t key[32], label[WEFT_AUTH_LABEL];
    weft_id_key(id, WEFT_PURPOSE_ROOT, key);
    weft_auth_label_make(label, WEFT_PURPOSE_ROOT, rank);
    weft_connector_begin(connector, key, label, id->addrs, id->count, until);
    sodium_memzero(key, sizeof key);
}

void weft_connector_end(weft_connector_t *connector)
{
    if (connector->stage != STAGE_DONE) {
        weft_os_close(connector->fd);
        connector->fd = -1;
    }
    weft_auth_host_fini(&connector->host);
    sodium_memzero(&connector->handshake, sizeof connector->handshake);
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

/* Whoever is at the other end shall not take us for dead. */
static void connector_tell_alive(const weft_connector_t *connector)
{
    static const uint8_t alive = WEFT_CONNECTOR_ALIVE;
    int error;
    (void)weft_os_send(connector->fd, &alive, sizeof alive, &error);
}

static weft_status_t connector_give_up(weft_connector_t *connector, weft_status_t status)
{
    char text[3 * WEFT_OS_ADDR_TEXT + 8];
    weft_os_addrs_text(connector->addrs, connector->count, text, sizeof text);
    if (connector->stage == STAGE_HANDSHAKE) {
        connector->unanswered = true;
        connector->heard = weft_os_unacknowledged(connector->fd) == 0;
        connector_tell_alive(connector); /* whoever asked may try anew */
    }
    weft_connector_end(connector);
    switch (status) {
    case WEFT_ERR_AUTH:
        return weft_fail(
            status, 0,
            "%s closes every handshake: it belongs to another job, holds another id, or is of "
            "an older build of weft",
            text);
    case WEFT_ERR_TIMEOUT:
        if (connector->unanswered) {
            return weft_fail(status, 0,
                             "%s takes connections, but nobody answers: is it another program, a "
                             "proxy, or a process that is stopped?",
                             text);
        }
        if (connector->closed_last) {
            return weft_fail(status, 0,
                             "%s closes handshakes: does it belong to another job, hold another "
                             "id, or is it of an older build of weft?",
                             text);
        }
        return weft_fail(status, connector->last_errno,
                         connector->last_errno == ETIMEDOUT
                             ? "nothing comes back from %s (does a firewall let it through?)"
                             : "no connection to %s",
                         text);
    default:
        return weft_fail(status, connector->last_errno, "nobody listens at %s", text);
    }
}

/* The attempt failed. The next address is tried, after a pause when all have been. */
static weft_status_t connector_retry(weft_connector_t *connector, int error, bool closed)
{
    const bool unanswered = connector->stage == STAGE_HANDSHAKE && !closed;
    weft_os_close(connector->fd);
    connector->fd = -1;
    connector->stage = STAGE_PAUSE;
    connector->last_errno = error;
    connector->unanswered = unanswered;
    connector->closed_last = closed;
    connector->closed += closed;
    connector->refusals = error == ECONNREFUSED ? connector->refusals + 1 : 0;
    if (connector->refusals >= connector->count) {
        return connector_give_up(connector, WEFT_ERR_LINK);
    }
    if (connector->closed >= CONNECTOR_CLOSED_MOST) {
        return connector_give_up(connector, WEFT_ERR_AUTH);
    }
    connector->at = (connector->at + 1) % connector->count;
    connector->stage_until = 0;
    if (connector->at == 0 || closed) {
        connector->stage_until = weft_os_clock_ns() + connector->backoff;
        connector->backoff = connector->backoff * 2 < CONNECTOR_BACKOFF_MOST_NS
                                 ? connector->backoff * 2
                                 : CONNECTOR_BACKOFF_MOST_NS;
    }
    return WEFT_IN_PROGRESS;
}

static uint64_t connector_patience(const weft_connector_t *connector)
{
    uint32_t round = connector->attempts / connector->count;
    if (connector->attempts >= CONNECTOR_SHORT_ATTEMPTS) {
        return CONNECTOR_ATTEMPT_NS;
    }
    return round % CONNECTOR_EARLY_EVERY == CONNECTOR_EARLY_EVERY - 1 ? CONNECTOR_EARLY_ATTEMPT_NS
                                                                      : CONNECTOR_SHORT_ATTEMPT_NS;
}

static weft_status_t connector_start(weft_connector_t *connector)
{
    if (connector->count == 0) {
        weft_connector_end(connector);
        return weft_fail(WEFT_ERR_LINK, 0, "a rank to connect to has told no address");
    }
    weft_status_t status = weft_os_connect(&connector->addrs[connector->at], &connector->fd);
    if (status == WEFT_ERR_LINK) {
        return connector_retry(connector, weft_error_record()->os_errno, false);
    }
    if (status != WEFT_OK) {
        weft_connector_end(connector);
        return status;
    }
    connector->stage = STAGE_CONNECT;
    connector->stage_until = weft_os_clock_ns() + connector_patience(connector);
    connector->attempts++;
    return WEFT_IN_PROGRESS;
}

/* The hello fits the socket's buffer, so the handshake waits for input only. */
static weft_status_t connector_shake_hands(weft_connector_t *connector, uint64_t now)
{
    weft_status_t status =
        weft_handshake_connect(&connector->host.host, &connector->handshake, connector->fd);
    switch (status) {
    case WEFT_OK:
        connector->stage = STAGE_DONE;
        weft_connector_end(connector);
        return WEFT_OK;
    case WEFT_IN_PROGRESS:
        if (now < connector->stage_until) {
            return status;
        }
        connector_tell_alive(connector);
        return connector_retry(connector, ETIMEDOUT, false);
    case WEFT_ERR_LINK:
    case WEFT_ERR_AUTH:
        return connector_retry(connector, weft_error_record()->os_errno, true);
    default:
        weft_connector_end(connector);
        return status;
    }
}

/* The attempt to connect has ended, well or not. */
static weft_status_t connector_greet(weft_connector_t *connector, uint64_t now)
{
    int error = weft_os_connect_result(connector->fd);
    if (error != 0) {
        return connector_retry(connector, error, false);
    }
    weft_os_tune_control(connector->fd);
    weft_status_t status =
        weft_handshake_begin(&connector->host.host, &connector->handshake, connector->label);
    if (status != WEFT_OK) {
        weft_connector_end(connector);
        return status;
    }
    connector->stage = STAGE_HANDSHAKE;
    connector->stage_until = now + CONNECTOR_HANDSHAKE_NS;
    return connector_shake_hands(connector, now);
}

static bool connector_is_connected(const weft_connector_t *connector)
{
    struct pollfd entry = {.fd = connector->fd, .events = POLLOUT};
    return weft_os_poll(&entry, 1, 0) > 0;
}

weft_status_t weft_connector_step(weft_connector_t *connector)
{
    uint64_t now = weft_os_clock_ns();
    if (connector->stage == STAGE_DONE) {
        return WEFT_OK;
    }
    if (now >= connector->until) {
        return connector_give_up(connector, WEFT_ERR_TIMEOUT);
    }
    if (connector->stage == STAGE_PAUSE) {
        return now >= connector->stage_until ? connector_start(connector) : WEFT_IN_PROGRESS;
    }
    if (connector->stage == STAGE_HANDSHAKE) {
        return connector_shake_hands(connector, now);
    }
    if (connector_is_connected(connector)) {
        return connector_greet(connector, now);
    }
    return now >= connector->stage_until ? connector_retry(connector, ETIMEDOUT, false)
                                         : WEFT_IN_PROGRESS;
}

weft_status_t weft_connector_run(weft_connector_t *connector)
{
    weft_status_t status;
    while ((status = weft_connector_step(connector)) == WEFT_IN_PROGRESS) {
        struct pollfd entry;
        uint64_t until = WEFT_NEVER;
        weft_connector_prepare(connector, &entry, &until);
        if (weft_os_poll(&entry, 1, until) < 0) {
            weft_connector_end(connector);
            return weft_error_record()->status;
        }
    }
    return status;
}
