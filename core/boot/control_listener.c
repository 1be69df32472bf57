/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The listener: accept, handshake, deadlines, eviction. */
#include "core/boot/control_listener.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "core/base/log.h"
#include "core/boot/auth.h"
#include "core/os/os.h"

#define BACKLOG 4096
/* Accepted per step: fewer than the slots, so that a burst of strangers cannot push out a connection
 * before its first bytes were looked at. */
#define BURST 16
#define PAUSE_NS (100 * WEFT_NS_PER_MS)
#define LOG_NS (10 * WEFT_NS_PER_S)

weft_status_t weft_control_listener_open(weft_control_listener_t *listener, const char *name,
                                         const uint8_t key[32])
{
    memset(listener, 0, sizeof *listener);
    listener->name = name;
    listener->listener = -1;
    for (uint32_t i = 0; i < WEFT_DOOR_SLOTS; i++) {
        listener->slots[i].fd = -1;
    }
    memcpy(listener->key, key, sizeof listener->key);
    return weft_os_listen(BACKLOG, &listener->listener, &listener->port);
}

static void slot_clear(weft_control_listener_slot_t *slot)
{
    sodium_memzero(slot, sizeof *slot);
    slot->fd = -1;
}

void weft_control_listener_close(weft_control_listener_t *listener)
{
    for (uint32_t i = 0; i < WEFT_DOOR_SLOTS; i++) {
        weft_os_close(listener->slots[i].fd);
        slot_clear(&listener->slots[i]);
    }
    weft_os_close(listener->listener);
    listener->listener = -1;
    sodium_memzero(listener->key, sizeof listener->key);
}

void weft_control_listener_prepare(const weft_control_listener_t *listener, struct pollfd *entries,
                                   uint64_t *until)
{
    bool paused = listener->pause > weft_os_clock_ns();
    if (paused && listener->pause < *until) {
        *until = listener->pause;
    }
    entries[0] = (struct pollfd){.fd = paused ? -1 : listener->listener, .events = POLLIN};
    for (uint32_t i = 0; i < WEFT_DOOR_SLOTS; i++) {
        const weft_control_listener_slot_t *slot = &listener->slots[i];
        entries[1 + i] = (struct pollfd){.fd = slot->fd, .events = POLLIN};
        if (slot->fd >= 0 && slot->until < *until) {
            *until = slot->until;
        }
    }
}

static void refuse(weft_control_listener_t *listener, weft_control_listener_slot_t *slot)
{
    uint64_t now = weft_os_clock_ns();
    weft_os_close(slot->fd);
    slot_clear(slot);
    listener->refused++;
    if (now >= listener->next_log) {
        weft_log(listener->parting ? WEFT_LOG_INFO : WEFT_LOG_WARN, "boot",
                 "%s: closed %" PRIu64 " connection%s that did not authenticate", listener->name,
                 listener->refused, listener->refused == 1 ? "" : "s");
        listener->next_log = now + LOG_NS;
        listener->refused = 0;
    }
}

/* The whole hello is here. False: close. */
static bool answer(weft_control_listener_t *listener, weft_control_listener_slot_t *slot)
{
    uint8_t reply[WEFT_AUTH_REPLY];
    int error;
    if (weft_auth_server_reply(listener->key, &slot->auth, slot->message, reply) != WEFT_OK) {
        return false;
    }
    slot->replied = true;
    slot->bytes = 0;
    /* The first bytes of a new connection always fit the socket's buffer. */
    return weft_os_send(slot->fd, reply, sizeof reply, &error) == (ssize_t)sizeof reply;
}

/* Reads what is there; hands a proved connection out. */
static void slot_step(weft_control_listener_t *listener, weft_control_listener_slot_t *slot,
                      weft_control_listener_enter_t enter, void *arg)
{
    for (;;) {
        uint32_t want = slot->replied ? WEFT_AUTH_PROOF : WEFT_AUTH_HELLO;
        int error;
        ssize_t got =
            weft_os_recv(slot->fd, slot->message + slot->bytes, want - slot->bytes, &error);
        if (got == WEFT_OS_NONE) {
            return;
        }
        if (got <= 0 && slot->replied) {
            /* Its hello was good: a rank that failed or left meanwhile, not worth a line. */
            weft_os_close(slot->fd);
            slot_clear(slot);
            return;
        }
        if (got <= 0) {
            refuse(listener, slot);
            return;
        }
        slot->bytes += (uint32_t)got;
        if (slot->bytes < want) {
            continue;
        }
        uint8_t label[WEFT_AUTH_LABEL];
        if (!slot->replied) {
            if (!answer(listener, slot)) {
                refuse(listener, slot);
                return;
            }
        } else if (weft_auth_server_check(listener->key, &slot->auth, slot->message, label) !=
                   WEFT_OK) {
            refuse(listener, slot);
            return;
        } else {
            int fd = slot->fd;
            slot_clear(slot);
            enter(arg, fd, label);
            return;
        }
    }
}

/* A free slot, or that of the oldest connection, which is dropped. */
static weft_control_listener_slot_t *slot_for_new(weft_control_listener_t *listener)
{
    weft_control_listener_slot_t *oldest = &listener->slots[0];
    for (uint32_t i = 0; i < WEFT_DOOR_SLOTS; i++) {
        if (listener->slots[i].fd < 0) {
            return &listener->slots[i];
        }
        if (listener->slots[i].until < oldest->until) {
            oldest = &listener->slots[i];
        }
    }
    refuse(listener, oldest);
    return oldest;
}

static void accept_some(weft_control_listener_t *listener, weft_control_listener_enter_t enter,
                        void *arg)
{
    for (uint32_t i = 0; i < BURST; i++) {
        int fd;
        weft_status_t status = weft_os_accept(listener->listener, &fd);
        if (status == WEFT_AGAIN) {
            return;
        }
        if (status != WEFT_OK) {
            /* Out of descriptors: the listener stays readable, so looking away is what keeps the
             * thread from spinning. */
            listener->pause = weft_os_clock_ns() + PAUSE_NS;
            return;
        }
        weft_os_tune_control(fd);
        weft_control_listener_slot_t *slot = slot_for_new(listener);
        slot->fd = fd;
        slot->until = weft_os_clock_ns() + WEFT_HANDSHAKE_NS;
        slot_step(listener, slot, enter, arg);
    }
}

void weft_control_listener_step(weft_control_listener_t *listener, const struct pollfd *entries,
                                weft_control_listener_enter_t enter, void *arg)
{
    uint64_t now = weft_os_clock_ns();
    for (uint32_t i = 0; i < WEFT_DOOR_SLOTS; i++) {
        weft_control_listener_slot_t *slot = &listener->slots[i];
        if (slot->fd >= 0 && slot->fd == entries[1 + i].fd && entries[1 + i].revents != 0) {
            slot_step(listener, slot, enter, arg);
        }
        if (slot->fd >= 0 && slot->until <= now) {
            refuse(listener, slot);
        }
    }
    if (entries[0].fd >= 0 && entries[0].revents != 0) {
        accept_some(listener, enter, arg);
    }
}
