/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The answers of a TCPStore of PyTorch, all sent at once; then it closes. */
#include <sys/socket.h>
#include <unistd.h>

#include "core/boot/torch_store.h"
#include "core/os/os.h"
#include "fuzz.h"

#define MOST 16384

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    int pair[2];
    uint8_t value[128];
    FUZZ_NEED(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    bytes = bytes < MOST ? bytes : MOST;
    FUZZ_NEED(send(pair[1], data, bytes, MSG_NOSIGNAL) == (ssize_t)bytes);
    shutdown(pair[1], SHUT_WR);
    weft_torch_store_t store = {
        .fd = pair[0], .until = weft_os_clock_ns() + WEFT_NS_PER_S, .name = "fuzz"};
    while (weft_torch_store_get(&store, "key", value, sizeof value) == WEFT_OK) {
        FUZZ_NEED(weft_torch_store_set(&store, "key", value, sizeof value) == WEFT_OK);
    }
    weft_torch_store_close(&store);
    close(pair[1]);
    return 0;
}
