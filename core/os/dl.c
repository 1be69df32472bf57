/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Objects of the system's loader. A fork waits for it: its lists cannot be made whole in a child. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/os/os.h"
#include "core/os/os_fork.h"

static void dl_keep_error(char *why, size_t bytes)
{
    const char *text = dlerror();
    snprintf(why, bytes, "%s", text != NULL ? text : "unknown reason");
}

/* Whether a segment that is loaded ends beyond the file. What is no shared object of this system dlopen() refuses. */
static bool dl_is_cut(int fd)
{
    ElfW(Ehdr) header;
    struct stat info;
    if (fstat(fd, &info) != 0 || pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < header.e_phnum; i++) {
        ElfW(Phdr) segment;
        const off_t at = (off_t)(header.e_phoff + (uint64_t)i * sizeof segment);
        if (pread(fd, &segment, sizeof segment, at) != (ssize_t)sizeof segment ||
            (segment.p_type == PT_LOAD &&
             segment.p_offset + segment.p_filesz > (uint64_t)info.st_size)) {
            return true;
        }
    }
    return false;
}

void *weft_os_dl_open(const char *path, char *why, size_t bytes)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool cut = fd >= 0 && dl_is_cut(fd);
    if (fd >= 0) {
        close(fd);
    }
    if (cut) {
        snprintf(why, bytes, "a file that is cut off: it is shorter than what is loaded of it");
        return NULL;
    }
    weft_os_hold_forks();
    dlerror();
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) {
        dl_keep_error(why, bytes);
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
