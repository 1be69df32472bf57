/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See relay.h. */
#include "relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECE = 65536 };

static void need(bool holds)
{
    if (!holds) {
        abort();
    }
}

static struct sockaddr_in here(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

static void send_all(int fd, const uint8_t *data, uint64_t bytes)
{
    while (bytes > 0) {
        ssize_t sent = send(fd, data, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return; /* that end is gone */
        }
        data += sent > 0 ? sent : 0;
        bytes -= sent > 0 ? (uint64_t)sent : 0;
    }
}

static void link_end(relay_link_t *link)
{
    for (int i = 0; i < 2; i++) {
        shutdown(link->fds[i], SHUT_RDWR);
        link->ended[i] = true;
    }
}

/* Passes on what the end `from` sent, up to the change, the change, and what is behind it. */
static void link_pass(relay_t *relay, relay_link_t *link, int from, uint8_t *data, uint64_t bytes)
{
    const relay_change_t *change = &relay->change;
    uint64_t at = link->passed[from];
    int to = link->fds[1 - from];
    bool meant = change->act != RELAY_PASS && change->from == from &&
                 link == &relay->links[change->link] && change->at < at + bytes;
    link->passed[from] += bytes;
    if (!meant) {
        send_all(to, data, bytes);
        return;
    }
    uint64_t first = change->at > at ? change->at - at : 0;
    uint64_t last = change->at + change->bytes > at ? change->at + change->bytes - at : 0;
    last = last < bytes ? last : bytes;
    first = first < last || change->act == RELAY_HOLD || change->act == RELAY_CUT ? first : last;
    relay->done = true;
    switch (change->act) {
    case RELAY_FLIP:
        for (uint64_t i = first; i < last; i++) {
            data[i] ^= change->mask;
        }
        send_all(to, data, bytes);
        break;
    case RELAY_SKIP:
        send_all(to, data, first);
        send_all(to, data + last, bytes - last);
        break;
    case RELAY_REPEAT: /* of what came in one piece */
        send_all(to, data, last);
        send_all(to, data + first, bytes - first);
        break;
    case RELAY_CUT:
        send_all(to, data, first);
        link_end(link);
        break;
    default:
        send_all(to, data, first);
    }
}

static void link_read(relay_t *relay, relay_link_t *link, int from)
{
    uint8_t data[PIECE];
    ssize_t got = recv(link->fds[from], data, sizeof data, MSG_DONTWAIT);
    if (got > 0) {
        link_pass(relay, link, from, data, (uint64_t)got);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        shutdown(link->fds[1 - from], SHUT_WR);
        link->ended[from] = true;
    }
}

static void link_add(relay_t *relay)
{
    relay_link_t *link = &relay->links[relay->nlinks];
    struct sockaddr_in to = here(relay->to);
    int one = 1;
    *link = (relay_link_t){.fds = {accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC),
                                   socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}};
    need(link->fds[0] >= 0 && link->fds[1] >= 0);
    for (int i = 0; i < 2; i++) {
        setsockopt(link->fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
    relay->nlinks++;
    if (connect(link->fds[1], (const struct sockaddr *)&to, sizeof to) != 0) {
        link_end(link);
    }
}

static void *relay_run(void *arg)
{
    relay_t *relay = arg;
    while (!relay->stop) {
        struct pollfd watch[1 + 2 * RELAY_LINKS];
        uint32_t count = relay->nlinks;
        watch[0] =
            (struct pollfd){.fd = count < RELAY_LINKS ? relay->listener : -1, .events = POLLIN};
        for (uint32_t i = 0; i < 2 * count; i++) {
            const relay_link_t *link = &relay->links[i / 2];
            watch[1 + i] =
                (struct pollfd){.fd = link->ended[i % 2] ? -1 : link->fds[i % 2], .events = POLLIN};
        }
        if (poll(watch, 1 + 2 * count, 5) <= 0) {
            continue;
        }
        for (uint32_t i = 0; i < 2 * count; i++) {
            if (watch[1 + i].revents != 0) {
                link_read(relay, &relay->links[i / 2], (int)(i % 2));
            }
        }
        if (watch[0].revents != 0) {
            link_add(relay);
        }
    }
    return NULL;
}

void relay_open(relay_t *relay, uint16_t port, const relay_change_t *change)
{
    struct sockaddr_in point = here(0);
    socklen_t bytes = sizeof point;
    memset(relay, 0, sizeof *relay);
    relay->to = port;
    relay->change = *change;
    relay->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(bind(relay->listener, (const struct sockaddr *)&point, sizeof point) == 0);
    need(listen(relay->listener, (int)RELAY_LINKS) == 0);
    need(getsockname(relay->listener, (struct sockaddr *)&point, &bytes) == 0);
    relay->port = ntohs(point.sin_port);
    need(pthread_create(&relay->thread, NULL, relay_run, relay) == 0);
}

void relay_close(relay_t *relay)
{
    relay->stop = true;
    need(pthread_join(relay->thread, NULL) == 0);
    for (uint32_t i = 0; i < relay->nlinks; i++) {
        close(relay->links[i].fds[0]);
        close(relay->links[i].fds[1]);
    }
    close(relay->listener);
}
