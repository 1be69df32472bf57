/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See swing_steps.h. Why labels are what they are: two steps of one ring, one after the other,
 * shift even places by a difference of two ρ. That of steps i < j is an odd multiple of 2^(i+1). So
 * the steps after step j join an even place to all even ones that are multiples of 2^(j+2) away,
 * and by the last of them to an odd one each. Step j parts them by bit j+1 of the even place, and
 * the last step parts even from odd. */
#include "swing_steps.h"

static uint32_t swing_log2(uint32_t size)
{
    uint32_t bits = 0;
    while (size > 1) {
        size /= 2;
        bits++;
    }
    return bits;
}

uint32_t swing_partner(uint32_t size, uint32_t c, uint32_t level)
{
    int64_t power = INT64_C(1) << (level + 1);
    int64_t rho = (1 - (level % 2 == 0 ? -power : power)) / 3;
    int64_t to = c % 2 == 0 ? (int64_t)c + rho : (int64_t)c - rho;
    return (uint32_t)((to % size + size) % size);
}

/* Which half of its set a place of a ring is in after step `level`. */
static uint32_t swing_half(uint32_t size, uint32_t c, uint32_t level)
{
    uint32_t last = swing_log2(size) - 1;
    if (level == last) {
        return c % 2;
    }
    uint32_t even = c % 2 == 0 ? c : swing_partner(size, c, last);
    return even >> (level + 1) & 1;
}

swing_order_t swing_order(const uint32_t size[SWING_DIMENSIONS], uint32_t first, uint32_t mirrored)
{
    swing_order_t order = {.n = 1, .mirrored = mirrored};
    uint32_t left[SWING_DIMENSIONS], done[SWING_DIMENSIONS] = {0};
    for (uint32_t d = 0; d < SWING_DIMENSIONS; d++) {
        order.size[d] = size[d];
        order.n *= size[d];
        left[d] = swing_log2(size[d]);
    }
    uint32_t nsteps = swing_log2(order.n);
    for (uint32_t d = first; order.nsteps < nsteps; d = (d + 1) % SWING_DIMENSIONS) {
        if (done[d] < left[d]) {
            order.dimension[order.nsteps] = (uint8_t)d;
            order.level[order.nsteps++] = (uint8_t)done[d]++;
        }
    }
    return order;
}

/* Coordinates of a place, or of its mirror image. */
static void swing_coordinates(const swing_order_t *order, uint32_t place,
                              uint32_t c[SWING_DIMENSIONS])
{
    for (uint32_t d = 0; d < SWING_DIMENSIONS; d++) {
        uint32_t size = order->size[d];
        c[d] = order->mirrored != 0 ? (size - place % size) % size : place % size;
        place /= size;
    }
}

static uint32_t swing_place(const swing_order_t *order, const uint32_t c[SWING_DIMENSIONS])
{
    uint32_t place = 0;
    for (uint32_t d = SWING_DIMENSIONS; d-- > 0;) {
        uint32_t size = order->size[d];
        place = place * size + (order->mirrored != 0 ? (size - c[d]) % size : c[d]);
    }
    return place;
}

uint32_t swing_label(const swing_order_t *order, uint32_t place)
{
    uint32_t c[SWING_DIMENSIONS], label = 0;
    swing_coordinates(order, place, c);
    for (uint32_t i = 0; i < order->nsteps; i++) {
        uint32_t d = order->dimension[i];
        label = 2 * label + swing_half(order->size[d], c[d], order->level[i]);
    }
    return label;
}

swing_step_t swing_step(const swing_order_t *order, uint32_t place, uint32_t i)
{
    uint32_t c[SWING_DIMENSIONS], d = order->dimension[i];
    swing_step_t step = {.cnt = order->n >> (i + 1)};
    step.keep = swing_label(order, place) & ~(step.cnt - 1);
    step.give = step.keep ^ step.cnt;
    swing_coordinates(order, place, c);
    c[d] = swing_partner(order->size[d], c[d], order->level[i]);
    step.peer = swing_place(order, c);
    return step;
}
