/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files. Those that tell of the machine and its processes are made up; a host has nothing in /sys.
 * What else a process opens lies on the real machine. */
#include "calls.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "descriptor.h"

/* What is made up ------------------------------------------------------------------------------ */

static int file_with(const char *text)
{
    int fd = SIM_REAL(memfd_create)("weft-made-up", MFD_CLOEXEC);
    ssize_t written = SIM_REAL(write)(fd, text, strlen(text));
    (void)written;
    (void)lseek(fd, 0, SEEK_SET);
    return fd;
}

static int file_missing(void)
{
    errno = ENOENT;
    return -1;
}

/* /proc/PID/stat: the state, the parent, and the ticks at which it began. */
static int file_stat_of(int pid)
{
    char text[256];
    const process_t *process = process_find(pid);
    if (process == NULL || process->dead || process->host != machine.self->process->host) {
        return file_missing();
    }
    snprintf(text, sizeof text, "%d (rank) %c 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0 0\n",
             pid, process->stopped ? 'T' : 'S',
             (unsigned long long)(process->started / (10 * SIM_MS)));
    return file_with(text);
}

int file_made_up(const char *path)
{
    char text[128];
    int pid;
    if (strncmp(path, "/sys/", 5) == 0) {
        return file_missing();
    }
    if (strncmp(path, "/proc/", 6) != 0) {
        return -2;
    }
    if (strcmp(path, "/proc/meminfo") == 0) {
        return file_with("MemTotal: 67108864 kB\nMemAvailable: 33554432 kB\n");
    }
    if (strcmp(path, "/proc/sys/kernel/random/boot_id") == 0) {
        snprintf(text, sizeof text, "00000000-0000-4000-8000-%012x\n",
                 machine.self->process->host + 1);
        return file_with(text);
    }
    if (sscanf(path, "/proc/%d/sta%1[t]", &pid, text) == 2) {
        return file_stat_of(pid);
    }
    return file_missing();
}

/* Opens /proc/PID/fd/N of a simulated process. −2: the path is another. */
static int file_of_process(const char *path)
{
    int pid, fd;
    if (sscanf(path, "/proc/%d/fd/%d", &pid, &fd) != 2) {
        return -2;
    }
    const process_t *process = process_find(pid);
    object_t *object =
        process != NULL && !process->dead && process->host == machine.self->process->host
            ? descriptor_of_process(process, fd)
            : NULL;
    if (object == NULL || object->kind != OBJECT_FILE) {
        return file_missing();
    }
    object_hold(object);
    return descriptor_open(object);
}

SIM_CALL int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = va_arg(args, int);
    va_end(args);
    if (machine_inside()) {
        int fd = file_of_process(path);
        fd = fd == -2 ? file_made_up(path) : fd;
        if (fd != -2) {
            return fd;
        }
        if (folder_has(path)) {
            thread_call("open");
            if ((flags & O_TMPFILE) == O_TMPFILE && machine.names_all) {
                errno = EOPNOTSUPP;
                return -1;
            }
        }
    }
    return SIM_REAL(open)(path, flags, mode);
}

/* Streams of the C library. While one is open the thread goes on without a break, because the
 * library's list of them has no place for a thread that never comes back. */
static FILE *stream_note(FILE *stream)
{
    if (stream != NULL && machine_inside()) {
        machine.self->files++;
    }
    return stream;
}

SIM_CALL FILE *fopen(const char *path, const char *mode)
{
    int fd = machine_inside() ? file_made_up(path) : -2;
    if (fd == -2) {
        return stream_note(SIM_REAL(fopen)(path, mode));
    }
    return fd >= 0 ? stream_note(fdopen(fd, mode)) : NULL;
}

SIM_CALL FILE *open_memstream(char **text, size_t *bytes)
{
    return stream_note(SIM_REAL(open_memstream)(text, bytes));
}

SIM_CALL int fclose(FILE *stream)
{
    int result = SIM_REAL(fclose)(stream);
    if (machine_inside()) {
        machine.self->files--;
    }
    return result;
}

/* Folders -------------------------------------------------------------------------------------- */

/* /proc/PID/fd, or the one in which ranks meet. */
typedef struct folder {
    void *real; /* calls_folder.c; NULL: it is made up */
    const process_t *process;
    uint32_t next;
    struct dirent entry;
} folder_t;

SIM_CALL DIR *opendir(const char *path)
{
    int pid;
    if (!machine_inside()) {
        return SIM_REAL(opendir)(path);
    }
    const bool real = folder_has(path);
    const process_t *process = sscanf(path, "/proc/%d/fd", &pid) == 1 ? process_find(pid) : NULL;
    if (real) {
        process = machine.self->process;
    }
    if (process == NULL || process->dead || process->host != machine.self->process->host) {
        errno = ENOENT;
        return NULL;
    }
    folder_t *folder = calloc(1, sizeof *folder);
    if (folder != NULL) {
        folder->process = process;
        folder->real = real ? folder_open(path) : NULL;
    }
    return (DIR *)(void *)folder;
}

SIM_CALL struct dirent *readdir(DIR *opened)
{
    folder_t *folder = (folder_t *)(void *)opened;
    if (!machine_inside()) {
        return SIM_REAL(readdir)(opened);
    }
    if (folder->real != NULL) {
        return folder_next(folder->real);
    }
    while (folder->next < folder->process->files_room) {
        uint32_t at = folder->next++;
        if (folder->process->files[at] != NULL) {
            snprintf(folder->entry.d_name, sizeof folder->entry.d_name, "%u", SIM_FIRST_FD + at);
            return &folder->entry;
        }
    }
    return NULL;
}

SIM_CALL int dirfd(DIR *opened)
{
    folder_t *folder = (folder_t *)(void *)opened;
    return machine_inside() ? folder_descriptor(folder->real) : SIM_REAL(dirfd)(opened);
}

SIM_CALL int closedir(DIR *opened)
{
    folder_t *folder = (folder_t *)(void *)opened;
    if (!machine_inside()) {
        return SIM_REAL(closedir)(opened);
    }
    if (folder->real != NULL) {
        folder_close(folder->real);
    }
    free(folder);
    return 0;
}

SIM_CALL ssize_t readlink(const char *path, char *text, size_t bytes)
{
    int pid, fd;
    if (!machine_inside() || sscanf(path, "/proc/%d/fd/%d", &pid, &fd) != 2) {
        return SIM_REAL(readlink)(path, text, bytes);
    }
    const process_t *process = process_find(pid);
    const object_t *object = process != NULL ? descriptor_of_process(process, fd) : NULL;
    if (object == NULL) {
        errno = ENOENT;
        return -1;
    }
    int length = snprintf(text, bytes, object->kind == OBJECT_FILE ? "/memfd:%s (deleted)" : "%s:",
                          object->kind == OBJECT_FILE ? object->label : "socket");
    return length < (int)bytes ? length : (ssize_t)bytes;
}

/* Namespaces of a host. */
SIM_CALL int stat(const char *path, struct stat *facts)
{
    if (!machine_inside() || strncmp(path, "/proc/thread-self/ns/", 21) != 0) {
        return SIM_REAL(stat)(path, facts);
    }
    *facts = (struct stat){.st_ino = 4026531000u + machine.self->process->host};
    return 0;
}

/* The rest ------------------------------------------------------------------------------------- */

SIM_CALL int gethostname(char *name, size_t bytes)
{
    if (!machine_inside()) {
        return SIM_REAL(gethostname)(name, bytes);
    }
    snprintf(name, bytes, "host%u", machine.self->process->host);
    return 0;
}

SIM_CALL long sysconf(int name)
{
    if (machine_inside() && name == _SC_PHYS_PAGES) {
        return 16 << 20;
    }
    return SIM_REAL(sysconf)(name);
}

SIM_CALL int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
    if (!machine_inside()) {
        return SIM_REAL(getrlimit)(resource, limit);
    }
    *limit = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    if (resource == RLIMIT_NOFILE) {
        limit->rlim_cur = limit->rlim_max = SIM_FIRST_FD + machine.self->process->files_most;
    }
    return 0;
}

SIM_CALL int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
    return machine_inside() ? 0 : SIM_REAL(setrlimit)(resource, limit);
}
