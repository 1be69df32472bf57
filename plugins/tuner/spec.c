/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An algorithm with parameters. The functions of one line are here because rules and preferences
 * share them. */
#include "spec.h"

#include <string.h>

bool tuner_spec_read(tuner_spec_t *spec, const char *text, size_t length)
{
    const char *colon = memchr(text, ':', length);
    size_t name = colon != NULL ? (size_t)(colon - text) : length;
    *spec = (tuner_spec_t){.params = ""};
    if (name == 0 || name >= sizeof spec->algo || length >= sizeof spec->text) {
        return false;
    }
    memcpy(spec->text, text, length);
    memcpy(spec->algo, text, name);
    spec->params = colon != NULL ? spec->text + name + 1 : spec->text + length;
    return true;
}

bool tuner_spec_is(const tuner_spec_t *spec, const weft_tuner_candidate_t *candidate)
{
    return strcmp(spec->algo, candidate->algo) == 0 && strcmp(spec->params, candidate->params) == 0;
}
