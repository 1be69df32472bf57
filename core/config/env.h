/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The only reader of the environment. Under AT_SECURE (setuid) every variable reads as unset. */
#ifndef WEFT_CONFIG_ENV_H
#define WEFT_CONFIG_ENV_H

#include <weft/types.h>

/* Value or NULL. */
const char *weft_env(const char *name);
/* Non-negative decimal number; false if unset or not a number. */
int weft_env_number(const char *name, uint64_t *value_p);
/* The i-th "NAME=value" whose name begins with `prefix`, or NULL at the end. */
const char *weft_env_prefixed(const char *prefix, uint32_t i);

#endif
