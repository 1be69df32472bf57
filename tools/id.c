/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft id --at HOST:PORT`: prints a fixed id. It holds a secret, so it goes to stdout alone. */
#include "tools/id.h"

#include "core/boot/fixed_id.h"
#include "tools/args.h"
#include "tools/tool.h"

static const tool_option_t options_table[] = {
    {0, "at", "HOST:PORT", "where rank 0 will listen: a name or an address of its host", 'a'},
    {'h', "help", NULL, "this text", 'h'},
    {0, NULL, NULL, NULL, 0},
};

static int id_print(const char *at)
{
    weft_unique_id_t id;
    char hex[WEFT_ID_HEX];
    if (at == NULL) {
        return tool_usage("weft id needs --at HOST:PORT, where rank 0 will listen");
    }
    weft_status_t status = weft_fixed_id_make(at, &id);
    if (status != WEFT_OK) {
        int code = tool_report(status);
        return status == WEFT_ERR_ARG ? TOOL_USAGE : code;
    }
    weft_id_to_hex(&id, hex);
    printf("%s\n", hex);
    return TOOL_OK;
}

int tool_id(int argc, char **argv)
{
    const char *at = NULL;
    tool_args_t args = {.options = options_table, .argc = argc, .argv = argv, .at = 1};
    for (;;) {
        switch (tool_args_next(&args)) {
        case TOOL_ARGS_END:
            return id_print(at);
        case TOOL_ARGS_OPERAND:
            return tool_usage("weft id takes no name, got '%s'", args.value);
        case 'a':
            at = args.value;
            break;
        case 'h':
            printf(
                "usage: weft id --at HOST:PORT\n\n"
                "Prints a unique id, 256 hexadecimal digits, for WEFT_UNIQUE_ID of all ranks.\n"
                "Each rank also needs WEFT_RANK and WEFT_NRANKS. Whoever has the id can join.\n\n");
            tool_options_print(options_table, stdout);
            return TOOL_OK;
        default:
            return TOOL_USAGE;
        }
    }
}
