/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Protection domains and registered memory. A key is the place in the table and a generation, so
 * that keys of ended registrations are refused; local and remote keys differ, so that they are
 * not mixed. */
#include "fake_world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define REMOTE_MASK 0xffu

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    world_enter();
    int cause = script_make(FAKE_ALLOC_PD, context);
    vpd_t *pd = NULL;
    if (cause == 0) {
        pd = world_alloc(sizeof *pd);
        pd->base.context = context;
        context_of(context)->users++;
        world.live.pds++;
    }
    world_leave();
    errno = cause;
    return pd != NULL ? &pd->base : NULL;
}

int ibv_dealloc_pd(struct ibv_pd *base)
{
    vpd_t *pd = (vpd_t *)base;
    world_enter();
    int cause = pd->users > 0 ? EBUSY : 0;
    if (cause == 0) {
        context_of(base->context)->users--;
        world.live.pds--;
        free(pd);
    }
    world_leave();
    return cause;
}

static uint32_t slot_take(void)
{
    for (uint32_t i = 1; i < world.nmrs; i++) {
        if (world.mrs[i] == NULL) {
            return i;
        }
    }
    uint32_t room = world.nmrs == 0 ? 64 : 2 * world.nmrs;
    uint32_t first = world.nmrs == 0 ? 1 : world.nmrs;
    vmr_t **mrs = world_alloc(room * sizeof(vmr_t *));
    uint8_t *generations = world_alloc(room);
    if (world.nmrs > 0) {
        memcpy(mrs, world.mrs, world.nmrs * sizeof(vmr_t *));
        memcpy(generations, world.generations, world.nmrs);
    }
    free(world.mrs);
    free(world.generations);
    world.mrs = mrs;
    world.generations = generations;
    world.nmrs = room;
    return first;
}

static struct ibv_mr *memory_register(struct ibv_pd *pd, uintptr_t start, size_t bytes, int access,
                                      fake_call_t call)
{
    const int remote = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    vmr_t *mr = NULL;
    world_enter();
    int cause = script_make(call, pd->context);
    if (cause == 0 && (access & remote) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0) {
        cause = EINVAL;
    }
    if (cause == 0) {
        uint32_t slot = slot_take();
        uint32_t key = slot << 8 | ++world.generations[slot];
        mr = world_alloc(sizeof *mr);
        mr->base = (struct ibv_mr){.context = pd->context,
                                   .pd = pd,
                                   .addr = (void *)start,
                                   .length = bytes,
                                   .handle = slot,
                                   .lkey = key,
                                   .rkey = key ^ REMOTE_MASK};
        mr->access = access;
        mr->at = (uint8_t *)start;
        world.mrs[slot] = mr;
        ((vpd_t *)pd)->users++;
        world.live.mrs++;
    }
    world_leave();
    errno = cause;
    return mr != NULL ? &mr->base : NULL;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t bytes, int access)
{
    return memory_register(pd, (uintptr_t)address, bytes, access, FAKE_REG_MR);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t bytes, uint64_t iova,
                                unsigned access)
{
    (void)iova;
    return memory_register(pd, (uintptr_t)address, bytes, (int)access, FAKE_REG_MR);
}

/* Reads and writes the file, whatever is at the address by which it is named. */
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t bytes, uint64_t iova,
                                 int fd, int access)
{
    struct stat file;
    if (device_of(pd->context)->spec.no_dmabuf) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    if (fstat(fd, &file) != 0 || offset + bytes > (uint64_t)file.st_size) {
        errno = fcntl(fd, F_GETFD) < 0 ? EBADF : EINVAL;
        return NULL;
    }
    void *map = mmap(NULL, offset + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        return NULL;
    }
    struct ibv_mr *base = memory_register(pd, (uintptr_t)iova, bytes, access, FAKE_REG_DMABUF);
    int cause = errno;
    if (base == NULL) {
        munmap(map, offset + bytes);
        errno = cause;
        return NULL;
    }
    vmr_t *mr = (vmr_t *)base;
    mr->map = map;
    mr->map_bytes = offset + bytes;
    mr->at = (uint8_t *)map + offset;
    return base;
}

int ibv_dereg_mr(struct ibv_mr *base)
{
    world_enter();
    int cause = script_call(FAKE_DEREG_MR);
    if (cause == 0) {
        world.mrs[base->handle] = NULL;
        ((vpd_t *)base->pd)->users--;
        world.live.mrs--;
        if (((vmr_t *)base)->map != NULL) {
            munmap(((vmr_t *)base)->map, ((vmr_t *)base)->map_bytes);
        }
        free(base);
    }
    world_leave();
    return cause;
}

uint32_t fake_count_access(int flags)
{
    uint32_t count = 0;
    world_enter();
    for (uint32_t i = 0; i < world.nmrs; i++) {
        count += world.mrs[i] != NULL && (world.mrs[i]->access & flags) == flags ? 1 : 0;
    }
    world_leave();
    return count;
}

static vmr_t *memory_find(uint32_t key)
{
    uint32_t slot = key >> 8;
    return slot < world.nmrs ? world.mrs[slot] : NULL;
}

static void *memory_admit(const vmr_t *mr, const struct ibv_pd *pd, uint64_t address,
                          uint64_t bytes)
{
    uintptr_t start = (uintptr_t)mr->base.addr;
    bool inside =
        address >= start && bytes <= mr->base.length && address - start <= mr->base.length - bytes;
    return inside && mr->base.pd == pd ? mr->at + (address - start) : NULL;
}

void *memory_local(const struct ibv_pd *pd, const struct ibv_sge *sge, bool write)
{
    const vmr_t *mr = memory_find(sge->lkey);
    if (mr == NULL || mr->base.lkey != sge->lkey ||
        (write && (mr->access & IBV_ACCESS_LOCAL_WRITE) == 0)) {
        return NULL;
    }
    return memory_admit(mr, pd, sge->addr, sge->length);
}

void *memory_remote(const struct ibv_pd *pd, uint64_t address, uint32_t key, uint64_t bytes,
                    int access)
{
    const vmr_t *mr = memory_find(key);
    if (mr == NULL || mr->base.rkey != key || (mr->access & access) == 0) {
        return NULL;
    }
    return memory_admit(mr, pd, address, bytes);
}
