/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See msccl_sets.h. Sets of equal members may have different numbers, but for the full one. */
#include "msccl_sets.h"

#include <string.h>

static uint64_t *msccl_sets_bits_of(const msccl_sets_t *sets, uint32_t set)
{
    return sets->bits + (size_t)set * sets->words;
}

weft_status_t msccl_sets_init(msccl_sets_t *sets, const weft_host_t *host, uint32_t n)
{
    *sets = (msccl_sets_t){.host = host, .n = n, .words = (n + 63) / 64, .count = n + 2};
    sets->capacity = 2 * sets->count;
    sets->bits = host->alloc(host, (size_t)sets->capacity * sets->words * sizeof *sets->bits, 0);
    if (sets->bits == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    uint64_t *all = msccl_sets_bits_of(sets, n + 1);
    for (uint32_t g = 0; g < n; g++) {
        msccl_sets_bits_of(sets, g + 1)[g / 64] = UINT64_C(1) << g % 64;
        all[g / 64] |= UINT64_C(1) << g % 64;
    }
    return WEFT_OK;
}

void msccl_sets_fini(msccl_sets_t *sets)
{
    if (sets->host != NULL) {
        sets->host->free(sets->host, sets->bits);
    }
}

void msccl_sets_reset(msccl_sets_t *sets)
{
    sets->count = sets->n + 2;
}

bool msccl_sets_full(const msccl_sets_t *sets)
{
    return sets->count == sets->capacity &&
           2 * (uint64_t)sets->capacity * sets->words > MSCCL_SET_WORDS_MAX;
}

static weft_status_t msccl_sets_reserve(msccl_sets_t *sets)
{
    const weft_host_t *host = sets->host;
    if (sets->count < sets->capacity) {
        return WEFT_OK;
    }
    if (msccl_sets_full(sets)) {
        return WEFT_ERR_RESOURCE;
    }
    uint32_t more = 2 * sets->capacity;
    uint64_t *bits = host->alloc(host, (size_t)more * sets->words * sizeof *bits, 0);
    if (bits == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    memcpy(bits, sets->bits, (size_t)sets->count * sets->words * sizeof *bits);
    host->free(host, sets->bits);
    sets->bits = bits;
    sets->capacity = more;
    return WEFT_OK;
}

static uint32_t msccl_sets_first_common(const uint64_t *a, const uint64_t *b, uint32_t n)
{
    for (uint32_t g = 0; g < n; g++) {
        if (((a[g / 64] & b[g / 64]) >> g % 64 & 1) != 0) {
            return g;
        }
    }
    return MSCCL_NONE;
}

weft_status_t msccl_sets_unite(msccl_sets_t *sets, uint32_t x, uint32_t y, uint32_t *union_p,
                               uint32_t *common_p)
{
    weft_status_t status = msccl_sets_reserve(sets);
    if (status != WEFT_OK) {
        return status;
    }
    const uint64_t *a = msccl_sets_bits_of(sets, x), *b = msccl_sets_bits_of(sets, y),
                   *all = msccl_sets_bits_of(sets, sets->n + 1);
    uint64_t *out = msccl_sets_bits_of(sets, sets->count), common = 0;
    bool full = true;
    for (uint32_t i = 0; i < sets->words; i++) {
        out[i] = a[i] | b[i];
        full = full && out[i] == all[i];
        common |= a[i] & b[i];
    }
    *common_p = common == 0 ? MSCCL_NONE : msccl_sets_first_common(a, b, sets->n);
    *union_p = full ? sets->n + 1 : sets->count++;
    return WEFT_OK;
}

uint32_t msccl_sets_missing(const msccl_sets_t *sets, uint32_t set)
{
    const uint64_t *bits = msccl_sets_bits_of(sets, set);
    for (uint32_t g = 0; g < sets->n; g++) {
        if ((bits[g / 64] >> g % 64 & 1) == 0) {
            return g;
        }
    }
    return MSCCL_NONE;
}
