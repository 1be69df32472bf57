/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of the format, and errors with file and line. */
#include "msccl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 24u

const msccl_act_t msccl_acts[MSCCL_TYPES] = {
    [MSCCL_SEND] = {"s", .sends = true, .reads = true},
    [MSCCL_RECEIVE] = {"r", .receives = true, .writes = true},
    [MSCCL_RECEIVE_COPY_SEND] = {"rcs", .sends = true, .receives = true, .writes = true},
    [MSCCL_RECEIVE_REDUCE_COPY] = {"rrc", .receives = true, .reads = true, .writes = true},
    [MSCCL_RECEIVE_REDUCE_SEND] = {"rrs", .sends = true, .receives = true, .reads = true},
    [MSCCL_RECEIVE_REDUCE_COPY_SEND] = {"rrcs", .sends = true, .receives = true, .reads = true,
                                        .writes = true},
    [MSCCL_COPY] = {"cpy", .reads = true, .writes = true},
    [MSCCL_REDUCE] = {"re", .reads = true, .accumulates = true, .writes = true},
    [MSCCL_NOP] = {.name = "nop"},
};

const char *msccl_buffer_name(uint32_t buffer)
{
    static const char *const names[] = {"i", "o", "s"};
    return buffer <= MSCCL_TMP ? names[buffer] : "?";
}

weft_status_t msccl_fail(const msccl_program_t *program, uint32_t line, const char *format, ...)
{
    char why[300];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return program->host->set_error(program->host, WEFT_ERR_PLAN, 0, "%s:%u: %s", program->path,
                                    line, why);
}

weft_status_t msccl_fail_step(const msccl_program_t *program, uint32_t tb, uint32_t step,
                              const char *format, ...)
{
    char why[300];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    const msccl_tb_t *at = &program->tbs[tb];
    const msccl_step_t *here = &program->steps[at->first + step];
    return msccl_fail(program, here->line, "gpu %u tb %u step %u (%s): %s", at->gpu,
                      tb - program->gpus[at->gpu].first, step, msccl_acts[here->type].name, why);
}

/* Levenshtein's distance; only the first letters of long words count. */
static size_t msccl_distance(const char *a, const char *b)
{
    size_t row[WORD_MAX + 1], length = strnlen(a, WORD_MAX), width = strnlen(b, WORD_MAX);
    for (size_t j = 0; j <= width; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[width];
}

const char *msccl_nearest(const char *word, const char *const *list)
{
    const char *best = list[0];
    size_t least = SIZE_MAX;
    for (; *list != NULL; list++) {
        size_t far = msccl_distance(word, *list);
        if (far < least) {
            least = far;
            best = *list;
        }
    }
    return best;
}
