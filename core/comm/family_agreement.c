/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What all ranks must have alike: the build of the library, plugins, options. */
#include "core/comm/family_agreement.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/build.h"
#include "core/base/error.h"
#include "core/boot/agreement.h"

typedef struct agree_text {
    char *text;
    size_t used, room;
    bool full;
    const weft_registry_t *registry;
} agree_text_t;

static void family_agreement_add(agree_text_t *a, const char *key, const char *value)
{
    int need = snprintf(a->text + a->used, a->room - a->used, "%s=%s\n", key, value);
    if (need < 0 || (size_t)need >= a->room - a->used) {
        a->full = true;
        return;
    }
    a->used += (size_t)need;
}

/* Returns the name of the kernel's arithmetic; kernels of one arithmetic give the same bits.
 * NULL: its own. */
static const char *family_agreement_arithmetic(const weft_loaded_t *kernel)
{
    const weft_kernel_ops_t *ops = kernel->plugin->ops;
    return WEFT_HAS(ops, weft_kernel_ops_t, arithmetic) ? ops->arithmetic : NULL;
}

/* True for options that may differ between ranks: those of a kernel that may differ itself, or
 * that is listed and not used. */
static bool family_agreement_is_free(const agree_text_t *a, const char *section)
{
    const weft_loaded_t *kernel;
    for (uint32_t i = 0; (kernel = weft_registry_get(a->registry, WEFT_KIND_KERNEL, i)) != NULL;
         i++) {
        if (strcmp(kernel->plugin->name, section) == 0) {
            return i > 0 || family_agreement_arithmetic(kernel) != NULL;
        }
    }
    return false;
}

/* Each value of a list is compared as one of its own. */
static void family_agreement_list(agree_text_t *a, const char *key, const char *values)
{
    for (uint32_t i = 1; *values != '\0'; i++) {
        char numbered[224], value[1024];
        size_t bytes = strcspn(values, "\n");
        snprintf(numbered, sizeof numbered, "%s %u", key, i);
        snprintf(value, sizeof value, "%.*s", (int)bytes, values);
        family_agreement_add(a, numbered, value);
        values += bytes + (values[bytes] == '\n');
    }
}

static void family_agreement_option(void *arg, const char *section, const weft_option_t *option,
                                    const char *value, const char *origin)
{
    char key[192];
    (void)origin;
    if ((option->flags & WEFT_OPTION_LOCAL) == 0 && !family_agreement_is_free(arg, section)) {
        snprintf(key, sizeof key, "%s.%s", section, option->name);
        if ((option->flags & WEFT_OPTION_LIST) != 0) {
            family_agreement_list(arg, key, value);
        } else {
            family_agreement_add(arg, key, value);
        }
    }
}

static void family_agreement_kernel(agree_text_t *a)
{
    char own[160];
    const weft_loaded_t *kernel = weft_registry_get(a->registry, WEFT_KIND_KERNEL, 0);
    if (kernel != NULL) {
        const char *name = family_agreement_arithmetic(kernel);
        snprintf(own, sizeof own, "that of %s %s", kernel->plugin->name, kernel->plugin->version);
        family_agreement_add(a, "the arithmetic of core.kernel", name != NULL ? name : own);
    }
}

static void family_agreement_plugins(agree_text_t *a)
{
    for (int kind = WEFT_KIND_NET; kind <= WEFT_KIND_TUNER; kind++) {
        const weft_loaded_t *loaded;
        for (uint32_t i = 0;
             kind != WEFT_KIND_KERNEL &&
             (loaded = weft_registry_get(a->registry, (weft_plugin_kind_t)kind, i)) != NULL;
             i++) {
            char key[128], value[128];
            snprintf(key, sizeof key, "plugin %s", loaded->plugin->name);
            snprintf(value, sizeof value, "%s abi %u.%u", loaded->plugin->version,
                     loaded->plugin->abi_major, loaded->plugin->abi_minor);
            family_agreement_add(a, key, value);
        }
    }
}

weft_status_t weft_family_agree(const weft_family_t *family)
{
    agree_text_t a = {.room = 64u << 10, .registry = family->registry};
    a.text = weft_os_alloc(a.room, 0);
    if (a.text == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot compare configurations");
    }
    family_agreement_add(&a, "the build of libweft", weft_build());
    family_agreement_plugins(&a);
    family_agreement_kernel(&a);
    weft_config_each(family->config, family_agreement_option, &a);
    weft_status_t status = a.full ? weft_fail(WEFT_ERR_RESOURCE, 0, "the configuration is too long")
                                  : weft_boot_agree(family->boot, a.text);
    weft_os_free(a.text);
    return status;
}
