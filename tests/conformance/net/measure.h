/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a net plugin does, beside what its properties say: for its author. */
#ifndef WEFT_TESTS_CONFORMANCE_NET_MEASURE_H
#define WEFT_TESTS_CONFORMANCE_NET_MEASURE_H

#include "kit.h"

/* Measures between two processes of this host and prints a table. A failure ends the process. */
void measure_print(const kit_t *kit);

#endif
