/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Objects of the system's loader. A fork waits for it: its lists cannot be made whole in a
 * child. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/os/os.h"
#include "core/os/os_fork.h"

static void dl_keep_error(char *why, size_t bytes)
{
    const char *text = dlerror();
    snprintf(why, bytes, "%s", text != NULL ? text : "unknown reason");
}

/* What is wrong with a file for which the loader has other words, or none. */
typedef struct dl_flaws {
    bool cut;         /* a segment that is loaded ends beyond the file */
    bool no_exec;     /* its file system is mounted so */
    uint16_t machine; /* of another kind than this one, or EM_NONE */
} dl_flaws_t;

/* Whether the file begins as one of ELF. */
static bool dl_head(int fd, ElfW(Ehdr) * head)
{
    return pread(fd, head, sizeof *head, 0) == (ssize_t)sizeof *head &&
           memcmp(head->e_ident, ELFMAG, SELFMAG) == 0;
}

static bool dl_is_cut(int fd, const ElfW(Ehdr) * head)
{
    struct stat info;
    for (uint32_t i = 0; fstat(fd, &info) == 0 && i < head->e_phnum; i++) {
        ElfW(Phdr) segment;
        const off_t at = (off_t)(head->e_phoff + (uint64_t)i * sizeof segment);
        if (pread(fd, &segment, sizeof segment, at) != (ssize_t)sizeof segment ||
            (segment.p_type == PT_LOAD &&
             segment.p_offset + segment.p_filesz > (uint64_t)info.st_size)) {
            return true;
        }
    }
    return false;
}

/* Of a file whose class and byte order are those of this program: others the loader names. The
 * program's own head is read where the loader has mapped it. In /proc it may be that of an
 * emulator. */
static uint16_t dl_other_machine(const ElfW(Ehdr) * head)
{
    static const char inside = 0;
    ElfW(Ehdr) own;
    Dl_info info;
    if (dladdr(&inside, &info) == 0) {
        return EM_NONE;
    }
    memcpy(&own, info.dli_fbase, sizeof own);
    return memcmp(own.e_ident, head->e_ident, EI_VERSION) == 0 && own.e_machine != head->e_machine
               ? head->e_machine
               : EM_NONE;
}

static dl_flaws_t dl_look(const char *path)
{
    ElfW(Ehdr) head;
    struct statvfs mount;
    dl_flaws_t flaws = {.machine = EM_NONE};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return flaws;
    }
    if (dl_head(fd, &head)) {
        flaws.machine = dl_other_machine(&head);
        flaws.cut = flaws.machine == EM_NONE && dl_is_cut(fd, &head);
        flaws.no_exec = fstatvfs(fd, &mount) == 0 && (mount.f_flag & ST_NOEXEC) != 0;
    }
    close(fd);
    return flaws;
}

/* A word for the machines that weft is known to run on. */
static void dl_tell_machine(uint16_t machine, char *why, size_t bytes)
{
    const char *name = machine == EM_X86_64    ? "x86-64"
                       : machine == EM_AARCH64 ? "AArch64"
                       : machine == EM_RISCV   ? "RISC-V"
                       : machine == EM_PPC64   ? "POWER"
                                               : NULL;
    if (name != NULL) {
        snprintf(why, bytes, "one for %s machines, which this is not", name);
    } else {
        snprintf(why, bytes, "one for machines of type %u of ELF, which this is not", machine);
    }
}

/* Behind what the loader says if it cannot map a file: it tells no cause. */
static void dl_add_cause(const dl_flaws_t *flaws, char *why, size_t bytes)
{
    struct rlimit space = {.rlim_cur = RLIM_INFINITY};
    const size_t used = strlen(why);
    if (strstr(why, "failed to map segment") == NULL) {
        return;
    }
    if (flaws->no_exec) {
        snprintf(why + used, bytes - used, ": its file system is mounted noexec");
    } else if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
        snprintf(why + used, bytes - used, " (see ulimit -v)");
    }
}

void *weft_os_dl_open(const char *path, char *why, size_t bytes)
{
    const dl_flaws_t flaws = dl_look(path);
    if (flaws.machine != EM_NONE) {
        dl_tell_machine(flaws.machine, why, bytes);
        return NULL;
    }
    if (flaws.cut) {
        snprintf(why, bytes, "a file that is cut off: it is shorter than what is loaded of it");
        return NULL;
    }
    weft_os_hold_forks();
    dlerror();
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) {
        dl_keep_error(why, bytes);
        dl_add_cause(&flaws, why, bytes);
    }
    weft_os_release_forks();
    return object;
}

void *weft_os_dl_symbol(void *object, const char *name, char *why, size_t bytes)
{
    dlerror();
    void *symbol = dlsym(object, name);
    if (symbol == NULL) {
        dl_keep_error(why, bytes);
    }
    return symbol;
}

void *weft_os_dl_loaded(const char *library, const char *name)
{
    weft_os_hold_forks();
    void *object = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    void *symbol = object != NULL ? dlsym(object, name) : NULL;
    if (object != NULL) {
        dlclose(object); /* the count that dlopen() raised: the object stays */
    }
    weft_os_release_forks();
    return symbol;
}

void weft_os_dl_close(void *object)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)object;
#else
    if (object != NULL) {
        weft_os_hold_forks();
        dlclose(object);
        weft_os_release_forks();
    }
#endif
}
