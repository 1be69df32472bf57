/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checks of tuner plugins. */
#ifndef WEFT_CHECK_CHECK_TUNER_H
#define WEFT_CHECK_CHECK_TUNER_H

#include "core/check/check_layer.h"

/* Fills the table that the core calls in place of `own`. */
void weft_check_tuner(weft_check_t *check, const weft_tuner_ops_t *own);

#endif
