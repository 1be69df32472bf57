/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases about messages: every byte, in order, at any size and number. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

#define WINDOW 24
#define RANDOM_BYTES 40000
#define MIXED 8                       /* messages of several sizes behind each other */
#define LARGE (UINT64_C(1) << 20)     /* what every device takes */
#define LONGEST (UINT64_C(128) << 20) /* of a message, whatever a device says */

typedef struct message_pair {
    kit_side_t side;
    kit_end_t a, b;
} message_pair_t;

static void pair_open(const kit_t *kit, message_pair_t *pair)
{
    side_open(kit, &pair->side);
    pair_connect(&pair->side, &pair->side, &pair->a, &pair->b);
}

static void pair_shut(message_pair_t *pair)
{
    pair_close(&pair->a, &pair->b);
    side_close(&pair->side);
}

static uint8_t *buffer_make(uint64_t bytes)
{
    uint8_t *buffer = calloc(1, bytes + 1);
    REQUIRE(buffer != NULL);
    return buffer;
}

/* One message from `from` to `to`, received before or after it is sent. */
static void message_pass(kit_end_t *from, kit_end_t *to, uint64_t bytes, bool receive_first)
{
    uint8_t *sent = buffer_make(bytes), *got = buffer_make(bytes);
    kit_done_t s, r;
    kit_fill(sent, bytes, bytes);
    if (receive_first) {
        end_receive(to, got, bytes, &r);
        end_send(from, sent, bytes, &s);
    } else {
        end_send(from, sent, bytes, &s);
        for (int i = 0; i < 10; i++) {
            side_pump(to->side);
        }
        end_receive(to, got, bytes, &r);
    }
    sides_wait(from->side, to->side, &r);
    sides_wait(from->side, to->side, &s);
    kit_note("%llu bytes: send %d, receive %d", (unsigned long long)bytes, (int)s.status,
             (int)r.status);
    REQUIRE(s.status == WEFT_OK && r.status == WEFT_OK);
    REQUIRE(s.kind == WEFT_NET_SEND && r.kind == WEFT_NET_RECV);
    REQUIRE(s.bytes == bytes && r.bytes == bytes);
    REQUIRE(kit_matches(got, bytes, bytes));
    REQUIRE(kit_matches(sent, bytes, bytes));
    REQUIRE(got[bytes] == 0);
    free(sent);
    free(got);
}

static void any_size_arrives(const kit_t *kit)
{
    static const uint64_t sizes[] = {0,    1,     7,     8,     4096,   8167,    8168,
                                     8169, 16384, 65535, 65536, 262145, 1000003, 16777217};
    message_pair_t pair;
    pair_open(kit, &pair);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i] <= pair.side.props.max_message) {
            message_pass(&pair.a, &pair.b, sizes[i], true);
            message_pass(&pair.b, &pair.a, sizes[i], false);
        }
    }
    pair_shut(&pair);
}

/* A device may say more than a host can hold: no more than LONGEST is tried. */
static void a_message_may_be_as_long_as_promised(const kit_t *kit)
{
    message_pair_t pair;
    kit_done_t s, r;
    pair_open(kit, &pair);
    uint64_t most = pair.side.props.max_message, bytes = most < LONGEST ? most : LONGEST;
    uint8_t *out = malloc(bytes), *in = malloc(bytes);
    if (out == NULL || in == NULL) {
        kit_skip("memory for the longest message");
    }
    kit_fill(out, bytes, 17);
    end_receive(&pair.b, in, bytes, &r);
    end_give(&pair.a, out, bytes, &s);
    sides_wait_long(&pair.side, NULL, &r, 45);
    sides_wait(&pair.side, NULL, &s);
    kit_note("%llu bytes of max_message %llu: send %d, receive %d", (unsigned long long)bytes,
             (unsigned long long)most, (int)s.status, (int)r.status);
    REQUIRE(s.status == WEFT_OK && r.status == WEFT_OK && r.bytes == bytes);
    REQUIRE(kit_matches(in, bytes, 17));
    pair_shut(&pair);
    free(out);
    free(in);
}

static void receive_may_have_more_room(const kit_t *kit)
{
    message_pair_t pair;
    uint8_t sent[100], got[1000];
    kit_done_t s, r;
    pair_open(kit, &pair);
    kit_fill(sent, sizeof sent, 3);
    end_receive(&pair.b, got, sizeof got, &r);
    end_send(&pair.a, sent, sizeof sent, &s);
    sides_wait(&pair.side, NULL, &r);
    sides_wait(&pair.side, NULL, &s);
    REQUIRE(r.status == WEFT_OK && r.bytes == sizeof sent);
    REQUIRE(kit_matches(got, sizeof sent, 3));
    pair_shut(&pair);
}

/* How many sends the plugin takes before a receive is posted for the first. */
static uint32_t sends_ahead(const message_pair_t *pair, uint32_t most)
{
    uint32_t n = pair->side.props.max_outstanding;
    return n < most ? n : most;
}

static void messages_keep_their_order(const kit_t *kit)
{
    enum { N = 40 };
    message_pair_t pair;
    uint32_t sent[N], got[N];
    kit_done_t s[N], r[N];
    pair_open(kit, &pair);
    uint32_t ahead = sends_ahead(&pair, N / 2);
    for (uint32_t i = 0; i < N + ahead; i++) {
        if (i >= ahead) {
            end_receive(&pair.b, &got[i - ahead], sizeof got[0], &r[i - ahead]);
        }
        if (i < N) {
            sent[i] = i * 7 + 1;
            end_send(&pair.a, &sent[i], i % 3 == 2 ? 0 : sizeof sent[i], &s[i]);
        }
    }
    for (uint32_t i = 0; i < N; i++) {
        sides_wait(&pair.side, NULL, &r[i]);
        sides_wait(&pair.side, NULL, &s[i]);
        REQUIRE(r[i].status == WEFT_OK && r[i].bytes == (i % 3 == 2 ? 0 : sizeof sent[i]));
        REQUIRE(i % 3 == 2 || got[i] == sent[i]);
        REQUIRE(i == 0 || r[i].order > r[i - 1].order);
    }
    pair_shut(&pair);
}

/* A few of `sizes`, posted at once, before their receives or behind them. */
static void mixed_pass(message_pair_t *pair, const uint64_t *sizes, uint32_t count,
                       bool receive_first, uint8_t **out, uint8_t **in)
{
    kit_done_t s[MIXED], r[MIXED];
    for (uint32_t i = 0; i < 2 * count; i++) {
        uint32_t at = i % count;
        if ((i < count) == receive_first) {
            end_receive(&pair->b, in[at], LARGE, &r[at]);
        } else {
            kit_fill(out[at], sizes[at], sizes[at] + at);
            end_give(&pair->a, out[at], sizes[at], &s[at]);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        sides_wait(&pair->side, NULL, &r[i]);
        sides_wait(&pair->side, NULL, &s[i]);
        kit_note("message %u of %llu bytes: send %d, receive %d of %llu bytes", i,
                 (unsigned long long)sizes[i], (int)s[i].status, (int)r[i].status,
                 (unsigned long long)r[i].bytes);
        REQUIRE(s[i].status == WEFT_OK && r[i].status == WEFT_OK && r[i].bytes == sizes[i]);
        REQUIRE(kit_matches(in[i], sizes[i], sizes[i] + i));
        REQUIRE(i == 0 || r[i].order > r[i - 1].order);
    }
}

/* A large message may go another way than a small one, by a rendezvous say, and must not be
 * overtaken. */
static void small_messages_do_not_pass_large_ones(const kit_t *kit)
{
    static const uint64_t sizes[2 * MIXED] = {65536, 8, 262144, 0, 65537, 200, LARGE, 4096,
                                              65536, 8, 262144, 0, 65537, 200, LARGE, 4096};
    message_pair_t pair;
    uint8_t *out[MIXED], *in[MIXED];
    pair_open(kit, &pair);
    for (int i = 0; i < MIXED; i++) {
        out[i] = buffer_make(LARGE);
        in[i] = buffer_make(LARGE);
    }
    uint32_t count = sends_ahead(&pair, MIXED);
    for (uint32_t first = 0; first < MIXED; first++) {
        mixed_pass(&pair, sizes + first, count, true, out, in);
        mixed_pass(&pair, sizes + first, count, false, out, in);
    }
    for (int i = 0; i < MIXED; i++) {
        free(out[i]);
        free(in[i]);
    }
    pair_shut(&pair);
}

/* A window of messages of random sizes in one direction. */
typedef struct stream {
    kit_end_t *from, *to;
    uint32_t total, sent, received;
    uint64_t seed, bytes[WINDOW];
    kit_done_t s[WINDOW], r[WINDOW];
    uint8_t *out[WINDOW], *in[WINDOW];
} stream_t;

static void stream_open(stream_t *stream, kit_end_t *from, kit_end_t *to, uint32_t total,
                        uint64_t seed)
{
    memset(stream, 0, sizeof *stream);
    stream->from = from;
    stream->to = to;
    stream->total = total;
    stream->seed = seed;
    for (int i = 0; i < WINDOW; i++) {
        stream->out[i] = buffer_make(RANDOM_BYTES);
        stream->in[i] = buffer_make(RANDOM_BYTES);
    }
}

static void stream_shut(stream_t *stream)
{
    for (int i = 0; i < WINDOW; i++) {
        free(stream->out[i]);
        free(stream->in[i]);
    }
}

static uint64_t random_size(uint64_t *seed)
{
    uint64_t kind = kit_random(seed) % 8;
    return kind == 0 ? 0 : kit_random(seed) % (kind < 5 ? 300 : RANDOM_BYTES);
}

static bool stream_advance(stream_t *stream)
{
    if (stream->sent < stream->total && stream->sent - stream->received < WINDOW) {
        uint32_t i = stream->sent % WINDOW;
        stream->bytes[i] = random_size(&stream->seed);
        kit_fill(stream->out[i], stream->bytes[i], stream->sent);
        end_give(stream->from, stream->out[i], stream->bytes[i], &stream->s[i]);
        end_receive(stream->to, stream->in[i], RANDOM_BYTES, &stream->r[i]);
        stream->sent++;
    }
    uint32_t i = stream->received % WINDOW;
    if (stream->received < stream->sent && stream->s[i].done && stream->r[i].done) {
        kit_note("message %u", stream->received);
        REQUIRE(stream->s[i].status == WEFT_OK && stream->r[i].status == WEFT_OK);
        REQUIRE(stream->r[i].bytes == stream->bytes[i]);
        REQUIRE(kit_matches(stream->in[i], stream->bytes[i], stream->received));
        stream->received++;
    }
    return stream->received < stream->total;
}

static void random_sizes_are_bit_exact(const kit_t *kit)
{
    message_pair_t pair;
    static stream_t there, back;
    pair_open(kit, &pair);
    stream_open(&there, &pair.a, &pair.b, kit->messages, 11);
    stream_open(&back, &pair.b, &pair.a, kit->messages, 12);
    bool more = true;
    while (more) {
        bool first = stream_advance(&there);
        more = stream_advance(&back) || first;
        side_pump(&pair.side);
    }
    stream_shut(&there);
    stream_shut(&back);
    pair_shut(&pair);
}

static void post_says_again_when_full(const kit_t *kit)
{
    message_pair_t pair;
    pair_open(kit, &pair);
    uint32_t n = pair.side.props.max_outstanding, posted = 0;
    REQUIRE(n < 1u << 20);
    kit_done_t *done = calloc(n + 1, sizeof *done);
    weft_net_op_t *ops = calloc(n + 1, sizeof *ops);
    REQUIRE(done != NULL && ops != NULL);
    for (uint32_t i = 0; i <= n; i++) {
        ops[i] = (weft_net_op_t){.kind = WEFT_NET_RECV, .context = &done[i]};
    }
    REQUIRE(kit->ops->post(pair.b.conn, ops, n + 1, &posted) == WEFT_AGAIN);
    REQUIRE(posted == n);
    for (uint32_t i = 0; i < n; i++) {
        kit_done_t s;
        end_send(&pair.a, NULL, 0, &s);
        sides_wait(&pair.side, NULL, &s);
        sides_wait(&pair.side, NULL, &done[i]);
    }
    REQUIRE(kit->ops->post(pair.b.conn, ops, 1, &posted) == WEFT_OK && posted == 1);
    pair_shut(&pair);
    free(done);
    free(ops);
}

static void many_connections_carry_messages(const kit_t *kit)
{
    enum { MANY = 32, ROUNDS = 20 };
    kit_side_t side;
    kit_end_t a[MANY], b[MANY];
    kit_done_t s[MANY], r[MANY];
    static uint8_t out[MANY][20000], in[MANY][20000];
    side_open(kit, &side);
    for (int i = 0; i < MANY; i++) {
        pair_connect(&side, &side, &a[i], &b[i]);
        kit_fill(out[i], sizeof out[i], (uint64_t)i);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < MANY; i++) {
            end_receive(&b[i], in[i], sizeof in[i], &r[i]);
        }
        for (int i = MANY - 1; i >= 0; i--) {
            end_send(&a[i], out[i], sizeof out[i], &s[i]);
        }
        for (int i = 0; i < MANY; i++) {
            sides_wait(&side, NULL, &r[i]);
            sides_wait(&side, NULL, &s[i]);
            REQUIRE(r[i].status == WEFT_OK && kit_matches(in[i], sizeof in[i], (uint64_t)i));
            memset(in[i], 0, sizeof in[i]);
        }
    }
    for (int i = 0; i < MANY; i++) {
        pair_close(&a[i], &b[i]);
    }
    side_close(&side);
}

static void child_echoes(kit_side_t *side, const weft_net_address_t *address, void *arg)
{
    kit_end_t end;
    uint32_t rounds = *(const uint32_t *)arg;
    uint8_t *buffer = buffer_make(1 << 20);
    REQUIRE(end_connect(side, address, 0, &end) == WEFT_OK);
    for (uint32_t i = 0; i < rounds; i++) {
        kit_done_t r, s;
        end_receive(&end, buffer, 1 << 20, &r);
        sides_wait(side, NULL, &r);
        REQUIRE(r.status == WEFT_OK);
        end_send(&end, buffer, r.bytes, &s);
        sides_wait(side, NULL, &s);
        REQUIRE(s.status == WEFT_OK);
    }
    while (side->ops->conn_check(end.conn) == WEFT_OK) {
        side_pump(side);
    }
    free(buffer);
    end_close(&end);
    side_close(side);
}

static void processes_echo(const kit_t *kit)
{
    kit_side_t side;
    kit_end_t end;
    uint32_t rounds = kit->messages / 20;
    uint64_t seed = kit->seed + 4;
    int child = kit_spawn(kit, &side, child_echoes, &rounds);
    uint8_t *out = buffer_make(1 << 20), *in = buffer_make(1 << 20);
    end_accept(&side, &end);
    for (uint32_t i = 0; i < rounds; i++) {
        kit_done_t s, r;
        uint64_t bytes = i % 50 == 0 ? 1 << 20 : random_size(&seed);
        kit_fill(out, bytes, i);
        end_send(&end, out, bytes, &s);
        end_receive(&end, in, 1 << 20, &r);
        sides_wait(&side, NULL, &r);
        sides_wait(&side, NULL, &s);
        REQUIRE(r.status == WEFT_OK && r.bytes == bytes && kit_matches(in, bytes, i));
    }
    end_close(&end);
    kit_reap(child);
    free(out);
    free(in);
    side_close(&side);
}

static bool readable(int fd, int timeout_ms)
{
    struct pollfd watch = {.fd = fd, .events = POLLIN};
    return poll(&watch, 1, timeout_ms) == 1;
}

static void wait_fd_tells_of_work(const kit_t *kit)
{
    message_pair_t pair;
    kit_done_t s, r;
    int fd = -1;
    uint8_t out = 1, in = 0;
    if (!WEFT_HAS(kit->ops, weft_net_ops_t, wait_fd)) {
        kit_skip("wait_fd");
    }
    pair_open(kit, &pair);
    REQUIRE(kit->ops->wait_fd(pair.side.device, &fd) == WEFT_OK && !readable(fd, 0));
    end_receive(&pair.b, &in, 1, &r);
    side_pump(&pair.side);
    if (kit->ops->wait_fd(pair.side.device, &fd) == WEFT_ERR_RESOURCE) {
        kit_skip(pair.side.fake.error);
    }
    REQUIRE(kit->ops->wait_fd(pair.side.device, &fd) == WEFT_OK && !readable(fd, 0));
    end_send(&pair.a, &out, 1, &s);
    sides_wait(&pair.side, NULL, &s);
    while (!r.done) {
        weft_status_t status = kit->ops->wait_fd(pair.side.device, &fd);
        REQUIRE(status == WEFT_AGAIN || (status == WEFT_OK && readable(fd, 5000)));
        side_pump(&pair.side);
    }
    /* Bytes nobody asked for are no work, whether they travel now or wait for their receive. */
    end_send(&pair.a, &out, 1, &s);
    uint64_t start = kit_now_ns();
    while (!s.done && kit_now_ns() - start < UINT64_C(100000000)) {
        side_pump(&pair.side);
    }
    REQUIRE(kit->ops->wait_fd(pair.side.device, &fd) == WEFT_OK && !readable(fd, 20));
    pair_shut(&pair);
}

const kit_case_t message_cases[] = {
    {"any size arrives", WEFT_NET_CAP_MESSAGES, any_size_arrives},
    {"a message may be as long as promised", WEFT_NET_CAP_MESSAGES,
     a_message_may_be_as_long_as_promised},
    {"a receive may have more room", WEFT_NET_CAP_MESSAGES, receive_may_have_more_room},
    {"messages keep their order", WEFT_NET_CAP_MESSAGES, messages_keep_their_order},
    {"small messages do not pass large ones", WEFT_NET_CAP_MESSAGES,
     small_messages_do_not_pass_large_ones},
    {"random sizes are bit-exact", WEFT_NET_CAP_MESSAGES, random_sizes_are_bit_exact},
    {"post says AGAIN when full", WEFT_NET_CAP_MESSAGES, post_says_again_when_full},
    {"many connections carry messages", WEFT_NET_CAP_MESSAGES, many_connections_carry_messages},
    {"processes echo", WEFT_NET_CAP_MESSAGES, processes_echo},
    {"wait_fd tells of work", WEFT_NET_CAP_MESSAGES, wait_fd_tells_of_work},
    {NULL, 0, NULL},
};
