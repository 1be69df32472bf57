/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arithmetic of Swing (De Sensi, Bonato, Saam and Hoefler, "Swing: Short-cutting Rings for Higher
 * Bandwidth Allreduce", NSDI 2024): the partner of each step, and the pieces that the two exchange.
 * Pure functions; no I/O, no state.
 *
 * Step j along a ring of 2^m places joins place c with c + ρ if c is even and with c − ρ if c is
 * odd, where ρ = (1 − (−2)^(j+1)) / 3: 1, −1, 3, −5, 11 … So partners are nearer than 1, 2, 4, 8,
 * 16 …, and no link of the ring carries as much. On a torus the steps go round its dimensions.
 *
 * The data are n pieces. Each rank keeps half of its pieces at every step. The ranks that can still
 * be reached by the steps to come share what they keep, so each step parts such a set into two; the
 * label of a rank has a bit for each step that says into which. In the order of labels the pieces
 * that a rank keeps are one run. */
#ifndef SWING_STEPS_H
#define SWING_STEPS_H

#include <stdint.h>

#define SWING_DIMENSIONS 3 /* most of a torus */
#define SWING_STEPS 32     /* of 2^32 ranks */

/* The order of the steps. Two ranks that exchange have the same one. */
typedef struct swing_order {
    uint32_t n;                      /* ranks: a power of two, the product of the sizes */
    uint32_t size[SWING_DIMENSIONS]; /* powers of two; ranks follow each other along the first */
    uint32_t mirrored;               /* 1: every dimension is walked backwards */
    uint32_t nsteps;
    uint8_t dimension[SWING_STEPS], level[SWING_STEPS]; /* of each step */
} swing_order_t;

/* One exchange, in pieces: runs of `cnt`, the one that the rank keeps and the one that it gives. */
typedef struct swing_step {
    uint32_t peer; /* place of the partner */
    uint32_t keep, give, cnt;
} swing_step_t;

/* Steps that begin with dimension `first` and go round those that have some left. */
swing_order_t swing_order(const uint32_t size[SWING_DIMENSIONS], uint32_t first, uint32_t mirrored);

/* Partner of place c of a ring of `size` places at step `level`. */
uint32_t swing_partner(uint32_t size, uint32_t c, uint32_t level);

/* The piece that a place has at the end of the reduction. */
uint32_t swing_label(const swing_order_t *order, uint32_t place);

/* Step i (0 … nsteps−1) at a place. Before step 0 it has all n pieces. */
swing_step_t swing_step(const swing_order_t *order, uint32_t place, uint32_t i);

#endif
