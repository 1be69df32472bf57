/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The handshake of both ends, a few fixed-size records on a non-blocking socket. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "gate.h"

/* Steps of the connector: SEND_HELLO, READ_REPLY, SEND_PROOF; of the acceptor: READ_HELLO,
 * SEND_REPLY, READ_PROOF. */
enum { STEP_FIRST = 0, STEP_SECOND = 1, STEP_THIRD = 2 };

weft_status_t gate_send(int fd, const void *record, uint32_t bytes, uint32_t *done_p)
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

weft_status_t gate_receive(int fd, void *record, uint32_t bytes, uint32_t *done_p)
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

static const weft_auth_service_t *shake_service(const weft_host_t *host)
{
    return host->get_service(host, WEFT_SERVICE_AUTH);
}

static void shake_next(gate_shake_t *shake, uint32_t bytes)
{
    shake->step++;
    shake->bytes = bytes;
    shake->done = 0;
}

weft_status_t gate_shake_begin(const weft_host_t *host, gate_shake_t *shake,
                               const uint8_t label[WEFT_AUTH_LABEL])
{
    const weft_auth_service_t *auth = shake_service(host);
    if (auth == NULL) {
        return host->set_error(host, WEFT_ERR_STATE, 0,
                               "this core offers no service " WEFT_SERVICE_AUTH);
    }
    memset(shake, 0, sizeof *shake);
    shake->bytes = WEFT_AUTH_HELLO;
    return auth->client_begin(host, &shake->state, label, shake->message);
}

static weft_status_t shake_lost(const weft_host_t *host, weft_status_t status)
{
    if (status == WEFT_ERR_LINK) {
        int cause = errno;
        return host->set_error(host, status, cause,
                               "the peer closed the connection during the handshake (it holds "
                               "another secret, or is shutting down)");
    }
    return status;
}

weft_status_t gate_shake_connect(const weft_host_t *host, gate_shake_t *shake, int fd)
{
    weft_status_t status = WEFT_OK;
    if (shake->step == STEP_FIRST) {
        status = gate_send(fd, shake->message, shake->bytes, &shake->done);
        if (status != WEFT_OK) {
            return shake_lost(host, status);
        }
        shake_next(shake, WEFT_AUTH_REPLY);
    }
    if (shake->step == STEP_SECOND) {
        status = gate_receive(fd, shake->message, shake->bytes, &shake->done);
        if (status != WEFT_OK) {
            return shake_lost(host, status);
        }
        uint8_t proof[WEFT_AUTH_PROOF];
        status = shake_service(host)->client_finish(host, &shake->state, shake->message, proof);
        if (status != WEFT_OK) {
            return status;
        }
        memcpy(shake->message, proof, sizeof proof);
        shake_next(shake, WEFT_AUTH_PROOF);
    }
    return shake_lost(host, gate_send(fd, shake->message, shake->bytes, &shake->done));
}

static weft_status_t shake_answer(const weft_host_t *host, gate_shake_t *shake)
{
    uint8_t reply[WEFT_AUTH_REPLY];
    const weft_auth_service_t *auth = shake_service(host);
    if (auth == NULL) {
        return WEFT_ERR_STATE;
    }
    weft_status_t status = auth->server_reply(host, &shake->state, shake->message, reply);
    if (status == WEFT_OK) {
        memcpy(shake->message, reply, sizeof reply);
        shake_next(shake, WEFT_AUTH_REPLY);
    }
    return status;
}

weft_status_t gate_shake_accept(const weft_host_t *host, gate_shake_t *shake, int fd,
                                uint8_t label[WEFT_AUTH_LABEL])
{
    weft_status_t status = WEFT_OK;
    if (shake->step == STEP_FIRST) {
        status = gate_receive(fd, shake->message, WEFT_AUTH_HELLO, &shake->done);
        status = status == WEFT_OK ? shake_answer(host, shake) : status;
        if (status != WEFT_OK) {
            return status;
        }
    }
    if (shake->step == STEP_SECOND) {
        status = gate_send(fd, shake->message, shake->bytes, &shake->done);
        if (status != WEFT_OK) {
            return status;
        }
        shake_next(shake, WEFT_AUTH_PROOF);
    }
    status = gate_receive(fd, shake->message, shake->bytes, &shake->done);
    if (status != WEFT_OK) {
        return status;
    }
    return shake_service(host)->server_check(host, &shake->state, shake->message, label);
}
