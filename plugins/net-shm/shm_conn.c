/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections of both ends. After the handshake the connector sends one record with the descriptor
 * of the memory; the acceptor maps it and answers with an acknowledgement. From then on the socket
 * is silent, and it ends when the peer ends. */
#include "shm_conn.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SHM_STEP_CONNECT = 0, /* connector */
    SHM_STEP_HANDSHAKE = 1,
    SHM_STEP_SEND_MEMORY = 2,
    SHM_STEP_READ_ACK = 3,
    SHM_STEP_READ_MEMORY = 4, /* acceptor */
    SHM_STEP_SEND_ACK = 5,
    SHM_STEP_READY = 6
};

#define ACK 0x6b6f6d73u /* "smok" */

/* One descriptor beside the bytes of a message. Alignment leaves room for a second one, which a
 * peer may use. */
typedef union shm_control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
} shm_control_t;

/* Abstract sockets have no file mode, so the kernel is asked which user is at the other end.
 * Processes may have changed their user since they joined, as services that begin as root do: a
 * listener counts for the user who made it, and a connector for the one it is now. */
static weft_status_t shm_conn_identify(weft_net_conn_t *conn)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    if (getsockopt(conn->fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) {
        return conn->host->set_error(conn->host, WEFT_ERR_SYSTEM, errno, "SO_PEERCRED");
    }
    snprintf(conn->info.peer, sizeof conn->info.peer, "pid %d", (int)peer.pid);
    if (peer.uid != geteuid() && peer.uid != conn->device->net->own.uid) {
        return conn->host->set_error(conn->host, WEFT_ERR_AUTH, 0,
                                     "%s belongs to user %u, this process to user %u",
                                     conn->info.peer, peer.uid, geteuid());
    }
    return WEFT_OK;
}

/* If this fails the caller still owns `fd`. */
static weft_net_conn_t *shm_conn_create(weft_net_device_t *device, int fd,
                                        const uint8_t label[WEFT_AUTH_LABEL])
{
    const weft_host_t *host = device->host;
    weft_net_conn_t *conn = host->alloc(host, sizeof *conn, 0);
    if (conn != NULL) {
        conn->host = host;
        conn->device = device;
        conn->fd = fd;
        conn->memory.fd = -1;
        conn->info.size = sizeof conn->info;
        memcpy(conn->info.label, label, WEFT_AUTH_LABEL);
    }
    return conn;
}

weft_status_t shm_connect_begin(weft_net_device_t *device, const weft_net_address_t *address,
                                const weft_net_conn_params_t *params, weft_net_conn_t **conn_p)
{
    const weft_host_t *host = device->host;
    shm_address_t peer;
    if (shm_address_parse(address, &peer) != WEFT_OK) {
        return host->set_error(host, WEFT_ERR_PROTO, 0, "not an address of net-shm");
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return host->set_error(host, WEFT_ERR_RESOURCE, errno, "cannot open a socket");
    }
    weft_net_conn_t *conn = shm_conn_create(device, fd, params->label);
    if (conn == NULL) {
        close(fd);
        return WEFT_ERR_RESOURCE;
    }
    conn->info.connector = 1;
    shm_address_name(peer.token, &conn->name);
    bool partly = params->size >=
                  offsetof(weft_net_conn_params_t, commit_bytes) + sizeof params->commit_bytes;
    weft_status_t status = shm_memory_create(
        host, params->map_bytes, partly ? params->commit_bytes : UINT64_MAX, &conn->memory);
    if (status == WEFT_OK) {
        status = weft_handshake_begin(host, &conn->handshake, params->label);
    }
    if (status != WEFT_OK) {
        shm_conn_close(conn);
        return status;
    }
    *conn_p = conn;
    return WEFT_OK;
}

/* With a full backlog connect() says EAGAIN and there is nothing to wait for: the next poll tries
 * again. */
static weft_status_t shm_conn_reach(weft_net_conn_t *conn)
{
    int result;
    do {
        result = connect(conn->fd, (const struct sockaddr *)&conn->name, sizeof conn->name);
    } while (result != 0 && errno == EINTR);
    if (result == 0) {
        /* Not before: a socket that is not connected counts as ended. */
        shm_watch_add(conn->device, conn->fd, &conn->watched);
        return shm_conn_identify(conn);
    }
    if (errno == EAGAIN) {
        return WEFT_IN_PROGRESS;
    }
    /* Where the peer has not gone, its kernel and this one only look the same. */
    return conn->host->set_error(
        conn->host, WEFT_ERR_LINK, errno, "connect to UNIX socket @%s%s", conn->name.sun_path + 1,
        errno == ECONNREFUSED
            ? ", where nobody listens; virtual machines that were cloned while they "
              "ran look like one host: give each another net-shm.domain"
            : "");
}

/* The record of the connector is the size of the memory; its first bytes carry the descriptor. A
 * stream may take and deliver it in pieces. */
static struct msghdr shm_conn_record(weft_net_conn_t *conn, struct iovec *vec,
                                     shm_control_t *control)
{
    *vec = (struct iovec){.iov_base = (uint8_t *)conn->record + conn->done,
                          .iov_len = sizeof(uint64_t) - conn->done};
    *control = (shm_control_t){.bytes = {0}};
    return (struct msghdr){
        .msg_iov = vec, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof *control};
}

/* Sends the first bytes. */
static weft_status_t shm_conn_send_descriptor(weft_net_conn_t *conn)
{
    struct iovec vec;
    shm_control_t control;
    memcpy(conn->record, &conn->memory.bytes, sizeof conn->memory.bytes);
    struct msghdr message = shm_conn_record(conn, &vec, &control);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &conn->memory.fd, sizeof(int));
    ssize_t sent;
    do {
        sent = sendmsg(conn->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        return errno == EAGAIN ? WEFT_IN_PROGRESS : WEFT_ERR_LINK;
    }
    conn->done = (uint32_t)sent;
    close(conn->memory.fd);
    conn->memory.fd = -1;
    return WEFT_OK;
}

/* A peer that has kept its user sends away a process that has changed its own
 * (shm_conn_identify). */
static weft_status_t shm_conn_refused(weft_net_conn_t *conn, const char *what, int error)
{
    const uint32_t joined = conn->device->net->own.uid, now = (uint32_t)geteuid();
    char why[80] = "";
    if (joined != now) {
        snprintf(why, sizeof why, "; this process joined as user %u and is user %u now", joined,
                 now);
    }
    return conn->host->set_error(conn->host, WEFT_ERR_LINK, error, "%s %s%s", conn->info.peer, what,
                                 why);
}

static weft_status_t shm_conn_send_memory(weft_net_conn_t *conn)
{
    weft_status_t status = conn->done == 0 ? shm_conn_send_descriptor(conn) : WEFT_OK;
    if (status == WEFT_OK) {
        status = weft_record_send(conn->fd, conn->record, sizeof(uint64_t), &conn->done);
    }
    if (status == WEFT_ERR_LINK) {
        return shm_conn_refused(conn, "does not take shared memory", errno);
    }
    conn->done = status == WEFT_OK ? 0 : conn->done;
    return status;
}

static weft_status_t shm_conn_read_ack(weft_net_conn_t *conn)
{
    weft_status_t status =
        weft_record_receive(conn->fd, conn->record, sizeof(uint32_t), &conn->done);
    if (status == WEFT_ERR_LINK) {
        return shm_conn_refused(conn, "closed the connection before it took the shared memory",
                                errno);
    }
    if (status == WEFT_OK && conn->record[0] != ACK) {
        return conn->host->set_error(conn->host, WEFT_ERR_PROTO, 0, "%s answered %#x",
                                     conn->info.peer, conn->record[0]);
    }
    return status;
}

weft_status_t shm_connect_poll(weft_net_conn_t *conn)
{
    weft_status_t status = shm_watch_is_due(&conn->watched) ? WEFT_OK : WEFT_IN_PROGRESS;
    while (status == WEFT_OK && conn->step != SHM_STEP_READY) {
        switch (conn->step) {
        case SHM_STEP_CONNECT:
            status = shm_conn_reach(conn);
            break;
        case SHM_STEP_HANDSHAKE:
            status = weft_handshake_connect(conn->host, &conn->handshake, conn->fd);
            break;
        case SHM_STEP_SEND_MEMORY:
            status = shm_conn_send_memory(conn);
            break;
        case SHM_STEP_READ_ACK:
            status = shm_conn_read_ack(conn);
            break;
        default:
            return conn->host->set_error(conn->host, WEFT_ERR_STATE, 0,
                                         "connect_poll on an accepted connection");
        }
        if (status == WEFT_OK) {
            conn->step = conn->step == SHM_STEP_READ_ACK ? SHM_STEP_READY : conn->step + 1;
        }
    }
    if (status == WEFT_OK) {
        shm_watch_remove(conn->fd, &conn->watched);
    } else if (status == WEFT_IN_PROGRESS) {
        shm_watch_wait(&conn->watched);
    }
    return status;
}

weft_status_t shm_conn_adopt(weft_net_device_t *device, int fd,
                             const uint8_t label[WEFT_AUTH_LABEL], weft_net_conn_t **conn_p)
{
    const weft_host_t *host = device->host;
    weft_net_conn_t *conn = shm_conn_create(device, fd, label);
    if (conn == NULL) {
        close(fd);
        return WEFT_ERR_RESOURCE;
    }
    conn->step = SHM_STEP_READ_MEMORY;
    conn->deadline_ns = host->clock_ns(host) + WEFT_ACCEPTOR_PATIENCE_NS;
    weft_status_t status = shm_conn_identify(conn);
    if (status != WEFT_OK) {
        shm_conn_close(conn);
        return status;
    }
    shm_watch_add(device, fd, &conn->watched);
    *conn_p = conn;
    return WEFT_OK;
}

/* Returns the descriptor that came with the message, or −1. Where several came, none is kept. */
static int shm_control_fd(struct msghdr *message)
{
    int fd = -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
        return -1;
    }
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof fd;
    for (size_t i = 0; i < count; i++) {
        memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
        if (count > 1) {
            close(fd);
        }
    }
    return count == 1 ? fd : -1;
}

/* Reads the first bytes. */
static weft_status_t shm_conn_read_descriptor(weft_net_conn_t *conn)
{
    struct iovec vec;
    shm_control_t control;
    struct msghdr message = shm_conn_record(conn, &vec, &control);
    ssize_t got;
    do {
        got = recvmsg(conn->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return errno == EAGAIN ? WEFT_IN_PROGRESS : WEFT_ERR_LINK;
    }
    errno = 0;
    conn->done = (uint32_t)got;
    conn->memory.fd = got > 0 ? shm_control_fd(&message) : -1;
    return conn->memory.fd >= 0 ? WEFT_OK : WEFT_ERR_LINK;
}

static weft_status_t shm_conn_read_memory(weft_net_conn_t *conn)
{
    weft_status_t status = conn->done == 0 ? shm_conn_read_descriptor(conn) : WEFT_OK;
    if (status == WEFT_OK) {
        status = weft_record_receive(conn->fd, conn->record, sizeof(uint64_t), &conn->done);
    }
    if (status == WEFT_ERR_LINK) {
        return conn->host->set_error(conn->host, WEFT_ERR_PROTO, errno, "%s sent no shared memory",
                                     conn->info.peer);
    }
    if (status != WEFT_OK) {
        return status;
    }
    uint64_t bytes;
    memcpy(&bytes, conn->record, sizeof bytes);
    conn->done = 0;
    return shm_memory_attach(conn->host, conn->memory.fd, bytes, &conn->memory);
}

weft_status_t shm_conn_join(weft_net_conn_t *conn)
{
    weft_status_t status = shm_watch_is_due(&conn->watched) ? WEFT_OK : WEFT_IN_PROGRESS;
    if (status != WEFT_OK) {
        return status;
    }
    if (conn->step == SHM_STEP_READ_MEMORY) {
        status = shm_conn_read_memory(conn);
        if (status == WEFT_IN_PROGRESS) {
            shm_watch_wait(&conn->watched);
        }
        if (status != WEFT_OK) {
            return status;
        }
        conn->record[0] = ACK;
        conn->step = SHM_STEP_SEND_ACK;
    }
    status = weft_record_send(conn->fd, conn->record, sizeof(uint32_t), &conn->done);
    if (status == WEFT_OK) {
        conn->step = SHM_STEP_READY;
        shm_watch_remove(conn->fd, &conn->watched);
    }
    return status;
}

weft_status_t shm_conn_info(weft_net_conn_t *conn, weft_net_conn_info_t *info)
{
    if (conn->step != SHM_STEP_READY) {
        return conn->host->set_error(conn->host, WEFT_ERR_STATE, 0, "connection is not ready");
    }
    size_t size = info->size < sizeof conn->info ? info->size : sizeof conn->info;
    size_t skip = sizeof conn->info.size;
    if (size > skip) {
        memcpy((char *)info + skip, (const char *)&conn->info + skip, size - skip);
    }
    return WEFT_OK;
}

weft_status_t shm_conn_check(weft_net_conn_t *conn)
{
    char byte;
    ssize_t got;
    do {
        got = recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN) {
        return WEFT_OK;
    }
    if (got > 0) {
        return conn->host->set_error(conn->host, WEFT_ERR_PROTO, 0, "unexpected bytes of %s",
                                     conn->info.peer);
    }
    return conn->host->set_error(conn->host, WEFT_ERR_PEER_DEAD, got < 0 ? errno : 0,
                                 "%s is gone, or closed the connection", conn->info.peer);
}

void shm_conn_close(weft_net_conn_t *conn)
{
    if (conn != NULL) {
        shm_memory_release(&conn->memory);
        shm_watch_remove(conn->fd, &conn->watched);
        close(conn->fd);
        conn->host->free(conn->host, conn);
    }
}

weft_status_t shm_conn_region(weft_net_conn_t *conn, void **base_p, uint64_t *bytes_p)
{
    if (conn->step != SHM_STEP_READY) {
        return conn->host->set_error(conn->host, WEFT_ERR_STATE, 0, "connection is not ready");
    }
    *base_p = conn->memory.base;
    *bytes_p = conn->memory.bytes;
    return WEFT_OK;
}

weft_status_t shm_conn_commit(weft_net_conn_t *conn, uint64_t offset, uint64_t bytes)
{
    if (conn->step != SHM_STEP_READY) {
        return conn->host->set_error(conn->host, WEFT_ERR_STATE, 0, "connection is not ready");
    }
    return shm_memory_commit(conn->host, &conn->memory, offset, bytes);
}

void shm_conn_discard(weft_net_conn_t *conn, uint64_t offset, uint64_t bytes)
{
    if (conn->step == SHM_STEP_READY) {
        shm_memory_discard(&conn->memory, offset, bytes);
    }
}
