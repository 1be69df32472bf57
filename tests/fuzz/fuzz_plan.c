/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plan as text. What is read is printed, and read again as the same text; what is refused is
 * refused with its line. What walks a plan comes from each instruction to the next. */
#include "core/base/error.h"
#include "core/plan/cursor.h"
#include "core/plan/plan_parse.h"
#include "core/plan/plan_print.h"
#include "fuzz.h"

static char *printed(const weft_plan_t *plan)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    FUZZ_NEED(out != NULL);
    weft_plan_print(plan, out);
    for (uint32_t lane = 0; lane < plan->nlanes; lane++) {
        const weft_code_t *code = plan->lanes[lane].code;
        weft_plan_print_code(plan, &code[plan->lanes[lane].ncode - 1], out);
    }
    fclose(out);
    char *end = strstr(text, "stop");
    FUZZ_NEED((end != NULL) == (plan->nlanes > 0));
    if (end != NULL) {
        *end = '\0'; /* a lane ends so, but not in the text */
    }
    return text;
}

static void walked(const weft_plan_t *plan)
{
    for (uint32_t lane = 0; lane < plan->nlanes; lane++) {
        weft_cursor_t cursor = {.code = plan->lanes[lane].code};
        for (uint32_t i = 0; i < 1000 && weft_cursor_seek(&cursor)->opcode != WEFT_CODE_STOP; i++) {
            weft_cursor_next(&cursor);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    weft_plan_t *plan = NULL, *again = NULL, *part = NULL;
    char *text = fuzz_text(data, bytes);
    weft_status_t status = weft_plan_parse(text, &plan);
    FUZZ_NEED(weft_plan_parse_part(text, "fuzz", 40, &part) == status);
    if (status == WEFT_OK) {
        walked(plan);
        char *first = printed(plan);
        FUZZ_NEED(weft_plan_parse(first, &again) == WEFT_OK);
        char *second = printed(again);
        fuzz_same(first, second);
        free(first);
        free(second);
        weft_plan_destroy(plan);
        weft_plan_destroy(again);
        weft_plan_destroy(part);
    } else {
        FUZZ_NEED(strncmp(weft_error_record()->text, "fuzz:", 5) == 0);
    }
    free(text);
    return 0;
}
