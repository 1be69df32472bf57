/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The root of a join of three ranks, and eight peers that hold its id: they connect, claim, join,
 * say anything in any order, close and are reset, while time passes; one of them listens, so that
 * the root's knock is heard. The root ends in the end; whoever asked it something and waited has
 * been answered, and a welcome comes once, when three ranks have joined, with the right parent. */
#include <sys/socket.h>

#include "../support/foreign_hello.h"
#include "core/base/error.h"
#include "core/boot/auth.h"
#include "core/boot/id_create.h"
#include "core/os/os.h"
#include "hostile.h"
#include "tests/support/accepted.h"
#include "turns.h"

#define PEERS 8
#define NRANKS 3
#define LISTENS (PEERS - 1) /* the peer at whose port somebody is */

typedef struct world {
    const uint8_t *data;
    size_t bytes;
    hostile_t peers[PEERS];
    uint8_t key[32], tree_key[32];
    uint64_t comm_id;
    uint16_t port, knock_port;
    int listener; /* of the one that listens */
    hostile_t knock;
    hostile_t *shakes; /* waited for before the input goes on */
    uint32_t patience;
    bool asked[PEERS], served[PEERS], welcomed[PEERS];
    bool success;
} world_t;

static world_t world;

static void hears(hostile_t *peer, const weft_frame_t *frame, const uint8_t *payload)
{
    weft_join_request_t neighbour;
    const char *why;
    size_t at = (size_t)(peer - world.peers);
    FUZZ_NEED(frame->type == WEFT_FRAME_WELCOME || frame->type == WEFT_FRAME_CHILD ||
              frame->type == WEFT_FRAME_FAIL || frame->type == WEFT_FRAME_CLAIMED);
    if (frame->type == WEFT_FRAME_WELCOME || frame->type == WEFT_FRAME_CHILD) {
        FUZZ_NEED(!world.welcomed[at]);
        FUZZ_NEED(weft_join_request_decode(payload, &neighbour, &why) == WEFT_OK);
        FUZZ_NEED(weft_join_request_addrs(&neighbour) > 0);
        world.welcomed[at] = frame->type == WEFT_FRAME_WELCOME;
    }
}

static void say(hostile_t *peer, uint32_t type, uint32_t number)
{
    uint8_t payload[WEFT_WIRE_JOIN_REQUEST];
    weft_join_request_t request;
    weft_frame_t frame = {
        .type = type, .from = peer->rank, .comm_id = world.comm_id, .number = number};
    world.asked[peer - world.peers] = false; /* or until it is known to be wrong */
    if (type == WEFT_FRAME_JOIN || type == WEFT_FRAME_CLAIM) {
        /* Each peer listens elsewhere: who says the same again is taken for one that has lost its
         * connection. */
        size_t at = (size_t)(peer - world.peers);
        hostile_request(&request, peer->rank, NRANKS,
                        at == LISTENS ? world.knock_port : (uint16_t)(9 + at));
        request.pid += (int32_t)number;
        frame.number = 0;
        frame.bytes = WEFT_WIRE_JOIN_REQUEST;
        weft_join_request_encode(&request, payload);
        world.asked[peer - world.peers] = peer->sent == 0 && peer->state == HOSTILE_OPEN;
    }
    hostile_send_frame(peer, &frame, payload);
}

static void stranger(void)
{
    static const char *const words[] = {"", "GET / HTTP/1.1\r\n\r\n", "WEFT"};
    int fd = -1, error;
    weft_os_addr_t addr = hostile_address(world.port);
    if (weft_os_connect(&addr, &fd) == WEFT_OK) {
        const char *word = words[fuzz_byte(&world.data, &world.bytes) % 3];
        if (word[0] != '\0') {
            (void)weft_os_send(fd, word, strlen(word), &error);
        }
        weft_os_close(fd);
    }
}

/* Says hello, of this version or another, and goes. */
static void greet(uint8_t how)
{
    uint8_t label[WEFT_AUTH_LABEL], hello[WEFT_AUTH_HELLO];
    weft_auth_state_t state;
    weft_os_addr_t addr = hostile_address(world.port);
    hostile_t guest;
    int error;
    hostile_init(&guest, world.comm_id);
    weft_auth_label_make(label, (how & 1) != 0 ? WEFT_PURPOSE_TREE : WEFT_PURPOSE_ROOT,
                         how >> 1 & 3);
    FUZZ_NEED(weft_auth_client_begin(world.key, &state, label, hello) == WEFT_OK);
    if ((how & 8) != 0) {
        foreign_hello(world.key, how >> 4, how >> 4, hello);
    }
    if (weft_os_connect(&addr, &guest.fd) == WEFT_OK) {
        (void)weft_os_send(guest.fd, hello, sizeof hello, &error);
        hostile_close(&guest, (how & 16) != 0);
    }
}

static void begin(hostile_t *peer, const char *purpose, uint32_t rank)
{
    size_t at = (size_t)(peer - world.peers);
    world.asked[at] = world.served[at] = world.welcomed[at] = false;
    hostile_connect(peer, world.key, purpose, world.port, rank);
    world.shakes = peer;
    world.patience = 64;
}

static void act(uint8_t op, hostile_t *peer)
{
    const uint8_t **data = &world.data;
    size_t *bytes = &world.bytes, at = (size_t)(peer - world.peers);
    switch (op == 12 || op == 13 ? op - 12 : op) {
    case 0:
    case 1:
        begin(peer, WEFT_PURPOSE_ROOT, fuzz_byte(data, bytes) % (NRANKS + 1));
        break;
    case 14:
        begin(peer, WEFT_PURPOSE_TREE, fuzz_byte(data, bytes) % (NRANKS + 1));
        break;
    case 15:
        greet(fuzz_byte(data, bytes));
        break;
    case 2:
        say(peer, WEFT_FRAME_JOIN, 0);
        break;
    case 3:
        say(peer, WEFT_FRAME_CLAIM, fuzz_byte(data, bytes) % 2);
        break;
    case 4:
        say(peer, WEFT_FRAME_READY, fuzz_byte(data, bytes) % 3);
        break;
    case 5:
        say(peer, WEFT_FRAME_CLAIMED, 0);
        break;
    case 6:
        world.asked[at] = false;
        hostile_send_any(peer, 0, data, bytes);
        break;
    case 7: {
        uint8_t some[64], count = fuzz_byte(data, bytes) % 64;
        fuzz_take(data, bytes, some, count);
        world.asked[at] = false;
        hostile_send(peer, some, count);
        break;
    }
    case 8:
    case 9:
        world.asked[at] = false;
        hostile_close(peer, op == 9);
        break;
    case 10:
        turns_pass(UINT64_C(3) * fuzz_byte(data, bytes) * fuzz_byte(data, bytes) * WEFT_NS_PER_MS /
                   16);
        break;
    default:
        stranger();
    }
}

static void hear_knocks(void)
{
    int fd = accepted(world.listener);
    if (fd >= 0) {
        hostile_accept(&world.knock, world.tree_key, fd);
    }
    (void)hostile_step(&world.knock, hears);
}

/* Nothing is ready, so what was sent before has been served. */
static bool turn(void *arg)
{
    (void)arg;
    hear_knocks();
    for (size_t i = 0; i < PEERS; i++) {
        world.served[i] = world.served[i] || world.asked[i];
        (void)hostile_step(&world.peers[i], hears);
    }
    if (world.shakes != NULL && hostile_step(world.shakes, hears) && world.patience-- > 0) {
        return true;
    }
    world.shakes = NULL;
    bool acts = world.bytes > 0;
    /* Several at once, until one that says that the root comes next. */
    for (uint8_t op = 255; world.bytes > 0 && (op & 128) != 0;) {
        op = fuzz_byte(&world.data, &world.bytes);
        act(op & 15, &world.peers[op >> 4 & 7]);
        if (world.shakes != NULL) {
            return true;
        }
    }
    return acts;
}

/* The root has ended: what it said is still there to be read. */
static void judge(void)
{
    for (size_t i = 0; i < PEERS; i++) {
        (void)hostile_step(&world.peers[i], hears);
        world.success = world.success || world.welcomed[i];
    }
    for (size_t i = 0; i < PEERS; i++) {
        FUZZ_NEED(!world.served[i] || !world.asked[i] || world.peers[i].heard > 0 || world.success);
        hostile_close(&world.peers[i], true);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const weft_boot_settings_t settings = {.init_timeout = 20, .interface = ""};
    weft_unique_id_t unique;
    weft_id_t id;
    uint32_t open = fuzz_descriptors();
    world = (world_t){.data = data, .bytes = bytes < 512 ? bytes : 512};
    turns_begin(turn, NULL);
    FUZZ_NEED(weft_boot_id_create(&settings, &unique) == WEFT_OK);
    FUZZ_NEED(weft_id_decode(&unique, &id) == WEFT_OK);
    weft_id_key(&id, WEFT_PURPOSE_ROOT, world.key);
    weft_id_key(&id, WEFT_PURPOSE_TREE, world.tree_key);
    FUZZ_NEED(weft_os_listen(8, &world.listener, &world.knock_port) == WEFT_OK);
    hostile_init(&world.knock, world.comm_id);
    world.port = id.addrs[0].port;
    world.comm_id = weft_id_comm(&id);
    for (size_t i = 0; i < PEERS; i++) {
        hostile_init(&world.peers[i], world.comm_id);
    }
    FUZZ_NEED(turns_run_thread());
    FUZZ_NEED(turns_since(21 * WEFT_NS_PER_S) <= 11 * WEFT_NS_PER_S);
    judge();
    hostile_close(&world.knock, true);
    weft_os_close(world.listener);
    FUZZ_NEED(fuzz_descriptors() == open);
    return 0;
}
