/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strangers at the port of the root. */
#include "strangers.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/boot/auth.h"
#include "core/boot/unique_id.h"
#include "core/os/os.h"

/* Connections that stay open at a time; each ends when its place is needed again. */
#define HELD 512

typedef struct strangers {
    struct sockaddr_in to;
    uint8_t recorded[WEFT_AUTH_HELLO];
    unsigned seed;
} strangers_t;

static void strangers_record(strangers_t *strangers, const weft_unique_id_t *bytes)
{
    uint8_t key[32], label[WEFT_AUTH_LABEL];
    weft_auth_state_t state;
    weft_id_t id;
    if (weft_id_decode(bytes, &id) != WEFT_OK) {
        _exit(2);
    }
    weft_id_key(&id, WEFT_PURPOSE_ROOT, key);
    weft_auth_label_make(label, WEFT_PURPOSE_ROOT, 3);
    if (weft_auth_client_begin(key, &state, label, strangers->recorded) != WEFT_OK) {
        _exit(2);
    }
    strangers->to = (struct sockaddr_in){.sin_family = AF_INET,
                                         .sin_port = htons(id.addrs[0].port),
                                         .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

/* What one of them says. Most stay on the line; some close at once. */
static void strangers_speak(strangers_t *strangers, int fd)
{
    uint8_t bytes[WEFT_AUTH_HELLO + WEFT_AUTH_PROOF];
    size_t said = 0;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)rand_r(&strangers->seed);
    }
    switch (rand_r(&strangers->seed) % 6) {
    case 0:
        said = 1; /* slow: nothing else will come */
        break;
    case 1:
        said = sizeof bytes;
        break;
    case 2:
        memcpy(bytes, strangers->recorded, sizeof strangers->recorded);
        said = (size_t)rand_r(&strangers->seed) % sizeof strangers->recorded;
        break;
    case 3:
        memcpy(bytes, strangers->recorded, sizeof strangers->recorded);
        said = sizeof strangers->recorded;
        break;
    case 4:
        memcpy(bytes, strangers->recorded, sizeof strangers->recorded);
        said = sizeof bytes; /* rubbish in place of the proof */
        break;
    default:
        break;
    }
    ssize_t ignored = send(fd, bytes, said, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)ignored;
}

_Noreturn void strangers_run(const weft_unique_id_t *id, uint32_t rate, _Atomic uint32_t *count)
{
    strangers_t strangers = {.seed = 7};
    /* With a full backlog a connection waits. */
    struct timeval patience = {.tv_usec = 20000};
    int held[HELD];
    uint64_t begun = weft_os_clock_ns();
    memset(held, -1, sizeof held);
    strangers_record(&strangers, id);
    for (uint64_t n = 0;; n++) {
        int *place = &held[n % HELD];
        uint64_t due = begun + n * WEFT_NS_PER_S / rate, now = weft_os_clock_ns();
        if (due > now) {
            weft_os_sleep_ns(due - now);
        }
        weft_os_close(*place);
        *place = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(*place, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        if (connect(*place, (struct sockaddr *)&strangers.to, sizeof strangers.to) == 0) {
            atomic_fetch_add(count, 1);
            strangers_speak(&strangers, *place);
        }
    }
}
