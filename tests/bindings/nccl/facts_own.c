/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The numbers as the binding has them. */
#include "bindings/nccl/types.h"

#include "tests/bindings/nccl/facts.h"

const fact_t facts_own[] = {FACTS FACTS_OF_2_32{NULL, 0}};
