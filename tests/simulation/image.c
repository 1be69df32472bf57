/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Images. The dynamic linker knows a file by its inode, so each image is a file of its own in
 * memory. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dlinfo, memfd_create */
#endif
#include "image.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine.h"

/* The dynamic linker's: the variables of a module (its number, and an offset) of this thread. */
extern void *__tls_get_addr(size_t index[2]);

static _Noreturn void image_fail(const char *file, const char *why)
{
    fprintf(stderr, "weft-simtest: cannot load %s: %s\n", file, why);
    exit(2);
}

/* Returns a copy of the file in memory. */
static int image_copy(const char *file)
{
    struct stat facts;
    int from = open(file, O_RDONLY | O_CLOEXEC), to = memfd_create("weft-image", MFD_CLOEXEC);
    if (from < 0 || to < 0 || fstat(from, &facts) != 0) {
        image_fail(file, "no such file, or no memory");
    }
    for (off_t at = 0; at < facts.st_size;) {
        if (sendfile(to, from, &at, (size_t)(facts.st_size - at)) <= 0) {
            image_fail(file, "cannot copy it");
        }
    }
    close(from);
    return to;
}

/* RELRO is among the pages that can be written by their header, and cannot: it is left out. */
static int image_look(struct dl_phdr_info *info, size_t size, void *arg)
{
    image_t *image = arg;
    (void)size;
    if (info->dlpi_addr != image->base) {
        return 0;
    }
    uintptr_t relro_end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_GNU_RELRO) {
            relro_end = (image->base + part->p_vaddr + part->p_memsz) & ~(uintptr_t)4095;
        }
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t begin = image->base + part->p_vaddr, end = begin + part->p_memsz;
        if (part->p_type == PT_LOAD) {
            image->end = end > image->end ? end : image->end;
        }
        if (part->p_type == PT_LOAD && (part->p_flags & PF_W) != 0 && image->nparts < IMAGE_PARTS) {
            begin = relro_end > begin && relro_end < end ? relro_end : begin;
            image->parts[image->nparts++] =
                (image_part_t){.begin = (uint8_t *)begin, .bytes = end - begin};
        } else if (part->p_type == PT_TLS) {
            image->tls_fresh = (const uint8_t *)begin;
            image->tls_filled = part->p_filesz;
            image->tls_bytes = part->p_memsz;
        }
    }
    return 1;
}

image_t *image_load(const char *file)
{
    static uint32_t number;
    char path[64];
    struct link_map *map = NULL;
    size_t tls[2] = {0, 0};
    image_t *image = machine_alloc(sizeof *image);
    int fd = image_copy(file);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    (void)dlerror(); /* finds the function behind this one, which forgets the next message */
    image->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (image->handle == NULL) {
        image_fail(file, dlerror());
    }
    /* The descriptor stays open: the linker also knows a file by its path, which has the number in
     * it. */
    if (dlinfo(image->handle, RTLD_DI_LINKMAP, &map) != 0 ||
        dlinfo(image->handle, RTLD_DI_TLS_MODID, &tls[0]) != 0) {
        image_fail(file, dlerror());
    }
    image->tls = __tls_get_addr(tls);
    image->base = map->l_addr;
    image->number = number++;
    dl_iterate_phdr(image_look, image);
    for (uint32_t i = 0; i < image->nparts; i++) {
        image_part_t *part = &image->parts[i];
        part->fresh = malloc(part->bytes);
        memcpy(part->fresh, part->begin, part->bytes);
    }
    return image;
}

void *image_symbol(const image_t *image, const char *name)
{
    void *symbol = dlsym(image->handle, name);
    if (symbol == NULL) {
        image_fail(name, dlerror());
    }
    return symbol;
}

void image_reset(image_t *image)
{
    for (uint32_t i = 0; i < image->nparts; i++) {
        memcpy(image->parts[i].begin, image->parts[i].fresh, image->parts[i].bytes);
    }
}

void *image_make_tls(const image_t *image)
{
    uint8_t *tls = machine_alloc(image->tls_bytes + 1);
    memcpy(tls, image->tls_fresh, image->tls_filled);
    return tls;
}

/* They lie at one place for all threads: those of another thread are put away. */
void image_use_tls(image_t *image, void *tls)
{
    if (image->tls_of == tls) {
        return;
    }
    if (image->tls_of != NULL) {
        memcpy(image->tls_of, image->tls, image->tls_bytes);
    }
    memcpy(image->tls, tls, image->tls_bytes);
    image->tls_of = tls;
}

void image_free_tls(image_t *image, void *tls)
{
    image->tls_of = image->tls_of == tls ? NULL : image->tls_of;
    machine_free(tls);
}
