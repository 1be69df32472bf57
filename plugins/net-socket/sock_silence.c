/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See sock_silence.h. */
#include "sock_silence.h"

#include <errno.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "sock_conn.h"
#include "sock_op.h"

#define WATCH_NS UINT64_C(50000000) /* between two looks */
/* Times rail_patience. The end of a connection ends a call, which the change of a rail does not. By
 * default a host that has died is known by then. */
#define PATIENCES 10

/* What the connections are silent about that nobody ends. */
typedef struct silence {
    const weft_net_conn_t *first;
    uint32_t conns;
    uint32_t repeats; /* of the first: of its stream with most of them */
    uint64_t bytes;   /* of the first: unanswered ones */
} silence_t;

/* Returns whether the stream has been silent for `patience`; *repeats_p: how often TCP has sent
 * again. */
static bool sock_stream_is_silent(sock_stream_t *stream, uint64_t now, double patience,
                                  uint32_t *repeats_p)
{
    struct tcp_info info = {.tcpi_retransmits = 0};
    socklen_t bytes = sizeof info;
    if (stream->fd < 0 || stream->mute ||
        getsockopt(stream->fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 ||
        !sock_info_repeats(&info)) {
        stream->silent_ns = 0;
        return false;
    }
    stream->silent_ns = stream->silent_ns == 0 ? now : stream->silent_ns;
    *repeats_p =
        info.tcpi_retransmits > info.tcpi_probes ? info.tcpi_retransmits : info.tcpi_probes;
    return (double)(now - stream->silent_ns) >= patience * 1e9;
}

static void sock_silence_end(weft_net_conn_t *conn, double patience)
{
    char interface[IF_NAMESIZE] = "?";
    (void)if_indextoname(conn->device->local.entries[0].interface, interface);
    sock_conn_fail(conn,
                   sock_conn_blame(conn, WEFT_ERR_LINK, ETIMEDOUT,
                                   "the system of peer %s has not answered over %s for %.3g s",
                                   conn->info.peer, interface, patience));
}

/* Returns whether a stream of the connection is silent, which `silence` counts. */
static bool sock_silence_look(weft_net_conn_t *conn, uint64_t now, double patience,
                              silence_t *silence)
{
    bool silent = false;
    uint32_t repeats = 0, most = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        int waiting = 0;
        if (sock_stream_is_silent(&conn->streams[i], now, patience, &repeats)) {
            silent = true;
            most = repeats > most ? repeats : most;
            bytes += ioctl(conn->streams[i].fd, SIOCOUTQ, &waiting) == 0 ? (uint64_t)waiting : 0;
        }
    }
    if (silent && silence->conns++ == 0) {
        silence->first = conn;
        silence->repeats = most;
        silence->bytes = bytes;
    }
    return silent;
}

/* A line for each time that it begins, whatever number of connections it hits. */
static void sock_silence_tell(weft_net_device_t *device, const silence_t *silence, double patience)
{
    const weft_host_t *host = device->host;
    if (silence->conns > 0 && !device->silence_told) {
        host->log(host, WEFT_LOG_WARN,
                  "peer %s (1 of %u connections) has answered none of %llu bytes for %.3g s, which "
                  "TCP sent %u times again; if its rank lives, a firewall swallows them, or a "
                  "network on the way whose MTU is smaller than that of the interface",
                  silence->first->info.peer, silence->conns, (unsigned long long)silence->bytes,
                  patience, silence->repeats);
    }
    device->silence_told = silence->conns > 0;
}

void sock_silence_watch(weft_net_device_t *device)
{
    uint64_t now = device->host->clock_ns(device->host);
    double rail = device->net->config.rail_patience, patience = rail * PATIENCES;
    uint64_t pause = device->apart || rail * 1e9 < WATCH_NS ? WATCH_NS : (uint64_t)(rail * 1e9);
    silence_t told = {.conns = 0}, ended = {.conns = 0};
    if (now - device->silence_ns < pause) {
        return;
    }
    device->silence_ns = now;
    for (weft_net_conn_t *conn = device->conns; conn != NULL; conn = conn->next) {
        bool ends = device->apart && conn->rails == NULL;
        if (conn->failed != WEFT_OK || (ends && !conn->busy)) {
            continue;
        }
        if (sock_silence_look(conn, now, patience, ends ? &ended : &told) && ends) {
            sock_silence_end(conn, patience);
        }
    }
    sock_silence_tell(device, &told, patience);
}
