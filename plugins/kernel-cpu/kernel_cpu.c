/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin kernel-cpu: arithmetic on host memory. Holds the descriptor and the choice of the
 * instruction set; the loops are in combine_<isa>.c. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "combine.h"

typedef struct kernel_cpu_config {
    int64_t isa; /* index into isa_names */
    bool stream;
} kernel_cpu_config_t;

/* A way to do the arithmetic. */
typedef struct kernel_cpu_variant {
    const char *name;
    bool (*usable)(void); /* does this processor have it */
    const combine_table_t *plain;
    const combine_table_t *stream; /* obeys weft_combine_t.nt_mask */
    uint64_t bandwidth;            /* a constant, since the cost model must agree on all ranks */
} kernel_cpu_variant_t;

struct weft_kernel {
    const weft_host_t *host;
    const kernel_cpu_variant_t *variant;
    const combine_table_t *table;
};

static bool kernel_cpu_has_c(void)
{
    return true;
}

#if defined(__x86_64__)
/* __builtin_cpu_supports also asks whether the operating system saves the wide registers. */
static bool kernel_cpu_has_avx2(void)
{
    unsigned a, b, c, d;
    bool f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
    return f16c && __builtin_cpu_supports("avx2");
}

static bool kernel_cpu_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           kernel_cpu_has_avx2();
}
#endif

#if defined(__aarch64__)
static bool kernel_cpu_has_neon(void)
{
    return (getauxval(AT_HWCAP) & HWCAP_ASIMD) != 0;
}
#endif

/* The instruction sets of this build, best first. */
static const kernel_cpu_variant_t variants[] = {
#if defined(__x86_64__)
    {"avx512", kernel_cpu_has_avx512, &combine_avx512, &combine_avx512_stream, 10000000000u},
    {"avx2", kernel_cpu_has_avx2, &combine_avx2, &combine_avx2_stream, 10000000000u},
#endif
#if defined(__aarch64__)
    {"neon", kernel_cpu_has_neon, &combine_neon, &combine_neon_stream, 8000000000u},
#endif
    {"c", kernel_cpu_has_c, &combine_c, &combine_c, 5000000000u},
};
#define NVARIANTS (sizeof variants / sizeof variants[0])

static const char *const isa_names[] = {"auto", "c", "avx2", "avx512", "neon"};

static const weft_option_t kernel_cpu_options[] = {
    {.name = "isa",
     .type = WEFT_OPT_CHOICE,
     .offset = offsetof(kernel_cpu_config_t, isa),
     .value = "auto",
     .help = "instruction set of the arithmetic; auto takes the widest this processor has",
     .choices = "auto|c|avx2|avx512|neon"},
    {.name = "stream",
     .type = WEFT_OPT_BOOL,
     .offset = offsetof(kernel_cpu_config_t, stream),
     .value = "yes",
     .help = "store large results past the caches where the executor asks for it"},
    {.name = NULL},
};

/* The variants of this build that this processor can run, as text for an error line. */
static void kernel_cpu_list(char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < NVARIANTS && used < size; i++) {
        if (variants[i].usable()) {
            used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     variants[i].name);
        }
    }
}

static const kernel_cpu_variant_t *kernel_cpu_find(const char *isa)
{
    for (size_t i = 0; i < NVARIANTS; i++) {
        bool wanted = strcmp(isa, "auto") == 0 || strcmp(isa, variants[i].name) == 0;
        if (wanted && variants[i].usable()) {
            return &variants[i];
        }
    }
    return NULL;
}

static weft_status_t kernel_cpu_create(const weft_host_t *host, const void *config,
                                       weft_kernel_t **kernel_p)
{
    const kernel_cpu_config_t *settings = config;
    const char *isa = isa_names[settings->isa];
    const kernel_cpu_variant_t *variant = kernel_cpu_find(isa);
    weft_kernel_t *kernel;
    char usable[64];

    if (variant == NULL) {
        kernel_cpu_list(usable, sizeof usable);
        return host->set_error(host, WEFT_ERR_UNSUPPORTED, 0,
                               "isa = %s: this processor or build lacks it; it has %s", isa,
                               usable);
    }
    kernel = host->alloc(host, sizeof *kernel, 0);
    if (kernel == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    kernel->host = host;
    kernel->variant = variant;
    kernel->table = settings->stream ? variant->stream : variant->plain;
    host->log(host, WEFT_LOG_DEBUG, "arithmetic by %s (isa = %s)", variant->name, isa);
    *kernel_p = kernel;
    return WEFT_OK;
}

static void kernel_cpu_destroy(weft_kernel_t *kernel)
{
    if (kernel != NULL) {
        kernel->host->free(kernel->host, kernel);
    }
}

static weft_status_t kernel_cpu_props(weft_kernel_t *kernel, weft_kernel_props_t *props)
{
    weft_kernel_props_t mine = {
        .size = props->size,
        .memory_kind = WEFT_MEMORY_HOST,
        .bandwidth = kernel->variant->bandwidth,
    };
    snprintf(mine.variant, sizeof mine.variant, "%s", kernel->variant->name);
    memcpy(props, &mine, props->size < sizeof mine ? props->size : sizeof mine);
    return WEFT_OK;
}

static weft_status_t kernel_cpu_select(weft_kernel_t *kernel, weft_dtype_t dtype, weft_op_t op,
                                       weft_combine_fn_t *fn_p)
{
    if ((unsigned)dtype >= WEFT_DTYPE_COUNT || (unsigned)op >= WEFT_OP_COUNT ||
        (*kernel->table)[dtype][op] == NULL) {
        return kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                       "data type %u with operator %u: kernel-cpu knows data types "
                                       "below %u and operators below %u, on bits for integers",
                                       (unsigned)dtype, (unsigned)op, (unsigned)WEFT_DTYPE_COUNT,
                                       (unsigned)WEFT_OP_COUNT);
    }
    *fn_p = (*kernel->table)[dtype][op];
    return WEFT_OK;
}

static const weft_kernel_ops_t kernel_cpu_ops = {
    .size = sizeof(weft_kernel_ops_t),
    .create = kernel_cpu_create,
    .destroy = kernel_cpu_destroy,
    .props = kernel_cpu_props,
    .select = kernel_cpu_select,
    .arithmetic = WEFT_ARITHMETIC,
};

const weft_plugin_t *weft_plugin_entry(void)
{
    static const weft_plugin_t plugin = {
        .magic = WEFT_PLUGIN_MAGIC,
        .abi_major = WEFT_ABI_KERNEL_MAJOR,
        .abi_minor = WEFT_ABI_KERNEL_MINOR,
        .size = sizeof(weft_plugin_t),
        .kind = WEFT_KIND_KERNEL,
        .name = "kernel-cpu",
        .version = "1",
        .help = "arithmetic and copies on host memory",
        .options = kernel_cpu_options,
        .config_size = sizeof(kernel_cpu_config_t),
        .ops = &kernel_cpu_ops,
    };
    return &plugin;
}
