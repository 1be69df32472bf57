/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The environment. No other file of weft reads it. In setuid programs (AT_SECURE) every variable
 * reads as not set. */
#ifndef WEFT_CONFIG_ENV_H
#define WEFT_CONFIG_ENV_H

#include <stdbool.h>

#include <weft/types.h>

/* Returns the value of a variable, or NULL if it is not set. */
const char *weft_env(const char *name);
/* The same of a variable that weft_env() does not show because this is a setuid program. What it
 * says may come from anybody: to be told of, not followed. */
const char *weft_env_hidden(const char *name);
/* Reads a variable as a non-negative decimal number. Returns false if it is not set or no
 * number. */
bool weft_env_number(const char *name, uint64_t *value_p);
/* Returns the i-th "NAME=value" whose name begins with `prefix`, or NULL past the last one. */
const char *weft_env_prefixed(const char *prefix, uint32_t i);

#endif
