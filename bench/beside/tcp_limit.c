/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The limit of TCP on this machine: the bytes that a collective must carry, over plain sockets,
 * with no message, header or reduction. Rank r sends to r + 1; where the collective has a root,
 * data goes one way. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "beside.h"

#define LIMIT_RANKS 256
static int out[LIMIT_RANKS], in[LIMIT_RANKS]; /* of rank r: to r + 1, from r - 1 */
static int mine, ranks;
static bool spins;

static int limit_connect(int listener, const struct sockaddr_in *at, int from, int to)
{
    /* What lies between two sockets should stay in the caches: buffers that grow by themselves do
     * not. */
    int one = 1, buffer = 400000;
    out[from] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(out[from], (const struct sockaddr *)at, sizeof *at) != 0) {
        return -1;
    }
    in[to] = accept(listener, NULL, NULL);
    setsockopt(out[from], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    setsockopt(out[from], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(in[to], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return in[to];
}

static int limit_before(beside_job_t *job)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t length = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (job->ranks > LIMIT_RANKS || bind(listener, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(listener, LIMIT_RANKS) != 0 ||
        getsockname(listener, (struct sockaddr *)&at, &length) != 0) {
        return 1;
    }
    for (int r = 0; r < job->ranks; r++) {
        if (limit_connect(listener, &at, r, (r + 1) % job->ranks) < 0) {
            return 1;
        }
    }
    return close(listener);
}

static int limit_join(beside_job_t *job)
{
    mine = job->rank;
    ranks = job->ranks;
    spins = ranks <= sysconf(_SC_NPROCESSORS_ONLN);
    return 0;
}

/* Sends and receives so many bytes at once, over the sockets given. */
static int limit_move(int to, const char *send_at, size_t send_left, int from, char *recv_at,
                      size_t recv_left)
{
    while (send_left > 0 || recv_left > 0) {
        if (!spins) {
            struct pollfd ready[2] = {{.fd = send_left > 0 ? to : -1, .events = POLLOUT},
                                      {.fd = recv_left > 0 ? from : -1, .events = POLLIN}};
            poll(ready, 2, -1);
        }
        size_t part = send_left < 262144 ? send_left : 262144;
        ssize_t n = part > 0 ? send(to, send_at, part, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
        if (n < 0 && errno != EAGAIN) {
            return 1;
        }
        send_at += n > 0 ? n : 0;
        send_left -= n > 0 ? (size_t)n : 0;
        n = recv_left > 0 ? recv(from, recv_at, recv_left, MSG_DONTWAIT) : 0;
        if (n < 0 && errno != EAGAIN) {
            return 1;
        }
        recv_at += n > 0 ? n : 0;
        recv_left -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int limit_ring(const char *send, char *recv, size_t bytes)
{
    return limit_move(out[mine], send, bytes, in[mine], recv, bytes);
}

/* Down the chain from rank 0, which hears nothing back. */
static int limit_chain(const char *send, char *recv, size_t bytes)
{
    return limit_move(out[mine], send, mine < ranks - 1 ? bytes : 0, in[mine], recv,
                      mine > 0 ? bytes : 0);
}

static int limit_ping_pong(const char *send, char *recv, size_t bytes)
{
    if (mine > 1) {
        return 0;
    }
    /* The way back goes over the same connection. */
    if (mine == 0) {
        return limit_move(out[0], send, bytes, -1, recv, 0) ||
               limit_move(-1, send, 0, out[0], recv, bytes);
    }
    return limit_move(-1, send, 0, in[1], recv, bytes) ||
           limit_move(in[1], send, bytes, -1, recv, 0);
}

static int limit_stream(const char *send, char *recv, size_t bytes)
{
    char answer = 0;
    for (size_t i = 0; i < BESIDE_BURST && mine < 2; i++) {
        size_t at = i % beside_spread * bytes;
        if (mine == 0 ? limit_move(out[0], send + at, bytes, -1, recv, 0)
                      : limit_move(-1, send, 0, in[1], recv + at, bytes)) {
            return 1;
        }
    }
    if (mine > 1) {
        return 0;
    }
    return mine == 0 ? limit_move(-1, send, 0, out[0], &answer, 1)
                     : limit_move(in[1], &answer, 1, -1, recv, 0);
}

static int limit_call(beside_coll_t coll, char *send, char *recv, size_t bytes)
{
    size_t n = (size_t)ranks;
    size_t block = bytes / n;
    switch (coll) {
    case BESIDE_ALL_REDUCE:
        return limit_ring(send, recv, ranks == 1 ? 0 : bytes * 2 * (n - 1) / n);
    case BESIDE_BROADCAST:
    case BESIDE_REDUCE:
        return limit_chain(send, recv, bytes);
    case BESIDE_GATHER:
    case BESIDE_SCATTER:
        return limit_chain(send, recv, block * (n - 1));
    case BESIDE_ALL_GATHER:
    case BESIDE_REDUCE_SCATTER:
    case BESIDE_ALL_TO_ALL:
        return limit_ring(send, recv, block * (n - 1));
    case BESIDE_BARRIER:
        return limit_ring(send, recv, 1);
    case BESIDE_PING_PONG:
        return limit_ping_pong(send, recv, bytes);
    case BESIDE_STREAM:
        return limit_stream(send, recv, bytes);
    }
    return 1;
}

static int limit_barrier(void)
{
    char a = 0, b = 0;
    for (int i = 0; i < ranks; i++) {
        if (limit_ring(&a, &b, 1) != 0) {
            return 1;
        }
    }
    return 0;
}

static void limit_leave(void)
{
}

int main(int argc, char **argv)
{
    static const beside_side_t side = {.forks = true,
                                       .moves_only = true,
                                       .before = limit_before,
                                       .join = limit_join,
                                       .call = limit_call,
                                       .barrier = limit_barrier,
                                       .leave = limit_leave};
    return beside_main(&side, argc, argv);
}
