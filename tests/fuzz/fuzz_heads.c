/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mapped ports beside a peer that writes anything into the shared memory at any moment. The input
 * is a list of what happens: the peer's writes, and this rank's sends and receives. Whatever is
 * read or written for the peer lies in the FIFO, an open window or an arena. */
#include <unistd.h>

#include "core/base/error.h"
#include "core/exec/landing.h"
#include "core/exec/port.h"
#include "core/exec/zero_copy.h"
#include "fuzz.h"

enum { SLOTS = 4, SLOT_BYTES = 256, WINDOW = 200, BLOCK = 8192, STEPS_MOST = 200 };

typedef struct scene {
    uint8_t *fifo[2], *window; /* of the peer, open here; the first half is ours and open there */
    void *block;
    weft_arena_offer_t offer;
    weft_windows_t windows;
    weft_peer_windows_t reach;
    weft_mapped_port_t send, receive;
    uint64_t landed; /* bytes of the offer that stands */
} scene_t;

static volatile uint8_t seen;

static void read_all(const uint8_t *bytes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        seen = (uint8_t)(seen ^ bytes[i]);
    }
}

static void scene_open(scene_t *s)
{
    uint64_t offset;
    *s = (scene_t){.window = malloc(WINDOW)};
    FUZZ_NEED(s->window != NULL && weft_arena_alloc(BLOCK, &s->block));
    FUZZ_NEED(weft_arena_find(s->block, BLOCK, &offset, &s->offer));
    memset(s->window, 1, WINDOW);
    s->reach.theirs[0] = (weft_lanes_window_t){.base = s->window, .bytes = WINDOW};
    s->reach.mine[1] = (weft_lanes_window_t){.base = s->window, .bytes = WINDOW / 2};
    s->windows.reach = &s->reach;
    for (int i = 0; i < 2; i++) {
        s->fifo[i] = aligned_alloc(WEFT_LINE, weft_fifo_bytes(SLOTS, SLOT_BYTES));
        FUZZ_NEED(s->fifo[i] != NULL);
        memset(s->fifo[i], 0, weft_fifo_bytes(SLOTS, SLOT_BYTES));
    }
    weft_mapped_port_init(&s->receive, 0, false, s->fifo[0], SLOTS, SLOT_BYTES);
    weft_mapped_port_init(&s->send, 0, true, s->fifo[1], SLOTS, SLOT_BYTES);
    s->receive.windows = s->send.windows = &s->windows;
}

static void scene_close(scene_t *s)
{
    weft_port_fini(&s->receive.port);
    weft_port_fini(&s->send.port);
    FUZZ_NEED(weft_arena_free(s->block));
    free(s->fifo[0]);
    free(s->fifo[1]);
    free(s->window);
}

/* Somewhere, a few bytes of anything. `writes` says that this rank is writing, and is its own. */
static void peer_scribbles(const scene_t *s, const uint8_t **data, size_t *bytes)
{
    uint16_t at;
    uint8_t which, text[16];
    fuzz_take(data, bytes, &which, 1);
    fuzz_take(data, bytes, &at, sizeof at);
    fuzz_take(data, bytes, text, sizeof text);
    uint64_t room = weft_fifo_bytes(SLOTS, SLOT_BYTES) - sizeof text;
    memcpy(s->fifo[which & 1] + at % room, text, 1 + (which >> 1) % sizeof text);
}

/* A message comes, whose words are what the peer likes, or nearly right ones. */
static void peer_sends(scene_t *s, const uint8_t **data, size_t *bytes)
{
    static const uint64_t windows[] = {0,
                                       1,
                                       2,
                                       WEFT_ARENA_WINDOW + 1,
                                       WEFT_ZERO_COPY_LANDED,
                                       WEFT_LANES_WINDOWS,
                                       WEFT_LANES_WINDOWS + 1,
                                       WEFT_ZERO_COPY_HERE};
    weft_slot_header_t *header = weft_mapped_port_header(&s->receive.port);
    weft_zero_copy_t at;
    uint8_t how = fuzz_byte(data, bytes);
    fuzz_take(data, bytes, &at, sizeof at);
    at.window = (how & 1) != 0 ? windows[how >> 4 & 7] : at.window;
    at.offset = (how & 2) != 0 ? at.offset % (2 * WINDOW) : at.offset;
    if ((how & 4) != 0) {
        at.offer = s->offer;
    } else {
        at.offer.pid = getpid(); /* the descriptors of no other process */
    }
    memcpy(header->payload, &at, sizeof at);
    atomic_store(&header->sequence, s->receive.port.next + 1);
}

/* It wants a result in an arena. */
static void peer_offers(scene_t *s, const uint8_t **data, size_t *bytes)
{
    weft_fifo_landing_t *l = &s->send.control->landing;
    uint64_t words[4];
    uint8_t how;
    fuzz_take(data, bytes, &how, 1);
    fuzz_take(data, bytes, words, sizeof words);
    atomic_store(&l->offset, (how & 1) != 0 ? words[0] % BLOCK : words[0]);
    atomic_store(&l->bytes, (how & 2) != 0 ? words[1] % BLOCK : words[1]);
    atomic_store(&l->slice, (how & 4) != 0 ? 1 + words[2] % 64 : words[2]);
    atomic_store(&l->where, (uint64_t)(uint32_t)getpid() << 32 | (uint32_t)s->offer.fd);
    atomic_store(&l->token, (how & 8) != 0 ? s->offer.token : words[3]);
    atomic_store(&l->first, (how & 16) != 0 ? s->send.port.next + 1 : words[3]);
}

static void check_inside(const scene_t *s, const uint8_t *payload, uint64_t count)
{
    const weft_arena_import_t *arena = s->receive.arena;
    uintptr_t at = (uintptr_t)payload;
    if (at >= (uintptr_t)s->block && at - (uintptr_t)s->block < BLOCK) {
        FUZZ_NEED(s->landed != 0 && count <= BLOCK - (at - (uintptr_t)s->block));
    } else if (at < (uintptr_t)s->window || at >= (uintptr_t)s->window + WINDOW) {
        FUZZ_NEED(arena != NULL && at - (uintptr_t)arena->shared.base <= arena->shared.bytes &&
                  count <= arena->shared.bytes - (at - (uintptr_t)arena->shared.base));
    }
    read_all(payload, count);
}

static void receive(scene_t *s, uint8_t size)
{
    weft_port_t *port = &s->receive.port;
    uint64_t count = (uint64_t)size % SLOT_BYTES + 1;
    const uint8_t *payload = NULL;
    if (!weft_port_can_receive(port)) {
        return;
    }
    weft_signature_t signature = *weft_port_signature(port);
    seen = (uint8_t)(seen ^ signature.coll);
    weft_status_t status = weft_port_may_be_apart(port, count)
                               ? weft_zero_copy_resolve(port, count, 1u << (size & 3), &payload)
                               : WEFT_OK;
    if (status != WEFT_OK) {
        FUZZ_NEED(status == WEFT_AGAIN ||
                  (status == WEFT_ERR_PROTO && payload == NULL && weft_error_record()->peer == 0));
        weft_zero_copy_abandon(port);
        return;
    }
    if (payload != NULL) {
        check_inside(s, payload, count);
    } else {
        read_all(weft_port_payload(port, count), count);
    }
    FUZZ_NEED(weft_port_release(port) == WEFT_OK);
}

/* A payload in a slot, in a window that is open in the peer, or in the arena. Where it is
 * described, it is described as it is. */
static void send_from(scene_t *s, uint64_t count, uint8_t how)
{
    weft_port_t *port = &s->send.port;
    const uint8_t *payload = (how & 1) != 0 ? s->window : s->block;
    weft_signature_t signature = {.coll = WEFT_BROADCAST};
    uint64_t offset = how >> 1 & 31;
    weft_zero_copy_t where = weft_zero_copy_describe(port, payload + offset, count);
    bool told = where.window != 0;
    if (where.window == WEFT_ARENA_WINDOW + 1) {
        FUZZ_NEED(payload == s->block && where.offer.token == s->offer.token);
    } else if (told) {
        FUZZ_NEED(where.window == 2 && payload == s->window && where.offset == offset);
        FUZZ_NEED(offset + count <= WINDOW / 2);
    } else {
        FUZZ_NEED(where.offer.token == 0 || payload == s->block);
        FUZZ_NEED(weft_port_commit(port, count) == WEFT_OK);
        memset(weft_port_payload(port, count), how, count);
    }
    FUZZ_NEED(weft_port_send(port, &signature, count, &where) == WEFT_OK);
    (void)weft_port_is_returned(port);
}

static void send_one(scene_t *s, uint8_t size, uint8_t how)
{
    weft_port_t *port = &s->send.port;
    weft_signature_t signature = {.coll = WEFT_ALL_REDUCE};
    uint64_t count = (uint64_t)size % SLOT_BYTES + 1;
    weft_zero_copy_t where = {.window = 0};
    if (!weft_port_can_send(port, count)) {
        return;
    }
    if ((how & 64) != 0) {
        send_from(s, count, how);
        return;
    }
    uint8_t *to = weft_landing_begin(port, count, 1u << (size & 3));
    if (to != NULL) {
        const weft_arena_import_t *arena = s->send.arena;
        uint64_t at = (uint64_t)(to - (uint8_t *)arena->shared.base);
        FUZZ_NEED(at <= arena->shared.bytes && count <= arena->shared.bytes - at);
        where.window = WEFT_ZERO_COPY_LANDED;
        weft_landing_end(port);
    } else {
        FUZZ_NEED(weft_port_commit(port, count) == WEFT_OK);
        memset(weft_port_payload(port, count), size, count);
    }
    FUZZ_NEED(weft_port_send(port, &signature, count, &where) == WEFT_OK);
    (void)weft_port_is_returned(port);
}

/* This rank's communicator fails, or the peer answers an offer of the arena, or takes its memory
 * back. */
static void interrupt(scene_t *s, uint8_t how)
{
    weft_port_t *ports[] = {&s->receive.port, &s->send.port};
    uint64_t sent = s->windows.sent;
    switch (how % 4) {
    case 0:
        atomic_store(&s->send.control->arena, (how & 4) != 0 ? s->offer.token : ~s->offer.token);
        break;
    case 1:
        weft_zero_copy_withdraw(ports[how >> 2 & 1]);
        break;
    case 2:
        atomic_store(&s->receive.control->withdrawn, how >> 2 & 1);
        break;
    default:
        weft_zero_copy_count(ports, 2, how, how);
        FUZZ_NEED(s->windows.sent == sent + how);
    }
}

static void offer(scene_t *s, uint8_t how)
{
    weft_landing_chunk_t chunk = {.ahead = how & 3,
                                  .to = s->block,
                                  .bytes = (uint64_t)(how >> 2) * 100 + 1,
                                  .slice = (uint64_t)(how >> 4) + 1};
    /* This waits for a peer that writes: for one that there is not, not for long. */
    atomic_store(&s->receive.control->writes, how == 7 ? INT32_MAX : 0);
    weft_landing_withdraw(&s->receive.port);
    s->landed = (how & 1) != 0 ? chunk.bytes : 0;
    if (s->landed != 0) {
        weft_landing_offer(&s->receive.port, &chunk);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    scene_t s;
    scene_open(&s);
    for (int step = 0; bytes > 0 && step < STEPS_MOST; step++) {
        uint8_t what, how;
        fuzz_take(&data, &bytes, &what, 1);
        fuzz_take(&data, &bytes, &how, 1);
        switch (what % 6) {
        case 0:
            peer_scribbles(&s, &data, &bytes);
            break;
        case 1:
            peer_sends(&s, &data, &bytes);
            break;
        case 2:
            peer_offers(&s, &data, &bytes);
            break;
        case 3:
            send_one(&s, how, fuzz_byte(&data, &bytes));
            break;
        case 4:
            offer(&s, how);
            break;
        default:
            if (what / 6 == 41) {
                interrupt(&s, how);
            } else {
                receive(&s, how);
            }
        }
    }
    scene_close(&s);
    return 0;
}
