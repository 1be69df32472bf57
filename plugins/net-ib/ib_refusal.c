/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Refused connections. */
#include "ib_refusal.h"

#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

weft_status_t ib_blame(weft_net_conn_t *conn, weft_status_t status, int cause, const char *format,
                       ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(conn->reason, sizeof conn->reason, format, args);
    va_end(args);
    conn->host->set_error(conn->host, status, cause, "%s", conn->reason);
    /* The host adds the cause to what the user reads here; the peer gets it in the text. */
    size_t used = strlen(conn->reason);
    if (cause != 0) {
        snprintf(conn->reason + used, sizeof conn->reason - used, ": %s", strerror(cause));
    }
    return status;
}

void ib_refusal_send(weft_net_conn_t *conn, weft_status_t status)
{
    ib_refusal_t refusal = {.magic = htole32(IB_HELLO_REFUSED),
                            .status = htole32((uint32_t)status)};
    snprintf(refusal.text, sizeof refusal.text, "%s", conn->reason);
    /* A message that does not get through only costs the peer the reason. */
    ssize_t ignored = send(conn->side.fd, &refusal, sizeof refusal, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)ignored;
}

weft_status_t ib_refusal_take(const weft_net_conn_t *conn, const void *record)
{
    ib_refusal_t refusal;
    memcpy(&refusal, record, sizeof refusal);
    refusal.text[sizeof refusal.text - 1] = '\0';
    for (char *at = refusal.text; *at != '\0'; at++) {
        *at = *at < ' ' || *at > '~' ? '?' : *at;
    }
    return conn->host->set_error(conn->host, WEFT_ERR_LINK, 0,
                                 "peer %s refused the connection (status %d): %s", conn->info.peer,
                                 (int)le32toh(refusal.status),
                                 refusal.text[0] != '\0' ? refusal.text : "look at its own error");
}
