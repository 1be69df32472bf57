/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The handshake of both ends: three messages of fixed size over a non-blocking socket, and the
 * acknowledgement byte of the acceptor. */
#include <weft/sdk/handshake.h>

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Steps of the connector: send the hello, read the reply, send the proof, read the acknowledgement.
 * Steps of the acceptor: the other side of each. */
enum { STEP_HELLO = 0, STEP_REPLY = 1, STEP_PROOF = 2, STEP_ACK = 3 };

#define ACK_BYTES 1u
#define ACK_VALUE 0x06u /* ASCII's ACK */
/* While the acknowledgement is being sent, the label waits behind it in the message. */
#define ACK_LABEL_AT 8u

_Static_assert(ACK_LABEL_AT + WEFT_AUTH_LABEL <= WEFT_AUTH_HELLO, "the label fits");

weft_status_t weft_record_send(int fd, const void *record, uint32_t bytes, uint32_t *done_p)
{
    while (*done_p < bytes) {
        ssize_t n = send(fd, (const uint8_t *)record + *done_p, bytes - *done_p,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) {
            *done_p += (uint32_t)n;
        } else if (errno == EAGAIN) {
            return WEFT_IN_PROGRESS;
        } else if (errno != EINTR) {
            return WEFT_ERR_LINK;
        }
    }
    return WEFT_OK;
}

weft_status_t weft_record_receive(int fd, void *record, uint32_t bytes, uint32_t *done_p)
{
    while (*done_p < bytes) {
        ssize_t n = recv(fd, (uint8_t *)record + *done_p, bytes - *done_p, MSG_DONTWAIT);
        if (n > 0) {
            *done_p += (uint32_t)n;
        } else if (n == 0) {
            errno = 0;
            return WEFT_ERR_LINK;
        } else if (errno == EAGAIN) {
            return WEFT_IN_PROGRESS;
        } else if (errno != EINTR) {
            return WEFT_ERR_LINK;
        }
    }
    return WEFT_OK;
}

static const weft_auth_service_t *handshake_service(const weft_host_t *host)
{
    return host->get_service(host, WEFT_SERVICE_AUTH);
}

static void handshake_next(weft_handshake_t *handshake, uint32_t bytes)
{
    handshake->step++;
    handshake->bytes = bytes;
    handshake->done = 0;
}

weft_status_t weft_handshake_begin(const weft_host_t *host, weft_handshake_t *handshake,
                                   const uint8_t label[WEFT_AUTH_LABEL])
{
    const weft_auth_service_t *auth = handshake_service(host);
    if (auth == NULL) {
        return host->set_error(host, WEFT_ERR_STATE, 0,
                               "this core offers no service " WEFT_SERVICE_AUTH);
    }
    memset(handshake, 0, sizeof *handshake);
    handshake->bytes = WEFT_AUTH_HELLO;
    return auth->client_begin(host, &handshake->auth, label, handshake->message);
}

static weft_status_t handshake_lost(const weft_host_t *host, weft_status_t status)
{
    if (status == WEFT_ERR_LINK) {
        int cause = errno;
        return host->set_error(host, status, cause,
                               "the peer closed the connection during the handshake (it holds "
                               "another secret, or is shutting down)");
    }
    return status;
}

/* Reads the reply and makes the proof of it. */
static weft_status_t handshake_prove(const weft_host_t *host, weft_handshake_t *handshake, int fd)
{
    uint8_t proof[WEFT_AUTH_PROOF];
    weft_status_t status =
        weft_record_receive(fd, handshake->message, handshake->bytes, &handshake->done);
    if (status != WEFT_OK) {
        return handshake_lost(host, status);
    }
    status =
        handshake_service(host)->client_finish(host, &handshake->auth, handshake->message, proof);
    if (status == WEFT_OK) {
        memcpy(handshake->message, proof, sizeof proof);
        handshake_next(handshake, WEFT_AUTH_PROOF);
    }
    return status;
}

static weft_status_t handshake_read_ack(const weft_host_t *host, weft_handshake_t *handshake,
                                        int fd)
{
    weft_status_t status =
        weft_record_receive(fd, handshake->message, handshake->bytes, &handshake->done);
    if (status == WEFT_OK && handshake->message[0] != ACK_VALUE) {
        return host->set_error(host, WEFT_ERR_PROTO, 0,
                               "the acceptor answered %#x to the proof of the handshake",
                               handshake->message[0]);
    }
    return handshake_lost(host, status);
}

weft_status_t weft_handshake_connect(const weft_host_t *host, weft_handshake_t *handshake, int fd)
{
    weft_status_t status = WEFT_OK;
    if (handshake->step == STEP_HELLO) {
        status = weft_record_send(fd, handshake->message, handshake->bytes, &handshake->done);
        if (status != WEFT_OK) {
            return handshake_lost(host, status);
        }
        handshake_next(handshake, WEFT_AUTH_REPLY);
    }
    if (handshake->step == STEP_REPLY) {
        status = handshake_prove(host, handshake, fd);
        if (status != WEFT_OK) {
            return status;
        }
    }
    if (handshake->step == STEP_PROOF) {
        status = weft_record_send(fd, handshake->message, handshake->bytes, &handshake->done);
        if (status != WEFT_OK) {
            return handshake_lost(host, status);
        }
        handshake_next(handshake, ACK_BYTES);
    }
    return handshake_read_ack(host, handshake, fd);
}

bool weft_handshake_was_greeted(const weft_handshake_t *handshake)
{
    return handshake->step != STEP_HELLO;
}

bool weft_handshake_said_nothing(const weft_handshake_t *handshake)
{
    return handshake->step == STEP_HELLO && handshake->done == 0;
}

bool weft_handshake_fell_silent(const weft_handshake_t *handshake)
{
    return handshake->step == STEP_REPLY || (handshake->step == STEP_PROOF && handshake->done == 0);
}

/* FNV-1a. Whoever can make two hellos with one fingerprint holds the secret: they are sealed. */
static uint64_t handshake_fingerprint(const uint8_t hello[WEFT_AUTH_HELLO])
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; i < WEFT_AUTH_HELLO; i++) {
        hash = (hash ^ hello[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static weft_status_t handshake_reply(const weft_host_t *host, weft_handshake_t *handshake)
{
    uint8_t reply[WEFT_AUTH_REPLY];
    const weft_auth_service_t *auth = handshake_service(host);
    if (auth == NULL) {
        return WEFT_ERR_STATE;
    }
    weft_status_t status = auth->server_reply(host, &handshake->auth, handshake->message, reply);
    if (status == WEFT_OK) {
        handshake->fingerprint = handshake_fingerprint(handshake->message);
        memcpy(handshake->message, reply, sizeof reply);
        handshake_next(handshake, WEFT_AUTH_REPLY);
    }
    return status;
}

/* Reads the proof and puts the acknowledgement into the message. */
static weft_status_t handshake_check(const weft_host_t *host, weft_handshake_t *handshake, int fd)
{
    weft_status_t status =
        weft_record_receive(fd, handshake->message, handshake->bytes, &handshake->done);
    if (status != WEFT_OK) {
        return status;
    }
    uint8_t label[WEFT_AUTH_LABEL];
    status =
        handshake_service(host)->server_check(host, &handshake->auth, handshake->message, label);
    if (status == WEFT_OK) {
        handshake->message[0] = ACK_VALUE;
        memcpy(handshake->message + ACK_LABEL_AT, label, sizeof label);
        handshake_next(handshake, ACK_BYTES);
    }
    return status;
}

weft_status_t weft_handshake_accept(const weft_host_t *host, weft_handshake_t *handshake, int fd,
                                    uint8_t label[WEFT_AUTH_LABEL])
{
    weft_status_t status = WEFT_OK;
    if (handshake->step == STEP_HELLO) {
        status = weft_record_receive(fd, handshake->message, WEFT_AUTH_HELLO, &handshake->done);
        status = status == WEFT_OK ? handshake_reply(host, handshake) : status;
        if (status != WEFT_OK) {
            return status;
        }
    }
    if (handshake->step == STEP_REPLY) {
        status = weft_record_send(fd, handshake->message, handshake->bytes, &handshake->done);
        if (status != WEFT_OK) {
            return status;
        }
        handshake_next(handshake, WEFT_AUTH_PROOF);
    }
    if (handshake->step == STEP_PROOF) {
        status = handshake_check(host, handshake, fd);
        if (status != WEFT_OK) {
            return status;
        }
    }
    status = weft_record_send(fd, handshake->message, handshake->bytes, &handshake->done);
    if (status == WEFT_OK) {
        memcpy(label, handshake->message + ACK_LABEL_AT, WEFT_AUTH_LABEL);
    }
    return status;
}
