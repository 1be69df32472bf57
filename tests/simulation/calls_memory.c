/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory and shared objects. What the dynamic linker allocates stays when the process ends. */
#include "calls.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "descriptor.h"
#include "memory.h"

/* The system's allocator under its other names: dlsym() itself allocates. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);
extern void __libc_free(void *memory);

void *machine_alloc(size_t bytes)
{
    void *memory = __libc_calloc(1, bytes);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

void machine_free(void *memory)
{
    __libc_free(memory);
}

SIM_CALL void *malloc(size_t bytes)
{
    if (!machine_inside()) {
        return __libc_malloc(bytes);
    }
    void *memory = memory_alloc(bytes, 0, __builtin_return_address(0));
    errno = memory == NULL ? ENOMEM : errno;
    return memory;
}

SIM_CALL void *calloc(size_t count, size_t each)
{
    if (!machine_inside()) {
        return __libc_calloc(count, each);
    }
    void *memory = memory_alloc(count * each, 0, __builtin_return_address(0));
    errno = memory == NULL ? ENOMEM : errno;
    return memory != NULL ? memset(memory, 0, count * each) : NULL;
}

SIM_CALL void free(void *memory)
{
    if (memory_is_ours(memory)) {
        memory_free(memory);
    } else {
        __libc_free(memory);
    }
}

SIM_CALL void *realloc(void *memory, size_t bytes)
{
    if (memory_is_ours(memory) ? false : !machine_inside() || memory != NULL) {
        return __libc_realloc(memory, bytes);
    }
    void *larger = memory_alloc(bytes, 0, __builtin_return_address(0));
    if (larger != NULL && memory != NULL) {
        size_t before = memory_bytes(memory);
        memcpy(larger, memory, before < bytes ? before : bytes);
        memory_free(memory);
    }
    return larger;
}

SIM_CALL int posix_memalign(void **memory_p, size_t align, size_t bytes)
{
    void *memory = machine_inside() ? memory_alloc(bytes, align, __builtin_return_address(0))
                                    : __libc_memalign(align, bytes);
    if (memory == NULL) {
        return ENOMEM;
    }
    *memory_p = memory;
    return 0;
}

SIM_CALL void *aligned_alloc(size_t align, size_t bytes)
{
    return machine_inside() ? memory_alloc(bytes, align, __builtin_return_address(0))
                            : __libc_memalign(align, bytes);
}

/* Mappings ------------------------------------------------------------------------------------- */

SIM_CALL void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (!machine_inside()) {
        return SIM_REAL(mmap)(at, bytes, protection, flags, fd, offset);
    }
    thread_call("mmap");
    const process_t *process = machine.self->process;
    bool scarce = machine.now >= process->memory_from && machine.now < process->memory_until;
    object_t *file = descriptor_of(fd);
    if (scarce && machine_odd(65536 / 4)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void *memory = SIM_REAL(mmap)(at, bytes, protection, flags | MAP_NORESERVE,
                                  file != NULL ? file->real : fd, offset);
    if (memory != MAP_FAILED) {
        memory_mapped(memory, bytes, file, (uint64_t)offset);
    }
    return memory;
}

SIM_CALL int munmap(void *at, size_t bytes)
{
    if (machine_inside()) {
        thread_call("munmap");
        memory_unmapped(at, bytes);
    }
    return SIM_REAL(munmap)(at, bytes);
}

/* Huge pages are not what is simulated, and cost much. */
SIM_CALL int madvise(void *at, size_t bytes, int advice)
{
    if (machine_inside() && advice != MADV_REMOVE && advice != MADV_DONTNEED) {
        return 0;
    }
    return SIM_REAL(madvise)(at, bytes, advice);
}

SIM_CALL int memfd_create(const char *name, unsigned flags)
{
    if (!machine_inside()) {
        return SIM_REAL(memfd_create)(name, flags);
    }
    thread_call("memfd_create");
    object_t *file = object_make(OBJECT_FILE);
    file->real = SIM_REAL(memfd_create)(name, MFD_CLOEXEC);
    strncpy(file->label, name, sizeof file->label - 1);
    return descriptor_open(file);
}

SIM_CALL int ftruncate(int fd, off_t bytes)
{
    object_t *file = machine_inside() ? descriptor_of(fd) : NULL;
    if (file == NULL) {
        return SIM_REAL(ftruncate)(fd, bytes);
    }
    thread_call("ftruncate");
    file->bytes = (uint64_t)bytes;
    return SIM_REAL(ftruncate)(file->real, bytes);
}

SIM_CALL int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
    if (!machine_inside()) {
        return SIM_REAL(fallocate)(fd, mode, offset, bytes);
    }
    thread_call("fallocate");
    const process_t *process = machine.self->process;
    bool scarce = machine.now >= process->memory_from && machine.now < process->memory_until;
    errno = scarce ? ENOSPC : 0;
    return scarce && machine_odd(65536 / 2) ? -1 : 0;
}

SIM_CALL int fcntl(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    long arg = va_arg(args, long);
    va_end(args);
    object_t *object = machine_inside() ? descriptor_of(fd) : NULL;
    if (object == NULL) {
        return SIM_REAL(fcntl)(fd, command, arg);
    }
    switch (command) {
    case F_ADD_SEALS:
        object->seals |= (int)arg;
        return 0;
    case F_GET_SEALS:
        errno = EINVAL;
        return object->kind == OBJECT_FILE ? object->seals : -1;
    case F_GETFL:
        return O_RDWR | O_NONBLOCK;
    default:
        return 0;
    }
}

SIM_CALL int fstat(int fd, struct stat *facts)
{
    const object_t *object = machine_inside() ? descriptor_of(fd) : NULL;
    if (object == NULL) {
        return folder_own(facts, SIM_REAL(fstat)(fd, facts));
    }
    *facts = (struct stat){.st_mode = object->kind == OBJECT_FILE ? S_IFREG | 0600 : S_IFSOCK,
                           .st_uid = 1000,
                           .st_ino = object->number,
                           .st_size = (off_t)object->bytes};
    return 0;
}

/* All processes are in one address space, so the memory of another lies where it says. */
SIM_CALL ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long nto,
                                  const struct iovec *from, unsigned long nfrom,
                                  unsigned long flags)
{
    if (!machine_inside()) {
        return SIM_REAL(process_vm_readv)(pid, to, nto, from, nfrom, flags);
    }
    (void)pid;
    (void)nto;
    (void)nfrom;
    errno = EPERM;
    return -1;
}

/* Shared objects ------------------------------------------------------------------------------- */

#define APART(result, call)                                                                        \
    do {                                                                                           \
        machine.apart++;                                                                           \
        (result) = (call);                                                                         \
        machine.apart--;                                                                           \
    } while (0)

SIM_CALL void *dlopen(const char *file, int flags)
{
    void *object;
    APART(object, SIM_REAL(dlopen)(file, flags));
    return object;
}

SIM_CALL int dlclose(void *object)
{
    int result;
    APART(result, SIM_REAL(dlclose)(object));
    return result;
}

SIM_CALL char *dlerror(void)
{
    char *text;
    APART(text, SIM_REAL(dlerror)());
    return text;
}
