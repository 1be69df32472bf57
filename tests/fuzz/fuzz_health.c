/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The health channel of rank 1 of six, and neighbours that hold the key: the parent, the children
 * and whoever connects say anything in any order, close, are reset, listen or do not, while this
 * rank's other threads report, ask, tell and leave. Callbacks get only what can be, a death and a
 * departure once; the thread ends in time when it shall, with nothing left open. */
#include <sys/socket.h>

#include "core/base/error.h"
#include "core/boot/auth.h"
#include "core/boot/boot_memory.h"
#include "core/boot/boot_state.h"
#include "core/boot/health.h"
#include "core/boot/health_state.h"
#include "core/os/os.h"
#include "hostile.h"
#include "tests/support/accepted.h"
#include "turns.h"

#define NRANKS 6
#define ME 1
#define COMM UINT64_C(0x7765667400000001)
#define LISTENERS 3 /* of rank 0, and of two others */

enum { PARENT, CHILD, CHILD_2, GUEST, GUEST_2, TAKEN, PEERS };

typedef struct world {
    const uint8_t *data;
    size_t bytes;
    hostile_t peers[PEERS];
    int listeners[LISTENERS];
    uint16_t ports[LISTENERS];
    weft_boot_t boot;
    weft_boot_peer_t known[NRANKS];
    weft_join_request_t requests[NRANKS];
    hostile_t *shakes;
    uint32_t patience;
    bool stops;
    uint32_t dead, left; /* ranks of which a callback has told, as bits */
} world_t;

static world_t world;

/* Callbacks ------------------------------------------------------------------------------------ */

static void check_error(const weft_error_t *error)
{
    FUZZ_NEED(error->status < 0 && memchr(error->text, '\0', sizeof error->text) != NULL);
    FUZZ_NEED(error->peer >= -1 && error->peer < NRANKS);
}

static void on_failed(void *arg, uint64_t comm_id, const weft_error_t *error,
                      const weft_missing_t *missing)
{
    uint32_t ranks[NRANKS];
    (void)arg;
    check_error(error);
    FUZZ_NEED(error->comm_id == comm_id);
    uint32_t count = missing != NULL ? weft_missing_list(missing, ranks, NRANKS) : 0;
    FUZZ_NEED(missing == NULL || (count > 0 && missing->count <= NRANKS));
    for (uint32_t i = 0; i < count; i++) {
        FUZZ_NEED(ranks[i] < NRANKS);
    }
}

static void on_died(void *arg, uint64_t comm_id, const weft_error_t *error)
{
    (void)arg;
    check_error(error);
    FUZZ_NEED(error->peer >= 0);
    if (comm_id == 0) {
        uint32_t bit = 1u << error->peer; /* one that has left may be declared dead */
        FUZZ_NEED((world.dead & bit) == 0);
        world.dead |= bit;
    }
}

static void on_asked(void *arg, uint64_t comm_id, uint32_t from, const weft_signature_t *theirs)
{
    weft_answer_t answer;
    (void)arg;
    FUZZ_NEED(from < NRANKS && theirs->coll < WEFT_COLL_COUNT);
    memset(&answer, 0, sizeof answer);
    answer.waits_for = UINT32_MAX;
    weft_health_answer(&world.boot, comm_id, from, &answer);
}

static void on_answered(void *arg, uint64_t comm_id, uint32_t from, const weft_answer_t *answer)
{
    (void)arg, (void)comm_id;
    FUZZ_NEED(from < NRANKS && answer->signature.coll < WEFT_COLL_COUNT);
}

static void on_told(void *arg, uint64_t consensus, uint32_t from, const weft_word_t *word)
{
    (void)arg, (void)consensus;
    FUZZ_NEED(from < NRANKS && word->ballot < NRANKS);
    FUZZ_NEED(word->kind >= WEFT_WORD_CALL && word->kind <= WEFT_WORD_WAIT);
}

static void on_left(void *arg, uint64_t comm_id, uint32_t rank, const weft_leave_t *leave)
{
    (void)arg, (void)leave;
    FUZZ_NEED(rank < NRANKS && rank != ME);
    if (comm_id == 0) {
        FUZZ_NEED(((world.left | world.dead) & 1u << rank) == 0);
        world.left |= 1u << rank;
    }
}

static const weft_health_callbacks_t callbacks = {.failed = on_failed,
                                                  .died = on_died,
                                                  .asked = on_asked,
                                                  .answered = on_answered,
                                                  .told = on_told,
                                                  .left = on_left};

/* The other threads of this rank --------------------------------------------------------------- */

static void call(const uint8_t **data, size_t *bytes)
{
    uint8_t how = fuzz_byte(data, bytes);
    uint32_t peer = how >> 4;
    uint64_t comm_id = (how & 8) != 0 ? COMM : 2;
    weft_error_t error;
    weft_signature_t signature;
    weft_missing_t missing = {.count = 1, .first = peer % NRANKS, .bits = {1}};
    weft_word_t word = {.kind = WEFT_WORD_VOTE, .ballot = peer % NRANKS, .taken = UINT32_MAX};
    switch (how & 7) {
    case 0:
        weft_health_open(&world.boot, comm_id);
        break;
    case 1:
    case 2:
        weft_error_clear(&error);
        error.status = WEFT_ERR_ABORTED;
        error.comm_id = comm_id;
        snprintf(error.text, sizeof error.text, "by order");
        weft_health_report(&world.boot, comm_id, &error, (how & 7) == 2 ? &missing : NULL);
        break;
    case 3:
        memset(&signature, 0, sizeof signature);
        weft_health_ask(&world.boot, comm_id, peer, &signature);
        break;
    case 4:
        weft_health_tell(&world.boot, comm_id, peer, &word);
        break;
    case 5:
        weft_health_leave_comm(&world.boot, comm_id, &(weft_leave_t){.sequence = peer});
        break;
    default:
        world.stops = true;
        weft_health_queue_stop(&world.boot.health->queue);
    }
}

/* The neighbours ------------------------------------------------------------------------------- */

static void hears(hostile_t *peer, const weft_frame_t *frame, const uint8_t *payload)
{
    (void)peer, (void)payload;
    FUZZ_NEED(frame->from < NRANKS);
    FUZZ_NEED(frame->type == WEFT_FRAME_FAIL || frame->type == WEFT_FRAME_MISSING ||
              (frame->type >= WEFT_FRAME_BEAT && frame->type <= WEFT_FRAME_DEATH) ||
              frame->type == WEFT_FRAME_WORD || frame->type == WEFT_FRAME_AGAIN);
}

static void waits_for(hostile_t *peer)
{
    world.shakes = peer;
    world.patience = 64;
}

static void close_listener(uint32_t which)
{
    weft_os_close(world.listeners[which]);
    world.listeners[which] = -1;
}

static void act(uint8_t op, hostile_t *peer)
{
    const uint8_t **data = &world.data;
    size_t *bytes = &world.bytes;
    uint8_t some[64], more;
    switch (op) {
    case 0:
    case 1:
    case 2:
        hostile_send_any(peer, 0, data, bytes);
        break;
    case 3:
        hostile_send_any(peer, WEFT_FRAME_DEATH, data, bytes);
        break;
    case 4:
        hostile_send_any(peer, WEFT_FRAME_LEAVE_FAMILY, data, bytes);
        break;
    case 5:
        hostile_send_any(peer, WEFT_FRAME_WORD, data, bytes);
        break;
    case 6:
        more = fuzz_byte(data, bytes) % 64;
        fuzz_take(data, bytes, some, more);
        hostile_send(peer, some, more);
        break;
    case 7:
    case 8:
        hostile_close(peer, op == 8);
        break;
    case 9:
        hostile_connect(peer, world.boot.tree_key, WEFT_PURPOSE_TREE, world.boot.listener.port,
                        fuzz_byte(data, bytes) % (NRANKS + 1));
        waits_for(peer);
        break;
    case 10:
        close_listener(fuzz_byte(data, bytes) % LISTENERS);
        break;
    case 11:
    case 12:
        call(data, bytes);
        break;
    default:
        more = fuzz_byte(data, bytes);
        turns_pass(UINT64_C(100000) * more * more);
    }
}

/* Our rank connects to a new parent, or knocks. */
static bool accept_one(uint32_t which)
{
    int fd = accepted(world.listeners[which]);
    if (fd < 0) {
        return false;
    }
    hostile_t *peer = &world.peers[which == 0 ? PARENT : TAKEN];
    hostile_accept(peer, world.boot.tree_key, fd);
    waits_for(peer);
    return true;
}

static bool turn(void *arg)
{
    bool came = false;
    (void)arg;
    for (uint32_t i = 0; i < LISTENERS; i++) {
        came = accept_one(i) || came;
    }
    for (size_t i = 0; i < PEERS; i++) {
        (void)hostile_step(&world.peers[i], hears);
    }
    if (came ||
        (world.shakes != NULL && hostile_step(world.shakes, hears) && world.patience-- > 0)) {
        return true;
    }
    world.shakes = NULL;
    bool acts = world.bytes > 0;
    for (uint8_t op = 255; world.bytes > 0 && (op & 128) != 0;) {
        op = fuzz_byte(&world.data, &world.bytes);
        act(op & 15, &world.peers[(op >> 4 & 7) % PEERS]);
        if (world.shakes != NULL) {
            return true;
        }
    }
    if (!acts && !world.stops) {
        world.stops = true;
        weft_health_queue_stop(&world.boot.health->queue);
        return true;
    }
    return acts;
}

/* A family that has joined --------------------------------------------------------------------- */

static void open_listeners(void)
{
    static const struct linger now = {.l_onoff = 1};
    for (uint32_t i = 0; i < LISTENERS; i++) {
        world.ports[i] = 0;
        FUZZ_NEED(weft_os_listen(8, &world.listeners[i], &world.ports[i]) == WEFT_OK);
        FUZZ_NEED(setsockopt(world.listeners[i], SOL_SOCKET, SO_LINGER, &now, sizeof now) == 0);
    }
}

/* Ranks of this host are other processes, which have ended or not, or are of another host. */
static void make_requests(uint8_t how)
{
    for (uint32_t r = 0; r < NRANKS; r++) {
        hostile_request(&world.requests[r], r, NRANKS, world.ports[r % LISTENERS]);
        world.requests[r].host_id[0] ^= (uint8_t)(how >> r & 1);
        world.requests[r].pid += (how & 64) != 0 && r != ME ? 1000000 : 0;
        world.known[r].pid = world.requests[r].pid;
        memcpy(world.known[r].host_name, world.requests[r].host_name,
               sizeof world.known[r].host_name);
    }
}

static void link_to(uint32_t which, hostile_t *peer, uint32_t rank)
{
    int pair[2];
    FUZZ_NEED(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    world.boot.links[which] = (weft_tree_link_t){.fd = pair[0], .rank = rank};
    peer->fd = pair[1];
    peer->rank = rank;
    peer->state = HOSTILE_OPEN;
}

static void join(uint8_t how)
{
    weft_boot_t *boot = &world.boot;
    *boot =
        (weft_boot_t){.settings = {.heartbeat = 0.5, .late = 2, .unresponsive = 3, .interface = ""},
                      .rank = ME,
                      .nranks = NRANKS,
                      .comm_id = COMM,
                      .tree_key = {1, 2, 3},
                      .peers = world.known,
                      .requests = world.requests};
    FUZZ_NEED(weft_control_listener_open(&boot->listener, WEFT_PURPOSE_TREE, boot->tree_key) ==
              WEFT_OK);
    make_requests(how);
    world.requests[ME].addrs[0].port = boot->listener.port;
    for (size_t i = 0; i < PEERS; i++) {
        hostile_init(&world.peers[i], COMM);
    }
    link_to(WEFT_TREE_PARENT, &world.peers[PARENT], 0);
    link_to(1, &world.peers[CHILD], 3);
    link_to(2, &world.peers[CHILD_2], 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint32_t open = fuzz_descriptors();
    uint8_t how = fuzz_byte(&data, &bytes);
    world = (world_t){.data = data, .bytes = bytes < 512 ? bytes : 512};
    turns_begin(turn, NULL);
    open_listeners();
    join(how);
    FUZZ_NEED(weft_health_prepare(&world.boot, &callbacks, NULL) == WEFT_OK);
    FUZZ_NEED(weft_health_start(&world.boot) == WEFT_OK);
    FUZZ_NEED(turns_run_thread() && world.stops);
    FUZZ_NEED(turns_since(0) <= 5 * WEFT_NS_PER_S); /* boot.unresponsive, and two seconds */
    weft_health_stop(&world.boot);
    for (size_t i = 0; i < PEERS; i++) {
        hostile_close(&world.peers[i], true);
    }
    for (uint32_t i = 0; i < LISTENERS; i++) {
        close_listener(i);
    }
    weft_control_listener_close(&world.boot.listener);
    FUZZ_NEED(fuzz_descriptors() == open);
    return 0;
}
