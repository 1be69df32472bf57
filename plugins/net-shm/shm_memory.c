/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shared memory: an anonymous file, committed before it is published and sealed against
 * shrinking, so that no end can be hit by SIGBUS through the other. */
#include "shm_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define HUGE_PAGE (UINT64_C(2) << 20)
#define CHECK_FROM (UINT64_C(16) << 20) /* asking costs more than it is worth below this */
#define BYTES_MAX (UINT64_C(1) << 46)

static uint64_t shm_round_up(uint64_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
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

/* The pages exist before the peer learns of them: a host without room fails here, not by SIGBUS. */
static weft_status_t shm_memory_commit(const weft_host_t *host, const shm_memory_t *memory)
{
#ifdef MADV_POPULATE_WRITE
    /* These come first: fallocate() alone never makes huge pages. Both are hints and may fail. */
    if (memory->bytes >= HUGE_PAGE) {
        madvise(memory->base, memory->bytes, MADV_HUGEPAGE);
        madvise(memory->base, memory->bytes, MADV_POPULATE_WRITE);
    }
#endif
    int result;
    do {
        result = fallocate(memory->fd, 0, 0, (off_t)memory->bytes);
    } while (result != 0 && errno == EINTR);
    if (result != 0) {
        return host->set_error(host, WEFT_ERR_RESOURCE, errno,
                               "cannot commit %llu bytes of shared memory; raise the memory limit "
                               "or lower slot_bytes or slots of net-shm",
                               (unsigned long long)memory->bytes);
    }
    return WEFT_OK;
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
    return WEFT_OK;
}

weft_status_t shm_memory_create(const weft_host_t *host, uint64_t bytes, shm_memory_t *memory)
{
    weft_status_t status = shm_memory_check(host, bytes);
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
    status = shm_memory_commit(host, memory);
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
