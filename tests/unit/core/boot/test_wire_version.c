/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The version of the wire stands for one set of messages. All of them are made here, with every
 * field set, and their digest is held beside the version: whoever changes one has to raise it. */
#include <stdio.h>
#include <string.h>

#include "../../../support/foreign_hello.h"
#include "core/boot/auth.h"
#include "core/boot/join_request.h"
#include "core/boot/wire.h"
#include "tests/support/unit.h"

/* The last row is what this tree speaks. Rows of versions that were released stay. */
static const struct {
    uint32_t version;
    uint64_t digest;
} versions[] = {{5, UINT64_C(0x8aa730af94484cd0)}};

/* FNV-1a */
static uint64_t digest;

static void add(const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        digest = (digest ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    }
}

/* Numbers, names and lengths of the frames, and their header. */
static void add_frames(void)
{
    uint8_t header[WEFT_WIRE_HEADER];
    char text[64];
    const weft_frame_t frame = {.type = 1,
                                .bytes = 2,
                                .from = 3,
                                .sequence = 4,
                                .comm_id = UINT64_C(0x0506070809),
                                .number = UINT64_C(0x0a0b0c0d0e)};
    weft_frame_encode(&frame, header);
    add(header, sizeof header);
#define ADD_FRAME(value, name, bytes)                                                              \
    snprintf(text, sizeof text, "%u %s %u;", value, #name, bytes);                                 \
    add(text, strlen(text));
    WEFT_FRAME_MAP(ADD_FRAME)
#undef ADD_FRAME
}

static const weft_signature_t signature = {.coll = WEFT_REDUCE,
                                           .dtype = WEFT_FP64,
                                           .op = WEFT_MAX,
                                           .root = 5,
                                           .count = UINT64_C(0x0102030405),
                                           .sequence = 6,
                                           .plan = 7};

static void add_failures(void)
{
    uint8_t bytes[WEFT_WIRE_ABSENCE];
    weft_missing_t missing = {.count = 0};
    const weft_error_t error = {.status = WEFT_ERR_LINK,
                                .rank = 1,
                                .peer = 2,
                                .peer_pid = 3,
                                .os_errno = 4,
                                .sequence = UINT64_C(0x0506070809),
                                .peer_host = "host",
                                .transport = "net",
                                .text = "text"};
    weft_missing_add(&missing, 5);
    weft_missing_add(&missing, 300);
    weft_error_encode(&error, bytes);
    weft_missing_encode(&missing, bytes + WEFT_WIRE_ERROR);
    add(bytes, WEFT_WIRE_ABSENCE);
}

static void add_payloads(void)
{
    uint8_t bytes[WEFT_WIRE_LONGEST];
    const weft_answer_t answer = {.comm_id = 1, .signature = signature, .waits_for = 2};
    const weft_leave_t leave = {.sequence = 6, .run = {.last = signature, .length = 3}};
    weft_word_t word = {.kind = WEFT_WORD_VOTE, .ballot = 1, .taken = 2, .value = {.bits = 3}};
    weft_missing_add(&word.value.gone, 4);
    weft_signature_encode(&signature, bytes);
    add(bytes, WEFT_WIRE_SIGNATURE);
    weft_answer_encode(&answer, bytes);
    add(bytes, WEFT_WIRE_ANSWER);
    weft_leave_encode(&leave, bytes);
    add(bytes, WEFT_WIRE_LEAVE);
    weft_word_encode(&word, bytes);
    add(bytes, WEFT_WIRE_WORD);
}

static weft_os_addr_t address(uint8_t family)
{
    return (weft_os_addr_t){.family = family, .port = 4711, .bytes = {10, 1, 2, family}};
}

static void add_join(void)
{
    uint8_t bytes[WEFT_WIRE_JOIN_REQUEST];
    weft_unique_id_t unique;
    weft_join_request_t request = {.rank = 1,
                                   .nranks = 2,
                                   .pid = 3,
                                   .started = 4,
                                   .space = 5,
                                   .host_id = {6, 7},
                                   .host_name = "host"};
    weft_id_t id = {.by_rank_0 = true, .created = 1, .life = 2, .count = 2, .secret = {3}};
    id.nonce[0] = 4;
    id.addrs[0] = request.addrs[0] = address(4);
    id.addrs[1] = request.addrs[1] = address(6);
    weft_join_request_encode(&request, bytes);
    add(bytes, sizeof bytes);
    weft_id_encode(&id, &unique);
    add(&unique, sizeof unique);
    id = (weft_id_t){.port = 4711, .host = "host"};
    weft_id_encode(&id, &unique);
    add(&unique, sizeof unique);
}

/* The answer to a good hello of fixed bytes is a refusal or a reply; the reply's nonce is fresh, so
 * a refusal is made. The lengths of the other messages are in the plugin ABI. */
static void add_handshake(void)
{
    static const uint8_t key[32] = {1};
    uint8_t hello[WEFT_AUTH_HELLO] = {'W', 'E', 'F', 'T', 0x0d, 0x0a, 0x1a, 0x0a};
    uint8_t reply[WEFT_AUTH_REPLY], label[WEFT_AUTH_LABEL];
    weft_auth_state_t state;
    weft_auth_label_make(label, WEFT_PURPOSE_TREE, 5);
    add(label, sizeof label);
    memcpy(hello + 48, label, sizeof label);
    foreign_hello(key, 1, 1, hello);
    assert_int_equal(weft_auth_server_reply(key, &state, hello, reply), WEFT_OK);
    add(reply, sizeof reply);
}

static void a_change_of_a_message_raises_the_version(void **unused)
{
    (void)unused;
    const size_t last = sizeof versions / sizeof *versions - 1;
    digest = UINT64_C(0xcbf29ce484222325);
    add_frames();
    add_failures();
    add_payloads();
    add_join();
    add_handshake();
    if (versions[last].version != WEFT_WIRE_VERSION || versions[last].digest != digest) {
        fail_msg("what goes over control connections has changed: raise WEFT_WIRE_VERSION in "
                 "core/boot/wire.h, once; the row of version %d is then {%d, UINT64_C(%#llx)}",
                 WEFT_WIRE_VERSION, WEFT_WIRE_VERSION, (unsigned long long)digest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_of_a_message_raises_the_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
