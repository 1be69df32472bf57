/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checks of algorithm plugins. What a plan does is the verifier's. */
#ifndef WEFT_CHECK_CHECK_ALGO_H
#define WEFT_CHECK_CHECK_ALGO_H

#include "core/check/check_layer.h"

/* Fills the table that the core calls in place of `own`. */
void weft_check_algo(weft_check_t *check, const weft_algo_ops_t *own);

#endif
