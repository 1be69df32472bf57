/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The option `prefer` of the tuner: which algorithm a person wants for which collective. */
#ifndef TUNER_PREFER_H
#define TUNER_PREFER_H

#include <weft/plugin/host.h>

#define PREFER_NAME_MAX 64

/* Name of the wanted algorithm of each collective, "" where there is none. */
typedef struct tuner_prefer {
    char algo[WEFT_COLL_COUNT][PREFER_NAME_MAX];
} tuner_prefer_t;

/* Reads "all_reduce:algo-ring, broadcast:algo-tree". Commas and blanks separate. ERR_CONFIG with
 * the offending word and what would do. */
weft_status_t tuner_prefer_parse(const weft_host_t *host, const char *text, tuner_prefer_t *prefer);

#endif
