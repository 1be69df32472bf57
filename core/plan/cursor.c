/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of the cursor that only set-up needs. */
#include "core/plan/cursor.h"

uint32_t weft_cursor_widest_par(const weft_plan_lane_t *lane)
{
    uint32_t width = 0;
    for (uint32_t pc = 0; pc < lane->ncode; pc++) {
        const weft_code_t *code = &lane->code[pc];
        if (code->opcode == WEFT_CODE_PAR && code->n > width) {
            width = code->n;
        }
    }
    return width;
}
