/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The algorithm plugins of the build, and what they claim, asked without a communicator. */
#ifndef WEFT_TESTS_ALGOS_H
#define WEFT_TESTS_ALGOS_H

#include <stdbool.h>

#include <weft/plugin/algo.h>

#define ALGOS_MAX 32u

/* Loads every algo-*.so of WEFT_PLUGIN_DIR, in the order of their names. False after a message. */
bool algos_open(void);
void algos_close(void);
uint32_t algos_count(void);
const char *algos_name(uint32_t i);
/* "core.algo=…" with all of them. */
const char *algos_setting(void);
/* A setting that gives every one of them something to do on one host. */
const char *algos_option(void);
/* Whether algorithm `i` serves the collective on n ranks of one host: supports() and emit(), and
 * for a vector collective whether its plan, proved, can be bound to vectors. One rank alone is
 * served by the core. `why` is the refusal. */
bool algos_claim(uint32_t i, weft_coll_t coll, uint32_t n, char *why, size_t bytes);

#endif
