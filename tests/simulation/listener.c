/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Addresses, and who listens there. */
#include "listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/un.h>

#include "stream.h"

enum { NETWORK = 0x0a4d0001 };

void stream_address(uint32_t host, uint16_t port, struct sockaddr *at, socklen_t *bytes)
{
    struct sockaddr_in in = {.sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr = {.s_addr = htonl(NETWORK + host)}};
    memcpy(at, &in, *bytes < sizeof in ? *bytes : sizeof in);
    *bytes = sizeof in;
}

uint32_t listener_host_of(const struct sockaddr *at, uint32_t own, uint16_t *port_p)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)at;
    uint32_t address = ntohl(in->sin_addr.s_addr);
    *port_p = ntohs(in->sin_port);
    if (at->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)at;
        memcpy(&address, in6->sin6_addr.s6_addr + 12, 4);
        address = ntohl(address);
    }
    if (address >> 24 == 127 || address == 0) {
        return own;
    }
    return address - NETWORK < SIM_HOSTS ? address - NETWORK : SIM_HOSTS;
}

object_t *listener_at(uint32_t host, uint16_t port)
{
    object_t *o = descriptor_first();
    while (o != NULL && (o->kind != OBJECT_LISTENER || o->holders == 0 || o->local ||
                         o->host != host || o->port != port)) {
        o = o->next;
    }
    return o;
}

object_t *listener_named(const object_t *by, const char *name, uint32_t bytes)
{
    object_t *o = descriptor_first();
    while (o != NULL &&
           (o->kind != OBJECT_LISTENER || o->holders == 0 || !o->local || o->host != by->host ||
            o->name_bytes != bytes || memcmp(o->name, name, bytes) != 0)) {
        o = o->next;
    }
    return o;
}

uint16_t listener_port_free(uint32_t host)
{
    do {
        machine.port = machine.port < 60000 ? (uint16_t)(machine.port + 1) : 20000;
    } while (listener_at(host, machine.port) != NULL);
    return machine.port;
}

int stream_bind(object_t *object, const struct sockaddr *at, socklen_t bytes)
{
    uint16_t port;
    if (at->sa_family == AF_UNIX) {
        object->name_bytes = (uint32_t)(bytes - offsetof(struct sockaddr_un, sun_path));
        memcpy(object->name, ((const struct sockaddr_un *)at)->sun_path, object->name_bytes);
        bool taken = listener_named(object, object->name, object->name_bytes) != NULL;
        errno = EADDRINUSE;
        return taken ? -1 : 0;
    }
    (void)listener_host_of(at, object->host, &port);
    if (port != 0 && listener_at(object->host, port) != NULL) {
        errno = EADDRINUSE;
        return -1;
    }
    object->port = port;
    return 0;
}

int stream_listen(object_t *object, int backlog)
{
    if (!object->local && object->port == 0) {
        object->port = listener_port_free(object->host);
    }
    object->kind = OBJECT_LISTENER;
    object->backlog = backlog < 128 ? (uint32_t)backlog : 128;
    return 0;
}
