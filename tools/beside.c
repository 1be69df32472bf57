/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs of weft that link what weft itself shall not need. */
#include <string.h>
#include <unistd.h>

#include "tools/tool.h"

bool tool_beside(const char *name, char *path, size_t bytes)
{
    ssize_t length = readlink("/proc/self/exe", path, bytes);
    if (length <= 0 || (size_t)length >= bytes) {
        return false;
    }
    path[length] = '\0';
    char *file = strrchr(path, '/') + 1;
    size_t room = bytes - (size_t)(file - path);
    return (size_t)snprintf(file, room, "%s", name) < room && access(path, X_OK) == 0;
}
