/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OS seam: memory that processes share. */
#include "core/os/os_shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/os/os.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* the library may be older than the kernel */
#endif
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* Beyond this limit ftruncate() sends SIGXFSZ, which ends the process. */
static weft_status_t shared_check_limit(uint64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur) {
        return weft_fail(WEFT_ERR_RESOURCE, EFBIG,
                         "%llu bytes of shared memory wanted, the limit of file sizes is %llu; "
                         "raise it (ulimit -f)",
                         (unsigned long long)bytes, (unsigned long long)limit.rlim_cur);
    }
    return WEFT_OK;
}

weft_status_t weft_os_sealed_file(const char *name, uint64_t bytes, int *fd_p)
{
    weft_status_t status = shared_check_limit(bytes);
    if (status != WEFT_OK) {
        return status;
    }
    weft_os_open_standard();
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        return weft_fail(WEFT_ERR_RESOURCE, errno, "cannot make shared memory (memfd_create)");
    }
    if (ftruncate(fd, (off_t)bytes) != 0 || fcntl(fd, F_ADD_SEALS, SEALS) != 0) {
        status = weft_fail(WEFT_ERR_SYSTEM, errno, "cannot size shared memory");
        close(fd);
        return status;
    }
    *fd_p = fd;
    return WEFT_OK;
}

/* Maps the whole file at an address that allows huge pages, to be touched by nobody: in a program
 * that locks its memory (mlockall), the system would give pages to all of it at once otherwise.
 * Returns NULL with errno. */
static uint8_t *shared_map(int fd, uint64_t bytes)
{
    uint8_t *room = mmap(NULL, bytes + WEFT_OS_HUGE_PAGE, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) {
        return NULL;
    }
    uint64_t before = -(uintptr_t)room % WEFT_OS_HUGE_PAGE;
    uint8_t *base =
        mmap(room + before, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0);
    if (base == MAP_FAILED) {
        int cause = errno;
        munmap(room, bytes + WEFT_OS_HUGE_PAGE);
        errno = cause;
        return NULL;
    }
    if (before > 0) {
        munmap(room, before);
    }
    munmap(base + bytes, WEFT_OS_HUGE_PAGE - before);
    return base;
}

weft_status_t weft_os_shared_create(uint64_t bytes, weft_os_shared_t *shared)
{
    *shared = (weft_os_shared_t){.bytes = bytes, .fd = -1};
    int fd = -1;
    weft_status_t status = weft_os_sealed_file("weft-arena", bytes, &fd);
    if (status != WEFT_OK) {
        return status;
    }
    shared->base = shared_map(fd, bytes);
    if (shared->base == NULL) {
        status = weft_fail(WEFT_ERR_RESOURCE, errno, "cannot map shared memory");
        close(fd);
        return status;
    }
    shared->fd = fd;
    return WEFT_OK;
}

/* Makes `count` huge pages, as far as the system has them. Where Linux gives shared memory none by
 * itself, which is its default, it still makes one around a page that is there. Zeroing them here
 * takes the place of the faults of the first touches. */
static void shared_make_huge(uint8_t *base, uint64_t count)
{
    if (count > 0) {
        (void)madvise(base, count * WEFT_OS_HUGE_PAGE, MADV_HUGEPAGE);
    }
    for (uint64_t i = 0; i < count; i++) {
        uint8_t *page = base + i * WEFT_OS_HUGE_PAGE;
        if (madvise(page, 1, MADV_POPULATE_WRITE) != 0 ||
            madvise(page, WEFT_OS_HUGE_PAGE, MADV_COLLAPSE) != 0) {
            return;
        }
    }
}

bool weft_os_shared_open(const weft_os_shared_t *shared, uint64_t offset, uint64_t bytes)
{
    return mprotect(shared->base + offset, bytes, PROT_READ | PROT_WRITE) == 0;
}

weft_status_t weft_os_shared_commit(const weft_os_shared_t *shared, uint64_t offset, uint64_t bytes)
{
    if (!weft_os_shared_open(shared, offset, bytes)) {
        return weft_fail(WEFT_ERR_RESOURCE, errno, "cannot use %llu bytes of shared memory",
                         (unsigned long long)bytes);
    }
    shared_make_huge(shared->base + offset, bytes / WEFT_OS_HUGE_PAGE);
    return WEFT_OK;
}

void weft_os_shared_decommit(const weft_os_shared_t *shared, uint64_t offset, uint64_t bytes)
{
    (void)madvise(shared->base + offset, bytes, MADV_REMOVE);
    (void)mprotect(shared->base + offset, bytes, PROT_NONE);
}

/* A descriptor that a peer names may be anything: it is opened without waiting, and refused unless
 * it is such a file. */
bool weft_os_shared_attach(int32_t pid, int32_t fd, weft_os_shared_t *shared)
{
    char path[64];
    struct stat file;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, (int)fd);
    weft_os_open_standard();
    int own = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (own < 0) {
        return false;
    }
    int seals = fcntl(own, F_GET_SEALS);
    *shared = (weft_os_shared_t){.fd = -1};
    if (seals >= 0 && (seals & SEALS) == SEALS && fstat(own, &file) == 0 && file.st_size > 0) {
        shared->bytes = (uint64_t)file.st_size;
        shared->base = shared_map(own, shared->bytes);
    }
    close(own);
    return shared->base != NULL;
}

void weft_os_shared_detach(weft_os_shared_t *shared)
{
    munmap(shared->base, shared->bytes);
    shared->base = NULL;
}

uint64_t weft_os_page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t weft_os_memory_bytes(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * weft_os_page_bytes();
}
