/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of PMIx that carries a unique id, as its standard and libpmix.so.2 define it: weft loads
 * the library where there is one, and is built without it. Layouts and numbers have been the same
 * since version 2; a test compares them with pmix.h. */
#ifndef WEFT_BOOT_PMIX_ABI_H
#define WEFT_BOOT_PMIX_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEFT_PMIX_LIBRARY "libpmix.so.2"
#define WEFT_PMIX_OLDEST 2
#define WEFT_PMIX_NEWEST 6
/* From this version on the library can be closed once in a process. */
#define WEFT_PMIX_CLOSES_ONCE 5

enum { WEFT_PMIX_SUCCESS = 0, WEFT_PMIX_DONE_AT_ONCE = -157 };
enum { WEFT_PMIX_BOOL = 1, WEFT_PMIX_INT = 6, WEFT_PMIX_UINT32 = 14, WEFT_PMIX_BYTES = 27 };
enum { WEFT_PMIX_GLOBAL = 3 };
#define WEFT_PMIX_ANY_RANK (UINT32_MAX - 1)
#define WEFT_PMIX_JOB_SIZE "pmix.job.size"
#define WEFT_PMIX_COLLECT "pmix.collect"
#define WEFT_PMIX_TIMEOUT "pmix.timeout"

typedef struct weft_pmix_proc {
    char space[256];
    uint32_t rank;
} weft_pmix_proc_t;

typedef struct weft_pmix_bytes {
    char *bytes;
    size_t size;
} weft_pmix_bytes_t;

typedef struct weft_pmix_value {
    uint16_t type;
    union {
        bool flag;
        int integer;
        uint32_t uint32;
        weft_pmix_bytes_t bytes;
        uint64_t largest[3];
    } data;
} weft_pmix_value_t;

typedef struct weft_pmix_info {
    char key[512];
    uint32_t flags;
    weft_pmix_value_t value;
} weft_pmix_info_t;

_Static_assert(sizeof(weft_pmix_proc_t) == 260, "ABI");
_Static_assert(sizeof(weft_pmix_value_t) == 32, "ABI");
_Static_assert(sizeof(weft_pmix_info_t) == 552, "ABI");

/* The functions, in the order in which they are used. */
typedef struct weft_pmix {
    const char *(*version)(void);
    const char *(*error_text)(int status);
    int (*init)(weft_pmix_proc_t *self, weft_pmix_info_t *info, size_t ninfo);
    int (*get)(const weft_pmix_proc_t *of, const char *key, const weft_pmix_info_t *info,
               size_t ninfo, weft_pmix_value_t **value);
    int (*put)(uint8_t scope, const char *key, weft_pmix_value_t *value);
    int (*commit)(void);
    int (*fence)(const weft_pmix_proc_t *procs, size_t nprocs, const weft_pmix_info_t *info,
                 size_t ninfo, void (*done)(int status, void *arg), void *arg);
    int (*finalize)(const weft_pmix_info_t *info, size_t ninfo);
} weft_pmix_t;

#endif
