/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See whole_file.h. */
#include "tools/whole_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/tool.h"

/* Opens a file beside the one that is replaced, with the permissions of that. */
static FILE *whole_file_beside(whole_file_t *file, const struct stat *old)
{
    const size_t length = strlen(file->place);
    file->beside = malloc(length + sizeof ".new");
    if (file->beside == NULL) {
        return NULL;
    }
    memcpy(file->beside, file->place, length);
    memcpy(file->beside + length, ".new", sizeof ".new");
    FILE *out = fopen(file->beside, "we");
    if (out != NULL && old != NULL) {
        (void)fchmod(fileno(out), old->st_mode & 0777);
    }
    return out;
}

static void whole_file_forget(whole_file_t *file)
{
    free(file->beside);
    free(file->place);
    file->place = file->beside = NULL;
}

bool whole_file_open(whole_file_t *file, const char *path)
{
    struct stat old;
    const bool there = stat(path, &old) == 0;
    *file = (whole_file_t){.path = path};
    if (!there || S_ISREG(old.st_mode)) {
        file->place = there ? realpath(path, NULL) : strdup(path);
        file->out = file->place != NULL ? whole_file_beside(file, there ? &old : NULL) : NULL;
    }
    /* Without room for another file this one is not emptied either. */
    if (file->out == NULL && (file->place == NULL || errno == EACCES || errno == EPERM)) {
        whole_file_forget(file);
        file->out = fopen(path, "we");
    }
    if (file->out == NULL) {
        (void)tool_usage("cannot write %s: %s", path, strerror(errno));
        whole_file_forget(file);
    }
    return file->out != NULL;
}

bool whole_file_close(whole_file_t *file)
{
    bool good = tool_close(file->out, file->path);
    if (file->beside != NULL && good && rename(file->beside, file->place) != 0) {
        good = tool_usage("cannot write %s: %s", file->path, strerror(errno)) == TOOL_OK;
    }
    if (file->beside != NULL && !good) {
        (void)unlink(file->beside);
    }
    whole_file_forget(file);
    return good;
}
