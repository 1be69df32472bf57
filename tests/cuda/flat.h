/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plan of the core as the arrays of weft/plugin/draft/lanes.h, for tests without an engine. */
#ifndef TESTS_CUDA_FLAT_H
#define TESTS_CUDA_FLAT_H

#include <weft/plugin/draft/lanes.h>

#include "core/exec/program.h"

typedef struct flat {
    weft_lanes_program_t program;
    void *memory[5];
} flat_t;

void flat_init(flat_t *flat, const weft_program_t *program, weft_op_t op);
void flat_fini(flat_t *flat);

#endif
