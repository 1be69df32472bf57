/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The answers of a PMI server, all sent at once; then it closes. */
#include <sys/socket.h>
#include <unistd.h>

#include "core/boot/pmi_wire.h"
#include "core/os/os.h"
#include "fuzz.h"

/* Fits into the buffers of a socket. */
#define MOST 16384

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    int pair[2];
    uint8_t gives;
    weft_unique_id_t id;
    fuzz_take(&data, &bytes, &gives, 1);
    memset(&id, 7, sizeof id);
    FUZZ_NEED(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    bytes = bytes < MOST ? bytes : MOST;
    FUZZ_NEED(send(pair[1], data, bytes, MSG_NOSIGNAL) == (ssize_t)bytes);
    shutdown(pair[1], SHUT_WR);
    weft_pmi_wire_t wire = {.fd = pair[0],
                            .launcher = "fuzz",
                            .until = weft_os_clock_ns() + WEFT_NS_PER_S,
                            .answer_ns = WEFT_NS_PER_S};
    if (weft_pmi_begin(&wire) == WEFT_OK &&
        weft_pmi_carry(&wire, "weft", (gives & 1) != 0, &id) == WEFT_OK) {
        weft_pmi_end(&wire);
    }
    close(pair[0]);
    close(pair[1]);
    return 0;
}
