/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strangers at every port. */
#include "port_strangers.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/os/os.h"
#include "core/os/os_socket.h"

enum { DOORS = 64, HELD = 256, RECORDS = 64, RECORD_BYTES = 600 };

typedef struct door {
    struct sockaddr_storage at;
    socklen_t bytes;
} door_t;

/* What a client said first on a connection. */
typedef struct saying {
    uint16_t from, to; /* ports; `to` 0: none */
    uint32_t bytes;
    uint8_t said[RECORD_BYTES];
} saying_t;

typedef struct crowd {
    door_t doors[DOORS];
    uint32_t ndoors;
    saying_t sayings[RECORDS];
    uint32_t nsayings;
    int tap; /* -1: nobody listens */
    unsigned seed;
} crowd_t;

static void find_tcp(crowd_t *crowd)
{
    char line[512];
    FILE *file = fopen("/proc/net/tcp", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL && crowd->ndoors < DOORS) {
        unsigned address, port, state;
        if (sscanf(line, " %*d: %x:%x %*x:%*x %x", &address, &port, &state) == 3 && state == 0x0a) {
            struct sockaddr_in in = {.sin_family = AF_INET,
                                     .sin_port = htons((uint16_t)port),
                                     .sin_addr = {address != 0 ? address : htonl(INADDR_LOOPBACK)}};
            memcpy(&crowd->doors[crowd->ndoors].at, &in, sizeof in);
            crowd->doors[crowd->ndoors++].bytes = sizeof in;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

static void find_abstract(crowd_t *crowd)
{
    char line[512];
    FILE *file = fopen("/proc/net/unix", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL && crowd->ndoors < DOORS) {
        unsigned flags;
        struct sockaddr_un un = {.sun_family = AF_UNIX};
        char name[sizeof un.sun_path];
        /* 0x10000: it listens. An '@' stands for the byte 0. */
        if (sscanf(line, "%*x: %*x %*x %x %*x %*x %*u @%100s", &flags, name) == 2 &&
            (flags & 0x10000) != 0) {
            size_t length = strlen(name);
            memcpy(un.sun_path + 1, name, length);
            memcpy(&crowd->doors[crowd->ndoors].at, &un, sizeof un);
            crowd->doors[crowd->ndoors++].bytes =
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

static void find_doors(crowd_t *crowd)
{
    crowd->ndoors = 0;
    find_tcp(crowd);
    find_abstract(crowd);
}

/* Listening in --------------------------------------------------------------------------------- */

static saying_t *saying_of(crowd_t *crowd, uint16_t from, uint16_t to, bool opens)
{
    for (uint32_t i = 0; i < crowd->nsayings; i++) {
        if (crowd->sayings[i].from == from && crowd->sayings[i].to == to) {
            return &crowd->sayings[i];
        }
    }
    if (!opens || crowd->nsayings == RECORDS) {
        return NULL;
    }
    saying_t *saying = &crowd->sayings[crowd->nsayings++];
    *saying = (saying_t){.from = from, .to = to};
    return saying;
}

static void hear_packet(crowd_t *crowd, const uint8_t *packet, size_t bytes)
{
    struct iphdr ip;
    struct tcphdr tcp;
    memcpy(&ip, packet, sizeof ip);
    size_t head = (size_t)ip.ihl * 4;
    if (ip.version != 4 || ip.protocol != IPPROTO_TCP || bytes < head + sizeof tcp) {
        return;
    }
    memcpy(&tcp, packet + head, sizeof tcp);
    head += (size_t)tcp.doff * 4;
    saying_t *saying =
        saying_of(crowd, ntohs(tcp.source), ntohs(tcp.dest), tcp.syn != 0 && tcp.ack == 0);
    if (saying != NULL && bytes > head) {
        size_t room = RECORD_BYTES - saying->bytes, more = bytes - head;
        more = more < room ? more : room;
        memcpy(saying->said + saying->bytes, packet + head, more);
        saying->bytes += (uint32_t)more;
    }
}

static void hear(crowd_t *crowd)
{
    uint8_t packet[2048];
    for (;;) {
        ssize_t bytes = recv(crowd->tap, packet, sizeof packet, MSG_DONTWAIT);
        if (bytes < (ssize_t)sizeof(struct iphdr)) {
            return;
        }
        hear_packet(crowd, packet, (size_t)bytes);
    }
}

/* Speaking ------------------------------------------------------------------------------------- */

static bool replay_to(crowd_t *crowd, const door_t *door, int fd)
{
    struct sockaddr_in in;
    memcpy(&in, &door->at, sizeof in);
    for (uint32_t i = 0; door->at.ss_family == AF_INET && i < RECORDS && crowd->nsayings > 0; i++) {
        const saying_t *saying =
            &crowd->sayings[((unsigned)rand_r(&crowd->seed) + i) % crowd->nsayings];
        if (saying->to == ntohs(in.sin_port) && saying->bytes > 0) {
            ssize_t ignored = send(fd, saying->said, saying->bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
            (void)ignored;
            return true;
        }
    }
    return false;
}

static void speak(crowd_t *crowd, const door_t *door, int fd)
{
    uint8_t bytes[256];
    if (crowd->tap >= 0 && replay_to(crowd, door, fd)) {
        return;
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)rand_r(&crowd->seed);
    }
    static const size_t lengths[] = {0, 1, 16, sizeof bytes};
    ssize_t ignored =
        send(fd, bytes, lengths[(unsigned)rand_r(&crowd->seed) % 4], MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)ignored;
}

void port_strangers_run(unsigned rate, bool replay)
{
    static crowd_t crowd;
    int held[HELD];
    uint64_t begun = weft_os_clock_ns();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    memset(held, -1, sizeof held);
    crowd.seed = 11;
    crowd.tap = replay ? socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_IP)) : -1;
    for (uint64_t n = 0;; n++) {
        uint64_t due = begun + n * WEFT_NS_PER_S / rate, now = weft_os_clock_ns();
        if (due > now) {
            weft_os_sleep_ns(due - now);
        }
        if (crowd.tap >= 0) {
            hear(&crowd);
        }
        if (n % 64 == 0) {
            find_doors(&crowd);
        }
        int *place = &held[n % HELD];
        weft_os_close(*place);
        *place = -1;
        if (crowd.ndoors == 0) {
            continue;
        }
        const door_t *door = &crowd.doors[n % crowd.ndoors];
        *place = socket(door->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (connect(*place, (const struct sockaddr *)&door->at, door->bytes) == 0 ||
            door->at.ss_family == AF_INET) {
            weft_os_sleep_ns(20000); /* loopback: it stands by then, or the backlog is full */
            speak(&crowd, door, *place);
        }
    }
}
