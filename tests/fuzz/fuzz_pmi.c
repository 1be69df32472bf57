/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The answers of a PMI server, one piece a line; then it closes. In the first byte: 1, this rank
 * gives the id; 2, the server stays open and says nothing more; 4, it does not read; 8, it has
 * closed both ways; 16, the join is cancelled. In the text "&" is a line end inside a piece, "|"
 * the end of a piece that is no line end. */
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/boot/pmi_wire.h"
#include "core/os/os.h"
#include "core/os/os_cancel.h"
#include "fuzz.h"

enum { GIVES = 1, SILENT = 2, DEAF = 4, GONE = 8, CANCELLED = 16, PIECES_MOST = 32 };

/* Each piece is a packet: a receive gets one of them at most, as from a server that waits for
 * questions.
 */
static void serve(int fd, const char *text)
{
    for (int i = 0; *text != '\0' && i < PIECES_MOST; i++) {
        char piece[WEFT_PMI_LINE + 100];
        size_t bytes = strcspn(text, "\n|"), line = text[bytes] == '\n';
        size_t length = bytes < sizeof piece - 1 ? bytes : sizeof piece - 1;
        for (size_t k = 0; k < length; k++) {
            piece[k] = (char)(text[k] == '&' ? '\n' : text[k] == '~' ? '\0' : text[k]);
        }
        piece[length] = '\n';
        if (length + line > 0) {
            (void)send(fd, piece, length + line, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        text += bytes + (text[bytes] != '\0');
    }
}

static void fill(int fd)
{
    static const char more[512];
    while (send(fd, more, sizeof more, MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
    }
}

/* The whole conversation. */
static weft_status_t talk(int fd, uint8_t how, weft_unique_id_t *id)
{
    bool waits = (how & (SILENT | DEAF)) == 0;
    weft_pmi_wire_t wire = {.fd = fd,
                            .launcher = "fuzz",
                            .until = weft_os_clock_ns() + (waits ? 10 * WEFT_NS_PER_S : 0),
                            .answer_ns = waits ? 10 * WEFT_NS_PER_S : 0};
    weft_status_t status = weft_pmi_begin(&wire);
    if (status == WEFT_OK) {
        status = weft_pmi_carry(&wire, "weft", (how & GIVES) != 0, id);
    }
    FUZZ_NEED(status == WEFT_OK || weft_error_record()->text[0] != '\0');
    if (status == WEFT_OK) {
        weft_pmi_end(&wire);
    }
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    int pair[2];
    weft_unique_id_t id, before;
    uint8_t how = fuzz_byte(&data, &bytes);
    char *text = fuzz_text(data, bytes);
    memset(&id, 7, sizeof id);
    before = id;
    FUZZ_NEED(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    if ((how & DEAF) != 0) {
        fill(pair[0]);
    }
    serve(pair[1], text);
    if ((how & GONE) != 0) {
        shutdown(pair[1], SHUT_RDWR);
    } else if ((how & SILENT) == 0) {
        shutdown(pair[1], SHUT_WR);
    }
    if ((how & CANCELLED) != 0) {
        weft_os_cancel_by(pair[1]); /* there are questions to read, sooner or later */
    }
    weft_status_t status = talk(pair[0], how, &id);
    weft_os_cancel_by(-1);
    FUZZ_NEED((status == WEFT_OK && (how & GIVES) == 0) || memcmp(&id, &before, sizeof id) == 0);
    close(pair[0]);
    close(pair[1]);
    free(text);
    return 0;
}
