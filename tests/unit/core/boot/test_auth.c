/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The handshake: it succeeds for two holders of one key, and for nothing else. */
#include <stdio.h>
#include <string.h>

#include "../../../support/foreign_hello.h"
#include "core/base/error.h"
#include "core/boot/auth.h"
#include "tests/support/unit.h"

typedef struct pair {
    uint8_t client_key[32], server_key[32];
    uint8_t label[WEFT_AUTH_LABEL], told[WEFT_AUTH_LABEL];
    weft_auth_state_t client, server;
    uint8_t hello[WEFT_AUTH_HELLO], reply[WEFT_AUTH_REPLY], proof[WEFT_AUTH_PROOF];
} pair_t;

static void pair_init(pair_t *p)
{
    memset(p, 0, sizeof *p);
    memset(p->client_key, 7, sizeof p->client_key);
    memset(p->server_key, 7, sizeof p->server_key);
    for (size_t i = 0; i < sizeof p->label; i++) {
        p->label[i] = (uint8_t)i;
    }
}

static int is_zero(const void *memory, size_t bytes)
{
    const uint8_t *p = memory;
    for (size_t i = 0; i < bytes; i++) {
        if (p[i] != 0) {
            return 0;
        }
    }
    return 1;
}

/* Which message is hit by which xor at which byte; message −1 is none. */
static weft_status_t handshake(pair_t *p, int message, size_t at, uint8_t flip)
{
    weft_status_t status = weft_auth_client_begin(p->client_key, &p->client, p->label, p->hello);
    p->hello[message == 0 ? at : 0] ^= message == 0 ? flip : 0;
    if (status == WEFT_OK) {
        status = weft_auth_server_reply(p->server_key, &p->server, p->hello, p->reply);
    }
    p->reply[message == 1 ? at : 0] ^= message == 1 ? flip : 0;
    if (status == WEFT_OK) {
        status = weft_auth_client_finish(p->client_key, &p->client, p->reply, p->proof);
    }
    p->proof[message == 2 ? at : 0] ^= message == 2 ? flip : 0;
    if (status == WEFT_OK) {
        status = weft_auth_server_check(p->server_key, &p->server, p->proof, p->told);
    }
    return status;
}

static void equal_keys_succeed_and_carry_the_label(void **unused)
{
    (void)unused;
    pair_t p;
    pair_init(&p);
    assert_int_equal(handshake(&p, -1, 0, 0), WEFT_OK);
    assert_memory_equal(p.told, p.label, sizeof p.label);
    assert_true(is_zero(&p.client, sizeof p.client));
    assert_true(is_zero(&p.server, sizeof p.server));
}

static void every_differing_key_bit_is_refused_by_the_acceptor(void **unused)
{
    (void)unused;
    for (size_t bit = 0; bit < 256; bit++) {
        pair_t p;
        pair_init(&p);
        p.client_key[bit / 8] ^= (uint8_t)(1u << bit % 8);
        weft_auth_client_begin(p.client_key, &p.client, p.label, p.hello);
        assert_int_equal(weft_auth_server_reply(p.server_key, &p.server, p.hello, p.reply),
                         WEFT_ERR_AUTH);
        assert_true(is_zero(p.reply, sizeof p.reply));
        assert_true(is_zero(&p.server, sizeof p.server));
    }
}

static void a_changed_byte_anywhere_is_refused(void **unused)
{
    (void)unused;
    static const size_t bytes[] = {WEFT_AUTH_HELLO, WEFT_AUTH_REPLY, WEFT_AUTH_PROOF};
    for (int message = 0; message < 3; message++) {
        for (size_t at = 0; at < bytes[message]; at++) {
            for (unsigned bit = 0; bit < 8; bit++) {
                pair_t p;
                pair_init(&p);
                weft_status_t status = handshake(&p, message, at, (uint8_t)(1u << bit));
                assert_true(status == WEFT_ERR_AUTH || status == WEFT_ERR_PROTO);
                assert_true(is_zero(p.told, sizeof p.told));
            }
        }
    }
}

static void an_acceptor_without_the_key_is_refused_by_the_connector(void **unused)
{
    (void)unused;
    pair_t p;
    pair_init(&p);
    assert_int_equal(weft_auth_client_begin(p.client_key, &p.client, p.label, p.hello), WEFT_OK);
    memset(p.reply, 0x5a, sizeof p.reply);
    assert_int_equal(weft_auth_client_finish(p.client_key, &p.client, p.reply, p.proof),
                     WEFT_ERR_AUTH);
    assert_true(is_zero(p.proof, sizeof p.proof));
}

static void messages_sent_back_to_their_sender_are_refused(void **unused)
{
    (void)unused;
    pair_t p, q;
    pair_init(&p);
    pair_init(&q);
    /* A stranger between two connectors: what one says is offered to the other as an answer. */
    weft_auth_client_begin(p.client_key, &p.client, p.label, p.hello);
    weft_auth_client_begin(q.client_key, &q.client, q.label, q.hello);
    assert_int_equal(weft_auth_client_finish(p.client_key, &p.client, q.hello, p.proof),
                     WEFT_ERR_AUTH);
    /* The acceptor's own MAC offered as the proof. */
    pair_init(&p);
    weft_auth_client_begin(p.client_key, &p.client, p.label, p.hello);
    weft_auth_server_reply(p.server_key, &p.server, p.hello, p.reply);
    assert_int_equal(weft_auth_server_check(p.server_key, &p.server, p.reply + 32, p.told),
                     WEFT_ERR_AUTH);
}

static void a_recorded_handshake_is_refused(void **unused)
{
    (void)unused;
    pair_t p;
    pair_init(&p);
    assert_int_equal(handshake(&p, -1, 0, 0), WEFT_OK);
    weft_auth_state_t again;
    uint8_t reply[WEFT_AUTH_REPLY], told[WEFT_AUTH_LABEL];
    assert_int_equal(weft_auth_server_reply(p.server_key, &again, p.hello, reply), WEFT_OK);
    assert_memory_not_equal(reply, p.reply, sizeof reply);
    assert_int_equal(weft_auth_server_check(p.server_key, &again, p.proof, told), WEFT_ERR_AUTH);
}

static void a_step_out_of_order_or_twice_is_refused(void **unused)
{
    (void)unused;
    pair_t p;
    pair_init(&p);
    assert_int_equal(weft_auth_server_check(p.server_key, &p.server, p.proof, p.told),
                     WEFT_ERR_AUTH);
    assert_int_equal(weft_auth_client_finish(p.client_key, &p.client, p.reply, p.proof),
                     WEFT_ERR_AUTH);
    assert_int_equal(handshake(&p, -1, 0, 0), WEFT_OK);
    assert_int_equal(weft_auth_server_check(p.server_key, &p.server, p.proof, p.told),
                     WEFT_ERR_AUTH);
}

static void derived_keys_differ_by_purpose_and_by_key(void **unused)
{
    (void)unused;
    uint8_t key[32] = {1}, other[32] = {2}, a[32], b[32], c[32], again[32];
    weft_auth_derive(key, "data", a);
    weft_auth_derive(key, "tree", b);
    weft_auth_derive(other, "data", c);
    weft_auth_derive(key, "data", again);
    assert_memory_equal(a, again, sizeof a);
    assert_memory_not_equal(a, b, sizeof a);
    assert_memory_not_equal(a, c, sizeof a);
    assert_memory_not_equal(a, key, sizeof a);
}

static void a_label_has_a_purpose_and_a_rank(void **unused)
{
    (void)unused;
    uint8_t label[WEFT_AUTH_LABEL];
    uint32_t rank = 0;
    weft_auth_label_make(label, WEFT_PURPOSE_TREE, 70000);
    assert_true(weft_auth_label_read(label, WEFT_PURPOSE_TREE, &rank));
    assert_int_equal(rank, 70000);
    assert_false(weft_auth_label_read(label, WEFT_PURPOSE_ROOT, &rank));
    label[WEFT_AUTH_LABEL - 1] = 1;
    assert_false(weft_auth_label_read(label, WEFT_PURPOSE_TREE, &rank));
}

/* Both versions, in words. */
static void assert_names_versions(const char *theirs)
{
    char ours[32];
    const char *text = weft_error_record()->text;
    snprintf(ours, sizeof ours, "this side version %d;", WEFT_WIRE_VERSION);
    assert_int_equal(weft_error_record()->status, WEFT_ERR_PROTO);
    assert_non_null(strstr(text, theirs));
    assert_non_null(strstr(text, ours));
}

static void an_acceptor_refuses_another_version_and_says_both(void **unused)
{
    (void)unused;
    uint8_t label[WEFT_AUTH_LABEL], refusal[WEFT_AUTH_REPLY];
    for (uint32_t highest = WEFT_WIRE_VERSION + 1; highest < WEFT_WIRE_VERSION + 3; highest++) {
        pair_t p;
        char theirs[64];
        pair_init(&p);
        weft_auth_client_begin(p.client_key, &p.client, p.label, p.hello);
        foreign_hello(p.client_key, WEFT_WIRE_VERSION + 1, highest, p.hello);
        snprintf(theirs, sizeof theirs,
                 highest == WEFT_WIRE_VERSION + 1 ? "the peer speaks version %u of"
                                                  : "the peer speaks version %u to %u of",
                 WEFT_WIRE_VERSION + 1, highest);
        assert_int_equal(weft_auth_server_reply(p.server_key, &p.server, p.hello, p.reply),
                         WEFT_OK);
        foreign_refusal(p.client_key, WEFT_WIRE_VERSION, p.hello, refusal);
        assert_memory_equal(p.reply, refusal, sizeof refusal);
        assert_false(weft_auth_server_label(&p.server, label));
        weft_error_clear(weft_error_record());
        assert_true(weft_auth_server_refused(&p.server, label));
        assert_memory_equal(label, p.label, sizeof label);
        assert_names_versions(theirs);
        /* Not even the right proof leads in. */
        foreign_mac(p.client_key, "weft proof", p.hello, sizeof p.hello, p.reply, 32, p.proof,
                    sizeof p.proof);
        assert_int_equal(weft_auth_server_check(p.server_key, &p.server, p.proof, p.told),
                         WEFT_ERR_PROTO);
        assert_names_versions(theirs);
        assert_true(is_zero(p.told, sizeof p.told));
        assert_true(is_zero(&p.server, sizeof p.server));
    }
}

static void a_connector_that_is_refused_for_its_version_says_both(void **unused)
{
    (void)unused;
    pair_t p;
    pair_init(&p);
    weft_auth_client_begin(p.client_key, &p.client, p.label, p.hello);
    foreign_refusal(p.server_key, 3, p.hello, p.reply);
    assert_int_equal(weft_auth_client_finish(p.client_key, &p.client, p.reply, p.proof),
                     WEFT_ERR_PROTO);
    assert_names_versions("the acceptor speaks version 3 of");
    assert_true(is_zero(p.proof, sizeof p.proof));
    /* Only a holder of the key can say so. */
    pair_init(&p);
    p.server_key[0] ^= 1;
    weft_auth_client_begin(p.client_key, &p.client, p.label, p.hello);
    foreign_refusal(p.server_key, 3, p.hello, p.reply);
    assert_int_equal(weft_auth_client_finish(p.client_key, &p.client, p.reply, p.proof),
                     WEFT_ERR_AUTH);
}

static void a_range_of_versions_that_has_ours_is_taken(void **unused)
{
    (void)unused;
    pair_t p;
    pair_init(&p);
    weft_auth_client_begin(p.client_key, &p.client, p.label, p.hello);
    foreign_hello(p.client_key, WEFT_WIRE_VERSION - 1, WEFT_WIRE_VERSION + 1, p.hello);
    assert_int_equal(weft_auth_server_reply(p.server_key, &p.server, p.hello, p.reply), WEFT_OK);
    assert_true(weft_auth_server_label(&p.server, p.told));
    assert_false(weft_auth_server_refused(&p.server, p.told));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_keys_succeed_and_carry_the_label),
        cmocka_unit_test(every_differing_key_bit_is_refused_by_the_acceptor),
        cmocka_unit_test(a_changed_byte_anywhere_is_refused),
        cmocka_unit_test(an_acceptor_without_the_key_is_refused_by_the_connector),
        cmocka_unit_test(messages_sent_back_to_their_sender_are_refused),
        cmocka_unit_test(a_recorded_handshake_is_refused),
        cmocka_unit_test(a_step_out_of_order_or_twice_is_refused),
        cmocka_unit_test(derived_keys_differ_by_purpose_and_by_key),
        cmocka_unit_test(a_label_has_a_purpose_and_a_rank),
        cmocka_unit_test(an_acceptor_refuses_another_version_and_says_both),
        cmocka_unit_test(a_connector_that_is_refused_for_its_version_says_both),
        cmocka_unit_test(a_range_of_versions_that_has_ours_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
