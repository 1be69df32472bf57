/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See sock_silence.h. */
#include "sock_silence.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "sock_conn.h"

#define WATCH_NS UINT64_C(50000000) /* between two looks */
/* Times rail_patience. The end of a connection ends a call, which the change of a rail does not. By
 * default a host that has died is known by then. */
#define PATIENCES 10

static bool sock_stream_is_silent(sock_stream_t *stream, uint64_t now, double patience)
{
    struct tcp_info info = {.tcpi_retransmits = 0};
    socklen_t bytes = sizeof info;
    if (stream->fd < 0 || getsockopt(stream->fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 ||
        !sock_info_repeats(&info)) {
        stream->silent_ns = 0;
        return false;
    }
    stream->silent_ns = stream->silent_ns == 0 ? now : stream->silent_ns;
    return (double)(now - stream->silent_ns) >= patience * 1e9;
}

static void sock_silence_look(weft_net_conn_t *conn, uint64_t now)
{
    char interface[IF_NAMESIZE] = "?";
    double patience = conn->device->net->config.rail_patience * PATIENCES;
    bool silent = false;
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        silent = sock_stream_is_silent(&conn->streams[i], now, patience) || silent;
    }
    if (silent) {
        (void)if_indextoname(conn->device->local.entries[0].interface, interface);
        sock_conn_fail(
            conn, conn->host->set_error(conn->host, WEFT_ERR_LINK, ETIMEDOUT,
                                        "the system of peer %s has not answered over %s for %.3g s",
                                        conn->info.peer, interface, patience));
    }
}

void sock_silence_watch(weft_net_device_t *device)
{
    uint64_t now = device->host->clock_ns(device->host);
    if (now - device->watched_ns < WATCH_NS) {
        return;
    }
    device->watched_ns = now;
    for (weft_net_conn_t *conn = device->conns; conn != NULL; conn = conn->next) {
        if (conn->busy && conn->rails == NULL && conn->failed == WEFT_OK) {
            sock_silence_look(conn, now);
        }
    }
}
