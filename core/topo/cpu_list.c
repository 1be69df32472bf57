/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sets of PUs as bits. */
#include "core/topo/cpu_list.h"

#include <stdio.h>
#include <string.h>

#include "core/os/os.h"

void weft_cpu_list_add(weft_cpu_list_t *list, uint32_t cpu)
{
    if (cpu < WEFT_CPUS_MAX) {
        list->word[cpu / 64] |= UINT64_C(1) << cpu % 64;
    }
}

bool weft_cpu_list_has(const weft_cpu_list_t *list, uint32_t cpu)
{
    return cpu < WEFT_CPUS_MAX && (list->word[cpu / 64] >> cpu % 64 & 1) != 0;
}

uint32_t weft_cpu_list_next(const weft_cpu_list_t *list, uint32_t from)
{
    while (from < WEFT_CPUS_MAX && !weft_cpu_list_has(list, from)) {
        from = from % 64 == 0 && list->word[from / 64] == 0 ? from + 64 : from + 1;
    }
    return from < WEFT_CPUS_MAX ? from : WEFT_CPUS_MAX;
}

uint32_t weft_cpu_list_count(const weft_cpu_list_t *list)
{
    uint32_t count = 0;
    for (size_t i = 0; i < WEFT_CPUS_MAX / 64; i++) {
        for (uint64_t rest = list->word[i]; rest != 0; rest &= rest - 1) {
            count++;
        }
    }
    return count;
}

void weft_cpu_list_and(weft_cpu_list_t *list, const weft_cpu_list_t *other)
{
    for (size_t i = 0; i < WEFT_CPUS_MAX / 64; i++) {
        list->word[i] &= other->word[i];
    }
}

/* A number of at most six digits. */
static bool cpu_list_number(const char **text, uint32_t *number_p)
{
    size_t digits = strspn(*text, "0123456789");
    if (digits == 0 || digits > 6) {
        return false;
    }
    *number_p = 0;
    for (; digits > 0; digits--) {
        *number_p = *number_p * 10 + (uint32_t)(*(*text)++ - '0');
    }
    return true;
}

bool weft_cpu_list_parse(const char *text, weft_cpu_list_t *list)
{
    *list = (weft_cpu_list_t){0};
    text += strspn(text, " \n");
    while (*text != '\0') {
        uint32_t first, last;
        if (!cpu_list_number(&text, &first)) {
            return false;
        }
        last = first;
        if (*text == '-') {
            text++;
            if (!cpu_list_number(&text, &last) || last < first) {
                return false;
            }
        }
        for (uint32_t cpu = first; cpu <= last && cpu < WEFT_CPUS_MAX; cpu++) {
            weft_cpu_list_add(list, cpu);
        }
        if (*text != ',' && *text != '\n' && *text != '\0') {
            return false;
        }
        text += *text == ',' ? 1 : strspn(text, " \n");
    }
    return true;
}

void weft_cpu_list_print(const weft_cpu_list_t *list, char *text, size_t bytes)
{
    char range[32];
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t first = weft_cpu_list_next(list, 0); first < WEFT_CPUS_MAX;) {
        uint32_t last = first;
        while (weft_cpu_list_has(list, last + 1)) {
            last++;
        }
        int length =
            first == last
                ? snprintf(range, sizeof range, "%s%u", used > 0 ? "," : "", first)
                : snprintf(range, sizeof range, "%s%u-%u", used > 0 ? "," : "", first, last);
        if (used + (size_t)length + sizeof "..." > bytes) {
            snprintf(text + used, bytes - used, "...");
            return;
        }
        memcpy(text + used, range, (size_t)length + 1);
        used += (size_t)length;
        first = weft_cpu_list_next(list, last + 1);
    }
}

void weft_cpu_list_of_thread(weft_cpu_list_t *list)
{
    weft_os_cpu_set_t set;
    weft_os_thread_cpus(&set);
    *list = (weft_cpu_list_t){0};
    for (uint32_t cpu = 0; cpu < WEFT_OS_CPU_SET_MAX; cpu++) {
        if (weft_os_cpu_set_has(&set, cpu)) {
            weft_cpu_list_add(list, cpu);
        }
    }
}
