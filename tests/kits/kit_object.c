/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening a plugin for a kit. */
#include "kit_object.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/crash.h"
#include "core/plugin/plugin_check.h"

#define ENTRY "weft_plugin_entry"

/* The dynamic symbols of an object. */
typedef struct kit_symbols {
    const ElfW(Sym) * list;
    const char *names;
    uint32_t count;
} kit_symbols_t;

/* Number of symbols, from the hash table, the only place that tells it. */
static uint32_t kit_symbols_hashed(const uint32_t *gnu)
{
    uint32_t buckets = gnu[0], first = gnu[1], words = gnu[2], last = 0;
    const uint32_t *bucket = gnu + 4 + words * (sizeof(ElfW(Addr)) / sizeof *gnu);
    const uint32_t *chain = bucket + buckets;
    for (uint32_t i = 0; i < buckets; i++) {
        last = bucket[i] > last ? bucket[i] : last;
    }
    if (last < first) {
        return first;
    }
    while ((chain[last - first] & 1) == 0) {
        last++;
    }
    return last + 1;
}

static const void *kit_symbols_at(ElfW(Addr) address)
{
    const void *at;
    memcpy(&at, &address, sizeof at);
    return at;
}

/* glibc has relocated the addresses of the section. */
static bool kit_symbols_read(void *object, kit_symbols_t *symbols)
{
    struct link_map *map = NULL;
    *symbols = (kit_symbols_t){.list = NULL};
    if (dlinfo(object, RTLD_DI_LINKMAP, &map) != 0 || map->l_ld == NULL) {
        return false;
    }
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        const void *at = kit_symbols_at(d->d_un.d_ptr);
        if (d->d_tag == DT_SYMTAB) {
            symbols->list = at;
        } else if (d->d_tag == DT_STRTAB) {
            symbols->names = at;
        } else if (d->d_tag == DT_GNU_HASH) {
            symbols->count = kit_symbols_hashed(at);
        } else if (d->d_tag == DT_HASH) {
            symbols->count = ((const uint32_t *)at)[1];
        }
    }
    return symbols->list != NULL && symbols->names != NULL;
}

/* Names that compilers and linkers define in every object. */
static bool kit_symbols_is_usual(const char *name)
{
    static const char *const usual[] = {ENTRY, "_init", "_fini", "_end", "_edata", "__bss_start"};
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        if (strcmp(name, usual[i]) == 0) {
            return true;
        }
    }
    return strncmp(name, "__", 2) == 0; /* of sanitizers and coverage */
}

/* The name of a symbol that the object exports and should not; NULL if there is none. */
static const char *kit_symbols_more(void *object)
{
    kit_symbols_t symbols;
    if (!kit_symbols_read(object, &symbols)) {
        return NULL;
    }
    for (uint32_t i = 0; i < symbols.count; i++) {
        const ElfW(Sym) *s = &symbols.list[i];
        bool defined = s->st_shndx != SHN_UNDEF && s->st_shndx != SHN_ABS &&
                       (s->st_info >> 4 == STB_GLOBAL || s->st_info >> 4 == STB_WEAK) &&
                       (s->st_other & 3) == STV_DEFAULT;
        if (defined && !kit_symbols_is_usual(symbols.names + s->st_name)) {
            return symbols.names + s->st_name;
        }
    }
    return NULL;
}

const weft_plugin_t *kit_object_open(const char *path, weft_plugin_kind_t kind, char *why,
                                     size_t bytes)
{
    const weft_plugin_t *(*entry)(void) = NULL;
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) {
        snprintf(why, bytes, "cannot be loaded: %s", dlerror());
        return NULL;
    }
    void *symbol = dlsym(object, ENTRY);
    if (symbol == NULL) {
        snprintf(why, bytes, "%s: found no symbol " ENTRY ", expected this function", path);
        return NULL;
    }
    memcpy(&entry, &symbol, sizeof entry);
    weft_crash_add_object(strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path, symbol);
    const weft_plugin_t *plugin = entry();
    if (weft_plugin_check(plugin, kind, NULL, path, "the command line") != WEFT_OK) {
        snprintf(why, bytes, "%s", weft_error_record()->text);
        return NULL;
    }
    const char *more = kit_symbols_more(object);
    if (more != NULL) {
        snprintf(why, bytes,
                 "plugin %s: found the exported symbol %s, expected " ENTRY " only "
                 "(-fvisibility=hidden)",
                 plugin->name, more);
        return NULL;
    }
    return plugin;
}
