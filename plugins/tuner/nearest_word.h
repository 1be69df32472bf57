/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The right word that is most like a wrong one. */
#ifndef TUNER_NEAREST_WORD_H
#define TUNER_NEAREST_WORD_H

#include <stddef.h>
#include <stdint.h>

/* Writes ", did you mean WORD?", or "; there are A, B, C" if no word is near. */
void nearest_word_hint(const char *wrong, size_t length, const char *const *words, uint32_t count,
                       char *text, size_t bytes);

#endif
