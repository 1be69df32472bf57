/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PMI-1 as Hydra and Slurm speak it: init, get_maxes, get_my_kvsname, put, barrier_in, get,
 * finalize. */
#include "core/boot/pmi_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"

#define KVS_BYTES 260
#define ASK_BYTES 1024

/* Writes what the server said so that it can be shown: printable, and not too much. */
static void pmi_wire_quote(const char *line, char *text, size_t bytes)
{
    size_t at = 0;
    for (; line[at] != '\0' && at + 4 < bytes; at++) {
        text[at] = line[at] < ' ' || line[at] > '~' ? '?' : line[at];
    }
    snprintf(text + at, bytes - at, "%s", line[at] != '\0' ? "..." : "");
}

/* `asked` is a whole line; its first word is shown. */
static weft_status_t pmi_wire_fail(const weft_pmi_wire_t *wire, weft_status_t status, int error,
                                   const char *asked, const char *what)
{
    return weft_fail(status, error, "the PMI server of %s (PMI_FD = %d) %s after \"%.*s\"",
                     wire->launcher, wire->fd, what, (int)strcspn(asked, " \n"), asked);
}

static weft_status_t pmi_wire_wrong(const weft_pmi_wire_t *wire, const char *asked)
{
    char said[100], what[140];
    pmi_wire_quote(wire->line, said, sizeof said);
    snprintf(what, sizeof what, "answered \"%s\"", said);
    return pmi_wire_fail(wire, WEFT_ERR_PROTO, 0, asked, what);
}

static weft_status_t pmi_wire_send(const weft_pmi_wire_t *wire, const char *asked, uint64_t until)
{
    size_t bytes = strlen(asked), sent = 0;
    while (sent < bytes) {
        int error = 0;
        struct pollfd entry = {.fd = wire->fd, .events = POLLOUT};
        int ready = weft_os_poll(&entry, 1, until);
        if (ready < 0) {
            return weft_error_record()->status;
        }
        if (ready == 0 && weft_os_clock_ns() >= until) {
            return pmi_wire_fail(wire, WEFT_ERR_TIMEOUT, 0, asked, "reads nothing");
        }
        ssize_t moved = weft_os_send(wire->fd, asked + sent, bytes - sent, &error);
        if (moved == WEFT_OS_BROKEN) {
            return pmi_wire_fail(wire, WEFT_ERR_LINK, error, asked, "is gone: it cannot be asked");
        }
        sent += moved > 0 ? (size_t)moved : 0;
    }
    return WEFT_OK;
}

/* Receives one line. What waits for others says so when it is late. */
static weft_status_t pmi_wire_receive(weft_pmi_wire_t *wire, const char *asked, uint64_t until,
                                      const char *late)
{
    size_t got = 0;
    for (;;) {
        int error = 0;
        struct pollfd entry = {.fd = wire->fd, .events = POLLIN};
        int ready = weft_os_poll(&entry, 1, until);
        if (ready < 0) {
            return weft_error_record()->status;
        }
        if (ready == 0 && weft_os_clock_ns() >= until) {
            return pmi_wire_fail(wire, WEFT_ERR_TIMEOUT, 0, asked, late);
        }
        ssize_t moved = ready == 0
                            ? WEFT_OS_NONE
                            : weft_os_recv(wire->fd, wire->line + got, WEFT_PMI_LINE - got, &error);
        if (moved == 0 || moved == WEFT_OS_BROKEN) {
            return pmi_wire_fail(wire, WEFT_ERR_LINK, error, asked,
                                 got > 0 ? "closed in the middle of its answer" : "closed");
        }
        got += moved > 0 ? (size_t)moved : 0;
        wire->line[got] = '\0';
        char *end = memchr(wire->line, '\n', got);
        if (end != NULL && end + 1 == wire->line + got) {
            *end = '\0';
            return strlen(wire->line) == got - 1 ? WEFT_OK : pmi_wire_wrong(wire, asked);
        }
        if (end != NULL || got == WEFT_PMI_LINE) {
            return pmi_wire_fail(wire, WEFT_ERR_PROTO, 0, asked,
                                 end != NULL ? "answered more than one line"
                                             : "answered a line that does not end");
        }
    }
}

/* Finds the value of a word "name=value" of the answer. Returns NULL if there is none. */
static const char *pmi_wire_word(const weft_pmi_wire_t *wire, const char *name, size_t *bytes_p)
{
    size_t length = strlen(name);
    for (const char *at = wire->line; *at != '\0';) {
        size_t word = strcspn(at, " ");
        if (word > length && strncmp(at, name, length) == 0 && at[length] == '=') {
            *bytes_p = word - length - 1;
            return at + length + 1;
        }
        at += word + strspn(at + word, " ");
    }
    return NULL;
}

static bool pmi_wire_word_is(const weft_pmi_wire_t *wire, const char *name, const char *value)
{
    size_t bytes;
    const char *found = pmi_wire_word(wire, name, &bytes);
    return found != NULL && bytes == strlen(value) && memcmp(found, value, bytes) == 0;
}

/* Asks, and checks that the answer is `answer` without an error. */
static weft_status_t pmi_wire_ask(weft_pmi_wire_t *wire, const char *asked, const char *answer,
                                  const char *late)
{
    size_t bytes;
    uint64_t until = weft_os_clock_ns() + wire->answer_ns;
    if (late != NULL || until > wire->until) {
        until = wire->until;
    }
    weft_status_t status = pmi_wire_send(wire, asked, until);
    if (status == WEFT_OK) {
        status = pmi_wire_receive(wire, asked, until, late != NULL ? late : "does not answer");
    }
    if (status == WEFT_OK &&
        (!pmi_wire_word_is(wire, "cmd", answer) ||
         (pmi_wire_word(wire, "rc", &bytes) != NULL && !pmi_wire_word_is(wire, "rc", "0")))) {
        status = pmi_wire_wrong(wire, asked);
    }
    return status;
}

weft_status_t weft_pmi_begin(weft_pmi_wire_t *wire)
{
    return pmi_wire_ask(wire, "cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init",
                        NULL);
}

/* Values are as long as the server says, at least 256 digits. */
static weft_status_t pmi_wire_check_room(weft_pmi_wire_t *wire)
{
    size_t bytes;
    static const char asked[] = "cmd=get_maxes\n";
    weft_status_t status = pmi_wire_ask(wire, asked, "maxes", NULL);
    if (status != WEFT_OK) {
        return status;
    }
    const char *room = pmi_wire_word(wire, "vallen_max", &bytes);
    if (room == NULL) {
        return pmi_wire_wrong(wire, asked);
    }
    long most = strtol(room, NULL, 10);
    if (most < (long)WEFT_ID_HEX - 1) {
        return weft_fail(WEFT_ERR_UNSUPPORTED, 0,
                         "the PMI server of %s takes values of %ld characters; a unique id has %d",
                         wire->launcher, most, WEFT_ID_HEX - 1);
    }
    return WEFT_OK;
}

static weft_status_t pmi_wire_name_space(weft_pmi_wire_t *wire, char kvs[KVS_BYTES])
{
    size_t bytes;
    static const char asked[] = "cmd=get_my_kvsname\n";
    weft_status_t status = pmi_wire_ask(wire, asked, "my_kvsname", NULL);
    const char *name = status == WEFT_OK ? pmi_wire_word(wire, "kvsname", &bytes) : NULL;
    if (status == WEFT_OK && (name == NULL || bytes == 0 || bytes >= KVS_BYTES)) {
        status = pmi_wire_wrong(wire, asked);
    }
    if (status == WEFT_OK) {
        memcpy(kvs, name, bytes);
        kvs[bytes] = '\0';
    }
    return status;
}

static weft_status_t pmi_wire_fetch(weft_pmi_wire_t *wire, const char *kvs, const char *key,
                                    weft_unique_id_t *id)
{
    char asked[ASK_BYTES];
    size_t bytes = 0;
    snprintf(asked, sizeof asked, "cmd=get kvsname=%s key=%s\n", kvs, key);
    weft_status_t status = pmi_wire_ask(wire, asked, "get_result", "does not answer");
    if (status != WEFT_OK) {
        return status;
    }
    char *value = (char *)(uintptr_t)pmi_wire_word(wire, "value", &bytes);
    if (value != NULL) {
        value[bytes] = '\0';
    }
    if (!weft_id_from_hex(value, id)) {
        return weft_fail(
            WEFT_ERR_PROTO, 0,
            "the PMI server of %s (PMI_FD = %d) gave %zu characters for %s that are no "
            "unique id, which has %d hexadecimal digits",
            wire->launcher, wire->fd, bytes, key, WEFT_ID_HEX - 1);
    }
    return WEFT_OK;
}

weft_status_t weft_pmi_carry(weft_pmi_wire_t *wire, const char *key, bool gives,
                             weft_unique_id_t *id)
{
    char kvs[KVS_BYTES], asked[ASK_BYTES], hex[WEFT_ID_HEX];
    weft_status_t status = pmi_wire_check_room(wire);
    if (status == WEFT_OK) {
        status = pmi_wire_name_space(wire, kvs);
    }
    if (status == WEFT_OK && gives) {
        weft_id_to_hex(id, hex);
        snprintf(asked, sizeof asked, "cmd=put kvsname=%s key=%s value=%s\n", kvs, key, hex);
        status = pmi_wire_ask(wire, asked, "put_result", "does not answer");
    }
    if (status == WEFT_OK) {
        status = pmi_wire_ask(wire, "cmd=barrier_in\n", "barrier_out",
                              "did not end its barrier before init_timeout: not all ranks came to "
                              "it");
    }
    if (status == WEFT_OK && !gives) {
        status = pmi_wire_fetch(wire, kvs, key, id);
    }
    return status;
}

void weft_pmi_end(weft_pmi_wire_t *wire)
{
    weft_error_t before = *weft_error_record();
    (void)pmi_wire_ask(wire, "cmd=finalize\n", "finalize_ack", NULL);
    *weft_error_record() = before;
}
