/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The only file here that reads the environment. */
#include "bindings/nccl/environment.h"

#include <stdlib.h>

/* Compares without case. Not strcasecmp(): in a Turkish locale of the program i and I are two
 * letters. */
static bool env_is_word(const char *text, const char *capitals)
{
    size_t i = 0;
    while (capitals[i] != '\0' && (text[i] & ~('a' - 'A')) == capitals[i]) {
        i++;
    }
    return capitals[i] == '\0' && text[i] == '\0';
}

nccl_debug_t nccl_env_debug(void)
{
    static const struct {
        const char *word;
        nccl_debug_t level;
    } words[] = {{"VERSION", NCCL_DEBUG_VERSION},
                 {"WARN", NCCL_DEBUG_WARN},
                 {"INFO", NCCL_DEBUG_INFO},
                 {"ABORT", NCCL_DEBUG_INFO},
                 {"TRACE", NCCL_DEBUG_INFO}};
    const char *text = secure_getenv("NCCL_DEBUG");
    for (size_t i = 0; text != NULL && i < sizeof words / sizeof words[0]; i++) {
        if (env_is_word(text, words[i].word)) {
            return words[i].level;
        }
    }
    return NCCL_DEBUG_NONE;
}

bool nccl_env_comm_id(void)
{
    const char *address = secure_getenv("NCCL_COMM_ID");
    return address != NULL && address[0] != '\0';
}

/* Not WEFT_…: such a variable would be an option that does not exist. */
const char *nccl_env_refused_file(void)
{
    return secure_getenv("NCCL_RUN_REFUSED_FILE");
}
