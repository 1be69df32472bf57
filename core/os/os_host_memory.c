/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OS seam: memory of several processes. */
#include "core/os/os_host_memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/os/os_shared.h"

static void *host_memory_map(int fd, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

weft_status_t weft_os_host_memory_create(const char *name, size_t bytes,
                                         weft_os_host_memory_t *memory_p)
{
    int fd;
    weft_status_t status = weft_os_sealed_file(name, bytes, &fd);
    if (status != WEFT_OK) {
        return status;
    }
    void *memory = host_memory_map(fd, bytes);
    if (memory == NULL) {
        status =
            weft_fail(WEFT_ERR_RESOURCE, errno, "cannot share %zu bytes between processes", bytes);
        close(fd);
        return status;
    }
    *memory_p = (weft_os_host_memory_t){.memory = memory, .bytes = bytes, .fd = fd};
    return WEFT_OK;
}

/* Opens an entry of /proc/PID/fd if it is the memory. */
static bool host_memory_try(const char *folder, const char *entry, const char *wanted, size_t bytes,
                            weft_os_host_memory_t *memory_p)
{
    char path[320], target[256];
    struct stat facts;
    snprintf(path, sizeof path, "%s/%s", folder, entry);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0) {
        return false;
    }
    target[length] = '\0';
    if (strcmp(target, wanted) != 0) {
        return false;
    }
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    void *memory = NULL;
    if (fstat(fd, &facts) == 0 && facts.st_uid == geteuid() && facts.st_size == (off_t)bytes) {
        memory = host_memory_map(fd, bytes);
    }
    close(fd);
    if (memory != NULL) {
        *memory_p = (weft_os_host_memory_t){.memory = memory, .bytes = bytes, .fd = -1};
    }
    return memory != NULL;
}

bool weft_os_host_memory_find(int32_t pid, const char *name, size_t bytes,
                              weft_os_host_memory_t *memory_p)
{
    char folder[32], wanted[256];
    bool found = false;
    snprintf(folder, sizeof folder, "/proc/%d/fd", (int)pid);
    snprintf(wanted, sizeof wanted, "/memfd:%s (deleted)", name);
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    while (entries != NULL && !found && (entry = readdir(entries)) != NULL) {
        found = entry->d_name[0] != '.' &&
                host_memory_try(folder, entry->d_name, wanted, bytes, memory_p);
    }
    if (entries != NULL) {
        closedir(entries);
    }
    return found;
}

void weft_os_host_memory_close(weft_os_host_memory_t *memory)
{
    if (memory->memory != NULL) {
        munmap(memory->memory, memory->bytes);
        if (memory->fd >= 0) {
            close(memory->fd);
        }
    }
    *memory = (weft_os_host_memory_t){.fd = -1};
}

weft_status_t weft_os_host_lock_init(weft_os_host_lock_t *lock)
{
    pthread_mutexattr_t kind;
    int error = pthread_mutexattr_init(&kind);
    if (error == 0) {
        (void)pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
        (void)pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
        error = pthread_mutex_init(&lock->mutex, &kind);
        (void)pthread_mutexattr_destroy(&kind);
    }
    return error == 0 ? WEFT_OK
                      : weft_fail(WEFT_ERR_SYSTEM, error, "cannot make a lock between processes");
}

/* Where the C library can wait for a lock by the clock of weft_os_clock_ns(): with the time of day
 * a deadline would move when that is set. TSan sees that trylock has taken the lock of a holder
 * that died, and misses it of the calls that wait. */
#if defined(__GLIBC__) && !defined(WEFT_TSAN)
#if __GLIBC_PREREQ(2, 30)
#define HOST_LOCK_WAITS
#endif
#endif

/* Locks, or gives up at `until`. Returns an errno value. */
#ifdef HOST_LOCK_WAITS
static int host_lock_until(pthread_mutex_t *mutex, uint64_t until)
{
    const struct timespec at = {.tv_sec = (time_t)(until / WEFT_NS_PER_S),
                                .tv_nsec = (long)(until % WEFT_NS_PER_S)};
    return pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &at);
}
#else
static int host_lock_until(pthread_mutex_t *mutex, uint64_t until)
{
    int error;
    while ((error = pthread_mutex_trylock(mutex)) == EBUSY && weft_os_clock_ns() < until) {
        weft_os_sleep_ns(WEFT_NS_PER_MS / 10);
    }
    return error;
}
#endif

weft_os_locked_t weft_os_host_lock(weft_os_host_lock_t *lock, uint64_t until)
{
    int error = host_lock_until(&lock->mutex, until);
    if (error == EOWNERDEAD) {
        (void)pthread_mutex_consistent(&lock->mutex);
        return WEFT_OS_LOCKED_ORPHAN;
    }
    return error == 0 ? WEFT_OS_LOCKED : WEFT_OS_LOCK_TIMEOUT;
}

void weft_os_host_unlock(weft_os_host_lock_t *lock)
{
    (void)pthread_mutex_unlock(&lock->mutex);
}
