/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The answers of a TCPStore of PyTorch, all sent at once; then it closes. In the first byte: 1, the
 * store is connected to first, which answers its ping rightly unless 2 is set too; 4, it says
 * nothing more and does not close; 8, it does not read; 16, it has closed both ways; 32, the join
 * is cancelled; 64, a key that no query has room for; 128, nobody listens. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/boot/torch_store.h"
#include "core/os/os.h"
#include "core/os/os_cancel.h"
#include "fuzz.h"

#define MOST 16384

enum {
    OPEN = 1,
    WRONG = 2,
    SILENT = 4,
    DEAF = 8,
    GONE = 16,
    CANCELLED = 32,
    LONG = 64,
    NOBODY = 128
};

/* What the server says to the next who connects. */
static uint8_t answer[MOST + 4];
static size_t answer_bytes;
static int listener = -1;

/* Reset when it closes, so that no port stays in use. */
static void *serve(void *arg)
{
    static const struct linger reset = {.l_onoff = 1};
    (void)arg;
    for (;;) {
        char byte;
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        FUZZ_NEED(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0);
        (void)send(fd, answer, answer_bytes, MSG_NOSIGNAL);
        shutdown(fd, SHUT_WR);
        while (recv(fd, &byte, 1, 0) > 0) {
        }
        close(fd);
    }
    return NULL;
}

static int socket_of_loopback(uint16_t *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    FUZZ_NEED(fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof at) == 0);
    FUZZ_NEED(getsockname(fd, (struct sockaddr *)&at, &length) == 0);
    *port = ntohs(at.sin_port);
    return fd;
}

static void talk(weft_torch_store_t *store, const char *key)
{
    uint8_t value[128];
    weft_status_t status = WEFT_OK;
    for (int turn = 0; status == WEFT_OK; turn++) {
        memset(value, 1, sizeof value);
        status = turn % 3 == 0   ? weft_torch_store_get(store, key, value, sizeof value)
                 : turn % 3 == 1 ? weft_torch_store_set(store, key, value, sizeof value)
                                 : weft_torch_store_delete(store, key);
    }
    FUZZ_NEED(weft_error_record()->text[0] != '\0');
    weft_torch_store_close(store);
    FUZZ_NEED(store->fd < 0);
}

static void connected(uint8_t how, const uint8_t *data, size_t bytes, const char *key)
{
    static uint16_t port, closed;
    pthread_t thread;
    weft_torch_store_t store;
    if (listener < 0) {
        listener = socket_of_loopback(&port);
        (void)socket_of_loopback(&closed); /* bound, so that nobody else listens there */
        FUZZ_NEED(listen(listener, 8) == 0 && pthread_create(&thread, NULL, serve, NULL) == 0);
    }
    uint32_t nonce = (uint32_t)weft_os_pid() ^ ((how & WRONG) != 0);
    memcpy(answer, &nonce, sizeof nonce);
    memcpy(answer + sizeof nonce, data, bytes);
    answer_bytes = bytes + sizeof nonce;
    bool nobody = (how & NOBODY) != 0;
    uint64_t until = nobody ? 0 : weft_os_clock_ns() + 10 * WEFT_NS_PER_S;
    weft_status_t status =
        weft_torch_store_open(&store, "127.0.0.1", nobody ? closed : port, until);
    FUZZ_NEED(!nobody || status == WEFT_ERR_TIMEOUT);
    FUZZ_NEED((how & WRONG) == 0 || status != WEFT_OK);
    if (status == WEFT_OK) {
        talk(&store, key);
    } else {
        FUZZ_NEED(weft_error_record()->text[0] != '\0');
        weft_torch_store_close(&store);
    }
}

static void fill(int fd)
{
    static const char more[512];
    while (send(fd, more, sizeof more, MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static char longest[600];
    int pair[2];
    uint8_t how = fuzz_byte(&data, &bytes);
    memset(longest, 'k', sizeof longest - 1);
    const char *key = (how & LONG) != 0 ? longest : "key";
    bytes = bytes < MOST ? bytes : MOST;
    if ((how & (OPEN | NOBODY)) != 0) {
        connected(how, data, bytes, key);
        return 0;
    }
    FUZZ_NEED(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    if ((how & DEAF) != 0) {
        fill(pair[0]);
    }
    FUZZ_NEED(bytes == 0 || send(pair[1], data, bytes, MSG_NOSIGNAL) == (ssize_t)bytes);
    if ((how & GONE) != 0) {
        shutdown(pair[1], SHUT_RDWR);
    } else if ((how & SILENT) == 0) {
        shutdown(pair[1], SHUT_WR);
    }
    if ((how & CANCELLED) != 0) {
        weft_os_cancel_by(pair[1]);
    }
    weft_torch_store_t store = {.fd = pair[0], .name = "fuzz"};
    store.until = (how & (SILENT | DEAF)) != 0 ? 0 : weft_os_clock_ns() + 10 * WEFT_NS_PER_S;
    talk(&store, key);
    weft_os_cancel_by(-1);
    close(pair[1]);
    return 0;
}
