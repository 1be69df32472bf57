/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases about ends: too long messages, cancelled operations, peers that die. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit.h"

#define LARGE (UINT64_C(32) << 20)

/* A message that no wire takes at once, if the device has one. */
static uint64_t large_bytes(const kit_side_t *side)
{
    return side->props.max_message < LARGE ? side->props.max_message : LARGE;
}

static bool is_loss(weft_status_t status)
{
    return status == WEFT_ERR_PEER_DEAD || status == WEFT_ERR_LINK;
}

static void message_longer_than_the_room_is_an_error(const kit_t *kit)
{
    kit_side_t side;
    kit_end_t a, b;
    kit_done_t s, r;
    uint8_t out[64], in[64];
    uint32_t posted = 0;
    side_open(kit, &side);
    pair_connect(&side, &side, &a, &b);
    memset(in, 0x77, sizeof in);
    kit_fill(out, sizeof out, 1);
    end_receive(&b, in, 63, &r);
    end_send(&a, out, sizeof out, &s);
    sides_wait(&side, NULL, &r);
    REQUIRE(r.status == WEFT_ERR_PROTO);
    REQUIRE(in[63] == 0x77);
    REQUIRE(side.fake.error[0] != '\0');
    weft_net_op_t op = {.kind = WEFT_NET_RECV, .buffer = in, .bytes = 1};
    REQUIRE(kit->ops->post(b.conn, &op, 1, &posted) < 0 && posted == 0);
    pair_close(&a, &b);
    side_close(&side);
}

static void cancel_completes_everything(const kit_t *kit)
{
    enum { N = 6 };
    kit_side_t side;
    kit_end_t a, b;
    kit_done_t s[N], r[N];
    uint8_t *large = calloc(1, LARGE), in[N];
    uint32_t posted = 0;
    REQUIRE(large != NULL);
    side_open(kit, &side);
    pair_connect(&side, &side, &a, &b);
    int n = side.props.max_outstanding < N ? (int)side.props.max_outstanding : N;
    for (int i = 0; i < n; i++) {
        end_receive(&a, &in[i], 1, &r[i]);
        end_send(&a, large, large_bytes(&side), &s[i]);
        side_pump(&side);
    }
    uint64_t start = kit_now_ns();
    REQUIRE(kit->ops->cancel(a.conn) == WEFT_OK);
    for (int i = 0; i < n; i++) {
        sides_wait(&side, NULL, &s[i]);
        sides_wait(&side, NULL, &r[i]);
        REQUIRE(r[i].status == WEFT_ERR_ABORTED);
        REQUIRE(s[i].status == WEFT_ERR_ABORTED || s[i].status == WEFT_OK);
    }
    REQUIRE(kit_now_ns() - start < UINT64_C(100000000) * 10);
    weft_net_op_t op = {.kind = WEFT_NET_RECV, .buffer = in, .bytes = 1};
    REQUIRE(kit->ops->post(a.conn, &op, 1, &posted) < 0 && posted == 0);
    REQUIRE(kit->ops->cancel(a.conn) == WEFT_OK);
    pair_close(&a, &b);
    side_close(&side);
    free(large);
}

static void close_drops_what_is_outstanding(const kit_t *kit)
{
    kit_side_t side;
    kit_end_t a, b;
    kit_done_t s, r;
    uint8_t *large = calloc(1, LARGE), in;
    REQUIRE(large != NULL);
    side_open(kit, &side);
    pair_connect(&side, &side, &a, &b);
    end_receive(&a, &in, 1, &r);
    end_send(&a, large, large_bytes(&side), &s);
    end_close(&a);
    free(large);
    for (int i = 0; i < 10; i++) {
        side_pump(&side);
    }
    REQUIRE(!r.done);
    end_close(&b);
    side_close(&side);
}

static void peer_that_closed_is_noticed(const kit_t *kit)
{
    kit_side_t side;
    kit_end_t a, b;
    side_open(kit, &side);
    pair_connect(&side, &side, &a, &b);
    end_close(&b);
    uint64_t start = kit_now_ns();
    weft_status_t status;
    do {
        status = kit->ops->conn_check(a.conn);
        REQUIRE(kit_now_ns() - start < UINT64_C(1000000000));
    } while (status == WEFT_OK);
    REQUIRE(is_loss(status));
    REQUIRE(side.fake.error[0] != '\0');
    end_close(&a);
    side_close(&side);
}

static void what_was_sent_before_the_close_arrives(const kit_t *kit)
{
    kit_side_t side;
    kit_end_t a, b;
    kit_done_t s, r, none;
    uint8_t out[5000], in[5000];
    side_open(kit, &side);
    pair_connect(&side, &side, &a, &b);
    kit_fill(out, sizeof out, 9);
    end_send(&b, out, sizeof out, &s);
    uint64_t start = kit_now_ns();
    while (!s.done && kit_now_ns() - start < UINT64_C(500000000)) {
        side_pump(&side);
    }
    if (!s.done) {
        pair_close(&a, &b);
        side_close(&side);
        kit_skip("sends that complete before their receive is posted");
    }
    end_close(&b);
    end_receive(&a, in, sizeof in, &r);
    sides_wait(&side, NULL, &r);
    end_receive(&a, in, 0, &none);
    sides_wait(&side, NULL, &none);
    REQUIRE(r.status == WEFT_OK && kit_matches(in, sizeof in, 9));
    REQUIRE(is_loss(none.status));
    end_close(&a);
    side_close(&side);
}

/* The core looks after a connection it waits for. Messages that have arrived and not been asked for
 * yet must outlive that, whatever the peer has done since. */
static void a_look_loses_nothing_that_was_sent(const kit_t *kit)
{
    enum { MESSAGES = 4, BYTES = 700 };
    kit_side_t side;
    kit_end_t a, b;
    kit_done_t s[MESSAGES], r, none;
    uint8_t out[BYTES], in[BYTES];
    side_open(kit, &side);
    pair_connect(&side, &side, &a, &b);
    kit_fill(out, sizeof out, 5);
    end_send(&b, out, sizeof out, &s[0]);
    uint64_t start = kit_now_ns();
    while (!s[0].done && kit_now_ns() - start < UINT64_C(500000000)) {
        side_pump(&side);
    }
    if (!s[0].done) {
        pair_close(&a, &b);
        side_close(&side);
        kit_skip("sends that complete before their receive is posted");
    }
    for (int i = 1; i < MESSAGES; i++) {
        end_send(&b, out, sizeof out, &s[i]);
        sides_wait(&side, NULL, &s[i]);
    }
    end_receive(&a, in, sizeof in, &r);
    sides_wait(&side, NULL, &r);
    end_close(&b);
    for (int i = 1; i < MESSAGES; i++) {
        for (start = kit_now_ns(); kit_now_ns() - start < UINT64_C(50000000);) {
            REQUIRE(kit->ops->conn_check(a.conn) == WEFT_OK);
        }
        memset(in, 0, sizeof in);
        end_receive(&a, in, sizeof in, &r);
        sides_wait(&side, NULL, &r);
        REQUIRE(r.status == WEFT_OK && kit_matches(in, sizeof in, 5));
    }
    end_receive(&a, in, 0, &none);
    sides_wait(&side, NULL, &none);
    REQUIRE(is_loss(none.status));
    end_close(&a);
    side_close(&side);
}

static void child_waits(kit_side_t *side, const weft_net_address_t *address, void *arg)
{
    (void)arg;
    kit_end_t end;
    REQUIRE(end_connect(side, address, 4096, &end) == WEFT_OK);
    for (;;) {
        pause();
    }
}

static void kill_and_reap(int child)
{
    REQUIRE(kill(child, SIGKILL) == 0);
    REQUIRE(waitpid(child, NULL, 0) == child);
}

static void killed_peer_is_noticed(const kit_t *kit)
{
    kit_side_t side;
    kit_end_t end;
    int child = kit_spawn(kit, &side, child_waits, NULL);
    end_accept(&side, &end);
    REQUIRE(kit->ops->conn_check(end.conn) == WEFT_OK);
    kill_and_reap(child);
    uint64_t start = kit_now_ns();
    weft_status_t status;
    do {
        status = kit->ops->conn_check(end.conn);
        REQUIRE(kit_now_ns() - start < UINT64_C(1000000000));
    } while (status == WEFT_OK);
    REQUIRE(is_loss(status));
    end_close(&end);
    side_close(&side);
}

static void killed_peer_fails_operations(const kit_t *kit)
{
    kit_side_t side;
    kit_end_t end;
    kit_done_t s, r;
    uint8_t *large = calloc(1, LARGE), in;
    REQUIRE(large != NULL);
    int child = kit_spawn(kit, &side, child_waits, NULL);
    end_accept(&side, &end);
    end_receive(&end, &in, 1, &r);
    /* As many as a wire does not take, if one is too short for that. */
    uint64_t sent = 0;
    do {
        end_send(&end, large, large_bytes(&side), &s);
        side_pump(&side);
        sent += large_bytes(&side);
    } while (s.done && sent < LARGE);
    REQUIRE(!r.done && !s.done);
    kill_and_reap(child);
    uint64_t start = kit_now_ns();
    sides_wait(&side, NULL, &r);
    sides_wait(&side, NULL, &s);
    kit_note("receive %d, send %d", (int)r.status, (int)s.status);
    REQUIRE(is_loss(r.status) && is_loss(s.status));
    REQUIRE(kit_now_ns() - start < UINT64_C(1000000000));
    weft_net_conn_info_t info = {.size = sizeof info};
    REQUIRE(kit->ops->conn_info(end.conn, &info) == WEFT_OK);
    kit_note("%s does not name %s", side.fake.error, info.peer);
    REQUIRE(strstr(side.fake.error, info.peer) != NULL);
    end_close(&end);
    side_close(&side);
    free(large);
}

/* Whoever gets a completion reads the reason of its failure at once, and whoever asks later reads
 * the same. */
static void each_failure_has_the_reason_of_its_connection(const kit_t *kit)
{
    enum { CONNS = 2 };
    kit_side_t side;
    kit_end_t a[CONNS], b[CONNS];
    kit_done_t r[CONNS];
    weft_net_conn_info_t infos[CONNS];
    weft_net_completion_t completions[CONNS];
    uint8_t in[CONNS];
    uint32_t got = 0, count;
    side_open(kit, &side);
    for (uint32_t i = 0; i < CONNS; i++) {
        infos[i] = (weft_net_conn_info_t){.size = sizeof infos[i]};
        pair_connect(&side, &side, &b[i], &a[i]); /* who accepts names each peer apart */
        REQUIRE(kit->ops->conn_info(a[i].conn, &infos[i]) == WEFT_OK);
        end_receive(&a[i], &in[i], 1, &r[i]);
    }
    end_close(&b[0]);
    end_close(&b[1]);
    for (uint64_t start = kit_now_ns(); got < CONNS; got += count) {
        REQUIRE(kit_now_ns() - start < UINT64_C(10000000000));
        REQUIRE(kit->ops->poll(side.device, completions, CONNS, &count) == WEFT_OK);
        for (uint32_t i = 0; i < count; i++) {
            const char *peer = infos[completions[i].conn == a[0].conn ? 0 : 1].peer;
            REQUIRE(is_loss(completions[i].status));
            kit_note("%s does not name %s", side.fake.error, peer);
            REQUIRE(strstr(side.fake.error, peer) != NULL);
        }
    }
    for (uint32_t i = 0; i < CONNS; i++) {
        REQUIRE(is_loss(kit->ops->conn_check(a[i].conn)));
        kit_note("%s does not say why %s was lost", side.fake.error, infos[i].peer);
        REQUIRE(strstr(side.fake.error, infos[i].peer) != NULL);
        end_close(&a[i]);
    }
    side_close(&side);
}

const kit_case_t failure_cases[] = {
    {"each failure has the reason of its connection", WEFT_NET_CAP_MESSAGES,
     each_failure_has_the_reason_of_its_connection},
    {"message longer than the room is an error", WEFT_NET_CAP_MESSAGES,
     message_longer_than_the_room_is_an_error},
    {"cancel completes everything", WEFT_NET_CAP_MESSAGES, cancel_completes_everything},
    {"close drops what is outstanding", WEFT_NET_CAP_MESSAGES, close_drops_what_is_outstanding},
    {"peer that closed is noticed", 0, peer_that_closed_is_noticed},
    {"what was sent before the close arrives", WEFT_NET_CAP_MESSAGES,
     what_was_sent_before_the_close_arrives},
    {"a look loses nothing that was sent", WEFT_NET_CAP_MESSAGES,
     a_look_loses_nothing_that_was_sent},
    {"killed peer is noticed", 0, killed_peer_is_noticed},
    {"killed peer fails operations and is named", WEFT_NET_CAP_MESSAGES,
     killed_peer_fails_operations},
    {NULL, 0, NULL},
};
