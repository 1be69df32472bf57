/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See whole_file.h. */
#include "tools/whole_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
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

weft_status_t whole_file_open(whole_file_t *file, const char *path)
{
    struct stat old;
    *file = (whole_file_t){.path = path};
    if (strcmp(path, "-") == 0) {
        file->out = stdout;
        return WEFT_OK;
    }
    const bool there = stat(path, &old) == 0;
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
        weft_fail(WEFT_ERR_SYSTEM, errno, "cannot write %s", path);
        whole_file_forget(file);
        return WEFT_ERR_SYSTEM;
    }
    return WEFT_OK;
}

/* Takes it away again where it is beside the file, which stays. */
static void whole_file_end(whole_file_t *file, weft_status_t status)
{
    if (file->beside != NULL && status != WEFT_OK) {
        (void)unlink(file->beside);
    }
    whole_file_forget(file);
}

weft_status_t whole_file_close(whole_file_t *file)
{
    const bool lost = ferror(file->out) != 0;
    const bool failed = (file->out == stdout ? fflush(file->out) : fclose(file->out)) != 0;
    weft_status_t status = WEFT_OK;
    if (lost || failed) {
        status = weft_fail(WEFT_ERR_SYSTEM, failed ? errno : 0, "cannot write %s%s",
                           tool_out_name(file->path), failed ? "" : ": some of it is lost");
    } else if (file->beside != NULL && rename(file->beside, file->place) != 0) {
        status = weft_fail(WEFT_ERR_SYSTEM, errno, "cannot write %s", file->path);
    }
    whole_file_end(file, status);
    return status;
}

void whole_file_drop(whole_file_t *file)
{
    if (file->out != stdout) {
        (void)fclose(file->out);
    }
    whole_file_end(file, WEFT_ERR_STATE);
}
