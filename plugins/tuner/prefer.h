/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The option `prefer` of the tuner: the algorithms that the user wants for some collectives. */
#ifndef TUNER_PREFER_H
#define TUNER_PREFER_H

#include <weft/plugin/host.h>

#define PREFER_NAME_MAX 64

/* Name of the wanted algorithm for each collective; "": none. */
typedef struct tuner_prefer {
    char algo[WEFT_COLL_COUNT][PREFER_NAME_MAX];
} tuner_prefer_t;

/* Reads "all_reduce:algo-ring, broadcast:algo-tree". Commas and blanks separate. ERR_CONFIG with
 * the wrong word and what is allowed. */
weft_status_t tuner_prefer_parse(const weft_host_t *host, const char *text, tuner_prefer_t *prefer);

/* Returns ERR_CONFIG, with the nearest name, if an algorithm is wanted that is not loaded. */
weft_status_t tuner_prefer_check(const weft_host_t *host, const tuner_prefer_t *prefer,
                                 const char *const *algos, uint32_t count);

#endif
