/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An algorithm, with parameters where they are named: "algo-x" or "algo-x:depth=2,mirror=1". The
 * core knows which parameters there are. */
#ifndef TUNER_SPEC_H
#define TUNER_SPEC_H

#include <stdbool.h>
#include <stddef.h>

#include <weft/plugin/tuner.h>

#define SPEC_NAME_MAX 64
#define SPEC_MAX 160

typedef struct tuner_spec {
    char text[SPEC_MAX];      /* all of it; "": none */
    char algo[SPEC_NAME_MAX]; /* the name */
    const char *params;       /* behind the colon; "" */
} tuner_spec_t;

/* False if the text is empty or too long. */
bool tuner_spec_read(tuner_spec_t *spec, const char *text, size_t length);

/* True if the candidate is that algorithm with these parameters. */
bool tuner_spec_is(const tuner_spec_t *spec, const weft_tuner_candidate_t *candidate);

#endif
