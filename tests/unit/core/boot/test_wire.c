/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Frames as bytes: what goes in comes out, and no bytes at all pass a check they should not. */
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/join_request.h"
#include "core/boot/wire.h"
#include "tests/support/unit.h"

static const char *why;

static void a_frame_survives_the_wire(void **unused)
{
    (void)unused;
    uint8_t header[WEFT_WIRE_HEADER];
    weft_frame_t in = {.type = WEFT_FRAME_GATHER,
                       .bytes = 0x01020304,
                       .from = 5,
                       .sequence = 0xfffefdfc,
                       .comm_id = UINT64_C(0x1122334455667788),
                       .number = UINT64_C(0x99aabbccddeeff00)};
    weft_frame_t out;
    weft_frame_encode(&in, header);
    assert_int_equal(weft_frame_decode(header, 6, in.comm_id, &out, &why), WEFT_OK);
    assert_true(out.type == in.type && out.bytes == in.bytes && out.from == in.from &&
                out.sequence == in.sequence && out.comm_id == in.comm_id &&
                out.number == in.number);
}

static void assert_refused(weft_frame_t frame, const char *field)
{
    uint8_t header[WEFT_WIRE_HEADER];
    weft_frame_t out;
    weft_frame_encode(&frame, header);
    assert_int_equal(weft_frame_decode(header, 4, 7, &out, &why), WEFT_ERR_PROTO);
    assert_string_equal(why, field);
}

static void every_field_of_a_frame_is_checked(void **unused)
{
    (void)unused;
    weft_frame_t good = {.type = WEFT_FRAME_BEAT, .from = 3, .comm_id = 7}, bad;
    bad = good, bad.type = 0, assert_refused(bad, "type");
    bad = good, bad.type = WEFT_FRAME_CHILD + 1, assert_refused(bad, "type");
    bad = good, bad.bytes = 1, assert_refused(bad, "length");
    bad = good, bad.from = 4, assert_refused(bad, "rank");
    bad = good, bad.comm_id = 8, assert_refused(bad, "communicator");
    bad = good, bad.type = WEFT_FRAME_ASK, bad.bytes = WEFT_WIRE_SIGNATURE, bad.sequence = 4;
    assert_refused(bad, "target");
    uint8_t header[WEFT_WIRE_HEADER];
    weft_frame_t out;
    weft_frame_encode(&good, header);
    header[2] = 1;
    assert_int_equal(weft_frame_decode(header, 4, 7, &out, &why), WEFT_ERR_PROTO);
    assert_string_equal(why, "reserved");
}

static void an_answer_survives_the_wire(void **unused)
{
    (void)unused;
    uint8_t bytes[WEFT_WIRE_ANSWER];
    weft_answer_t out, in = {.comm_id = UINT64_C(0x1122334455667788),
                             .signature = {.coll = WEFT_REDUCE, .count = 5, .sequence = 9},
                             .waits_for = 0xfffefdfc};
    weft_answer_encode(&in, bytes);
    assert_int_equal(weft_answer_decode(bytes, &out, &why), WEFT_OK);
    assert_true(out.comm_id == in.comm_id && out.waits_for == in.waits_for);
    assert_true(weft_signature_equal(&out.signature, &in.signature));
    bytes[8] = 200;
    assert_int_equal(weft_answer_decode(bytes, &out, &why), WEFT_ERR_PROTO);
    assert_string_equal(why, "collective");
    bytes[39] = 1;
    assert_int_equal(weft_answer_decode(bytes, &out, &why), WEFT_ERR_PROTO);
    assert_string_equal(why, "reserved");
}

static void a_leave_survives_the_wire_and_its_fields_are_checked(void **unused)
{
    (void)unused;
    uint8_t bytes[WEFT_WIRE_LEAVE];
    weft_leave_t out,
        in = {.sequence = 9, .run = {.last = {.coll = WEFT_REDUCE, .sequence = 9}, .length = 9}};
    weft_leave_encode(&in, bytes);
    assert_int_equal(weft_leave_decode(bytes, &out, &why), WEFT_OK);
    assert_true(out.sequence == in.sequence && out.run.length == in.run.length);
    assert_true(weft_signature_equal(&out.run.last, &in.run.last));
    bytes[15] = 1;
    assert_int_equal(weft_leave_decode(bytes, &out, &why), WEFT_ERR_PROTO);
    assert_string_equal(why, "reserved");
    in.run.length = 10;
    weft_leave_encode(&in, bytes);
    assert_int_equal(weft_leave_decode(bytes, &out, &why), WEFT_ERR_PROTO);
    assert_string_equal(why, "number of operations");
}

static void an_error_record_survives_the_wire(void **unused)
{
    (void)unused;
    uint8_t bytes[WEFT_WIRE_ERROR];
    weft_error_t in, out;
    weft_error_clear(&in);
    in.status = WEFT_ERR_LINK;
    in.rank = 2;
    in.peer = 3;
    in.peer_pid = 4711;
    in.os_errno = 104;
    in.sequence = UINT64_C(1) << 40;
    strcpy(in.peer_host, "node7");
    strcpy(in.transport, "some-net");
    memset(in.text, 'x', sizeof in.text - 1);
    weft_error_encode(&in, bytes);
    assert_int_equal(weft_error_decode(bytes, 4, &out, &why), WEFT_OK);
    assert_memory_equal(&in, &out, sizeof in);
}

/* A text may have been written over a longer one. */
static void texts_of_an_error_go_over_the_wire_without_what_is_behind_them(void **unused)
{
    (void)unused;
    uint8_t bytes[WEFT_WIRE_ERROR], expected[WEFT_WIRE_ERROR];
    weft_error_t error, clean;
    weft_error_clear(&clean);
    clean.status = WEFT_ERR_LINK;
    error = clean;
    memset(error.peer_host, 's', sizeof error.peer_host);
    memset(error.transport, 's', sizeof error.transport);
    memset(error.text, 's', sizeof error.text);
    for (int i = 0; i < 2; i++) {
        weft_error_t *named = i == 0 ? &error : &clean;
        strcpy(named->peer_host, "node7");
        strcpy(named->transport, "some-net");
        strcpy(named->text, "it broke");
    }
    weft_error_encode(&error, bytes);
    weft_error_encode(&clean, expected);
    assert_memory_equal(bytes, expected, sizeof bytes);
}

static void a_malformed_error_record_is_refused_and_its_text_is_tamed(void **unused)
{
    (void)unused;
    uint8_t bytes[WEFT_WIRE_ERROR];
    weft_error_t in, out;
    weft_error_clear(&in);
    in.status = WEFT_OK;
    weft_error_encode(&in, bytes);
    assert_int_equal(weft_error_decode(bytes, 4, &out, &why), WEFT_ERR_PROTO);
    in.status = (weft_status_t)-99;
    weft_error_encode(&in, bytes);
    assert_int_equal(weft_error_decode(bytes, 4, &out, &why), WEFT_ERR_PROTO);
    in.status = WEFT_ERR_LINK;
    in.peer = 4;
    weft_error_encode(&in, bytes);
    assert_int_equal(weft_error_decode(bytes, 4, &out, &why), WEFT_ERR_PROTO);
    assert_string_equal(why, "culprit");
    in.peer = -1;
    in.rank = -2;
    weft_error_encode(&in, bytes);
    assert_int_equal(weft_error_decode(bytes, 4, &out, &why), WEFT_ERR_PROTO);
    in.rank = 0;
    weft_error_encode(&in, bytes);
    memset(bytes + 32, 0x1b, WEFT_WIRE_ERROR - 32);
    assert_int_equal(weft_error_decode(bytes, 4, &out, &why), WEFT_OK);
    assert_int_equal(strlen(out.text), sizeof out.text - 1);
    assert_null(strchr(out.text, 0x1b));
}

static void a_claim_survives_the_wire_and_its_fields_are_checked(void **unused)
{
    (void)unused;
    uint8_t bytes[WEFT_WIRE_JOIN_REQUEST];
    weft_join_request_t in, out;
    assert_int_equal(weft_join_request_make(&in, 3, 9, "=lo", 4711), WEFT_OK);
    weft_join_request_encode(&in, bytes);
    assert_int_equal(weft_join_request_decode(bytes, &out, &why), WEFT_OK);
    assert_memory_equal(&in, &out, sizeof in);
    bytes[96] = 5;
    assert_int_equal(weft_join_request_decode(bytes, &out, &why), WEFT_ERR_PROTO);
    assert_string_equal(why, "address");
    in.pid = -5;
    weft_join_request_encode(&in, bytes);
    assert_int_equal(weft_join_request_decode(bytes, &out, &why), WEFT_ERR_PROTO);
    assert_string_equal(why, "process");
}

/* With a sanitizer this finds reads outside; without one, ranges that are not kept. */
static void a_list_of_missing_ranks_survives_the_wire_and_its_fields_are_checked(void **unused)
{
    (void)unused;
    uint8_t bytes[WEFT_WIRE_MISSING];
    uint32_t ranks[3];
    weft_missing_t in = {.count = 0}, out;
    weft_missing_add(&in, 5);
    weft_missing_add(&in, 9);
    weft_missing_encode(&in, bytes);
    assert_int_equal(weft_missing_decode(bytes, 10, &out, &why), WEFT_OK);
    assert_int_equal(weft_missing_list(&out, ranks, 3), 2);
    assert_true(ranks[0] == 5 && ranks[1] == 9);
    assert_int_equal(weft_missing_decode(bytes, 9, &out, &why), WEFT_ERR_PROTO); /* no rank 9 */
    assert_int_equal(weft_missing_decode(bytes, 5, &out, &why), WEFT_ERR_PROTO);
    bytes[8] |= 2; /* more ranks than their number */
    assert_int_equal(weft_missing_decode(bytes, 10, &out, &why), WEFT_ERR_PROTO);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(weft_missing_decode(bytes, 10, &out, &why), WEFT_ERR_PROTO);
    assert_string_equal(why, "list of ranks");
}

static void assert_word_refused(weft_word_t word, uint32_t nranks, const char *field)
{
    uint8_t bytes[WEFT_WIRE_WORD];
    weft_word_t out;
    weft_word_encode(&word, bytes);
    assert_int_equal(weft_word_decode(bytes, nranks, &out, &why), WEFT_ERR_PROTO);
    assert_string_equal(why, field);
}

static void a_word_of_a_consensus_survives_the_wire_and_its_fields_are_checked(void **unused)
{
    (void)unused;
    uint8_t bytes[WEFT_WIRE_WORD];
    uint32_t gone;
    weft_word_t in = {.kind = WEFT_WORD_VOTE,
                      .ballot = 2,
                      .taken = UINT32_MAX,
                      .value.bits = UINT64_C(0x1122334455667788)},
                out, bad;
    weft_word_encode(&in, bytes);
    assert_int_equal(weft_word_decode(bytes, 4, &out, &why), WEFT_OK);
    assert_int_equal(out.value.gone.count, 0);
    weft_missing_add(&in.value.gone, 3);
    weft_word_encode(&in, bytes);
    assert_int_equal(weft_word_decode(bytes, 4, &out, &why), WEFT_OK);
    assert_true(out.kind == in.kind && out.ballot == in.ballot && out.taken == in.taken &&
                out.value.bits == in.value.bits);
    assert_int_equal(weft_missing_list(&out.value.gone, &gone, 1), 1);
    assert_int_equal(gone, 3);
    bad = in, bad.kind = 0, assert_word_refused(bad, 4, "kind");
    bad = in, bad.kind = WEFT_WORD_WAIT + 1, assert_word_refused(bad, 4, "kind");
    bad = in, bad.ballot = 4, assert_word_refused(bad, 4, "leader");
    bad = in, bad.taken = 4, assert_word_refused(bad, 4, "proposer");
    assert_word_refused(in, 3, "list of ranks"); /* there is no rank 3 */
    bytes[12] = 1;
    assert_int_equal(weft_word_decode(bytes, 4, &out, &why), WEFT_ERR_PROTO);
    assert_string_equal(why, "reserved");
}

static void random_bytes_never_pass_out_of_range(void **unused)
{
    (void)unused;
    unsigned seed = 1;
    for (int i = 0; i < 20000; i++) {
        uint8_t bytes[WEFT_WIRE_ERROR];
        weft_frame_t frame;
        weft_error_t error;
        weft_signature_t signature;
        for (size_t k = 0; k < sizeof bytes; k++) {
            bytes[k] = rand_r(&seed) % 3 == 0 ? (uint8_t)rand_r(&seed) : 0;
        }
        if (weft_frame_decode(bytes, 4, 0, &frame, &why) == WEFT_OK) {
            assert_true(frame.from < 4 && frame.type >= 1 && frame.type <= WEFT_FRAME_AGAIN);
        }
        if (weft_error_decode(bytes, 4, &error, &why) == WEFT_OK) {
            assert_true(error.peer < 4 && error.rank < 4 && error.status < 0);
            assert_true(memchr(error.text, 0, sizeof error.text) != NULL);
        }
        if (weft_signature_decode(bytes, &signature, &why) == WEFT_OK) {
            assert_true(signature.coll < WEFT_COLL_COUNT && signature.dtype < WEFT_DTYPE_COUNT);
        }
    }
}

static void an_error_without_words_gets_some(void **unused)
{
    (void)unused;
    uint8_t bytes[WEFT_WIRE_ERROR];
    weft_error_t in = {.size = sizeof in, .status = WEFT_ERR_ABORTED, .rank = 1, .peer = -1}, out;
    weft_error_encode(&in, bytes);
    assert_int_equal(weft_error_decode(bytes, 4, &out, &why), WEFT_OK);
    assert_string_equal(out.text, "the rank that failed gave no reason");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_survives_the_wire),
        cmocka_unit_test(every_field_of_a_frame_is_checked),
        cmocka_unit_test(an_answer_survives_the_wire),
        cmocka_unit_test(a_leave_survives_the_wire_and_its_fields_are_checked),
        cmocka_unit_test(an_error_record_survives_the_wire),
        cmocka_unit_test(texts_of_an_error_go_over_the_wire_without_what_is_behind_them),
        cmocka_unit_test(a_malformed_error_record_is_refused_and_its_text_is_tamed),
        cmocka_unit_test(a_claim_survives_the_wire_and_its_fields_are_checked),
        cmocka_unit_test(a_list_of_missing_ranks_survives_the_wire_and_its_fields_are_checked),
        cmocka_unit_test(a_word_of_a_consensus_survives_the_wire_and_its_fields_are_checked),
        cmocka_unit_test(random_bytes_never_pass_out_of_range),
        cmocka_unit_test(an_error_without_words_gets_some),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
