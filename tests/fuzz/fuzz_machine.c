/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A machine as text, from memory and from a file. What is read is printed, and read again as the
 * same text. */
#include "core/base/error.h"
#include "core/topo/machine_text.h"
#include "fuzz.h"

static char *printed(const weft_machine_t *machine)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    FUZZ_NEED(out != NULL);
    weft_machine_print(machine, out);
    fclose(out);
    return text;
}

/* Returns the machine as text, or NULL if it is refused. */
static char *taken(weft_status_t status, weft_machine_t *machine)
{
    if (status != WEFT_OK) {
        FUZZ_NEED(weft_error_record()->text[0] != '\0');
        return NULL;
    }
    char *text = printed(machine);
    weft_machine_fini(machine);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    weft_machine_t machine = {.source = {0}};
    char *text = fuzz_text(data, bytes);
    char *first = taken(weft_machine_parse("fuzz", text, &machine), &machine);
    char *file = taken(weft_machine_load(fuzz_file(data, bytes), &machine), &machine);
    FUZZ_NEED(strlen(text) == bytes ? (file != NULL) == (first != NULL) : file == NULL);
    if (first != NULL) {
        char *second = taken(weft_machine_parse("fuzz", first, &machine), &machine);
        FUZZ_NEED(second != NULL);
        fuzz_same(first, second);
        fuzz_same(first, file != NULL ? file : first);
        free(second);
    }
    free(first);
    free(file);
    free(text);
    return 0;
}
