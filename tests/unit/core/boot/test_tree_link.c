/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections that break while this rank joins. What a child says first on a new one tells what it
 * lacks. */
#include <string.h>
#include <sys/socket.h>

#include "core/base/error.h"
#include "core/boot/boot_state.h"
#include "core/boot/link_renewal.h"
#include "core/boot/tree_link.h"
#include "core/boot/tree_record.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

enum { RANKS = 2, EXCHANGE = 5, BYTES = 16 };

#define FAMILY UINT64_C(7)

/* Rank 0, which is about to send a frame to its child, rank 1, and the child's end. */
typedef struct pair {
    weft_boot_t boot;
    weft_boot_peer_t peers[RANKS];
    weft_join_request_t requests[RANKS];
    weft_tree_link_t *link;
    weft_tree_record_t *record;
    int child;
} pair_t;

/* The child has connected for the second time. */
static void pair_begin(pair_t *p)
{
    static const uint8_t key[WEFT_BOOT_KEY];
    int ends[2];
    memset(p, 0, sizeof *p);
    p->boot.nranks = RANKS;
    p->boot.comm_id = FAMILY;
    p->boot.sequence = EXCHANGE;
    p->boot.peers = p->peers;
    p->boot.requests = p->requests;
    assert_int_equal(weft_control_listener_open(&p->boot.listener, "test", key), WEFT_OK);
    for (uint32_t i = 0; i < WEFT_TREE_LINKS; i++) {
        p->boot.links[i] = (weft_tree_link_t){.fd = -1, .rank = i == 1 ? 1 : RANKS};
    }
    p->link = &p->boot.links[1];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    p->link->made = 1;
    weft_link_renewal_attach(p->link, ends[0]);
    assert_true(p->link->fresh);
    p->child = ends[1];
    assert_int_equal(weft_tree_record_make(&p->boot, WEFT_FRAME_SPREAD, BYTES, 0, &p->record),
                     WEFT_OK);
    memset(p->record->payload, 1, BYTES);
}

static void pair_end(pair_t *p)
{
    weft_tree_records_drop(&p->boot, 0);
    weft_control_listener_close(&p->boot.listener);
    weft_os_close(p->link->fd);
    weft_os_close(p->child);
}

/* It has taken the exchanges before `least`. */
static void child_says_again(const pair_t *p, uint32_t least)
{
    uint8_t header[WEFT_WIRE_HEADER];
    weft_frame_t frame = {
        .type = WEFT_FRAME_AGAIN, .from = 1, .sequence = least, .comm_id = FAMILY};
    weft_frame_encode(&frame, header);
    assert_int_equal(send(p->child, header, sizeof header, 0), sizeof header);
}

/* How many frames of that type the child hears. */
static uint32_t child_hears(const pair_t *p, uint32_t type)
{
    uint8_t bytes[4096];
    weft_frame_t frame;
    const char *why;
    uint32_t count = 0;
    ssize_t got = recv(p->child, bytes, sizeof bytes, 0);
    for (ssize_t at = 0; at < got; at += WEFT_WIRE_HEADER + (ssize_t)frame.bytes) {
        assert_int_equal(weft_frame_decode(bytes + at, RANKS, FAMILY, &frame, &why), WEFT_OK);
        count += frame.type == type;
    }
    return count;
}

static weft_status_t send_record(pair_t *p)
{
    return weft_tree_link_send(&p->boot, p->link, "a test", p->record, weft_os_deadline(10));
}

static void a_child_that_joins_says_what_it_lacks(void **unused)
{
    (void)unused;
    pair_t p;
    pair_begin(&p);
    child_says_again(&p, EXCHANGE);
    assert_int_equal(send_record(&p), WEFT_OK);
    assert_int_equal(child_hears(&p, WEFT_FRAME_SPREAD), 1);
    pair_end(&p);
}

/* It has the frame from the connection before, and may have joined: it would take another one for a
 * mistake. */
static void what_a_child_has_taken_is_not_sent_again(void **unused)
{
    (void)unused;
    pair_t p;
    pair_begin(&p);
    child_says_again(&p, EXCHANGE + 1);
    assert_int_equal(send_record(&p), WEFT_OK);
    assert_int_equal(send_record(&p), WEFT_OK);
    assert_int_equal(child_hears(&p, WEFT_FRAME_SPREAD), 0);
    pair_end(&p);
}

/* Its kernel says so to one call only. */
static void a_reset_that_sending_has_found_is_not_forgotten_at_the_end_of_the_join(void **unused)
{
    (void)unused;
    pair_t p;
    pair_begin(&p);
    weft_os_close(p.child);
    p.child = -1;
    weft_link_renewal_say(&p.boot, p.link, WEFT_FRAME_BEAT);
    assert_true(p.link->reset);
    weft_link_renewal_end(p.link);
    assert_int_equal(p.link->fd, -1);
    assert_true(p.link->broke != 0);
    pair_end(&p);
}

/* A network that swallows large packets lets each new connection begin, and breaks it. Who comes
 * again so often lives. */
static void a_connection_that_breaks_again_and_again_is_no_death(void **unused)
{
    (void)unused;
    uint8_t bytes[BYTES];
    pair_t p;
    pair_begin(&p);
    p.link->fresh = false;
    p.link->made = WEFT_AGAIN_MOST + 1;
    assert_int_equal(send(p.link->fd, bytes, 1, 0), 1); /* unread: the end becomes a reset */
    weft_os_close(p.child);
    p.child = -1;
    assert_int_equal(
        weft_tree_link_recv(&p.boot, p.link, "a test", bytes, sizeof bytes, weft_os_deadline(10)),
        WEFT_ERR_LINK);
    assert_says(weft_error_record()->text, "broke 17 times during a test; a firewall");
    assert_int_equal(weft_error_record()->peer, 1);
    pair_end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_that_joins_says_what_it_lacks),
        cmocka_unit_test(what_a_child_has_taken_is_not_sent_again),
        cmocka_unit_test(a_reset_that_sending_has_found_is_not_forgotten_at_the_end_of_the_join),
        cmocka_unit_test(a_connection_that_breaks_again_and_again_is_no_death),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
