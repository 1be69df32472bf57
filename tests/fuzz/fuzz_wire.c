/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Frames of the join and of the health channel. Whatever is taken is written as it came, or at
 * least as bytes that are taken again. */
#include "core/boot/join_request.h"
#include "core/boot/wire.h"
#include "fuzz.h"

#define RANKS 5000u
#define COMM UINT64_C(0x7765667400000001)

static void frame(const uint8_t header[WEFT_WIRE_HEADER])
{
    uint8_t patched[WEFT_WIRE_HEADER], out[WEFT_WIRE_HEADER];
    weft_frame_t read, again;
    const char *why = NULL;
    if (weft_frame_decode(header, RANKS, COMM, &read, &why) != WEFT_OK) {
        FUZZ_NEED(why != NULL);
        /* The number of the communicator would guard all that lies behind it. */
        memset(&read, 0, sizeof read);
        read.comm_id = COMM;
        read.type = WEFT_FRAME_BEAT;
        weft_frame_encode(&read, patched);
        for (size_t i = 0; i < sizeof patched; i++) {
            patched[i] ^= (uint8_t)(header[i] & 0x11);
        }
        (void)weft_frame_decode(patched, RANKS, COMM, &read, &why);
        return;
    }
    weft_frame_encode(&read, out);
    FUZZ_NEED(weft_frame_decode(out, RANKS, COMM, &again, &why) == WEFT_OK);
    FUZZ_NEED(read.type == again.type && read.bytes == again.bytes && read.from == again.from &&
              read.number == again.number);
}

static void error_of(const uint8_t in[WEFT_WIRE_ERROR])
{
    uint8_t out[WEFT_WIRE_ERROR];
    weft_error_t error;
    const char *why = NULL;
    if (weft_error_decode(in, RANKS, &error, &why) == WEFT_OK) {
        FUZZ_NEED(memchr(error.text, '\0', sizeof error.text) != NULL);
        FUZZ_NEED(error.peer >= -1 && error.peer < (int32_t)RANKS);
        weft_error_encode(&error, out);
        FUZZ_NEED(weft_error_decode(out, RANKS, &error, &why) == WEFT_OK);
    }
}

static void missing_of(const uint8_t in[WEFT_WIRE_MISSING])
{
    uint8_t out[WEFT_WIRE_MISSING];
    weft_missing_t missing;
    const char *why = NULL;
    if (weft_missing_decode(in, RANKS, &missing, &why) == WEFT_OK) {
        weft_missing_encode(&missing, out);
        FUZZ_NEED(weft_missing_decode(out, RANKS, &missing, &why) == WEFT_OK);
    }
}

static void signature_of(const uint8_t in[WEFT_WIRE_ANSWER])
{
    uint8_t out[WEFT_WIRE_ANSWER];
    weft_signature_t signature;
    weft_answer_t answer;
    const char *why = NULL;
    if (weft_signature_decode(in, &signature, &why) == WEFT_OK) {
        FUZZ_NEED(signature.coll < WEFT_COLL_COUNT);
        weft_signature_encode(&signature, out);
        FUZZ_NEED(weft_signature_decode(out, &signature, &why) == WEFT_OK);
    }
    if (weft_answer_decode(in, &answer, &why) == WEFT_OK) {
        weft_answer_encode(&answer, out);
        FUZZ_NEED(weft_answer_decode(out, &answer, &why) == WEFT_OK);
    }
}

static void word_of(const uint8_t in[WEFT_WIRE_WORD])
{
    uint8_t out[WEFT_WIRE_WORD];
    weft_word_t word;
    const char *why = NULL;
    if (weft_word_decode(in, 64, &word, &why) == WEFT_OK) {
        FUZZ_NEED(word.ballot < 64 && word.value.gone.first < 64);
        weft_word_encode(&word, out);
        FUZZ_NEED(weft_word_decode(out, 64, &word, &why) == WEFT_OK);
    }
}

static void leave_of(const uint8_t in[WEFT_WIRE_LEAVE])
{
    uint8_t out[WEFT_WIRE_LEAVE];
    weft_leave_t leave;
    const char *why = NULL;
    if (weft_leave_decode(in, &leave, &why) == WEFT_OK) {
        FUZZ_NEED(leave.run.length <= leave.sequence);
        weft_leave_encode(&leave, out);
        FUZZ_NEED(memcmp(in, out, sizeof out) == 0);
    } else {
        FUZZ_NEED(why != NULL);
    }
}

static void request_of(const uint8_t in[WEFT_WIRE_JOIN_REQUEST])
{
    uint8_t out[WEFT_WIRE_JOIN_REQUEST];
    weft_join_request_t request;
    const char *why = NULL;
    if (weft_join_request_decode(in, &request, &why) == WEFT_OK) {
        FUZZ_NEED(memchr(request.host_name, '\0', sizeof request.host_name) != NULL);
        FUZZ_NEED(weft_join_request_addrs(&request) <=
                  sizeof request.addrs / sizeof *request.addrs);
        weft_join_request_encode(&request, out);
        FUZZ_NEED(weft_join_request_decode(out, &request, &why) == WEFT_OK);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t kind, in[WEFT_WIRE_LONGEST];
    fuzz_take(&data, &bytes, &kind, 1);
    fuzz_take(&data, &bytes, in, sizeof in);
    switch (kind == 7 ? 7 : kind % 6) {
    case 0:
        frame(in);
        break;
    case 1:
        error_of(in);
        break;
    case 2:
        missing_of(in);
        break;
    case 3:
        signature_of(in);
        break;
    case 5:
        word_of(in);
        break;
    case 7:
        leave_of(in);
        break;
    default:
        request_of(in);
    }
    return 0;
}
