/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What kernels store in units of 16 and of 128 bytes. A device promises that nobody sees such a
 * unit in part, not when it is seen, nor in which order, until the next fence: with
 * fake_cuda.reorders a thread keeps some of them and lets go of any. Between devices without NVLink
 * lines of 128 bytes come in parts. */
#include "tests/cuda/fake.h"

enum { KEPT = 24, PARTS = 8 };

typedef struct unit {
    uint64_t *at;
    uint64_t word[2 * PARTS];
    uint32_t parts;
} unit_t;

static _Thread_local struct {
    unit_t kept[KEPT];
    uint32_t n, random;
    unit_t line; /* whose parts come one after the other */
} stores;

/* Flags are the last words of units, and of their parts. */
static void unit_store(const unit_t *unit)
{
    for (uint32_t p = 0; p < unit->parts; p++) {
        __atomic_store_n(&unit->at[2 * p], unit->word[2 * p], __ATOMIC_RELAXED);
        __atomic_store_n(&unit->at[2 * p + 1], unit->word[2 * p + 1], __ATOMIC_RELEASE);
    }
}

static void let_go(uint32_t which)
{
    unit_store(&stores.kept[which]);
    stores.kept[which] = stores.kept[--stores.n];
}

static uint32_t draw(uint32_t n)
{
    stores.random = stores.random * 1664525u + 1013904223u;
    return (stores.random >> 8) % n;
}

static void keep(const unit_t *unit)
{
    if (!fake_cuda.reorders) {
        unit_store(unit);
        return;
    }
    if (stores.n == KEPT) {
        let_go(draw(KEPT));
    }
    stores.kept[stores.n++] = *unit;
}

void fake_store_part(uint64_t *at, uint64_t low, uint64_t high, int of_line)
{
    const uint32_t part = (uint32_t)((uintptr_t)at / 16 % PARTS);
    const unit_t alone = {.at = at, .word = {low, high}, .parts = 1};
    if (fake_cuda.counts) {
        atomic_fetch_add(of_line ? &fake_cuda.lines : &fake_cuda.words, 1);
    }
    if (!of_line || (fake_cuda.no_nvlink && fake_memory_is_apart(at))) {
        keep(&alone);
        return;
    }
    stores.line.word[2 * part] = low;
    stores.line.word[2 * part + 1] = high;
    if (part == PARTS - 1) {
        stores.line.at = at - 2 * part;
        stores.line.parts = PARTS;
        keep(&stores.line);
    }
}

void fake_stores_linger(void)
{
    if (stores.n > 0) {
        let_go(draw(stores.n));
    }
}

void fake_fence(void)
{
    while (stores.n > 0) {
        let_go(stores.n - 1);
    }
    if (fake_cuda.counts) {
        atomic_fetch_add(&fake_cuda.fences, 1);
    }
}
