/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The connection of a claim. */
#include "core/boot/claim.h"

#include <string.h>

#include "core/base/error.h"
#include "core/boot/connector.h"
#include "core/os/os.h"

/* For the report of somebody else's death. */
#define REPORT_NS (WEFT_NS_PER_S / 2)

/* False: the connection does not take it; *error_p says why. */
static bool claim_send(const weft_claim_t *claim, uint32_t type, const uint8_t *payload,
                       uint32_t bytes, int *error_p)
{
    uint8_t message[WEFT_WIRE_MOST];
    weft_frame_t frame = {
        .type = type, .bytes = bytes, .from = claim->rank, .comm_id = claim->comm_id};
    weft_frame_encode(&frame, message);
    if (bytes > 0) {
        memcpy(message + WEFT_WIRE_HEADER, payload, bytes);
    }
    bytes += WEFT_WIRE_HEADER;
    return weft_os_send_all(claim->fd, message, bytes, error_p);
}

/* Rank 0 says again that the others may return, if it has. */
static bool claim_introduce(const weft_claim_t *claim, int *error_p)
{
    uint8_t request[WEFT_WIRE_JOIN_REQUEST];
    weft_join_request_encode(&claim->self, request);
    return claim_send(claim, WEFT_FRAME_CLAIM, request, sizeof request, error_p) &&
           (!claim->releases || claim_send(claim, WEFT_FRAME_CLAIMED, NULL, 0, error_p));
}

static void claim_hang_up(weft_claim_t *claim)
{
    weft_os_close(claim->fd);
    claim->fd = -1;
}

/* Connects, and says who we are. */
static weft_status_t claim_connect(weft_claim_t *claim, uint64_t until)
{
    weft_connector_t connector;
    int error = 0;
    do {
        claim_hang_up(claim);
        weft_connector_begin_root(&connector, &claim->id, claim->rank, until);
        weft_status_t status = weft_connector_run(&connector);
        if (status != WEFT_OK) {
            return status;
        }
        claim->fd = connector.fd;
        claim->got = 0;
        if (claim_introduce(claim, &error)) {
            return WEFT_OK;
        }
    } while (error != 0 && claim->again++ < WEFT_AGAIN_MOST);
    return WEFT_ERR_LINK;
}

weft_status_t weft_claim_open(weft_claim_t *claim, const weft_id_t *id,
                              const weft_join_request_t *self, uint64_t until)
{
    *claim = (weft_claim_t){.fd = -1,
                            .id = *id,
                            .self = *self,
                            .comm_id = weft_id_comm(id),
                            .rank = self->rank,
                            .nranks = self->nranks};
    return claim_connect(claim, until);
}

/* The connection broke. OK: there is a new one, and the root has heard on it what it may have
 * missed. A new one takes a while, also where the wait that ends at `until` is about to. */
static weft_status_t claim_come_back(weft_claim_t *claim, int error, uint64_t until)
{
    uint64_t now = weft_os_clock_ns(), most = now + weft_connector_patience(0);
    uint64_t least = now + WEFT_AGAIN_NS;
    if (error == 0 || claim->again++ >= WEFT_AGAIN_MOST) {
        return WEFT_ERR_LINK;
    }
    weft_status_t status = claim_connect(claim, until < least  ? least
                                                : until < most ? until
                                                               : most);
    return status == WEFT_OK || status == WEFT_ERR_ABORTED ? status : WEFT_ERR_LINK;
}

static weft_status_t claim_malformed(const char *why)
{
    return weft_fail(WEFT_ERR_PROTO, 0, "the root of the unique id sent a frame with a bad %s",
                     why);
}

/* Adopts the error record of the root. */
static weft_status_t claim_failed(const weft_claim_t *claim)
{
    weft_error_t error;
    const char *why;
    if (weft_error_decode(claim->message + WEFT_WIRE_HEADER, WEFT_RANKS_MOST, &error, &why) !=
        WEFT_OK) {
        return claim_malformed(why);
    }
    error.rank = (int32_t)claim->rank;
    error.comm_id = claim->comm_id;
    *weft_error_record() = error;
    return error.status;
}

/* Receives what is there. IN_PROGRESS until a frame is whole. */
static weft_status_t claim_receive(weft_claim_t *claim, uint64_t until)
{
    for (;;) {
        weft_frame_t frame;
        const char *why;
        size_t want = WEFT_WIRE_HEADER;
        if (claim->got >= WEFT_WIRE_HEADER) {
            if (weft_frame_decode(claim->message, WEFT_RANKS_MOST, claim->comm_id, &frame, &why) !=
                WEFT_OK) {
                return claim_malformed(why);
            }
            if (frame.type == WEFT_FRAME_CLAIMED) {
                return WEFT_OK;
            }
            if (frame.type != WEFT_FRAME_FAIL) {
                return claim_malformed("type");
            }
            want += frame.bytes;
            if (claim->got == want) {
                claim->others_told = frame.sequence == 1;
                return claim_failed(claim);
            }
        }
        int error = 0;
        ssize_t got =
            weft_os_recv(claim->fd, claim->message + claim->got, want - claim->got, &error);
        if (got == WEFT_OS_NONE) {
            return WEFT_IN_PROGRESS;
        }
        if (got <= 0) {
            weft_status_t status = claim_come_back(claim, got < 0 ? error : 0, until);
            if (status != WEFT_OK) {
                return status;
            }
            continue;
        }
        claim->got += (uint32_t)got;
    }
}

weft_status_t weft_claim_wait(weft_claim_t *claim, uint64_t until)
{
    weft_status_t status;
    while ((status = claim_receive(claim, until)) == WEFT_IN_PROGRESS &&
           weft_os_clock_ns() < until) {
        struct pollfd entry = {.fd = claim->fd, .events = POLLIN};
        if (weft_os_poll(&entry, 1, until) < 0) {
            return weft_error_record()->status;
        }
    }
    return status;
}

weft_status_t weft_claim_release(weft_claim_t *claim, uint64_t until)
{
    int error = 0;
    claim->got = 0;
    claim->releases = true;
    weft_status_t status = claim_send(claim, WEFT_FRAME_CLAIMED, NULL, 0, &error)
                               ? WEFT_OK
                               : claim_come_back(claim, error, until);
    status = status == WEFT_OK ? weft_claim_wait(claim, until) : status;
    if (status == WEFT_IN_PROGRESS) {
        return weft_fail(WEFT_ERR_TIMEOUT, 0,
                         "the root of the unique id, in this process, did not answer rank 0");
    }
    return status == WEFT_ERR_LINK ? WEFT_OK : status;
}

void weft_claim_fail(const weft_claim_t *claim)
{
    uint8_t payload[WEFT_WIRE_ERROR];
    int error = 0;
    weft_error_encode(weft_error_record(), payload);
    (void)claim_send(claim, WEFT_FRAME_FAIL, payload, sizeof payload, &error);
}

/* A claim whose connection ends at once is what the root sees of a rank that dies. */
void weft_claim_report_death(const weft_unique_id_t *id, uint32_t nranks, uint32_t rank,
                             int32_t pid)
{
    weft_id_t decoded;
    weft_claim_t claim;
    weft_join_request_t dead;
    weft_error_t before = *weft_error_record();
    if (weft_id_decode(id, &decoded) == WEFT_OK) {
        /* Without a port it cannot fail. */
        (void)weft_join_request_make(&dead, rank, nranks, NULL, 0);
        dead.pid = pid;
        dead.space = 0; /* there is no process to watch any more */
        (void)weft_claim_open(&claim, &decoded, &dead, weft_os_clock_ns() + REPORT_NS);
        weft_claim_close(&claim);
        weft_id_wipe(&decoded);
    }
    *weft_error_record() = before;
}

/* A claim does not take the place of a rank that has joined, as a join request would. */
void weft_claim_report_failure(const weft_unique_id_t *id, uint32_t nranks, uint32_t rank,
                               uint64_t until)
{
    weft_id_t decoded;
    weft_claim_t claim;
    weft_join_request_t speaker;
    weft_error_t why = *weft_error_record();
    if (weft_id_decode(id, &decoded) == WEFT_OK) {
        /* Without a port it cannot fail. */
        (void)weft_join_request_make(&speaker, rank, nranks, NULL, 0);
        if (weft_claim_open(&claim, &decoded, &speaker, until) == WEFT_OK) {
            *weft_error_record() = why;
            weft_claim_fail(&claim);
        }
        weft_claim_close(&claim);
        weft_id_wipe(&decoded);
    }
    *weft_error_record() = why;
}

void weft_claim_close(weft_claim_t *claim)
{
    claim_hang_up(claim);
    weft_id_wipe(&claim->id);
}
