/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The algorithm that [plan] algo forces, and its parameters: NAME[:X=Y,…]. */
#ifndef WEFT_COMM_FORCED_ALGO_H
#define WEFT_COMM_FORCED_ALGO_H

#include "core/comm/family.h"

/* Reads the option into family->algos.forced, when the algorithms are made. ERR_CONFIG, with the
 * nearest name, if there is no such algorithm or parameter, or the value is out of its range. */
weft_status_t weft_forced_algo_read(weft_family_t *family);

/* True if another algorithm is forced. */
bool weft_forced_algo_excludes(const weft_family_t *family, const weft_algo_loaded_t *algo);

/* The parameters of a call: those of the option, else the defaults. */
void weft_forced_algo_params(const weft_family_t *family, const weft_algo_loaded_t *algo,
                             int64_t params[WEFT_ALGO_PARAMS_MAX]);

#endif
