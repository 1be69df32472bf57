/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A set of PUs (CPUs as the system counts them), in text as Linux writes it: "0-7,16-23". */
#ifndef WEFT_TOPO_CPU_LIST_H
#define WEFT_TOPO_CPU_LIST_H

#include <stdbool.h>

#include <weft/types.h>

#define WEFT_CPUS_MAX 8192u /* numbers that a set can hold; larger ones are left out */

typedef struct weft_cpu_list {
    uint64_t word[WEFT_CPUS_MAX / 64];
} weft_cpu_list_t;

void weft_cpu_list_add(weft_cpu_list_t *list, uint32_t cpu);
bool weft_cpu_list_has(const weft_cpu_list_t *list, uint32_t cpu);
/* The first one that is not below `from`; WEFT_CPUS_MAX: there is none. */
uint32_t weft_cpu_list_next(const weft_cpu_list_t *list, uint32_t from);
uint32_t weft_cpu_list_count(const weft_cpu_list_t *list);
void weft_cpu_list_and(weft_cpu_list_t *list, const weft_cpu_list_t *other);

/* Returns false for text that is no list; the set is what was read until then. */
bool weft_cpu_list_parse(const char *text, weft_cpu_list_t *list);
/* A text that does not fit ends with "..." behind a whole range. */
void weft_cpu_list_print(const weft_cpu_list_t *list, char *text, size_t bytes);

/* The CPUs on which the calling thread may run. */
void weft_cpu_list_of_thread(weft_cpu_list_t *list);

#endif
