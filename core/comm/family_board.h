/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The proof board of this host, in memory that its processes share. */
#ifndef WEFT_COMM_FAMILY_BOARD_H
#define WEFT_COMM_FAMILY_BOARD_H

#include "core/comm/family.h"

/* Returns the lowest rank of this host, which makes the board; nranks: there is one process only,
 * which needs none. */
uint32_t weft_family_board_maker(const weft_family_t *family);

/* Before all ranks meet in the agreement. Without a board every process proves for itself. */
void weft_family_make_board(weft_family_t *family);

/* After they met. */
void weft_family_find_board(weft_family_t *family, uint32_t maker);

#endif
