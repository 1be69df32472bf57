/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shared memory: an anonymous file, sealed against shrinking. What an end writes to is
 * committed before, so that neither a host without memory nor the other end causes SIGBUS. */
#include "shm_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weft/sdk/memory_available.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define HUGE_PAGE (UINT64_C(2) << 20)
#define CHECK_FROM (UINT64_C(16) << 20) /* asking costs more than it is worth below this */
#define CHECK_STEP (UINT64_C(4) << 20)
#define BYTES_MAX (UINT64_C(1) << 46)

static uint64_t shm_page(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t shm_round_up(uint64_t bytes)
{
    uint64_t page = shm_page();
    return bytes == 0 ? page : (bytes + page - 1) / page * page;
}

static weft_status_t shm_memory_map(const weft_host_t *host, shm_memory_t *memory)
{
    memory->base = mmap(NULL, memory->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd, 0);
    if (memory->base == MAP_FAILED) {
        memory->base = NULL;
        return host->set_error(host, WEFT_ERR_RESOURCE, errno,
                               "cannot map %llu bytes of shared memory",
                               (unsigned long long)memory->bytes);
    }
    return WEFT_OK;
}

/* Kernels before 5.14 cannot populate a range of a mapping, and a filter of calls may forbid it. */
static bool shm_memory_can_populate(void)
{
#ifdef MADV_POPULATE_WRITE
    /* A range without bytes is refused only by kernels that do not know the advice. */
    return madvise(NULL, 0, MADV_POPULATE_WRITE) == 0;
#else
    return false;
#endif
}

static weft_status_t shm_memory_no_room(const weft_host_t *host, const char *call, uint64_t bytes)
{
    if (errno != ENOMEM && errno != ENOSPC) {
        return host->set_error(host, WEFT_ERR_SYSTEM, errno,
                               "%s of %llu bytes of shared memory failed", call,
                               (unsigned long long)bytes);
    }
    return host->set_error(host, WEFT_ERR_RESOURCE, errno,
                           "cannot commit %llu bytes of shared memory; raise the memory limit or "
                           "lower exec.pool_bytes, or slot_bytes or slots of net-shm",
                           (unsigned long long)bytes);
}

static int shm_memory_allocate(const shm_memory_t *memory, uint64_t at, uint64_t bytes)
{
    return fallocate(memory->fd, 0, (off_t)at, (off_t)bytes);
}

static int shm_memory_populate(const shm_memory_t *memory, uint64_t at, uint64_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    return madvise((uint8_t *)memory->base + at, bytes, MADV_POPULATE_WRITE);
#else
    (void)memory, (void)at, (void)bytes;
    return 0;
#endif
}

/* Committing more than the host has, or a control group may have, would wake the OOM killer instead
 * of failing. Other ranks commit at the same time, so a large range is taken in steps: before each
 * there is room for the rest. */
static weft_status_t shm_memory_take(const weft_host_t *host, const shm_memory_t *memory,
                                     uint64_t from, uint64_t to, bool mapped)
{
    const char *call = mapped ? "madvise(MADV_POPULATE_WRITE)" : "fallocate";
    const uint64_t bytes = to - from;
    const uint64_t step = bytes > CHECK_FROM ? CHECK_STEP : bytes;
    for (uint64_t at = from; at < to; at += step) {
        const uint64_t part = to - at < step ? to - at : step;
        if (bytes > CHECK_FROM && to - at > weft_memory_available()) {
            errno = ENOMEM;
            return shm_memory_no_room(host, call, bytes);
        }
        int result;
        do {
            result = mapped ? shm_memory_populate(memory, at, part)
                            : shm_memory_allocate(memory, at, part);
        } while (result != 0 && (errno == EINTR || errno == EAGAIN));
        if (result != 0) {
            return shm_memory_no_room(host, call, bytes);
        }
    }
    return WEFT_OK;
}

/* A connection that could never be used up fails at once, though most of it is committed by
 * need. */
static weft_status_t shm_memory_check(const weft_host_t *host, uint64_t bytes)
{
    uint64_t available =
        bytes > CHECK_FROM ? weft_memory_of_host("/proc/meminfo") : WEFT_MEMORY_UNKNOWN;
    if (bytes > BYTES_MAX || bytes > available) {
        return host->set_error(host, WEFT_ERR_RESOURCE, 0,
                               "%llu bytes of shared memory wanted for one connection, %llu "
                               "available on this host; lower slot_bytes or slots of net-shm",
                               (unsigned long long)bytes, (unsigned long long)available);
    }
    struct rlimit limit;
    /* Beyond this limit ftruncate() sends SIGXFSZ, which ends the process. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur) {
        return host->set_error(host, WEFT_ERR_RESOURCE, EFBIG,
                               "%llu bytes of shared memory wanted for one connection, the limit "
                               "of file sizes is %llu; raise it (ulimit -f) or lower slot_bytes "
                               "or slots of net-shm",
                               (unsigned long long)bytes, (unsigned long long)limit.rlim_cur);
    }
    return WEFT_OK;
}

const char *shm_memory_refused(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < shm_page()) {
        return NULL; /* see shm_memory_check() */
    }
    const char *call = "memfd_create";
    int fd = memfd_create("weft-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    bool made = fd >= 0;
    if (made) {
        call = "ftruncate";
        made = ftruncate(fd, (off_t)shm_page()) == 0;
    }
    if (made) {
        call = "fallocate";
        made = fallocate(fd, 0, 0, (off_t)shm_page()) == 0;
    }
    if (made) {
        call = "fcntl(F_ADD_SEALS)";
        made = fcntl(fd, F_ADD_SEALS, SEALS) == 0;
    }
    int cause = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = cause;
    return !made && (cause == EPERM || cause == EACCES || cause == ENOSYS) ? call : NULL;
}

weft_status_t shm_memory_create(const weft_host_t *host, uint64_t bytes, uint64_t commit,
                                shm_memory_t *memory)
{
    weft_status_t status = shm_memory_check(host, shm_round_up(bytes));
    if (status != WEFT_OK) {
        return status;
    }
    *memory = (shm_memory_t){.bytes = shm_round_up(bytes)};
    memory->fd = memfd_create("weft-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memory->fd < 0) {
        return host->set_error(host, WEFT_ERR_RESOURCE, errno,
                               "cannot make shared memory (memfd_create)");
    }
    if (ftruncate(memory->fd, (off_t)memory->bytes) != 0) {
        status = host->set_error(host, WEFT_ERR_RESOURCE, errno,
                                 "cannot size shared memory to %llu bytes",
                                 (unsigned long long)memory->bytes);
        goto err_release;
    }
    status = shm_memory_map(host, memory);
    if (status != WEFT_OK) {
        goto err_release;
    }
    bool all = !shm_memory_can_populate() || commit > bytes;
    /* The pages exist before the peer learns of them: a host without room fails here, not by
     * SIGBUS. */
    status = shm_memory_take(host, memory, 0, all ? memory->bytes : shm_round_up(commit), false);
    if (status != WEFT_OK) {
        goto err_release;
    }
    if (fcntl(memory->fd, F_ADD_SEALS, SEALS) != 0) {
        status = host->set_error(host, WEFT_ERR_SYSTEM, errno, "cannot seal shared memory");
        goto err_release;
    }
    return WEFT_OK;

err_release:
    shm_memory_release(memory);
    return status;
}

weft_status_t shm_memory_attach(const weft_host_t *host, int fd, uint64_t bytes,
                                shm_memory_t *memory)
{
    *memory = (shm_memory_t){.bytes = bytes, .fd = fd};
    struct stat file;
    int seals = fcntl(fd, F_GET_SEALS);
    weft_status_t status;
    if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &file) != 0 || bytes == 0 ||
        bytes > BYTES_MAX || shm_round_up(bytes) != bytes || (uint64_t)file.st_size != bytes) {
        status = host->set_error(host, WEFT_ERR_PROTO, 0,
                                 "shared memory of the peer is not sealed or not %llu bytes long",
                                 (unsigned long long)bytes);
        goto err_release;
    }
    status = shm_memory_map(host, memory);
    if (status != WEFT_OK) {
        goto err_release;
    }
    close(memory->fd);
    memory->fd = -1;
    return WEFT_OK;

err_release:
    shm_memory_release(memory);
    return status;
}

weft_status_t shm_memory_commit(const weft_host_t *host, const shm_memory_t *memory,
                                uint64_t offset, uint64_t bytes)
{
    if (offset > memory->bytes || bytes > memory->bytes - offset) {
        return host->set_error(host, WEFT_ERR_ARG, 0, "commit of %llu bytes at %llu of %llu",
                               (unsigned long long)bytes, (unsigned long long)offset,
                               (unsigned long long)memory->bytes);
    }
    if (!shm_memory_can_populate()) {
        return WEFT_OK; /* everything is committed from the beginning */
    }
    if (bytes >= HUGE_PAGE / 2) {
        madvise(memory->base, memory->bytes, MADV_HUGEPAGE); /* a hint that may fail */
    }
    return shm_memory_take(host, memory, offset / shm_page() * shm_page(),
                           shm_round_up(offset + bytes), true);
}

void shm_memory_discard(const shm_memory_t *memory, uint64_t offset, uint64_t bytes)
{
    uint64_t from = (offset + shm_page() - 1) / shm_page() * shm_page();
    uint64_t to = (offset + bytes) / shm_page() * shm_page();
    /* Memory that could not be committed again is kept. */
    if (to > from && to <= memory->bytes && shm_memory_can_populate()) {
        madvise((uint8_t *)memory->base + from, to - from, MADV_REMOVE);
    }
}

void shm_memory_release(shm_memory_t *memory)
{
    if (memory->base != NULL) {
        munmap(memory->base, memory->bytes);
        memory->base = NULL;
    }
    if (memory->fd >= 0) {
        close(memory->fd);
        memory->fd = -1;
    }
}
