/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Handles by which other processes get the file that is an allocation or a pool: descriptors, which
 * have to be passed, and handles of the fabric, which are bytes that say in which process the file
 * is open. The driver gives those only to processes that have a channel of the daemon IMEX
 * (fake_cuda.fabric). */
#include <cuda.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/cuda/fake.h"

enum { FABRIC = 8, FABRIC_BYTES = 64, FABRIC_MAGIC = 0x1f4b }; /* the type, as from CUDA 12.3 on */

typedef struct fabric_handle {
    int magic, pid, fd;
    int zero[FABRIC_BYTES / sizeof(int) - 3];
} fabric_handle_t;

_Static_assert(sizeof(fabric_handle_t) == FABRIC_BYTES, "as the driver's");

bool fake_fabric_export(void *handle, int fd, uint32_t type)
{
    const fabric_handle_t mine = {.magic = FABRIC_MAGIC, .pid = getpid(), .fd = fd};
    if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
        fd = dup(fd);
        memcpy(handle, &fd, sizeof fd);
        return true;
    }
    if (type == FABRIC && fake_cuda.fabric) {
        memcpy(handle, &mine, sizeof mine);
        return true;
    }
    return false;
}

int fake_fabric_import(void *handle, uint32_t type)
{
    char path[64];
    fabric_handle_t theirs;
    if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
        return dup((int)(intptr_t)handle);
    }
    memcpy(&theirs, handle, sizeof theirs);
    if (type != FABRIC || !fake_cuda.fabric || theirs.magic != FABRIC_MAGIC) {
        return -1;
    }
    snprintf(path, sizeof path, "/proc/%d/fd/%d", theirs.pid, theirs.fd);
    return open(path, O_RDWR | O_CLOEXEC);
}
