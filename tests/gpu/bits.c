/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Combinations of random bits on the device and on a processor. */
#include "check.h"
#include "device.h"
#include "line.h"
#include "tests/support/kernel_reference.h"

#define ELEMENTS 5003u
#define ROOM (8u * (ELEMENTS + 32u))
#define OPERANDS (2 * WEFT_COMBINE_MAX)

typedef struct bits {
    uint8_t *host[OPERANDS], *device[OPERANDS], *back; /* sources first */
    uint64_t seed;
} bits_t;

static uint64_t draw(bits_t *bits)
{
    bits->seed ^= bits->seed << 13;
    bits->seed ^= bits->seed >> 7;
    bits->seed ^= bits->seed << 17;
    return bits->seed;
}

static bool open_all(bits_t *bits)
{
    bool good = true;
    *bits = (bits_t){.seed = 88172645463325252u};
    bits->back = malloc(ROOM);
    for (uint32_t i = 0; i < OPERANDS; i++) {
        bits->host[i] = aligned_alloc(64, (ROOM + 63) / 64 * 64);
        bits->device[i] = device_alloc(ROOM);
        good = good && bits->host[i] != NULL && bits->device[i] != NULL;
    }
    return good && bits->back != NULL;
}

static void close_all(bits_t *bits)
{
    for (uint32_t i = 0; i < OPERANDS; i++) {
        free(bits->host[i]);
        device_free(bits->device[i]);
    }
    free(bits->back);
}

/* Random bits, small integers and small floats, side by side. */
static void fill(bits_t *bits, weft_dtype_t dtype, uint32_t operand)
{
    uint8_t *at = bits->host[operand];
    const size_t n = ROOM / reference_size(dtype);
    for (size_t i = 0; i < n; i++) {
        uint64_t random = draw(bits), value = random >> 8;
        if (random % 2 != 0) {
            double small = (double)(int)(random / 2 % 4001) / 16 - 125;
            value =
                reference_is_float(dtype) ? reference_encode(dtype, small) : random / 2 % 17 - 8;
        }
        reference_store(dtype, at, i, value);
    }
    (void)device_copy(bits->device[operand], at, ROOM);
}

/* A copy from pageable memory may return before its bytes are on the device, and the plugin's
 * stream does not wait for the legacy one, in which it is. */
static bool fill_all(bits_t *bits, weft_dtype_t dtype)
{
    /* The first source, which each case reads, is the last to come. */
    for (uint32_t i = OPERANDS; i-- > 0;) {
        fill(bits, dtype, i);
    }
    return device_wait();
}

static bool same(bits_t *bits, weft_dtype_t dtype, uint32_t ndst)
{
    bool good = true;
    for (uint32_t d = 0; d < ndst && good; d++) {
        const uint8_t *want = bits->host[WEFT_COMBINE_MAX + d];
        good = device_copy(bits->back, bits->device[WEFT_COMBINE_MAX + d], ROOM);
        for (size_t i = 0; good && i < ROOM / reference_size(dtype); i++) {
            good = reference_same(dtype, reference_load(dtype, want, i),
                                  reference_load(dtype, bits->back, i));
            if (!good) {
                printf("  element %zu of destination %u\n", i, d);
            }
        }
    }
    return good;
}

static bool try(check_t *check, bits_t *bits, weft_dtype_t dtype, weft_op_t op, uint32_t shape)
{
    const size_t elem = reference_size(dtype);
    uint64_t scalar = draw(bits);
    weft_combine_t c = {.count = ELEMENTS - shape % 7,
                        .nsrc = 1 + shape % 4,
                        .ndst = 1 + shape / 4 % 4,
                        .pre_mask = op == WEFT_PREMULSUM ? (uint32_t)draw(bits) % 16 : 0,
                        .flags = shape % 3 != 0 ? WEFT_COMBINE_FINAL : 0,
                        .nranks = 1 + (uint32_t)draw(bits) % 70000,
                        .scalar = &scalar};
    weft_combine_t there = c;
    weft_combine_fn_t fn[2] = {NULL, NULL};
    c.pre_mask &= (1u << c.nsrc) - 1;
    there.pre_mask = c.pre_mask;
    for (uint32_t i = 0; i < WEFT_COMBINE_MAX; i++) {
        /* Together at 16 bytes, or each at another element. */
        size_t src = elem * (shape / 16 % 2 == 0 ? shape % 16 : draw(bits) % 16);
        size_t dst = elem * (shape / 16 % 2 == 0 ? shape % 16 : draw(bits) % 16);
        c.src[i] = bits->host[i] + src;
        there.src[i] = bits->device[i] + src;
        c.dst[i] = bits->host[WEFT_COMBINE_MAX + i] + dst;
        there.dst[i] = bits->device[WEFT_COMBINE_MAX + i] + dst;
    }
    if (!fill_all(bits, dtype)) {
        return false;
    }
    for (uint32_t k = 0; k < 2; k++) {
        if (check->ops[k]->select(check->kernel[k], dtype, op, &fn[k]) != WEFT_OK) {
            return false;
        }
    }
    fn[0](&there);
    fn[1](&c);
    return same(bits, dtype, c.ndst);
}

void check_bits(check_t *check)
{
    bits_t bits;
    const uint32_t shapes = check->quick ? 8 : 32;
    bool ready = open_all(&bits);
    for (weft_dtype_t dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) {
        char name[64];
        uint32_t right = 0, all = 0;
        for (weft_op_t op = 0; ready && op < WEFT_OP_COUNT; op++) {
            for (uint32_t shape = 0; reference_has(dtype, op) && shape < shapes; shape++, all++) {
                right += try(check, &bits, dtype, op, shape);
            }
        }
        snprintf(name, sizeof name, "bits of %s", reference_dtype_name(dtype));
        check->failures += !ready || right != all;
        line_print(name, ready && right == all, right, "cases right");
    }
    close_all(&bits);
}
