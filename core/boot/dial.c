/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connecting: connect, hello, reply, proof, and what to try next when one of these fails. */
#include "core/boot/dial.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/auth.h"
#include "core/boot/door.h"
#include "core/os/os.h"

/* An acceptor under attack may drop us without having looked; this many closed handshakes, spread
 * over some two seconds, mean that it refuses us. */
#define MOST_CLOSED 16
#define BACKOFF_NS (4 * WEFT_NS_PER_MS)
#define BACKOFF_MOST_NS (200 * WEFT_NS_PER_MS)

enum stage { STAGE_PAUSE, STAGE_CONNECT, STAGE_REPLY, STAGE_DONE };

void weft_dial_begin(weft_dial_t *dial, const uint8_t key[32], const uint8_t label[WEFT_AUTH_LABEL],
                     const weft_os_addr_t *addrs, uint32_t count, uint64_t until)
{
    memset(dial, 0, sizeof *dial);
    dial->fd = -1;
    dial->stage = STAGE_PAUSE;
    dial->until = until;
    dial->backoff = BACKOFF_NS;
    dial->count = count < WEFT_ID_ADDRS ? count : WEFT_ID_ADDRS;
    memcpy(dial->addrs, addrs, dial->count * sizeof *addrs);
    memcpy(dial->key, key, sizeof dial->key);
    memcpy(dial->label, label, sizeof dial->label);
}

void weft_dial_end(weft_dial_t *dial)
{
    if (dial->stage != STAGE_DONE) {
        weft_os_close(dial->fd);
        dial->fd = -1;
    }
    sodium_memzero(dial->key, sizeof dial->key);
    sodium_memzero(&dial->auth, sizeof dial->auth);
}

void weft_dial_prepare(const weft_dial_t *dial, struct pollfd *entry, uint64_t *until)
{
    *entry =
        (struct pollfd){.fd = dial->fd, .events = dial->stage == STAGE_CONNECT ? POLLOUT : POLLIN};
    uint64_t wake = dial->stage_until < dial->until ? dial->stage_until : dial->until;
    if (wake < *until) {
        *until = wake;
    }
}

static void addresses_text(const weft_dial_t *dial, char *text, size_t bytes)
{
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < dial->count; i++) {
        char one[WEFT_OS_ADDR_TEXT];
        weft_os_addr_text(&dial->addrs[i], one);
        int used = snprintf(text + at, bytes - at, "%s%s", i > 0 ? ", " : "", one);
        at += used > 0 && (size_t)used < bytes - at ? (size_t)used : 0;
    }
}

static weft_status_t give_up(weft_dial_t *dial, weft_status_t status)
{
    char text[3 * WEFT_OS_ADDR_TEXT + 8];
    addresses_text(dial, text, sizeof text);
    weft_dial_end(dial);
    switch (status) {
    case WEFT_ERR_AUTH:
        return weft_fail(status, 0,
                         "%s closes every handshake: it belongs to another job or holds another id",
                         text);
    case WEFT_ERR_TIMEOUT:
        return weft_fail(status, dial->last_errno, "no connection to %s", text);
    default:
        return weft_fail(status, dial->last_errno, "nobody listens at %s", text);
    }
}

/* The attempt failed: the next address, after a pause when all were tried. */
static weft_status_t attempt_failed(weft_dial_t *dial, int error, bool closed)
{
    weft_os_close(dial->fd);
    dial->fd = -1;
    dial->stage = STAGE_PAUSE;
    dial->last_errno = error;
    dial->attempts += closed;
    dial->refusals = error == ECONNREFUSED ? dial->refusals + 1 : 0;
    if (dial->refusals >= dial->count) {
        return give_up(dial, WEFT_ERR_LINK);
    }
    if (dial->attempts >= MOST_CLOSED) {
        return give_up(dial, WEFT_ERR_AUTH);
    }
    dial->at = (dial->at + 1) % dial->count;
    dial->stage_until = 0;
    if (dial->at == 0 || closed) {
        dial->stage_until = weft_os_clock_ns() + dial->backoff;
        dial->backoff = dial->backoff * 2 < BACKOFF_MOST_NS ? dial->backoff * 2 : BACKOFF_MOST_NS;
    }
    return WEFT_IN_PROGRESS;
}

static weft_status_t start(weft_dial_t *dial)
{
    weft_status_t status = weft_os_connect(&dial->addrs[dial->at], &dial->fd);
    if (status == WEFT_ERR_LINK) {
        return attempt_failed(dial, weft_error_record()->os_errno, false);
    }
    if (status != WEFT_OK) {
        weft_dial_end(dial);
        return status;
    }
    dial->stage = STAGE_CONNECT;
    dial->stage_until = weft_os_clock_ns() + WEFT_HANDSHAKE_NS;
    return WEFT_IN_PROGRESS;
}

static weft_status_t greet(weft_dial_t *dial)
{
    uint8_t hello[WEFT_AUTH_HELLO];
    int error = weft_os_connect_result(dial->fd);
    if (error != 0) {
        return attempt_failed(dial, error, false);
    }
    weft_os_tune_control(dial->fd);
    weft_status_t status = weft_auth_client_begin(dial->key, &dial->auth, dial->label, hello);
    if (status != WEFT_OK) {
        weft_dial_end(dial);
        return status;
    }
    if (weft_os_send(dial->fd, hello, sizeof hello, &error) != (ssize_t)sizeof hello) {
        return attempt_failed(dial, error, true);
    }
    dial->stage = STAGE_REPLY;
    dial->bytes = 0;
    return WEFT_IN_PROGRESS;
}

static weft_status_t prove(weft_dial_t *dial)
{
    uint8_t proof[WEFT_AUTH_PROOF];
    int error = 0;
    ssize_t got =
        weft_os_recv(dial->fd, dial->reply + dial->bytes, sizeof dial->reply - dial->bytes, &error);
    if (got == WEFT_OS_NONE) {
        return WEFT_IN_PROGRESS;
    }
    if (got <= 0) {
        return attempt_failed(dial, error, true);
    }
    dial->bytes += (uint32_t)got;
    if (dial->bytes < sizeof dial->reply) {
        return WEFT_IN_PROGRESS;
    }
    if (weft_auth_client_finish(dial->key, &dial->auth, dial->reply, proof) != WEFT_OK ||
        weft_os_send(dial->fd, proof, sizeof proof, &error) != (ssize_t)sizeof proof) {
        return attempt_failed(dial, error, true);
    }
    dial->stage = STAGE_DONE;
    weft_dial_end(dial);
    return WEFT_OK;
}

/* Whether a poll would find the descriptor ready; stages are entered without waiting first. */
static bool ready(const weft_dial_t *dial)
{
    struct pollfd entry;
    uint64_t unused = WEFT_NEVER;
    weft_dial_prepare(dial, &entry, &unused);
    return weft_os_poll(&entry, 1, 0) > 0;
}

weft_status_t weft_dial_step(weft_dial_t *dial)
{
    uint64_t now = weft_os_clock_ns();
    if (dial->stage == STAGE_DONE) {
        return WEFT_OK;
    }
    if (now >= dial->until) {
        return give_up(dial, WEFT_ERR_TIMEOUT);
    }
    if (dial->stage == STAGE_PAUSE) {
        return now >= dial->stage_until ? start(dial) : WEFT_IN_PROGRESS;
    }
    if (!ready(dial)) {
        return now >= dial->stage_until ? attempt_failed(dial, ETIMEDOUT, false) : WEFT_IN_PROGRESS;
    }
    return dial->stage == STAGE_CONNECT ? greet(dial) : prove(dial);
}

weft_status_t weft_dial_run(weft_dial_t *dial)
{
    weft_status_t status;
    while ((status = weft_dial_step(dial)) == WEFT_IN_PROGRESS) {
        struct pollfd entry;
        uint64_t until = WEFT_NEVER;
        weft_dial_prepare(dial, &entry, &until);
        weft_os_poll(&entry, 1, until);
    }
    return status;
}
