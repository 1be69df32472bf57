/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The only reader of the environment. */
#include "core/config/env.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

const char *weft_env(const char *name)
{
    return secure_getenv(name);
}

const char *weft_env_hidden(const char *name)
{
    return getauxval(AT_SECURE) != 0 ? getenv(name) : NULL;
}

bool weft_env_number(const char *name, uint64_t *value_p)
{
    const char *text = weft_env(name);
    if (text == NULL || *text == '\0') {
        return false;
    }
    uint64_t value = 0;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9') {
            return false;
        }
        uint64_t digit = (uint64_t)(*text - '0');
        if (value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *value_p = value;
    return true;
}

const char *weft_env_prefixed(const char *prefix, uint32_t i)
{
    if (environ == NULL || getauxval(AT_SECURE) != 0) {
        return NULL;
    }
    size_t bytes = strlen(prefix);
    for (char **entry = environ; *entry != NULL; entry++) {
        if (strncmp(*entry, prefix, bytes) == 0 && strchr(*entry, '=') != NULL && i-- == 0) {
            return *entry;
        }
    }
    return NULL;
}
