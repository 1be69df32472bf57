/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The addresses of all devices' memory. Freed ones are given again as late as possible, so use
 * after free crashes too. */
#include <string.h>
#include <sys/mman.h>

#include "tests/cuda/fake.h"

static uint8_t *begin;
static uint32_t next; /* granule where the search goes on */
static bool given[FAKE_GRANULES];

static bool addresses_open(void)
{
    if (begin == NULL) {
        void *at = mmap(NULL, (size_t)FAKE_GRANULES * FAKE_GRANULE, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        begin = at != MAP_FAILED ? at : NULL;
    }
    return begin != NULL;
}

/* The first of so many free granules from `first` on, or FAKE_GRANULES. */
static uint32_t addresses_find(uint32_t first, size_t granules)
{
    size_t free_ones = 0;
    for (uint32_t g = first; g < FAKE_GRANULES && free_ones < granules; g++) {
        free_ones = given[g] ? 0 : free_ones + 1;
        first = free_ones == 0 ? g + 1 : first;
    }
    return free_ones == granules ? first : FAKE_GRANULES;
}

void *fake_addresses_take(size_t bytes)
{
    const size_t granules = bytes / FAKE_GRANULE + 1;
    uint32_t first = addresses_open() ? addresses_find(next, granules) : FAKE_GRANULES;
    if (first == FAKE_GRANULES && begin != NULL) {
        first = addresses_find(0, granules);
    }
    if (first == FAKE_GRANULES) {
        return NULL;
    }
    memset(given + first, true, granules);
    next = first + (uint32_t)granules;
    return begin + (size_t)first * FAKE_GRANULE;
}

void fake_addresses_give_back(const void *at, size_t bytes)
{
    memset(given + fake_addresses_granule((uintptr_t)at), false, bytes / FAKE_GRANULE + 1);
}

uint32_t fake_addresses_granule(uintptr_t address)
{
    const uintptr_t granule = (address - (uintptr_t)begin) / FAKE_GRANULE;
    return begin != NULL && granule < FAKE_GRANULES ? (uint32_t)granule : FAKE_GRANULES;
}
