/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that joins, and a hostile root, parent and children: they hold the key, and say, in any
 * order, what is right, what is nearly right, and anything. The first byte is the rank and the
 * number of ranks, and what the id is good for. The join ends in time, with all ranks known or with
 * an error that says something; so do the exchanges after it. */
#include <sys/socket.h>

#include "core/base/error.h"
#include "core/boot/auth.h"
#include "core/boot/boot.h"
#include "core/boot/boot_state.h"
#include "core/boot/exchange.h"
#include "core/boot/join.h"
#include "core/os/os.h"
#include "hostile.h"
#include "tests/support/accepted.h"
#include "turns.h"

#define LIMIT 10 /* init_timeout, in s */
#define RANKINGS (6 * 7)

/* What the first byte says of the id, behind the rank. */
enum { ID_GOOD, ID_BY_RANK_0, ID_STALE, ID_STALE_BY_RANK_0, ID_REFUSED, ID_DAMAGED };

enum { ROOT, PARENT, CHILD, CHILD_2, PEERS };

typedef struct world {
    const uint8_t *data;
    size_t bytes;
    uint32_t rank, nranks, id; /* ID_… */
    uint64_t comm_id;
    uint8_t root_key[32], tree_key[32];
    int listener[2]; /* of the root and of the parent */
    uint16_t port[2];
    uint16_t joiner;                      /* port at which it listens, once it has said so */
    uint32_t step;                        /* of the exchanges, as far as the peers know */
    uint8_t mine[WEFT_WIRE_JOIN_REQUEST]; /* what it says of itself */
    hostile_t peers[PEERS];
    hostile_t *shakes;
    uint32_t patience;
} world_t;

static world_t world;

static void hears(hostile_t *peer, const weft_frame_t *frame, const uint8_t *payload)
{
    weft_join_request_t request;
    const char *why;
    (void)peer;
    FUZZ_NEED(frame->from == world.rank);
    if (frame->type == WEFT_FRAME_JOIN &&
        weft_join_request_decode(payload, &request, &why) == WEFT_OK) {
        world.joiner = request.addrs[0].port;
        memcpy(world.mine, payload, sizeof world.mine);
    }
    if (frame->type == WEFT_FRAME_GATHER || frame->type == WEFT_FRAME_SPREAD) {
        world.step = frame->sequence;
    }
}

/* What a right peer would say ------------------------------------------------------------------ */

static void welcome_with(uint32_t type, uint32_t rank)
{
    uint8_t payload[WEFT_WIRE_JOIN_REQUEST];
    weft_join_request_t request;
    weft_frame_t frame = {
        .type = type, .bytes = WEFT_WIRE_JOIN_REQUEST, .from = rank, .comm_id = world.comm_id};
    hostile_request(&request, rank, world.nranks, world.port[1]);
    weft_join_request_encode(&request, payload);
    hostile_send_frame(&world.peers[ROOT], &frame, payload);
}

static void welcome(void)
{
    for (uint32_t i = 1; i < WEFT_TREE_LINKS; i++) {
        uint32_t child = weft_tree_child(world.rank, i);
        if (child < world.nranks) {
            welcome_with(WEFT_FRAME_CHILD, child);
        }
    }
    welcome_with(WEFT_FRAME_WELCOME, weft_tree_parent(world.rank));
}

/* What is wrong with a step of an exchange: a byte of the payload, or that it ends after so many
 * bytes. */
typedef struct wrong {
    uint32_t at, end;
    uint8_t by;
} wrong_t;

/* The step of an exchange: `count` join requests, or as many numbers of eight bytes. */
static void exchange(hostile_t *peer, uint32_t type, uint32_t bytes, uint32_t count,
                     const wrong_t *wrong)
{
    static uint8_t message[WEFT_WIRE_HEADER + 8 * WEFT_WIRE_JOIN_REQUEST];
    const bool up = type == WEFT_FRAME_GATHER;
    const bool requests = bytes == WEFT_WIRE_JOIN_REQUEST;
    weft_frame_t frame = {.type = type,
                          .bytes = count * bytes,
                          .from = peer->rank,
                          .sequence = world.step,
                          .comm_id = world.comm_id,
                          .number = up ? bytes : 0};
    memset(message, 1, sizeof message);
    weft_frame_encode(&frame, message);
    for (uint32_t i = 0; i < count && requests; i++) {
        weft_join_request_t request;
        hostile_request(&request, up ? peer->rank : i, world.nranks, 9);
        uint8_t *row = message + WEFT_WIRE_HEADER + i * WEFT_WIRE_JOIN_REQUEST;
        weft_join_request_encode(&request, row);
        if (!up && i == world.rank) {
            memcpy(row, world.mine, sizeof world.mine);
        }
    }
    uint32_t whole = WEFT_WIRE_HEADER + frame.bytes;
    if (wrong != NULL && frame.bytes > 0) {
        message[WEFT_WIRE_HEADER + wrong->at % frame.bytes] ^= wrong->by;
        whole = wrong->end < whole ? wrong->end : whole;
    }
    hostile_send(peer, message, whole);
}

static void exchange_wrong(hostile_t *peer)
{
    uint8_t how[5];
    fuzz_take(&world.data, &world.bytes, how, sizeof how);
    const wrong_t wrong = {.at = (uint32_t)how[1] << 8 | how[2],
                           .by = how[3],
                           .end = how[4] == 0 ? UINT32_MAX : how[4]};
    const bool up = (how[0] & 1) != 0;
    exchange(peer, up ? WEFT_FRAME_GATHER : WEFT_FRAME_SPREAD,
             (how[0] & 2) != 0 ? 8 : WEFT_WIRE_JOIN_REQUEST, up ? 1 : world.nranks, &wrong);
}

/* The beginning of a connection that is made again. */
static void come_again(hostile_t *peer, uint32_t step)
{
    weft_frame_t frame = {
        .type = WEFT_FRAME_AGAIN, .from = peer->rank, .sequence = step, .comm_id = world.comm_id};
    hostile_send_frame(peer, &frame, NULL);
}

/* Turns ---------------------------------------------------------------------------------------- */

static void waits_for(hostile_t *peer)
{
    world.shakes = peer;
    world.patience = 64;
}

static void connect_child(hostile_t *peer, uint32_t rank)
{
    if (world.joiner != 0) {
        hostile_connect(peer, world.tree_key, WEFT_PURPOSE_TREE, world.joiner, rank);
        waits_for(peer);
    }
}

static void act(uint8_t op, hostile_t *peer)
{
    const uint8_t **data = &world.data;
    size_t *bytes = &world.bytes;
    uint8_t some[64], more;
    switch (op) {
    case 15:
        exchange_wrong(peer);
        break;
    case 14:
        come_again(peer, fuzz_byte(data, bytes) % 8);
        break;
    case 0:
        welcome();
        break;
    case 1:
        connect_child(&world.peers[CHILD], 2 * world.rank + 1);
        break;
    case 2:
        connect_child(&world.peers[CHILD_2], 2 * world.rank + 2);
        break;
    case 3:
        connect_child(peer, fuzz_byte(data, bytes) % 8);
        break;
    case 4:
        exchange(peer, WEFT_FRAME_GATHER, WEFT_WIRE_JOIN_REQUEST, 1, NULL);
        break;
    case 5:
        exchange(peer, WEFT_FRAME_SPREAD, WEFT_WIRE_JOIN_REQUEST, world.nranks, NULL);
        break;
    case 6:
        exchange(peer, WEFT_FRAME_GATHER, 8, 1 + fuzz_byte(data, bytes) % 8, NULL);
        break;
    case 7:
        exchange(peer, WEFT_FRAME_SPREAD, 8, 1 + fuzz_byte(data, bytes) % 8, NULL);
        break;
    case 8:
        hostile_send_any(peer, 0, data, bytes);
        break;
    case 9:
        more = fuzz_byte(data, bytes) % 64;
        fuzz_take(data, bytes, some, more);
        hostile_send(peer, some, more);
        break;
    case 10:
    case 11:
        hostile_close(peer, op == 11);
        break;
    case 12:
        world.step = fuzz_byte(data, bytes) % 8;
        break;
    default:
        more = fuzz_byte(data, bytes);
        turns_pass(UINT64_C(200000) * more * more);
    }
}

/* Takes who comes to the root or to the parent. */
static bool accept_one(uint32_t which)
{
    int fd = accepted(world.listener[which]);
    if (fd < 0) {
        return false;
    }
    if (which == ROOT && world.id == ID_REFUSED) {
        weft_os_close(fd);
        return true;
    }
    hostile_accept(&world.peers[which], which == ROOT ? world.root_key : world.tree_key, fd);
    world.peers[which].rank = weft_tree_parent(world.rank); /* what it says it is */
    waits_for(&world.peers[which]);
    return true;
}

static bool turn(void *arg)
{
    (void)arg;
    bool came = accept_one(ROOT);
    came = accept_one(PARENT) || came;
    for (size_t i = 0; i < PEERS; i++) {
        (void)hostile_step(&world.peers[i], hears);
    }
    world.peers[ROOT].rank = world.peers[PARENT].rank = weft_tree_parent(world.rank);
    if (came ||
        (world.shakes != NULL && hostile_step(world.shakes, hears) && world.patience-- > 0)) {
        return true;
    }
    world.shakes = NULL;
    bool acts = world.bytes > 0;
    for (uint8_t op = 255; world.bytes > 0 && (op & 128) != 0;) {
        op = fuzz_byte(&world.data, &world.bytes);
        act(op & 15, &world.peers[op >> 4 & 3]);
        if (world.shakes != NULL) {
            return true;
        }
    }
    return acts;
}

/* The joiner ----------------------------------------------------------------------------------- */

static void failed(weft_status_t status)
{
    const weft_error_t *error = weft_error_record();
    FUZZ_NEED(status < 0 && error->status == status && error->text[0] != '\0');
    FUZZ_NEED(strstr(error->text, "(null)") == NULL);
    FUZZ_NEED(error->peer >= -1);
}

static void least(void *into, const void *from)
{
    uint64_t a, b;
    memcpy(&a, into, sizeof a);
    memcpy(&b, from, sizeof b);
    memcpy(into, a < b ? &a : &b, sizeof a);
}

static void joined(weft_boot_t *boot)
{
    uint64_t mine = UINT64_C(0x0101010101010101), all[8]; /* as in exchange() */
    size_t bytes = sizeof mine;
    FUZZ_NEED(weft_boot_hosts(boot) >= 1);
    weft_status_t status = weft_boot_all_gather(boot, "a gathering", &mine, sizeof mine, all);
    if (status == WEFT_OK) {
        status = weft_boot_all_reduce(boot, "a sum", &mine, sizeof mine, least);
    }
    if (status == WEFT_OK) {
        status = weft_boot_broadcast(boot, "a word", &mine, sizeof mine, &bytes);
    }
    if (status != WEFT_OK) {
        failed(status);
        FUZZ_NEED(weft_boot_broadcast(boot, "a word", &mine, sizeof mine, &bytes) ==
                  WEFT_ERR_STATE);
    }
    weft_boot_leave(boot);
}

static void make_id(weft_unique_id_t *unique)
{
    weft_id_t id = {.count = 1, .secret = {1, 2}, .nonce = {3}};
    id.by_rank_0 = world.id == ID_BY_RANK_0 || world.id == ID_STALE_BY_RANK_0;
    id.addrs[0] = hostile_address(world.port[ROOT]);
    weft_id_encode(&id, unique);
    unique->bytes[5] ^= world.id == ID_DAMAGED;
    if (world.id == ID_STALE || world.id == ID_STALE_BY_RANK_0) {
        weft_os_close(world.listener[ROOT]);
        world.listener[ROOT] = -1;
    }
    world.comm_id = weft_id_comm(&id);
    weft_id_key(&id, WEFT_PURPOSE_ROOT, world.root_key);
    weft_id_key(&id, WEFT_PURPOSE_TREE, world.tree_key);
}

static void listen_as(uint32_t which)
{
    static const struct linger now = {.l_onoff = 1};
    FUZZ_NEED(weft_os_listen(8, &world.listener[which], &world.port[which]) == WEFT_OK);
    FUZZ_NEED(setsockopt(world.listener[which], SOL_SOCKET, SO_LINGER, &now, sizeof now) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const weft_boot_settings_t settings = {.init_timeout = LIMIT, .interface = ""};
    weft_unique_id_t unique;
    weft_boot_t *boot = NULL;
    uint32_t open = fuzz_descriptors();
    uint8_t who = fuzz_byte(&data, &bytes);
    world = (world_t){.data = data, .bytes = bytes < 512 ? bytes : 512, .nranks = 2 + who % 6};
    world.rank = who / 6 % world.nranks;
    world.id = who / RANKINGS;
    turns_begin(turn, NULL);
    listen_as(ROOT);
    listen_as(PARENT);
    make_id(&unique);
    for (size_t i = 0; i < PEERS; i++) {
        hostile_init(&world.peers[i], world.comm_id);
    }
    weft_status_t status = weft_boot_join(&settings, world.nranks, &unique, world.rank, &boot);
    if (status == WEFT_OK) {
        joined(boot);
    } else {
        failed(status);
    }
    FUZZ_NEED(turns_since((LIMIT + 1) * WEFT_NS_PER_S) <= 3 * WEFT_NS_PER_S);
    for (size_t i = 0; i < PEERS; i++) {
        hostile_close(&world.peers[i], true);
    }
    weft_os_close(world.listener[ROOT]);
    weft_os_close(world.listener[PARENT]);
    FUZZ_NEED(fuzz_descriptors() == open);
    return 0;
}
