/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The algorithms with their parameters: as configured, as [plan] algo forces one, NAME[:X=Y,…],
 * and what the tuner asks for besides. */
#ifndef WEFT_COMM_ALGO_VARIANTS_H
#define WEFT_COMM_ALGO_VARIANTS_H

#include "core/comm/family.h"

/* Makes the list when algorithms and tuner are there. ERR_CONFIG, with the place and the nearest
 * name, if there is no such algorithm or parameter, or a value is out of its range. */
weft_status_t weft_algo_variants_make(weft_family_t *family);

/* True if another algorithm, or this one with other parameters, is forced. */
bool weft_algo_variants_excludes(const weft_family_t *family, uint32_t number);

#endif
