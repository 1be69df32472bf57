/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A receiver offers places of its memory and withdraws the offers: the sender writes to a place
 * while its offer stands or has written there before withdraw() returns, never later.
 * Sources: core/exec/landing.c */
#include "core/exec/landing.c"
#include "model_system.h"

#define OFFERS 2u
#define MESSAGES 3u /* one of the first offer, two of the second */
#define SLICE sizeof(uint64_t)

static weft_fifo_control_t control;
static weft_windows_t windows;
static weft_arena_import_t arena;
static weft_mapped_port_t sender, receiver;
static uint64_t place[MESSAGES];
static _Atomic uint32_t sent; /* messages */

/* Each offer is of another arena, though all of them are the same memory. */
bool weft_arena_find(const void *memory, uint64_t bytes, uint64_t *offset_p,
                     weft_arena_offer_t *offer_p)
{
    const bool second = bytes > SLICE;
    *offset_p = (uintptr_t)memory - (uintptr_t)place;
    *offer_p = (weft_arena_offer_t){.pid = 7, .fd = 3 + second, .token = 5 + second};
    return true;
}

weft_arena_import_t *weft_arena_import(const weft_arena_offer_t *offer)
{
    model_assert(offer->pid == 7 && offer->fd + 2 == (int32_t)offer->token);
    arena.offer.token = offer->token;
    return &arena;
}

void weft_arena_unimport(weft_arena_import_t *import)
{
    (void)import;
}

bool weft_arena_open(weft_arena_import_t *import, uint64_t end)
{
    (void)import, (void)end;
    return true;
}

bool weft_os_process_runs(int32_t pid, uint32_t started)
{
    (void)pid, (void)started;
    return true;
}

int32_t weft_os_pid(void)
{
    return 7;
}

static void landing_open(weft_mapped_port_t *mapped, bool sends)
{
    mapped->port.next = 0;
    mapped->port.kind = WEFT_PORT_MAPPED;
    mapped->port.sends = sends;
    mapped->control = &control;
    mapped->windows = &windows;
    mapped->landing.first = UINT64_MAX;
}

static void model_begin(void)
{
    landing_open(&sender, true);
    landing_open(&receiver, false);
    atomic_store_explicit(&control.landing.first, 0, memory_order_relaxed);
    atomic_store_explicit(&sent, 0, memory_order_relaxed);
    arena.shared.base = (uint8_t *)place;
    arena.shared.bytes = sizeof place;
    arena.offer.token = 0;
    sender.arena = &arena;
}

static void *model_send(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < MESSAGES; i++) {
        uint8_t *to = weft_landing_begin(&sender.port, SLICE, SLICE);
        if (to != NULL) {
            model_assert(to == (uint8_t *)&place[i]);
            *(uint64_t *)(void *)to = 100 + i;
            weft_landing_end(&sender.port);
        }
        sender.port.next++;
        atomic_store_explicit(&sent, i + 1, memory_order_release);
    }
    return NULL;
}

/* The first offer is withdrawn unless its message has come. The receiver's own writes are races if
 * the sender may still write. */
static void *model_receive(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < OFFERS; i++) {
        weft_landing_offer(&receiver.port, &(weft_landing_chunk_t){.ahead = i,
                                                                   .to = &place[i],
                                                                   .bytes = (i + 1) * SLICE,
                                                                   .slice = SLICE});
        if (i + 1 == OFFERS || atomic_load_explicit(&sent, memory_order_acquire) <= i) {
            weft_landing_withdraw(&receiver.port);
        }
        place[i] = 1;
        model_assert(place[i] == 1);
    }
    return NULL;
}

static void model_end(void)
{
}

MODEL_PLAY(model_send, model_receive)
