/* SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel-plain: a kernel plugin in plain C. Whole numbers are added, multiplied, compared and
 * combined bit by bit; floats of 4 and 8 bytes are added and multiplied. Everything else is
 * refused, and the call that needs it returns ERR_UNSUPPORTED. */
#include <stdint.h>
#include <string.h>
#include <weft/plugin/kernel.h>

struct weft_kernel {
    const weft_host_t *host;
};

/* All destinations = the fold of all sources, from the left. `wide` has no overflow. */
#define PLAIN_COMBINE(name, type, wide, result)                                                    \
    static void plain_##name(const weft_combine_t *c)                                              \
    {                                                                                              \
        for (uint64_t i = 0; i < c->count; i++) {                                                  \
            type left = ((const type *)c->src[0])[i];                                              \
            for (uint32_t s = 1; s < c->nsrc; s++) {                                               \
                wide a = left, b = ((const type *)c->src[s])[i];                                   \
                left = (type)(result);                                                             \
            }                                                                                      \
            for (uint32_t d = 0; d < c->ndst; d++) {                                               \
                ((type *)c->dst[d])[i] = left;                                                     \
            }                                                                                      \
        }                                                                                          \
    }

/* Sums, products and bits do not depend on the sign: whole numbers wrap. */
#define PLAIN_WHOLE(bits)                                                                          \
    PLAIN_COMBINE(sum##bits, uint##bits##_t, uint64_t, a + b)                                      \
    PLAIN_COMBINE(prod##bits, uint##bits##_t, uint64_t, a *b)                                      \
    PLAIN_COMBINE(band##bits, uint##bits##_t, uint64_t, a &b)                                      \
    PLAIN_COMBINE(bor##bits, uint##bits##_t, uint64_t, a | b)                                      \
    PLAIN_COMBINE(bxor##bits, uint##bits##_t, uint64_t, a ^ b)                                     \
    PLAIN_COMBINE(imin##bits, int##bits##_t, int64_t, a < b ? a : b)                               \
    PLAIN_COMBINE(imax##bits, int##bits##_t, int64_t, a > b ? a : b)                               \
    PLAIN_COMBINE(umin##bits, uint##bits##_t, uint64_t, a < b ? a : b)                             \
    PLAIN_COMBINE(umax##bits, uint##bits##_t, uint64_t, a > b ? a : b)
PLAIN_WHOLE(8)
PLAIN_WHOLE(16)
PLAIN_WHOLE(32)
PLAIN_WHOLE(64)
PLAIN_COMBINE(fsum32, float, float, a + b)
PLAIN_COMBINE(fprod32, float, float, a *b)
PLAIN_COMBINE(fsum64, double, double, a + b)
PLAIN_COMBINE(fprod64, double, double, a *b)

typedef struct plain_entry {
    weft_dtype_t dtype;
    weft_op_t op;
    weft_combine_fn_t fn;
} plain_entry_t;

#define PLAIN_ROWS(sign, TYPE, bits)                                                               \
    {WEFT_##TYPE##bits, WEFT_SUM, plain_sum##bits},                                                \
        {WEFT_##TYPE##bits, WEFT_PROD, plain_prod##bits},                                          \
        {WEFT_##TYPE##bits, WEFT_MIN, plain_##sign##min##bits},                                    \
        {WEFT_##TYPE##bits, WEFT_MAX, plain_##sign##max##bits},                                    \
        {WEFT_##TYPE##bits, WEFT_BAND, plain_band##bits},                                          \
        {WEFT_##TYPE##bits, WEFT_BOR, plain_bor##bits},                                            \
    {                                                                                              \
        WEFT_##TYPE##bits, WEFT_BXOR, plain_bxor##bits                                             \
    }

static const plain_entry_t plain_table[] = {
    /* clang-format off */
    PLAIN_ROWS(i, INT, 8), PLAIN_ROWS(i, INT, 16), PLAIN_ROWS(i, INT, 32), PLAIN_ROWS(i, INT, 64),
    PLAIN_ROWS(u, UINT, 8), PLAIN_ROWS(u, UINT, 16), PLAIN_ROWS(u, UINT, 32),
    PLAIN_ROWS(u, UINT, 64),
    {WEFT_FP32, WEFT_SUM, plain_fsum32}, {WEFT_FP32, WEFT_PROD, plain_fprod32},
    {WEFT_FP64, WEFT_SUM, plain_fsum64}, {WEFT_FP64, WEFT_PROD, plain_fprod64},
    /* clang-format on */
};

static weft_status_t plain_create(const weft_host_t *host, const void *config,
                                  weft_kernel_t **kernel_p)
{
    (void)config;
    weft_kernel_t *kernel = host->alloc(host, sizeof *kernel, 0);
    if (kernel == NULL) {
        return host->set_error(host, WEFT_ERR_RESOURCE, 0, "out of memory for an instance");
    }
    kernel->host = host;
    *kernel_p = kernel;
    return WEFT_OK;
}

static void plain_destroy(weft_kernel_t *kernel)
{
    if (kernel != NULL) {
        kernel->host->free(kernel->host, kernel);
    }
}

static weft_status_t plain_props(weft_kernel_t *kernel, weft_kernel_props_t *props)
{
    const weft_kernel_props_t all = {.size = props->size,
                                     .memory_kind = WEFT_MEMORY_HOST,
                                     .variant = "c",
                                     .bandwidth = 5000000000};
    (void)kernel;
    memcpy(props, &all, props->size < sizeof all ? props->size : sizeof all);
    return WEFT_OK;
}

static weft_status_t plain_select(weft_kernel_t *kernel, weft_dtype_t dtype, weft_op_t op,
                                  weft_combine_fn_t *fn_p)
{
    for (size_t i = 0; i < sizeof plain_table / sizeof plain_table[0]; i++) {
        if (plain_table[i].dtype == dtype && plain_table[i].op == op) {
            *fn_p = plain_table[i].fn;
            return WEFT_OK;
        }
    }
    return kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                   "no function for type %d and operator %d", (int)dtype, (int)op);
}

static const weft_kernel_ops_t plain_ops = {
    .size = sizeof plain_ops,
    .create = plain_create,
    .destroy = plain_destroy,
    .props = plain_props,
    .select = plain_select,
};

const weft_plugin_t *weft_plugin_entry(void)
{
    static const weft_plugin_t plugin = {
        .magic = WEFT_PLUGIN_MAGIC,
        .abi_major = WEFT_ABI_KERNEL_MAJOR,
        .abi_minor = WEFT_ABI_KERNEL_MINOR,
        .size = sizeof plugin,
        .kind = WEFT_KIND_KERNEL,
        .name = "kernel-plain",
        .version = "1",
        .help = "arithmetic in plain C",
        .ops = &plain_ops,
    };
    return &plugin;
}
