/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shared memory: an anonymous file, sealed against shrinking. What an end writes to is
 * committed before, so that neither a host without memory nor the other end causes SIGBUS. */
#include "shm_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define HUGE_PAGE (UINT64_C(2) << 20)
#define CHECK_FROM (UINT64_C(16) << 20) /* asking costs more than it is worth below this */
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

/* Kernels before 5.14 cannot populate a range of a mapping. */
static bool shm_memory_can_populate(void)
{
#ifdef MADV_POPULATE_WRITE
    /* A range without bytes is refused only by kernels that do not know the advice. */
    return madvise(NULL, 0, MADV_POPULATE_WRITE) == 0;
#else
    return false;
#endif
}

static weft_status_t shm_memory_no_room(const weft_host_t *host, uint64_t bytes)
{
    return host->set_error(host, WEFT_ERR_RESOURCE, errno,
                           "cannot commit %llu bytes of shared memory; raise the memory limit or "
                           "lower exec.pool_bytes, or slot_bytes or slots of net-shm",
                           (unsigned long long)bytes);
}

/* The pages exist before the peer learns of them: a host without room fails here, not by SIGBUS. */
static weft_status_t shm_memory_commit_first(const weft_host_t *host, const shm_memory_t *memory,
                                             uint64_t bytes)
{
    int result;
    do {
        result = fallocate(memory->fd, 0, 0, (off_t)bytes);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? WEFT_OK : shm_memory_no_room(host, bytes);
}

/* Returns the bytes that are available without swapping; 0 if unknown. */
static uint64_t shm_memory_available(void)
{
    char line[128];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    if (file == NULL) {
        return 0;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1) {
            break;
        }
    }
    fclose(file);
    return (uint64_t)kib << 10;
}

/* Committing more than the host has would wake the OOM killer instead of failing. */
static weft_status_t shm_memory_check(const weft_host_t *host, uint64_t bytes)
{
    uint64_t available = bytes > CHECK_FROM ? shm_memory_available() : 0;
    if (bytes > BYTES_MAX || (available > 0 && bytes > available)) {
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
        return host->set_error(host, WEFT_ERR_RESOURCE, errno, "memfd_create");
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
    status = shm_memory_commit_first(host, memory, all ? memory->bytes : shm_round_up(commit));
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
#ifdef MADV_POPULATE_WRITE
    uint64_t from = offset / shm_page() * shm_page();
    uint64_t to = shm_round_up(offset + bytes);
    uint64_t available = bytes > CHECK_FROM ? shm_memory_available() : UINT64_MAX;
    if (available > 0 && bytes > available) {
        errno = ENOMEM;
        return shm_memory_no_room(host, bytes);
    }
    if (bytes >= HUGE_PAGE / 2) {
        madvise(memory->base, memory->bytes, MADV_HUGEPAGE); /* a hint that may fail */
    }
    int result;
    do {
        result = madvise((uint8_t *)memory->base + from, to - from, MADV_POPULATE_WRITE);
    } while (result != 0 && (errno == EINTR || errno == EAGAIN));
    /* EINVAL: an old kernel, where everything is committed from the beginning. */
    if (result != 0 && errno != EINVAL) {
        return shm_memory_no_room(host, bytes);
    }
#endif
    return WEFT_OK;
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
