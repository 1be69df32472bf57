/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See early.h. */
#include "core/exec/early.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/plugin/plugin_status.h"

/* Connections for communicators that this rank has not made yet, or has destroyed. */
#define STRAYS 1024u
#define STRAY_NS (30 * WEFT_NS_PER_S)

typedef struct weft_early_conn {
    struct weft_early_conn *next;
    weft_net_conn_t *conn;
    uint32_t transport; /* index */
    uint64_t since;
    bool noted; /* its communicator was told of it, or need not be */
    weft_conn_label_t label;
} early_conn_t;

static void early_drop(const weft_early_t *early, early_conn_t **link)
{
    early_conn_t *conn = *link;
    *link = conn->next;
    early->entry[conn->transport].ops->conn_close(conn->conn);
    weft_os_free(conn);
}

void weft_early_close(weft_early_t *early)
{
    while (early->conns != NULL) {
        early_drop(early, &early->conns);
    }
}

void weft_early_add_user(weft_early_t *early, weft_transports_user_t *user)
{
    weft_os_mutex_assert_held(early->lock);
    user->next = early->users;
    early->users = user;
}

void weft_early_remove_user(weft_early_t *early, weft_transports_user_t *user)
{
    weft_os_mutex_assert_held(early->lock);
    weft_transports_user_t **at = &early->users;
    while (*at != user) {
        at = &(*at)->next;
    }
    *at = user->next;
    for (early_conn_t **link = &early->conns; *link != NULL;) {
        if ((*link)->label.comm_id == user->comm_id) {
            early_drop(early, link);
        } else {
            link = &(*link)->next;
        }
    }
}

static bool early_is_expected(const weft_early_t *early, uint64_t comm_id)
{
    const weft_transports_user_t *user = early->users;
    while (user != NULL && user->comm_id != comm_id) {
        user = user->next;
    }
    return user != NULL;
}

/* Strays end when their time is over, or when there are too many: the list is newest first. */
static void early_sweep(weft_early_t *early)
{
    uint32_t strays = 0;
    uint64_t now = early->conns != NULL ? weft_os_clock_ns() : 0;
    for (early_conn_t **link = &early->conns; *link != NULL;) {
        bool stray = !early_is_expected(early, (*link)->label.comm_id);
        strays += stray;
        if (stray && (strays > STRAYS || now - (*link)->since > STRAY_NS)) {
            early_drop(early, link);
        } else {
            link = &(*link)->next;
        }
    }
}

/* A repeated connection replaces the one before: its connector gave that up. */
static void early_replace(weft_early_t *early, const weft_conn_label_t *fresh)
{
    for (early_conn_t **link = &early->conns; *link != NULL; link = &(*link)->next) {
        const weft_conn_label_t *label = &(*link)->label;
        if (label->comm_id == fresh->comm_id && label->from == fresh->from &&
            label->channel == fresh->channel) {
            early_drop(early, link);
            return;
        }
    }
}

static weft_status_t early_add(weft_early_t *early, uint32_t index, weft_net_conn_t *conn)
{
    const weft_transport_t *transport = &early->entry[index];
    weft_net_conn_info_t info = {.size = sizeof info};
    early_conn_t *fresh = weft_os_alloc(sizeof *fresh, 0);
    weft_status_t status =
        fresh == NULL ? weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot take a connection")
                      : weft_plugin_status(transport->loaded, "conn_info", WEFT_RETURNS_FINAL,
                                           transport->ops->conn_info(conn, &info));
    if (status != WEFT_OK) {
        transport->ops->conn_close(conn);
        weft_os_free(fresh);
        return status;
    }
    *fresh = (early_conn_t){.conn = conn,
                            .transport = index,
                            .since = weft_os_clock_ns(),
                            .noted = !weft_transport_needs_slots(transport)};
    memcpy(&fresh->label, info.label, sizeof fresh->label);
    early_replace(early, &fresh->label);
    fresh->next = early->conns;
    early->conns = fresh;
    return WEFT_OK;
}

bool weft_early_take_note(weft_early_t *early, weft_early_note_t *note)
{
    weft_os_mutex_assert_held(early->lock);
    early_conn_t *conn = early->conns;
    while (conn != NULL && conn->noted) {
        conn = conn->next;
    }
    if (conn == NULL) {
        return false;
    }
    conn->noted = true;
    *note = (weft_early_note_t){
        .comm_id = conn->label.comm_id, .from = conn->label.from, .channel = conn->label.channel};
    return true;
}

/* AGAIN: there is none. */
static weft_status_t early_accept_one(weft_early_t *early, uint32_t index)
{
    const weft_transport_t *transport = &early->entry[index];
    weft_net_conn_t *conn = NULL;
    weft_call_note_t before = weft_call_enter(transport->loaded->plugin->name, "accept");
    weft_status_t status = transport->ops->accept(transport->listener, &conn);
    weft_call_leave(before);
    if (status != WEFT_AGAIN) {
        status = weft_plugin_status(transport->loaded, "accept", WEFT_RETURNS_AGAIN, status);
    }
    return status == WEFT_OK ? early_add(early, index, conn) : status;
}

/* All of them: several may be complete at once, and wait_fd() tells of what arrives, not of what a
 * plugin holds. One that stayed there would wait until the next peer connects. */
static weft_status_t early_accept_all(weft_early_t *early, uint32_t count, bool first)
{
    for (uint32_t i = 0; i < count; i++) {
        const weft_transport_t *transport = &early->entry[i];
        if (transport->listener == NULL || !weft_transport_serves(transport, first)) {
            continue;
        }
        weft_status_t status = WEFT_OK;
        while (status == WEFT_OK) {
            status = early_accept_one(early, i);
        }
        if (status != WEFT_AGAIN) {
            return status;
        }
    }
    return WEFT_OK;
}

weft_status_t weft_early_take_in(weft_early_t *early, uint32_t count, bool first)
{
    weft_os_mutex_assert_held(early->lock);
    weft_status_t status = early_accept_all(early, count, first);
    early_sweep(early);
    return status;
}

/* Returns whether the peer has closed it and nothing that it sent waits. Mapped memory may hold
 * what a peer wrote before it left. */
static bool early_is_closed(const weft_early_t *early, const early_conn_t *conn)
{
    const weft_transport_t *transport = &early->entry[conn->transport];
    return transport->map == NULL && transport->ops->conn_check(conn->conn) != WEFT_OK;
}

/* Returns whether the communicator may have it. Who closed it has given a try up, and its next one
 * replaces this; or had nothing to send over it and has left, and there will be no other. */
static bool early_is_due(const weft_early_t *early, const weft_transports_user_t *user,
                         const early_conn_t *conn)
{
    const weft_leavers_t *leavers = &user->leavers;
    return conn->label.comm_id == user->comm_id &&
           (!early_is_closed(early, conn) ||
            (leavers->has_left != NULL && leavers->has_left(leavers->arg, conn->label.from)));
}

/* The oldest connection that is due, taken off the list; NULL if there is none. */
static early_conn_t *early_take(weft_early_t *early, const weft_transports_user_t *user)
{
    early_conn_t **found = NULL;
    for (early_conn_t **link = &early->conns; *link != NULL; link = &(*link)->next) {
        found = early_is_due(early, user, *link) ? link : found;
    }
    early_conn_t *taken = found != NULL ? *found : NULL;
    if (taken != NULL) {
        *found = taken->next;
    }
    return taken;
}

weft_status_t weft_early_accept(weft_early_t *early, uint32_t count,
                                const weft_transports_user_t *user, uint32_t *index_p,
                                weft_net_conn_t **conn_p, weft_conn_label_t *label)
{
    weft_os_mutex_assert_held(early->lock);
    weft_status_t status = weft_early_take_in(early, count, user->first);
    early_conn_t *taken = status == WEFT_OK ? early_take(early, user) : NULL;
    if (taken == NULL) {
        return status == WEFT_OK ? WEFT_AGAIN : status;
    }
    *index_p = taken->transport;
    *conn_p = taken->conn;
    *label = taken->label;
    weft_os_free(taken);
    return WEFT_OK;
}
