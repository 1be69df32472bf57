/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The instances of this process. */
#include "core/check/check_table.h"

#include "core/base/error.h"
#include "core/os/os_fork.h"

#define MOST 1024u

/* In a child of fork() the instances stay the parent's: nobody asks for them, and one that was half
 * noted is one of them. */
static weft_os_process_mutex_t table_lock;
static struct {
    const void *instance;
    weft_check_t *check;
} table[MOST];
static uint32_t table_used; /* places that were ever used */

static uint32_t table_place(const void *instance)
{
    uint32_t i = 0;
    while (i < table_used && table[i].instance != instance) {
        i++;
    }
    return i;
}

weft_status_t weft_check_table_add(const void *instance, weft_check_t *check)
{
    weft_os_process_lock(&table_lock);
    bool shared = table_place(instance) < table_used;
    uint32_t i = 0;
    while (i < table_used && table[i].instance != NULL) {
        i++;
    }
    if (i < MOST && !shared) {
        table[i].instance = instance;
        table[i].check = check;
        table_used = i == table_used ? i + 1 : table_used;
    }
    weft_os_process_unlock(&table_lock);
    if (shared) {
        return weft_check_breach(check, "create", "instances share nothing",
                                 "it returned the object of an instance that lives");
    }
    return i < MOST ? WEFT_OK
                    : weft_fail(WEFT_ERR_RESOURCE, 0,
                                "core.check keeps at most %u instances of plugins", MOST);
}

weft_check_t *weft_check_table_find(const void *instance)
{
    weft_os_process_lock(&table_lock);
    uint32_t i = table_place(instance);
    weft_check_t *check = i < table_used ? table[i].check : NULL;
    weft_os_process_unlock(&table_lock);
    return check;
}

void weft_check_table_remove(const void *instance)
{
    weft_os_process_lock(&table_lock);
    uint32_t i = table_place(instance);
    if (i < table_used) {
        table[i].instance = NULL;
    }
    weft_os_process_unlock(&table_lock);
}
