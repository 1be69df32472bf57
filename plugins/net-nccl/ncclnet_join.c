/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See ncclnet_join.h. */
#include "ncclnet_join.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "ncclnet_call.h"
#include "ncclnet_control.h"

#define READY UINT32_C(0x59444152)
#define LATE_NS UINT64_C(1000000000)

static const uint8_t hello_magic[8] = {'n', 'c', 'c', 'l', 'n', 'e', 't', '1'};

/* Ends the call that makes a comm with the peer's handle. After a failure a library may have stored
 * one that it has freed. */
static weft_status_t ncclnet_join_made(weft_net_conn_t *conn, const ncclnet_call_t *call,
                                       int result, void *made, void **comm)
{
    weft_status_t status = ncclnet_call_end_join(call, conn, result);
    if (status == WEFT_OK) {
        *comm = made;
    }
    return status;
}

static weft_status_t ncclnet_join_listen(weft_net_conn_t *conn)
{
    ncclnet_join_t *join = conn->join;
    weft_net_t *net = conn->device->net;
    const ncclnet_library_t *library = net->library;
    int dev = conn->device->dev;
    memcpy(join->mine.magic, hello_magic, sizeof hello_magic);
    snprintf(join->mine.name, sizeof join->mine.name, "%s", library->shim->name(library->table));
    void *made = NULL;
    ncclnet_call_t call = ncclnet_call_begin(net, NCCLNET_LISTEN, dev);
    int result =
        library->shim->listen(library->table, net->instance, dev, join->mine.handle, &made);
    weft_status_t status = ncclnet_call_end(&call, result);
    if (status == WEFT_OK && made == NULL) {
        status = net->host->set_error(net->host, WEFT_ERR_PLUGIN, 0,
                                      "%s: listen on device %d: found no comm, expected one",
                                      library->file, dev);
    }
    join->listening = status == WEFT_OK ? made : NULL;
    return status;
}

static weft_status_t ncclnet_join_hello(weft_net_conn_t *conn)
{
    ncclnet_join_t *join = conn->join;
    weft_status_t sent = ncclnet_control_send(conn, &join->mine, sizeof join->mine, &join->sent);
    if (sent != WEFT_OK && sent != WEFT_IN_PROGRESS) {
        return sent;
    }
    weft_status_t status =
        ncclnet_control_receive(conn, &join->theirs, sizeof join->theirs, &join->received);
    if (status != WEFT_OK) {
        return status;
    }
    join->theirs.name[sizeof join->theirs.name - 1] = '\0';
    if (memcmp(join->theirs.magic, hello_magic, sizeof hello_magic) != 0 ||
        strcmp(join->theirs.name, join->mine.name) != 0) {
        for (char *at = join->theirs.name; *at != '\0'; at++) {
            *at = *at < ' ' || *at > '~' ? '?' : *at;
        }
        return ncclnet_conn_error(conn, WEFT_ERR_LINK,
                                  "peer %s: found the network plugin \"%.31s\", expected \"%s\"",
                                  conn->info.peer, join->theirs.name, join->mine.name);
    }
    return sent;
}

static weft_status_t ncclnet_join_comms(weft_net_conn_t *conn)
{
    ncclnet_join_t *join = conn->join;
    weft_net_t *net = conn->device->net;
    const ncclnet_library_t *library = net->library;
    int dev = conn->device->dev;
    weft_status_t status = WEFT_OK;
    if (conn->send.comm == NULL) {
        void *made = NULL;
        ncclnet_call_t call = ncclnet_call_begin(net, NCCLNET_CONNECT, dev);
        int result = library->shim->connect(library->table, net->instance, dev, &net->setup,
                                            join->theirs.handle, &made);
        status = ncclnet_join_made(conn, &call, result, made, &conn->send.comm);
    }
    if (status == WEFT_OK && conn->recv.comm == NULL) {
        void *made = NULL;
        ncclnet_call_t call = ncclnet_call_begin(net, NCCLNET_ACCEPT, dev);
        int result = library->shim->accept(library->table, join->listening, &made);
        status = ncclnet_join_made(conn, &call, result, made, &conn->recv.comm);
    }
    bool done = conn->send.comm != NULL && conn->recv.comm != NULL;
    return status == WEFT_OK && !done ? ncclnet_control_wait(conn) : status;
}

static weft_status_t ncclnet_join_ready(weft_net_conn_t *conn)
{
    ncclnet_join_t *join = conn->join;
    uint32_t ready = htole32(READY);
    weft_status_t status = ncclnet_control_send(conn, &ready, sizeof ready, &join->ready_sent);
    if (status != WEFT_OK) {
        return status;
    }
    status = ncclnet_control_receive(conn, &join->ready, sizeof join->ready, &join->ready_received);
    if (status == WEFT_OK && le32toh(join->ready) != READY) {
        return ncclnet_conn_error(conn, WEFT_ERR_LINK,
                                  "peer %s sent a bad word on the control stream", conn->info.peer);
    }
    return status;
}

weft_status_t ncclnet_join_advance(weft_net_conn_t *conn)
{
    ncclnet_join_t *join = conn->join;
    weft_status_t status = join->listening == NULL ? ncclnet_join_listen(conn) : WEFT_OK;
    if (status == WEFT_OK &&
        (join->sent < sizeof join->mine || join->received < sizeof join->theirs)) {
        status = ncclnet_join_hello(conn);
    }
    if (status == WEFT_OK && (conn->send.comm == NULL || conn->recv.comm == NULL)) {
        status = ncclnet_join_comms(conn);
    }
    if (status == WEFT_OK) {
        status = ncclnet_join_ready(conn);
    }
    if (status == WEFT_OK) {
        ncclnet_join_close(conn);
    }
    return status;
}

/* What the end waits for, for texts. */
static const char *ncclnet_join_waits_for(const weft_net_conn_t *conn)
{
    const ncclnet_join_t *join = conn->join;
    return join->listening == NULL                ? "the control stream"
           : join->received < sizeof join->theirs ? "the peer's handle"
           : conn->send.comm == NULL              ? "connect() of the library"
           : conn->recv.comm == NULL              ? "accept() of the library"
                                                  : "the peer to be ready";
}

void ncclnet_join_tell_late(const weft_net_conn_t *conn)
{
    const weft_host_t *host = conn->host;
    const ncclnet_join_t *join = conn->join;
    uint64_t waited =
        join != NULL && join->started_ns > 0 ? host->clock_ns(host) - join->started_ns : 0;
    if (waited > LATE_NS) {
        host->log(host, WEFT_LOG_WARN,
                  "%s: the connection to %s is given up; it has waited %.1f s for %s",
                  conn->device->net->library->file, conn->info.peer, (double)waited / 1e9,
                  ncclnet_join_waits_for(conn));
    }
}

void ncclnet_join_close(weft_net_conn_t *conn)
{
    ncclnet_join_t *join = conn->join;
    weft_net_t *net = conn->device->net;
    if (join != NULL && join->listening != NULL) {
        ncclnet_call_t call = ncclnet_call_begin(net, NCCLNET_CLOSE_LISTEN, conn->device->dev);
        ncclnet_call_end_close(
            &call, net->library->shim->close_listen(net->library->table, join->listening));
    }
    conn->host->free(conn->host, join);
    conn->join = NULL;
}
