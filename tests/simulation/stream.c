/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams. */
#include "stream.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "changes.h"
#include "listener.h"

enum { TCP_ROOM = 256 << 10, LOCAL_ROOM = 208 << 10, SYN_TRIES = 6, SHORT = 2048 };

/* The way -------------------------------------------------------------------------------------- */

static uint64_t way_latency(const object_t *from)
{
    return from->local || from->host == from->peer_host
               ? 2 * SIM_US + machine_below(10 * SIM_US)
               : machine.latency[from->host][from->peer_host] +
                     machine_below(machine.latency[from->host][from->peer_host]);
}

static bool way_is_cut(const object_t *from)
{
    return !from->local && machine.cut[from->host][from->peer_host];
}

static bool is_cut_at_all(const object_t *object)
{
    return !object->local && (machine.cut[object->host][object->peer_host] ||
                              machine.cut[object->peer_host][object->host]);
}

static void stream_break(object_t *object, int error)
{
    if (!object->broken && object->kind == OBJECT_STREAM) {
        object->broken = true;
        object->connecting = false;
        object->error = error;
        object_changed(object);
    }
}

static void stream_arrived(void *to)
{
    object_changed(to);
}

static void stream_was_reset(void *object)
{
    stream_break(object, ECONNRESET);
}

/* What is on its way has nobody to send it again. */
static void way_lose(object_t *to)
{
    message_t **at = &to->first, *lost;
    to->last = NULL;
    while (*at != NULL && (*at)->arrives != SIM_NEVER) {
        to->last = *at;
        at = &(*at)->next;
    }
    while ((lost = *at) != NULL) {
        *at = lost->next;
        to->unread -= lost->bytes - lost->taken;
        if (lost->passed != NULL) {
            object_drop(lost->passed);
        }
        machine_free(lost);
    }
}

/* The keepalive of an end whose peer has given up is answered by a reset, once the network is
 * back. */
static void stream_probe(void *arg)
{
    object_t *object = arg;
    if (is_cut_at_all(object)) {
        machine_at(machine.now + STREAM_KEEPALIVE, stream_probe, object);
    } else {
        stream_break(object, ECONNRESET);
    }
}

static void stream_lost(void *arg)
{
    object_t *object = arg, *peer = object->peer;
    if (object->broken || (!object->gone && !is_cut_at_all(object))) {
        return;
    }
    if (peer != NULL) {
        way_lose(peer);
        peer->peer = NULL;
        object->peer = NULL;
        if (peer->keepalive) {
            machine_at(machine.now + STREAM_KEEPALIVE, stream_probe, peer);
        }
    }
    stream_break(object, ETIMEDOUT);
}

/* Nothing comes or goes between the end and its peer from now on. */
static void stream_worry(object_t *object)
{
    bool own = object->patience > 0 && object->patience < machine.patience;
    uint64_t patience = own ? object->patience : machine.patience;
    machine_at(machine.now + patience + machine_below(SIM_S), stream_lost, object);
}

/* When what leaves now arrives: after all that left before. NEVER: the way is cut. */
static uint64_t way_arrival(object_t *from, object_t *to)
{
    if (way_is_cut(from)) {
        to->last_arrival = SIM_NEVER;
    }
    if (to->last_arrival == SIM_NEVER) {
        return SIM_NEVER;
    }
    uint64_t at = machine.now + way_latency(from);
    to->last_arrival = at > to->last_arrival ? at : to->last_arrival + 1;
    return to->last_arrival;
}

static void way_append(object_t *from, object_t *to, message_t *message)
{
    message->arrives = way_arrival(from, to);
    *(to->first != NULL ? &to->last->next : &to->first) = message;
    to->last = message;
    if (message->arrives != SIM_NEVER) {
        machine_at(message->arrives, stream_arrived, to);
    }
}

/* What waited sets out again, when its sender's timer says so. */
static void way_mend(object_t *to)
{
    uint64_t at = machine.now + machine_below(400 * SIM_MS);
    to->last_arrival = machine.now;
    for (message_t *m = to->first; m != NULL; m = m->next) {
        if (m->arrives == SIM_NEVER) {
            m->arrives = at++;
            to->last_arrival = m->arrives;
            machine_at(m->arrives, stream_arrived, to);
        }
    }
}

void stream_cut(uint32_t from, uint32_t to, bool cut)
{
    if (machine.cut[from][to] == cut || from == to) {
        return;
    }
    machine.cut[from][to] = cut;
    machine_note("%s %u -> %u", cut ? "cut" : "mend", from, to);
    for (object_t *o = descriptor_first(); o != NULL; o = o->next) {
        if (o->kind != OBJECT_STREAM || o->local || o->holders == 0) {
            continue;
        }
        bool sends = o->host == from && o->peer_host == to;
        bool receives = o->host == to && o->peer_host == from;
        if (cut && (sends || receives)) {
            stream_worry(o);
        } else if (!cut && receives) {
            way_mend(o);
        }
        if (!cut && o->unanswered && !is_cut_at_all(o)) {
            o->unanswered = false;
            machine_at(machine.now + machine_below(400 * SIM_MS), stream_was_reset, o);
        }
    }
}

void stream_reset(object_t *object, bool both)
{
    object_t *peer = object->peer;
    machine_note("reset %u%s", object->number, both ? "" : ", one end");
    if (peer != NULL && both) {
        stream_break(peer, ECONNRESET);
    } else if (peer != NULL) {
        peer->peer = NULL;
        object->peer = NULL;
        if (peer->keepalive) {
            machine_at(machine.now + STREAM_KEEPALIVE, stream_was_reset, peer);
        }
    }
    stream_break(object, ECONNRESET);
}

/* Connecting ----------------------------------------------------------------------------------- */

static object_t *stream_pair(object_t *client, object_t *listener)
{
    object_t *server = object_make(OBJECT_STREAM);
    server->owner = listener->owner;
    server->local = client->local;
    server->host = listener->host;
    server->peer_host = client->host;
    server->port = listener->port;
    server->peer_port = client->port;
    server->room = client->room = client->local ? LOCAL_ROOM : TCP_ROOM;
    server->peer = client;
    server->peer_process = client->owner;
    client->peer = server;
    client->peer_process = listener->owner;
    client->kind = OBJECT_STREAM;
    listener->pending[listener->npending++] = server;
    object_changed(listener);
    return server;
}

static void connect_answered(void *arg)
{
    object_t *client = arg;
    client->connecting = false;
    object_changed(client);
}

static void connect_refused(void *arg)
{
    stream_break(arg, ECONNREFUSED);
}

static void connect_ask(void *arg);

static void connect_again(object_t *client)
{
    if (client->attempts++ < SYN_TRIES) {
        machine_at(machine.now + (SIM_S << client->attempts) / 2, connect_ask, client);
    } else {
        stream_break(client, ETIMEDOUT);
    }
}

/* A request for a connection arrives. */
static void connect_ask(void *arg)
{
    object_t *client = arg;
    if (client->holders == 0 || client->broken) {
        return;
    }
    object_t *listener = listener_at(client->peer_host, client->peer_port);
    if (way_is_cut(client) || machine.cut[client->peer_host][client->host]) {
        connect_again(client);
    } else if (listener == NULL) {
        machine_at(machine.now + way_latency(client), connect_refused, client);
    } else if (listener->npending >= listener->backlog) {
        connect_again(client);
    } else {
        (void)stream_pair(client, listener);
        machine_at(machine.now + way_latency(client), connect_answered, client);
    }
}

static int connect_local(object_t *object, const struct sockaddr_un *to, uint32_t bytes)
{
    object_t *listener = listener_named(object, to->sun_path, bytes);
    if (listener == NULL) {
        errno = ECONNREFUSED;
        return -1;
    }
    if (listener->npending >= listener->backlog) {
        errno = EAGAIN;
        return -1;
    }
    object->peer_host = object->host;
    (void)stream_pair(object, listener);
    return 0;
}

int stream_connect(object_t *object, const struct sockaddr *to, socklen_t bytes)
{
    if (object->local) {
        return connect_local(object, (const struct sockaddr_un *)to,
                             (uint32_t)(bytes - offsetof(struct sockaddr_un, sun_path)));
    }
    object->peer_host = listener_host_of(to, object->host, &object->peer_port);
    if (object->peer_host == SIM_HOSTS) {
        errno = ENETUNREACH;
        return -1;
    }
    object->port = object->port != 0 ? object->port : listener_port_free(object->host);
    object->kind = OBJECT_STREAM;
    object->connecting = true;
    object->attempts = 0;
    machine_at(machine.now + way_latency(object), connect_ask, object);
    errno = EINPROGRESS;
    return -1;
}

object_t *stream_accept(object_t *listener)
{
    if (listener->npending == 0) {
        errno = EAGAIN;
        return NULL;
    }
    object_t *server = listener->pending[0];
    memmove(listener->pending, listener->pending + 1,
            --listener->npending * sizeof *listener->pending);
    return server;
}

/* Data ----------------------------------------------------------------------------------------- */

static bool message_is_here(const message_t *message)
{
    return message != NULL && message->arrives <= machine.now;
}

size_t stream_on_the_way(const object_t *object)
{
    /* The kernel of the peer cannot acknowledge the end. */
    size_t bytes = object->unanswered || (object->sent_end && is_cut_at_all(object)) ? 1 : 0;
    const message_t *m = object->peer != NULL && !object->broken ? object->peer->first : NULL;
    for (; m != NULL; m = m->next) {
        bytes += message_is_here(m) ? 0 : m->bytes > 0 ? m->bytes : 1;
    }
    return bytes;
}

short stream_ready(const object_t *o)
{
    bool ended = o->has_ended || (message_is_here(o->first) && o->first->bytes == 0);
    bool writable = !o->connecting && !o->broken && o->peer != NULL && o->peer->unread < o->room;
    return (short)((message_is_here(o->first) || o->has_ended || o->broken ? POLLIN : 0) |
                   (writable || o->broken || (o->peer == NULL && !o->connecting) ? POLLOUT : 0) |
                   (ended ? EPOLLRDHUP : 0) | (o->broken ? POLLERR | POLLHUP : 0) |
                   (ended && o->sent_end ? POLLHUP : 0));
}

/* Data to an end that nobody holds is answered by a reset. */
static void stream_send_nowhere(object_t *object)
{
    object->unanswered = is_cut_at_all(object);
    if (!object->gone && !object->unanswered) {
        machine_at(machine.now + 2 * way_latency(object), stream_was_reset, object);
    }
}

static int stream_send_error(object_t *object)
{
    if (object->broken) {
        errno = object->error != 0 ? object->error : EPIPE;
        object->error = 0;
        return -1;
    }
    errno = object->kind != OBJECT_STREAM ? ENOTCONN : object->sent_end ? EPIPE : EAGAIN;
    return object->kind != OBJECT_STREAM || object->sent_end || object->connecting ? -1 : 0;
}

static void way_send(object_t *from, const void *data, size_t bytes, object_t *passed)
{
    message_t *message = machine_alloc(sizeof *message + bytes);
    message->bytes = bytes;
    message->passed = passed;
    memcpy(message->data, data, bytes);
    from->peer->unread += bytes;
    way_append(from, from->peer, message);
}

void stream_pass(object_t *object, const void *data, size_t bytes)
{
    if (object->peer != NULL && !object->broken && !object->sent_end && bytes > 0) {
        way_send(object, data, bytes, NULL);
    }
}

void stream_delay(object_t *object, uint64_t ns)
{
    if (object->peer != NULL && object->peer->last_arrival != SIM_NEVER) {
        uint64_t last = object->peer->last_arrival;
        object->peer->last_arrival = (last > machine.now ? last : machine.now) + ns;
    }
}

ssize_t stream_send(object_t *object, const void *data, size_t bytes, object_t *passed)
{
    object_t *to = object->peer;
    if (stream_send_error(object) != 0) {
        return -1;
    }
    if (to == NULL) {
        stream_send_nowhere(object);
        return (ssize_t)bytes;
    }
    size_t room = object->room > to->unread ? object->room - to->unread : 0;
    size_t sent = bytes < room ? bytes : room;
    if (sent == 0) {
        errno = EAGAIN;
        return -1;
    }
    /* As Linux does: a short message finds room in an empty buffer. */
    if ((to->unread > 0 || sent > SHORT) && machine_odd(machine.odd.partial)) {
        sent = 1 + machine_below(sent);
    }
    if (changes_take(object, data, sent)) {
        return (ssize_t)sent;
    }
    /* It may arrive in two pieces. */
    size_t piece =
        sent > 1 && machine_odd(machine.odd.partial) ? 1 + machine_below(sent - 1) : sent;
    way_send(object, data, piece, passed);
    if (piece < sent) {
        to->last_arrival += to->last_arrival != SIM_NEVER ? machine_below(way_latency(object)) : 0;
        way_send(object, (const uint8_t *)data + piece, sent - piece, NULL);
    }
    return (ssize_t)sent;
}

static void message_free(object_t *object, message_t *message)
{
    object->first = message->next;
    if (message->passed != NULL) {
        object_drop(message->passed);
    }
    machine_free(message);
}

/* The peer may send more. */
static void stream_made_room(object_t *object)
{
    if (object->peer != NULL) {
        machine_at(machine.now + way_latency(object), stream_arrived, object->peer);
    }
}

static size_t stream_take(object_t *object, uint8_t *to, size_t bytes, bool peek,
                          object_t **passed_p)
{
    size_t taken = 0;
    message_t *m = object->first;
    while (message_is_here(m) && m->bytes > 0 && taken < bytes) {
        size_t now = m->bytes - m->taken < bytes - taken ? m->bytes - m->taken : bytes - taken;
        if (m->passed != NULL && taken > 0) {
            break; /* a descriptor begins a new read */
        }
        memcpy(to + taken, m->data + m->taken, now);
        taken += now;
        if (peek) {
            m = m->next;
            continue;
        }
        if (m->passed != NULL && passed_p != NULL) {
            *passed_p = m->passed;
            m->passed = NULL;
        }
        m->taken += now;
        object->unread -= now;
        if (m->taken == m->bytes) {
            message_free(object, m);
        }
        m = object->first;
    }
    return taken;
}

ssize_t stream_receive(object_t *object, void *data, size_t bytes, bool peek, object_t **passed_p)
{
    if (object->kind != OBJECT_STREAM) {
        errno = ENOTCONN;
        return -1;
    }
    size_t taken = stream_take(object, data, bytes, peek, passed_p);
    if (taken > 0) {
        if (!peek) {
            stream_made_room(object);
        }
        return (ssize_t)taken;
    }
    if (object->has_ended || (message_is_here(object->first) && object->first->bytes == 0)) {
        object->has_ended = true;
        return 0;
    }
    if (object->broken && object->error == 0) {
        return 0; /* as Linux does: who sent, or received, has had the error */
    }
    errno = object->broken ? object->error : EAGAIN;
    object->error = object->broken ? 0 : object->error;
    return -1;
}

/* Ends ----------------------------------------------------------------------------------------- */

static void stream_send_end(object_t *object)
{
    changes_flush(object);
    if (!object->sent_end && object->peer != NULL && !object->broken) {
        way_append(object, object->peer, machine_alloc(sizeof(message_t)));
    }
    object->sent_end = true;
}

int stream_shutdown(object_t *object)
{
    if (object->kind != OBJECT_STREAM) {
        errno = ENOTCONN;
        return -1;
    }
    stream_send_end(object);
    return 0;
}

static void stream_leave_peer(object_t *object, bool silent)
{
    object_t *peer = object->peer;
    if (peer == NULL) {
        return;
    }
    for (const message_t *m = object->first; m != NULL; m = m->next) {
        peer->unanswered |= m->arrives == SIM_NEVER;
    }
    if (silent) {
        peer->gone = true;
        stream_worry(peer);
    } else if (message_is_here(object->first) && object->first->bytes > 0) {
        if (!way_is_cut(object)) {
            machine_at(machine.now + way_latency(object), stream_was_reset, peer);
        }
    } else {
        stream_send_end(object);
    }
    peer->peer = NULL;
    object->peer = NULL;
}

void stream_close(object_t *object, bool silent)
{
    for (uint32_t i = 0; i < object->npending; i++) {
        object_t *server = object->pending[i];
        if (!silent && server->peer != NULL) {
            machine_at(machine.now + way_latency(server), stream_was_reset, server->peer);
        }
        server->holders = 0;
        stream_leave_peer(server, true);
        stream_forget(server, false);
    }
    object->npending = 0;
    stream_leave_peer(object, silent);
    stream_forget(object, false);
}

void stream_forget(object_t *object, bool last)
{
    changes_forget(object);
    while (object->first != NULL) {
        message_t *message = object->first;
        message->passed = last ? NULL : message->passed;
        message_free(object, message);
    }
}
