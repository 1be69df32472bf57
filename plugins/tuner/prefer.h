/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The option `prefer` of the tuner: the algorithms that the user wants for some collectives. */
#ifndef TUNER_PREFER_H
#define TUNER_PREFER_H

#include <weft/plugin/host.h>

#include "spec.h"

#define PREFER_ORIGIN_MAX 160

/* What is wanted for each collective, and where it was said: "weft.ini:12: [tuner] prefer". */
typedef struct tuner_prefer {
    tuner_spec_t wanted[WEFT_COLL_COUNT];
    char origin[WEFT_COLL_COUNT][PREFER_ORIGIN_MAX];
} tuner_prefer_t;

/* Reads lines (WEFT_OPTION_LIST) of "all_reduce:algo-ring, broadcast:algo-x:depth=2,mirror=1".
 * Commas and blanks separate. ERR_CONFIG with the place, the wrong word and what is allowed. */
weft_status_t tuner_prefer_parse(const weft_host_t *host, const char *text, tuner_prefer_t *prefer);

/* Returns ERR_CONFIG, with the nearest name, if an algorithm is wanted that is not loaded. */
weft_status_t tuner_prefer_check(const weft_host_t *host, const tuner_prefer_t *prefer,
                                 const char *const *algos, uint32_t count);

#endif
