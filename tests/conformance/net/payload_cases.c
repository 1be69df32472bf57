/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases about messages whose payload lies apart from their header (weft.net.payload/1). */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

#define HEADER 64u
#define LARGEST (UINT64_C(3) << 20)
#define TRAIN 8u

/* What the receiver asks for before the message comes. */
typedef enum payload_wish { WISH_NOTHING, WISH_LENGTH, WISH_OTHER_LENGTH } payload_wish_t;

typedef struct payload_pair {
    kit_side_t side;
    kit_end_t a, b;
    const weft_net_payload_t *ops;
    uint8_t *sent, *got, *apart; /* LARGEST bytes and a header each */
} payload_pair_t;

static void pair_open(const kit_t *kit, payload_pair_t *pair)
{
    memset(pair, 0, sizeof *pair);
    side_open(kit, &pair->side);
    if (WEFT_HAS(kit->ops, weft_net_ops_t, get_extension)) {
        pair->ops = kit->ops->get_extension(pair->side.net, WEFT_NET_PAYLOAD);
    }
    if (pair->ops == NULL) {
        kit_skip(WEFT_NET_PAYLOAD);
    }
    pair_connect(&pair->side, &pair->side, &pair->a, &pair->b);
    pair->sent = calloc(1, HEADER + LARGEST);
    pair->got = calloc(1, HEADER + LARGEST);
    pair->apart = calloc(1, HEADER + LARGEST);
    REQUIRE(pair->sent != NULL && pair->got != NULL && pair->apart != NULL);
}

static void pair_shut(payload_pair_t *pair)
{
    pair_close(&pair->a, &pair->b);
    side_close(&pair->side);
    free(pair->sent);
    free(pair->got);
    free(pair->apart);
}

/* The payload is overwritten as soon as the send completes. */
static void payload_send(payload_pair_t *pair, const uint8_t *header, uint8_t *payload,
                         uint64_t bytes, kit_done_t *done)
{
    *done = (kit_done_t){.given = payload, .given_bytes = bytes};
    weft_net_op_t op = {.kind = WEFT_NET_SEND,
                        .buffer = (void *)(uintptr_t)header,
                        .bytes = HEADER,
                        .context = done};
    weft_status_t status;
    while ((status = pair->ops->send(pair->a.conn, &op, payload, bytes)) == WEFT_AGAIN) {
        side_pump(&pair->side);
    }
    REQUIRE(status == WEFT_OK);
}

static void payload_pass(payload_pair_t *pair, uint64_t bytes, payload_wish_t wish)
{
    kit_done_t s, r;
    uint8_t header[HEADER];
    kit_fill(header, HEADER, 99);
    kit_fill(pair->sent, bytes, bytes);
    memset(pair->got, 0, HEADER + bytes);
    memset(pair->apart, 0, bytes + 1);
    end_receive(&pair->b, pair->got, HEADER + bytes, &r);
    if (wish != WISH_NOTHING) {
        uint64_t asked = wish == WISH_LENGTH ? bytes : bytes + 1;
        REQUIRE(pair->ops->place(pair->b.conn, &r, HEADER, pair->apart, asked) == WEFT_OK);
    }
    payload_send(pair, header, pair->sent, bytes, &s);
    sides_wait(&pair->side, NULL, &r);
    sides_wait(&pair->side, NULL, &s);
    kit_note("%llu bytes, wish %d", (unsigned long long)bytes, (int)wish);
    REQUIRE(s.status == WEFT_OK && r.status == WEFT_OK);
    REQUIRE(s.bytes == HEADER + bytes && r.bytes == HEADER + bytes);
    REQUIRE(kit_matches(pair->got, HEADER, 99));
    REQUIRE(kit_matches(wish == WISH_LENGTH ? pair->apart : pair->got + HEADER, bytes, bytes));
    REQUIRE(wish == WISH_LENGTH || pair->apart[0] == 0);
}

static void payloads_go_where_they_are_wanted(const kit_t *kit)
{
    static const uint64_t sizes[] = {1,    63,    64,    65,     4096,   8191,
                                     8192, 16320, 16321, 100000, 524288, LARGEST};
    payload_pair_t pair;
    pair_open(kit, &pair);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (HEADER + sizes[i] > pair.side.props.max_message) {
            break;
        }
        payload_pass(&pair, sizes[i], WISH_NOTHING);
        payload_pass(&pair, sizes[i], WISH_LENGTH);
        payload_pass(&pair, sizes[i], WISH_OTHER_LENGTH);
        payload_pass(&pair, sizes[i], WISH_LENGTH);
    }
    pair_shut(&pair);
}

/* Waits as a sleeping rank does: for the descriptor, and no look without its word. */
static void wait_asleep(payload_pair_t *pair, const kit_done_t *done)
{
    const weft_net_ops_t *ops = pair->side.ops;
    while (!done->done) {
        int fd = -1;
        weft_status_t status = WEFT_HAS(ops, weft_net_ops_t, wait_fd)
                                   ? ops->wait_fd(pair->side.device, &fd)
                                   : WEFT_AGAIN;
        struct pollfd entry = {.fd = fd, .events = POLLIN};
        /* Where the system watches nothing, a rank looks now and then. */
        REQUIRE(status == WEFT_AGAIN || status == WEFT_ERR_RESOURCE || poll(&entry, 1, 5000) == 1);
        side_pump(&pair->side);
    }
}

/* Large messages and small ones behind each other: what was read ahead of one must not be slept
 * upon, and a wish that comes too late must not matter. */
static void a_train_of_payloads_is_whole(const kit_t *kit)
{
    const uint64_t bytes = LARGEST / TRAIN;
    uint8_t headers[TRAIN][HEADER];
    kit_done_t s[TRAIN], r[TRAIN];
    bool placed[TRAIN];
    payload_pair_t pair;
    pair_open(kit, &pair);
    for (uint32_t i = 0; i < TRAIN; i++) {
        uint64_t length = i % 2 == 0 ? bytes : 10 + i;
        end_receive(&pair.b, pair.got + i * bytes, bytes, &r[i]);
        kit_fill(headers[i], HEADER, i);
        kit_fill(pair.sent + i * bytes, length - HEADER * (i % 2 == 0), i);
        payload_send(&pair, headers[i], pair.sent + i * bytes, length - HEADER * (i % 2 == 0),
                     &s[i]);
    }
    for (uint32_t i = 0; i < TRAIN; i++) {
        uint64_t length = i % 2 == 0 ? bytes - HEADER : 10 + i;
        placed[i] = !r[i].done && pair.ops->place(pair.b.conn, &r[i], HEADER,
                                                  pair.apart + i * bytes, length) == WEFT_OK;
        wait_asleep(&pair, &r[i]);
        REQUIRE(r[i].status == WEFT_OK && r[i].bytes == HEADER + length);
        REQUIRE(kit_matches(pair.got + i * bytes, HEADER, i));
        REQUIRE(kit_matches(placed[i] ? pair.apart + i * bytes : pair.got + i * bytes + HEADER,
                            length, i));
        sides_wait(&pair.side, NULL, &s[i]);
    }
    pair_shut(&pair);
}

const kit_case_t payload_cases[] = {
    {"payloads go where they are wanted", WEFT_NET_CAP_MESSAGES, payloads_go_where_they_are_wanted},
    {"a train of payloads is whole", WEFT_NET_CAP_MESSAGES, a_train_of_payloads_is_whole},
    {NULL, 0, NULL},
};
