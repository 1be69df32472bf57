/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OS seam: private folders and files, processes by number. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/os/os_folder.h"
#include "core/os/os.h"

#define PATH_MOST 1024

uint32_t weft_os_user_id(void)
{
    return (uint32_t)geteuid();
}

/* True if `path` is a folder of this user, no link, with exactly these permissions among `mask`. */
static bool os_folder_has_mode(const char *path, mode_t mask, mode_t mode)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & mask) == mode;
}

bool weft_os_folder_is_private(const char *path)
{
    return os_folder_has_mode(path, S_IRWXU | S_IRWXG | S_IRWXO, S_IRWXU);
}

weft_status_t weft_os_folder_make(const char *path)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return weft_fail(WEFT_ERR_SYSTEM, errno, "cannot make the folder %s", path);
    }
    /* The umask may have taken what its owner needs, also from another rank that makes it just
     * now. */
    if (!weft_os_folder_is_private(path) && os_folder_has_mode(path, S_IRWXG | S_IRWXO, 0) &&
        fchmodat(AT_FDCWD, path, S_IRWXU, AT_SYMLINK_NOFOLLOW) != 0) {
        return weft_fail(WEFT_ERR_SYSTEM, errno, "cannot give the folder %s mode 0700", path);
    }
    if (!weft_os_folder_is_private(path)) {
        return weft_fail(WEFT_ERR_CONFIG, 0,
                         "%s is not a private folder: it must belong to user %u and have mode 0700",
                         path, weft_os_user_id());
    }
    return WEFT_OK;
}

static bool os_folder_write_all(int fd, const void *data, size_t bytes)
{
    const uint8_t *from = data;
    while (bytes > 0) {
        ssize_t done = write(fd, from, bytes);
        if (done < 0 && errno != EINTR) {
            return false;
        }
        from += done > 0 ? done : 0;
        bytes -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

/* Writes a file that has no name yet, so that nothing is left if the process is killed, and names
 * it. False: there is a file of that name, or the file system cannot do that. */
static bool os_folder_write_new(const char *path, const void *data, size_t bytes)
{
    char folder[PATH_MOST], nameless[64];
    const char *end = strrchr(path, '/');
    if (end == NULL || (size_t)(end - path) >= sizeof folder) {
        return false;
    }
    snprintf(folder, sizeof folder, "%.*s", (int)(end - path), path);
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) {
        return false;
    }
    snprintf(nameless, sizeof nameless, "/proc/thread-self/fd/%d", fd);
    bool good = os_folder_write_all(fd, data, bytes) &&
                linkat(AT_FDCWD, nameless, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
    close(fd);
    return good;
}

weft_status_t weft_os_private_write(const char *path, const void *data, size_t bytes)
{
    char temporary[PATH_MOST];
    uint64_t random;
    if (os_folder_write_new(path, data, bytes)) {
        return WEFT_OK;
    }
    weft_status_t status = weft_os_random(&random, sizeof random);
    if (status != WEFT_OK) {
        return status;
    }
    int used = snprintf(temporary, sizeof temporary, "%s.%016" PRIx64, path, random);
    if (used < 0 || (size_t)used >= sizeof temporary) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "%s: the path is too long", path);
    }
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return weft_fail(WEFT_ERR_SYSTEM, errno, "cannot make %s", temporary);
    }
    bool good = os_folder_write_all(fd, data, bytes);
    int error = errno;
    /* Network file systems may say here that there was no room. */
    if (close(fd) != 0 && good) {
        good = false;
        error = errno;
    }
    if (good && rename(temporary, path) == 0) {
        return WEFT_OK;
    }
    error = good ? errno : error;
    unlink(temporary);
    return weft_fail(WEFT_ERR_SYSTEM, error, "cannot write %s", path);
}

bool weft_os_private_read(const char *path, void *data, size_t bytes)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    bool good = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
                (st.st_mode & (S_IRWXG | S_IRWXO)) == 0 && (uint64_t)st.st_size == bytes;
    ssize_t got;
    do {
        got = good ? read(fd, data, bytes) : -1;
    } while (good && got < 0 && errno == EINTR);
    close(fd);
    return good && got == (ssize_t)bytes;
}

void weft_os_file_remove(const char *path)
{
    (void)unlink(path);
}

bool weft_os_file_written(const char *path, int64_t *seconds_p)
{
    struct stat st;
    if (lstat(path, &st) != 0) {
        return false;
    }
    *seconds_p = st.st_mtime;
    return true;
}

void weft_os_folder_visit(const char *path,
                          void (*visit)(void *arg, const char *name, uint64_t age_s), void *arg)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        struct stat st;
        if (fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode)) {
            time_t now = time(NULL);
            visit(arg, entry->d_name, now > st.st_mtime ? (uint64_t)(now - st.st_mtime) : 0);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

/* What the kernel tells of a process. */
typedef struct os_process {
    char state;
    int parent, threads;
    unsigned long long started;
    char name[16];
} os_process_t;

static bool os_process_read(int32_t pid, os_process_t *process)
{
    char path[64];
    char *text = NULL;
    size_t bytes;
    int error;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (weft_os_read_file(path, 4096, &text, &bytes, &error) != WEFT_OK) {
        return false;
    }
    /* "pid (name) state parent …": the name may hold anything, so its end is the last ')'. */
    const char *open_at = strchr(text, '('), *close_at = strrchr(text, ')');
    bool good =
        open_at != NULL && close_at != NULL && close_at > open_at &&
        sscanf(close_at + 1,
               " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d "
               "%*d %llu",
               &process->state, &process->parent, &process->threads, &process->started) == 4;
    if (good) {
        snprintf(process->name, sizeof process->name, "%.*s", (int)(close_at - open_at - 1),
                 open_at + 1);
    }
    weft_os_free(text);
    return good;
}

bool weft_os_process(int32_t pid, uint64_t *started, int32_t *parent, char *name)
{
    os_process_t process;
    if (!os_process_read(pid, &process)) {
        return false;
    }
    *parent = process.parent;
    *started = process.started;
    if (name != NULL) {
        memcpy(name, process.name, sizeof process.name);
    }
    return true;
}

uint64_t weft_os_started_ms(void)
{
    struct timespec now;
    uint64_t started;
    int32_t parent;
    long ticks = sysconf(_SC_CLK_TCK);
    if (ticks <= 0 || clock_gettime(CLOCK_BOOTTIME, &now) != 0 ||
        !weft_os_process((int32_t)getpid(), &started, &parent, NULL)) {
        return 0;
    }
    uint64_t up = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    return weft_os_wall_ms() - (up - started * 1000 / (uint64_t)ticks);
}

uint32_t weft_os_process_started(int32_t pid)
{
    uint64_t started = 0;
    int32_t parent;
    return weft_os_process(pid, &started, &parent, NULL) ? (uint32_t)started : 0;
}

bool weft_os_process_runs(int32_t pid, uint32_t started)
{
    os_process_t process;
    if (!os_process_read(pid, &process) || (started != 0 && (uint32_t)process.started != started)) {
        return false;
    }
    /* A process that nobody has waited for yet has ended all the same, unless only its main thread
     * has. */
    return process.threads > 1 || (process.state != 'Z' && process.state != 'X');
}

int weft_os_process_watch(int32_t pid, uint32_t started)
{
#ifdef SYS_pidfd_open
    int fd = started != 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    /* The number may have been given to another process before the descriptor held on to it. */
    if (fd >= 0 && weft_os_process_started(pid) != started) {
        close(fd);
        return -1;
    }
    return fd;
#else
    (void)pid;
    (void)started;
    return -1;
#endif
}

/* Start times are told on the clock of the reader's time namespace. Its number counts as 0 where
 * the kernel has none. */
uint32_t weft_os_process_space(void)
{
    struct stat pids, times = {.st_ino = 0};
    if (stat("/proc/thread-self/ns/pid", &pids) != 0) {
        return 0;
    }
    (void)stat("/proc/thread-self/ns/time", &times);
    /* Numbers of namespaces lie close together; a sum or XOR of two would meet another's. */
    const uint32_t space = (uint32_t)pids.st_ino * 2654435761u + (uint32_t)times.st_ino;
    return space != 0 ? space : 1;
}
