/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hostile peers. */
#include "hostile.h"

#include <sys/socket.h>

#include "core/base/error.h"
#include "core/boot/auth.h"
#include "core/os/os.h"

/* Statuses that errors of an input have. */
static const int32_t statuses[] = {
    WEFT_ERR_PEER_DEAD, WEFT_ERR_PEER_LEFT, WEFT_ERR_TIMEOUT, WEFT_ERR_ABORTED,
    WEFT_ERR_PROTO,     WEFT_ERR_RESOURCE,  WEFT_ERR_LINK,    WEFT_OK};

weft_os_addr_t hostile_address(uint16_t port)
{
    return (weft_os_addr_t){.family = 4, .port = port, .bytes = {127, 0, 0, 1}};
}

void hostile_init(hostile_t *peer, uint64_t comm_id)
{
    *peer = (hostile_t){.fd = -1, .comm_id = comm_id};
}

void hostile_close(hostile_t *peer, bool reset)
{
    const struct linger now = {.l_onoff = reset}; /* a listener may have said otherwise */
    if (peer->state == HOSTILE_CONNECTING) {
        peer->fd = peer->connector.fd;
        peer->connector.fd = -1;
        weft_connector_end(&peer->connector);
    }
    if (peer->fd >= 0) {
        FUZZ_NEED(setsockopt(peer->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now) == 0);
    }
    weft_os_close(peer->fd);
    peer->fd = -1;
    peer->state = HOSTILE_NONE;
}

static void hostile_renew(hostile_t *peer, hostile_state_t state)
{
    hostile_close(peer, true);
    uint64_t comm_id = peer->comm_id;
    hostile_init(peer, comm_id);
    peer->state = state;
}

void hostile_connect(hostile_t *peer, const uint8_t key[32], const char *purpose, uint16_t port,
                     uint32_t rank)
{
    uint8_t label[WEFT_AUTH_LABEL];
    weft_os_addr_t addr = hostile_address(port);
    hostile_renew(peer, HOSTILE_CONNECTING);
    peer->rank = rank;
    weft_auth_label_make(label, purpose, rank);
    weft_connector_begin(&peer->connector, key, label, &addr, 1, WEFT_NEVER);
}

void hostile_accept(hostile_t *peer, const uint8_t key[32], int fd)
{
    hostile_renew(peer, HOSTILE_ACCEPTING);
    weft_auth_host_init(&peer->host, "hostile", key);
    peer->fd = fd;
}

/* Hearing -------------------------------------------------------------------------------------- */

static void check_payload(const weft_frame_t *frame, const uint8_t *payload)
{
    const char *why = NULL;
    weft_join_request_t request;
    weft_error_t error;
    weft_missing_t missing;
    weft_word_t word;
    weft_answer_t answer;
    weft_signature_t signature;
    weft_status_t status = WEFT_OK;
    switch (frame->type) {
    case WEFT_FRAME_JOIN:
    case WEFT_FRAME_CLAIM:
    case WEFT_FRAME_WELCOME:
    case WEFT_FRAME_CHILD:
        status = weft_join_request_decode(payload, &request, &why);
        break;
    case WEFT_FRAME_MISSING:
        FUZZ_NEED(weft_missing_decode(payload + WEFT_WIRE_ERROR, WEFT_RANKS_MOST, &missing, &why) ==
                  WEFT_OK);
        /* fall through */
    case WEFT_FRAME_FAIL:
    case WEFT_FRAME_DEATH:
        status = weft_error_decode(payload, WEFT_RANKS_MOST, &error, &why);
        break;
    case WEFT_FRAME_WORD:
        status = weft_word_decode(payload, WEFT_RANKS_MOST, &word, &why);
        break;
    case WEFT_FRAME_ASK:
        status = weft_signature_decode(payload, &signature, &why);
        break;
    case WEFT_FRAME_ANSWER:
        status = weft_answer_decode(payload, &answer, &why);
        break;
    default:
        break;
    }
    FUZZ_NEED(status == WEFT_OK);
}

static bool hear_frame(hostile_t *peer, hostile_hears_t hears)
{
    weft_frame_t frame;
    const char *why = NULL;
    if (peer->in_bytes < WEFT_WIRE_HEADER) {
        return false;
    }
    FUZZ_NEED(weft_frame_decode(peer->in, WEFT_RANKS_MOST, peer->comm_id, &frame, &why) == WEFT_OK);
    uint32_t whole = WEFT_WIRE_HEADER + frame.bytes;
    if (frame.type == WEFT_FRAME_GATHER || frame.type == WEFT_FRAME_SPREAD) {
        peer->skip = frame.bytes;
        whole = WEFT_WIRE_HEADER;
    }
    FUZZ_NEED(whole <= sizeof peer->in);
    if (peer->in_bytes < whole) {
        return false;
    }
    check_payload(&frame, peer->in + WEFT_WIRE_HEADER);
    peer->heard++;
    hears(peer, &frame, peer->in + WEFT_WIRE_HEADER);
    peer->in_bytes -= whole;
    memmove(peer->in, peer->in + whole, peer->in_bytes);
    return true;
}

static void hear_skip(hostile_t *peer)
{
    uint32_t gone = peer->skip < peer->in_bytes ? peer->skip : peer->in_bytes;
    peer->skip -= gone;
    peer->in_bytes -= gone;
    memmove(peer->in, peer->in + gone, peer->in_bytes);
}

static void hear(hostile_t *peer, hostile_hears_t hears)
{
    while (peer->state == HOSTILE_OPEN) {
        int error;
        ssize_t got = weft_os_recv(peer->fd, peer->in + peer->in_bytes,
                                   sizeof peer->in - peer->in_bytes, &error);
        if (got == WEFT_OS_NONE) {
            return;
        }
        if (got <= 0) {
            peer->state = HOSTILE_ENDED;
            return;
        }
        peer->in_bytes += (uint32_t)got;
        do {
            hear_skip(peer);
        } while (peer->skip == 0 && peer->state == HOSTILE_OPEN && hear_frame(peer, hears));
    }
}

static void shake_hands(hostile_t *peer)
{
    uint8_t label[WEFT_AUTH_LABEL];
    weft_status_t status;
    if (peer->state == HOSTILE_CONNECTING) {
        status = weft_connector_step(&peer->connector);
        peer->fd = status == WEFT_OK ? peer->connector.fd : -1;
    } else {
        status = weft_handshake_accept(&peer->host.host, &peer->handshake, peer->fd, label);
    }
    if (status == WEFT_OK) {
        uint32_t rank;
        if (peer->state == HOSTILE_ACCEPTING &&
            (weft_auth_label_read(label, WEFT_PURPOSE_ROOT, &rank) ||
             weft_auth_label_read(label, WEFT_PURPOSE_TREE, &rank))) {
            peer->rank = rank;
        }
        peer->state = HOSTILE_OPEN;
    } else if (status != WEFT_IN_PROGRESS) {
        weft_os_close(peer->fd);
        peer->fd = -1;
        peer->state = HOSTILE_NONE;
    }
}

bool hostile_step(hostile_t *peer, hostile_hears_t hears)
{
    if (peer->state == HOSTILE_CONNECTING || peer->state == HOSTILE_ACCEPTING) {
        shake_hands(peer);
    }
    hear(peer, hears);
    return peer->state == HOSTILE_CONNECTING || peer->state == HOSTILE_ACCEPTING;
}

/* Sending -------------------------------------------------------------------------------------- */

void hostile_send(hostile_t *peer, const void *bytes, size_t count)
{
    int error;
    if (peer->state == HOSTILE_OPEN && count > 0) {
        (void)weft_os_send(peer->fd, bytes, count, &error);
        peer->sent += (uint32_t)count;
    }
}

void hostile_send_frame(hostile_t *peer, const weft_frame_t *frame, const uint8_t *payload)
{
    uint8_t message[WEFT_WIRE_LONGEST + 64];
    FUZZ_NEED(WEFT_WIRE_HEADER + frame->bytes <= sizeof message);
    weft_frame_encode(frame, message);
    if (frame->bytes > 0) {
        memcpy(message + WEFT_WIRE_HEADER, payload, frame->bytes);
    }
    hostile_send(peer, message, WEFT_WIRE_HEADER + frame->bytes);
}

void hostile_request(weft_join_request_t *request, uint32_t rank, uint32_t nranks, uint16_t port)
{
    FUZZ_NEED(weft_join_request_make(request, rank, nranks, NULL, 0) == WEFT_OK);
    if (port != 0) {
        request->addrs[0] = hostile_address(port);
    }
}

static void put_request(uint8_t *payload, const hostile_t *peer, const uint8_t **data,
                        size_t *bytes)
{
    static const uint32_t counts[] = {3, 3, 3, 3, 1, 0, 5, 4000};
    weft_join_request_t request;
    uint8_t how = fuzz_byte(data, bytes);
    hostile_request(&request, (how & 8) != 0 ? fuzz_byte(data, bytes) : peer->rank, counts[how % 8],
                    (how & 16) != 0 ? 0 : 8);
    request.pid += how >> 5;
    weft_join_request_encode(&request, payload);
}

static void put_error(uint8_t *payload, const uint8_t **data, size_t *bytes)
{
    weft_error_t error;
    uint8_t how = fuzz_byte(data, bytes);
    weft_error_clear(&error);
    error.status = (weft_status_t)statuses[how % 8];
    error.peer = (how >> 3 & 15) - 1;
    error.peer_pid = how;
    if (how != 255) {
        snprintf(error.text, sizeof error.text, "because of %u", how);
    }
    weft_error_encode(&error, payload);
}

static void put_missing(weft_missing_t *missing, const uint8_t **data, size_t *bytes)
{
    memset(missing, 0, sizeof *missing);
    missing->first = fuzz_byte(data, bytes) % 8;
    missing->bits[0] = fuzz_byte(data, bytes);
    missing->count = (uint32_t)__builtin_popcount(missing->bits[0]);
}

static void put_word(uint8_t *payload, const uint8_t **data, size_t *bytes)
{
    uint8_t how = fuzz_byte(data, bytes);
    weft_word_t word = {
        .kind = how % 7, .ballot = how >> 3 & 7, .taken = (how & 64) != 0 ? UINT32_MAX : how >> 5};
    put_missing(&word.value.gone, data, bytes);
    weft_word_encode(&word, payload);
}

static void put_signature(uint8_t *payload, const uint8_t **data, size_t *bytes)
{
    weft_signature_t signature;
    memset(&signature, 0, sizeof signature);
    signature.sequence = fuzz_byte(data, bytes);
    weft_signature_encode(&signature, payload);
}

/* One in four is as wrong as can be. */
static void put_leave(uint8_t *payload, const uint8_t **data, size_t *bytes)
{
    weft_leave_t leave;
    uint8_t length = fuzz_byte(data, bytes);
    memset(&leave, 0, sizeof leave);
    leave.sequence = fuzz_byte(data, bytes);
    leave.run.length = (uint32_t)(length % 4 == 3 ? length : length % (leave.sequence + 1));
    leave.run.last.sequence = (uint32_t)leave.sequence;
    weft_leave_encode(&leave, payload);
}

static void put_answer(uint8_t *payload, const uint8_t **data, size_t *bytes)
{
    weft_answer_t answer;
    memset(&answer, 0, sizeof answer);
    answer.comm_id = fuzz_byte(data, bytes);
    answer.waits_for = fuzz_byte(data, bytes);
    weft_answer_encode(&answer, payload);
}

/* Returns the length. */
static uint32_t put_payload(uint32_t type, uint8_t *payload, const hostile_t *peer,
                            const uint8_t **data, size_t *bytes)
{
    weft_missing_t missing;
    switch (type) {
    case WEFT_FRAME_JOIN:
    case WEFT_FRAME_CLAIM:
    case WEFT_FRAME_WELCOME:
    case WEFT_FRAME_CHILD:
        put_request(payload, peer, data, bytes);
        return WEFT_WIRE_JOIN_REQUEST;
    case WEFT_FRAME_MISSING:
        put_error(payload, data, bytes);
        put_missing(&missing, data, bytes);
        weft_missing_encode(&missing, payload + WEFT_WIRE_ERROR);
        return WEFT_WIRE_ABSENCE;
    case WEFT_FRAME_FAIL:
    case WEFT_FRAME_DEATH:
        put_error(payload, data, bytes);
        return WEFT_WIRE_ERROR;
    case WEFT_FRAME_ASK:
        put_signature(payload, data, bytes);
        return WEFT_WIRE_SIGNATURE;
    case WEFT_FRAME_ANSWER:
        put_answer(payload, data, bytes);
        return WEFT_WIRE_ANSWER;
    case WEFT_FRAME_LEAVE_COMM:
        put_leave(payload, data, bytes);
        return WEFT_WIRE_LEAVE;
    case WEFT_FRAME_WORD:
        put_word(payload, data, bytes);
        return WEFT_WIRE_WORD;
    case WEFT_FRAME_GATHER:
    case WEFT_FRAME_SPREAD:
        return fuzz_byte(data, bytes);
    default:
        return 0;
    }
}

void hostile_send_any(hostile_t *peer, uint32_t type, const uint8_t **data, size_t *bytes)
{
    uint8_t message[WEFT_WIRE_LONGEST + 256];
    uint8_t how = fuzz_byte(data, bytes), fields = fuzz_byte(data, bytes);
    memset(message, 0, sizeof message);
    type = type != 0 ? type : 1u + how % 18;
    weft_frame_t frame = {.type = type,
                          .from = (how & 32) != 0 ? fuzz_byte(data, bytes) : peer->rank,
                          .sequence = fields & 15,
                          .comm_id = peer->comm_id,
                          .number = (fields & 128) != 0 ? peer->comm_id : fields >> 4};
    frame.bytes = put_payload(type, message + WEFT_WIRE_HEADER, peer, data, bytes);
    weft_frame_encode(&frame, message);
    size_t whole = WEFT_WIRE_HEADER + frame.bytes;
    if ((how & 64) != 0) {
        uint16_t at;
        fuzz_take(data, bytes, &at, sizeof at);
        message[at % whole] ^= fuzz_byte(data, bytes);
    }
    if ((how & 128) != 0) {
        whole = fuzz_byte(data, bytes) % whole;
    }
    hostile_send(peer, message, whole);
}
