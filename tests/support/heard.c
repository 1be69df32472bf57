/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See heard.h. */
#include "tests/support/heard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *file;
static int before;

void heard_begin(void)
{
    file = tmpfile();
    before = dup(STDERR_FILENO);
    if (file == NULL || before < 0 || dup2(fileno(file), STDERR_FILENO) < 0) {
        abort();
    }
}

const char *heard_end(void)
{
    static char text[16384];
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    fputs(text, stderr);
    return text;
}

unsigned heard_count(const char *text, const char *words)
{
    unsigned count = 0;
    for (; (text = strstr(text, words)) != NULL; text += strlen(words)) {
        count++;
    }
    return count;
}
