/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A folder of files for one test program. */
#include "scratch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[512];
static char path[1024];
static pid_t owner;

static void must(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        abort();
    }
}

static int remove_one(const char *name, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(name);
}

static void remove_all(void)
{
    /* A forked child leaves the folder to its parent. */
    if (getpid() == owner) {
        nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    }
}

const char *scratch_folder(void)
{
    if (folder[0] == '\0') {
        const char *base = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/weft-test-XXXXXX", base != NULL ? base : "/tmp");
        must(mkdtemp(folder) != NULL, "mkdtemp");
        owner = getpid();
        must(atexit(remove_all) == 0, "atexit");
    }
    return folder;
}

const char *scratch_path(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", scratch_folder(), name);
    return path;
}

const char *scratch_write(const char *name, const void *data, size_t bytes)
{
    FILE *file = fopen(scratch_path(name), "wb");
    must(file != NULL, path);
    must(fwrite(data, 1, bytes, file) == bytes, path);
    must(fclose(file) == 0, path);
    return path;
}
