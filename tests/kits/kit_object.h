/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shared object of a plugin, as the loader looks at it: symbol table, entry, descriptor. */
#ifndef WEFT_TESTS_KITS_KIT_OBJECT_H
#define WEFT_TESTS_KITS_KIT_OBJECT_H

#include <stddef.h>

#include <weft/plugin/plugin.h>

/* Opens the object and checks what the core's loader checks, and that it exports nothing but its
 * entry. Failure: NULL, one line in `why`. It is never closed, so that sanitizers keep its
 * symbols. */
const weft_plugin_t *kit_object_open(const char *path, weft_plugin_kind_t kind, char *why,
                                     size_t bytes);

#endif
