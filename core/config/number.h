/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers as text. The locale of the host program does not matter. */
#ifndef WEFT_CONFIG_NUMBER_H
#define WEFT_CONFIG_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum weft_number {
    WEFT_NUMBER_OK = 0,
    WEFT_NUMBER_NONE, /* no number at the start */
    WEFT_NUMBER_RANGE /* does not fit the type */
} weft_number_t;

/* Each reads the number at the start of `text` and sets *rest_p to the text behind it. */
weft_number_t weft_number_real(const char *text, double *value_p, const char **rest_p);
weft_number_t weft_number_int(const char *text, int64_t *value_p, const char **rest_p);
weft_number_t weft_number_uint(const char *text, uint64_t *value_p, const char **rest_p);

/* Writes the shortest decimal that reads back as `value`. */
void weft_number_format(double value, char *text, size_t bytes);

#endif
