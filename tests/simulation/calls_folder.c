/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The folder in which ranks meet. It lies on the real machine and is the same for all hosts, as one
 * on a network file system is; the times of its files are those of the simulated machine. */
#include "calls.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool folder_has(const char *path)
{
    size_t length = strlen(machine.folder);
    return machine_inside() && length > 0 && strncmp(path, machine.folder, length) == 0;
}

static void folder_touch(const char *path)
{
    struct timespec now = {.tv_sec = (time_t)(machine.now / SIM_S),
                           .tv_nsec = (long)(machine.now % SIM_S)};
    (void)utimensat(AT_FDCWD, path, (struct timespec[2]){now, now}, AT_SYMLINK_NOFOLLOW);
}

SIM_CALL int mkdir(const char *path, mode_t mode)
{
    if (folder_has(path)) {
        thread_call("mkdir");
    }
    return SIM_REAL(mkdir)(path, mode);
}

/* What belongs to this program belongs to the simulated user. */
int folder_own(struct stat *facts, int result)
{
    if (result == 0 && machine_inside() && facts->st_uid == getuid()) {
        facts->st_uid = geteuid();
    }
    return result;
}

SIM_CALL int lstat(const char *path, struct stat *facts)
{
    if (folder_has(path)) {
        thread_call("lstat");
    }
    int result = SIM_REAL(lstat)(path, facts);
    return folder_own(facts, result);
}

SIM_CALL int unlink(const char *path)
{
    if (folder_has(path)) {
        thread_call("unlink");
    }
    return SIM_REAL(unlink)(path);
}

SIM_CALL int rename(const char *from, const char *to)
{
    if (folder_has(to)) {
        thread_call("rename");
        folder_touch(from);
    }
    return SIM_REAL(rename)(from, to);
}

/* No other thread has a turn: a killed one would leave the descriptor of its nameless file. */
SIM_CALL int linkat(int from_at, const char *from, int to_at, const char *to, int flags)
{
    int result = SIM_REAL(linkat)(from_at, from, to_at, to, flags);
    if (result == 0 && folder_has(to)) {
        folder_touch(to);
    }
    return result;
}

/* Lists the folder at once, for the same reason. Names are in their order, whatever the file
 * system. */
typedef struct listing {
    int fd;
    int count, next;
    struct dirent **entries;
} listing_t;

void *folder_open(const char *path)
{
    thread_call("opendir");
    listing_t *listing = calloc(1, sizeof *listing);
    listing->fd = SIM_REAL(open)(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    listing->count = scandir(path, &listing->entries, NULL, alphasort);
    return listing;
}

struct dirent *folder_next(void *opened)
{
    listing_t *listing = opened;
    return listing->next < listing->count ? listing->entries[listing->next++] : NULL;
}

int folder_descriptor(void *opened)
{
    return ((listing_t *)opened)->fd;
}

void folder_close(void *opened)
{
    listing_t *listing = opened;
    for (int i = 0; i < listing->count; i++) {
        free(listing->entries[i]);
    }
    free(listing->entries);
    (void)SIM_REAL(close)(listing->fd);
    free(listing);
}
