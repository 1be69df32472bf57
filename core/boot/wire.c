/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Encoding and checking of frames. Header: type 2, zero 2, bytes 4, from 4, sequence 4,
 * communicator 8, number 8. */
#include "core/boot/wire.h"

#include <string.h>

#include "core/base/error.h"
#include "core/base/utf8.h"

#define HOST_AT 32
#define TRANSPORT_AT 96
#define TEXT_AT 128

/* Nobody shall have to tell an error that says nothing. */
#define WITHOUT_WORDS "the rank that failed gave no reason"

_Static_assert(TEXT_AT + sizeof((weft_error_t *)0)->text <= WEFT_WIRE_ERROR, "error fits");

void weft_frame_encode(const weft_frame_t *frame, uint8_t header[WEFT_WIRE_HEADER])
{
    weft_put_u16(header, frame->type);
    weft_put_u16(header + 2, 0);
    weft_put_u32(header + 4, frame->bytes);
    weft_put_u32(header + 8, frame->from);
    weft_put_u32(header + 12, frame->sequence);
    weft_put_u64(header + 16, frame->comm_id);
    weft_put_u64(header + 24, frame->number);
}

/* Payload size of a type; false for unknown types. */
static int wire_payload_bytes(uint32_t type, uint32_t *bytes)
{
    switch (type) {
#define WEFT_FRAME_CASE(value, name, size)                                                         \
    case WEFT_FRAME_##name:                                                                        \
        *bytes = (size);                                                                           \
        return 1;
        WEFT_FRAME_MAP(WEFT_FRAME_CASE)
#undef WEFT_FRAME_CASE
    default:
        return 0;
    }
}

static bool wire_is_addressed(uint32_t type)
{
    return type == WEFT_FRAME_ASK || type == WEFT_FRAME_ANSWER || type == WEFT_FRAME_WORD;
}

weft_status_t weft_frame_decode(const uint8_t header[WEFT_WIRE_HEADER], uint32_t nranks,
                                uint64_t comm_id, weft_frame_t *frame, const char **why)
{
    uint32_t bytes = 0;
    *frame = (weft_frame_t){.type = weft_get_u16(header),
                            .bytes = weft_get_u32(header + 4),
                            .from = weft_get_u32(header + 8),
                            .sequence = weft_get_u32(header + 12),
                            .comm_id = weft_get_u64(header + 16),
                            .number = weft_get_u64(header + 24)};
    *why = !wire_payload_bytes(frame->type, &bytes)                      ? "type"
           : weft_get_u16(header + 2) != 0                               ? "reserved"
           : bytes != UINT32_MAX && bytes != frame->bytes                ? "length"
           : frame->from >= nranks                                       ? "rank"
           : frame->comm_id != comm_id                                   ? "communicator"
           : wire_is_addressed(frame->type) && frame->sequence >= nranks ? "target"
                                                                         : NULL;
    return *why != NULL ? WEFT_ERR_PROTO : WEFT_OK;
}

/* Copies text into zeroed bytes: the others do not get what is behind it. */
static void wire_put_text(uint8_t *to, const char *text, size_t bytes)
{
    memcpy(to, text, strnlen(text, bytes));
}

void weft_error_encode(const weft_error_t *error, uint8_t bytes[WEFT_WIRE_ERROR])
{
    memset(bytes, 0, WEFT_WIRE_ERROR);
    weft_put_u32(bytes, (uint32_t)error->status);
    weft_put_u32(bytes + 4, (uint32_t)error->rank);
    weft_put_u32(bytes + 8, (uint32_t)error->peer);
    weft_put_u32(bytes + 12, (uint32_t)error->peer_pid);
    weft_put_u32(bytes + 16, (uint32_t)error->os_errno);
    weft_put_u64(bytes + 24, error->sequence);
    wire_put_text(bytes + HOST_AT, error->peer_host, sizeof error->peer_host);
    wire_put_text(bytes + TRANSPORT_AT, error->transport, sizeof error->transport);
    wire_put_text(bytes + TEXT_AT, error->text, sizeof error->text);
}

/* Copies text that people will read. */
static void wire_copy_text(char *to, const uint8_t *from, size_t bytes)
{
    memcpy(to, from, bytes);
    to[bytes - 1] = '\0';
    weft_utf8_clean(to);
}

/* −1 or a rank. */
static int wire_is_rank(int32_t rank, uint32_t nranks)
{
    return rank >= -1 && (rank < 0 || (uint32_t)rank < nranks);
}

weft_status_t weft_error_decode(const uint8_t bytes[WEFT_WIRE_ERROR], uint32_t nranks,
                                weft_error_t *error, const char **why)
{
    int32_t status = (int32_t)weft_get_u32(bytes);
    int32_t rank = (int32_t)weft_get_u32(bytes + 4), peer = (int32_t)weft_get_u32(bytes + 8);
    *why = !weft_status_is_failure((weft_status_t)status) ? "status"
           : !wire_is_rank(rank, nranks)                  ? "reporting rank"
           : !wire_is_rank(peer, nranks)                  ? "culprit"
                                                          : NULL;
    if (*why != NULL) {
        return WEFT_ERR_PROTO;
    }
    memset(error, 0, sizeof *error);
    error->size = sizeof *error;
    error->status = (weft_status_t)status;
    error->rank = rank;
    error->peer = peer;
    error->peer_pid = (int32_t)weft_get_u32(bytes + 12);
    error->os_errno = (int32_t)weft_get_u32(bytes + 16);
    error->sequence = weft_get_u64(bytes + 24);
    wire_copy_text(error->peer_host, bytes + HOST_AT, sizeof error->peer_host);
    wire_copy_text(error->transport, bytes + TRANSPORT_AT, sizeof error->transport);
    wire_copy_text(error->text, bytes + TEXT_AT, sizeof error->text);
    if (error->text[0] == '\0') {
        memcpy(error->text, WITHOUT_WORDS, sizeof WITHOUT_WORDS);
    }
    return WEFT_OK;
}

void weft_missing_encode(const weft_missing_t *missing, uint8_t bytes[WEFT_WIRE_MISSING])
{
    weft_put_u32(bytes, missing->count);
    weft_put_u32(bytes + 4, missing->first);
    memcpy(bytes + 8, missing->bits, sizeof missing->bits);
}

weft_status_t weft_missing_decode(const uint8_t bytes[WEFT_WIRE_MISSING], uint32_t nranks,
                                  weft_missing_t *missing, const char **why)
{
    missing->count = weft_get_u32(bytes);
    missing->first = weft_get_u32(bytes + 4);
    memcpy(missing->bits, bytes + 8, sizeof missing->bits);
    uint32_t last = 0;
    for (uint32_t at = 0; at < WEFT_MISSING_SPAN; at++) {
        last = (missing->bits[at / 8] >> at % 8 & 1) != 0 ? at : last;
    }
    bool fits = missing->count > 0 && missing->count <= nranks && missing->first < nranks &&
                last < nranks - missing->first &&
                weft_missing_list(missing, NULL, 0) <= missing->count;
    *why = fits ? NULL : "list of ranks";
    return fits ? WEFT_OK : WEFT_ERR_PROTO;
}

void weft_signature_encode(const weft_signature_t *signature, uint8_t bytes[WEFT_WIRE_SIGNATURE])
{
    bytes[0] = signature->coll;
    bytes[1] = signature->dtype;
    bytes[2] = signature->op;
    bytes[3] = 0;
    weft_put_u32(bytes + 4, signature->root);
    weft_put_u64(bytes + 8, signature->count);
    weft_put_u32(bytes + 16, signature->sequence);
    weft_put_u32(bytes + 20, signature->plan);
}

weft_status_t weft_signature_decode(const uint8_t bytes[WEFT_WIRE_SIGNATURE],
                                    weft_signature_t *signature, const char **why)
{
    *signature = (weft_signature_t){.coll = bytes[0],
                                    .dtype = bytes[1],
                                    .op = bytes[2],
                                    .root = weft_get_u32(bytes + 4),
                                    .count = weft_get_u64(bytes + 8),
                                    .sequence = weft_get_u32(bytes + 16),
                                    .plan = weft_get_u32(bytes + 20)};
    *why = bytes[0] >= WEFT_COLL_COUNT                            ? "collective"
           : bytes[1] >= WEFT_DTYPE_COUNT                         ? "data type"
           : bytes[2] >= WEFT_OP_COUNT && bytes[2] < WEFT_OP_USER ? "operator"
           : bytes[3] != 0                                        ? "reserved"
                                                                  : NULL;
    return *why != NULL ? WEFT_ERR_PROTO : WEFT_OK;
}

void weft_leave_encode(const weft_leave_t *leave, uint8_t bytes[WEFT_WIRE_LEAVE])
{
    weft_put_u64(bytes, leave->sequence);
    weft_put_u32(bytes + 8, leave->run.length);
    weft_put_u32(bytes + 12, 0);
    weft_signature_encode(&leave->run.last, bytes + 16);
}

weft_status_t weft_leave_decode(const uint8_t bytes[WEFT_WIRE_LEAVE], weft_leave_t *leave,
                                const char **why)
{
    leave->sequence = weft_get_u64(bytes);
    leave->run.length = weft_get_u32(bytes + 8);
    if (leave->run.length > leave->sequence || weft_get_u32(bytes + 12) != 0) {
        *why = leave->run.length > leave->sequence ? "number of operations" : "reserved";
        return WEFT_ERR_PROTO;
    }
    return weft_signature_decode(bytes + 16, &leave->run.last, why);
}

void weft_answer_encode(const weft_answer_t *answer, uint8_t bytes[WEFT_WIRE_ANSWER])
{
    weft_put_u64(bytes, answer->comm_id);
    weft_signature_encode(&answer->signature, bytes + 8);
    weft_put_u32(bytes + 32, answer->waits_for);
    weft_put_u32(bytes + 36, 0);
}

weft_status_t weft_answer_decode(const uint8_t bytes[WEFT_WIRE_ANSWER], weft_answer_t *answer,
                                 const char **why)
{
    answer->comm_id = weft_get_u64(bytes);
    answer->waits_for = weft_get_u32(bytes + 32);
    if (weft_get_u32(bytes + 36) != 0) {
        *why = "reserved";
        return WEFT_ERR_PROTO;
    }
    return weft_signature_decode(bytes + 8, &answer->signature, why);
}

void weft_word_encode(const weft_word_t *word, uint8_t bytes[WEFT_WIRE_WORD])
{
    weft_put_u32(bytes, word->kind);
    weft_put_u32(bytes + 4, word->ballot);
    weft_put_u32(bytes + 8, word->taken);
    weft_put_u32(bytes + 12, 0);
    weft_put_u64(bytes + 16, word->value.bits);
    weft_missing_encode(&word->value.gone, bytes + 24);
}

weft_status_t weft_word_decode(const uint8_t bytes[WEFT_WIRE_WORD], uint32_t nranks,
                               weft_word_t *word, const char **why)
{
    memset(word, 0, sizeof *word);
    word->kind = weft_get_u32(bytes);
    word->ballot = weft_get_u32(bytes + 4);
    word->taken = weft_get_u32(bytes + 8);
    word->value.bits = weft_get_u64(bytes + 16);
    *why = word->kind < WEFT_WORD_CALL || word->kind > WEFT_WORD_WAIT ? "kind"
           : word->ballot >= nranks                                   ? "leader"
           : word->taken != UINT32_MAX && word->taken >= nranks       ? "proposer"
           : weft_get_u32(bytes + 12) != 0                            ? "reserved"
                                                                      : NULL;
    if (*why != NULL) {
        return WEFT_ERR_PROTO;
    }
    return weft_get_u32(bytes + 24) == 0
               ? WEFT_OK
               : weft_missing_decode(bytes + 24, nranks, &word->value.gone, why);
}
