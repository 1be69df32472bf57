/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ABI of kernel plugins: the arithmetic on one kind of memory. Implemented by plugins/kernel-<name>,
 * called by the core's executor for every slice of every MOVE. */
#ifndef WEFT_PLUGIN_KERNEL_H
#define WEFT_PLUGIN_KERNEL_H

#include <weft/plugin/net.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_kernel weft_kernel_t; /* plugin instance */

#define WEFT_COMBINE_MAX 4    /* sources and destinations of one combination */
#define WEFT_COMBINE_FINAL 1u /* flags: this is the last combination; AVG divides by nranks here */

/* One combination: every dst ← src[0] ∘ src[1] ∘ …, element by element, folded from the left.
 * A dst may equal a src (same address), else they do not overlap. Pointers are aligned to the element.
 * One source: a copy (with pre-multiplication and final division where asked). */
typedef struct weft_combine {
    const void *src[WEFT_COMBINE_MAX];
    void *dst[WEFT_COMBINE_MAX];
    uint64_t count;      /* elements; 0 is legal and touches nothing */
    uint32_t nsrc, ndst; /* 1 … WEFT_COMBINE_MAX */
    uint32_t pre_mask;   /* bit i: multiply src[i] by *scalar first (PREMULSUM) */
    uint32_t nt_mask;    /* bit i: dst[i] will not be read soon here: store past the caches */
    uint32_t flags;      /* WEFT_COMBINE_* */
    uint32_t nranks;     /* divisor of AVG */
    const void *scalar;  /* one element of the data type; NULL if pre_mask is 0 */
} weft_combine_t;

/* Arithmetic of kernel-cpu and kernel-cuda: folded from the left as said at weft_combine_fn_t, divisions
 * rounded correctly, nothing contracted, subnormals kept. */
#define WEFT_ARITHMETIC "weft/1"

/* What: performs it. For int types arithmetic wraps; for 16- and 8-bit floats all sources are
 * combined in fp32 and rounded once. Stores are visible before any later release store of the same
 * thread (streaming stores are fenced). Failure: none. Blocks: no. Thread: [any]. */
typedef void (*weft_combine_fn_t)(const weft_combine_t *combine);

typedef struct weft_kernel_props {
    size_t size;
    uint32_t memory_kind; /* one WEFT_MEMORY_* */
    char variant[32];     /* what was chosen at run time, e.g. "avx512" */
    uint64_t bandwidth; /* bytes per second that a two-source fp32 sum stores, for the cost model */
    uint32_t channels;  /* that keep the device busy with one large message; 0 = 1 */
} weft_kernel_props_t;

typedef struct weft_kernel_ops {
    size_t size;

    /* What, failure, ownership, blocking, thread: as weft_net_ops_t.create. ERR_UNSUPPORTED when this
     * machine lacks what the config asks for. */
    weft_status_t (*create)(const weft_host_t *host, const void *config, weft_kernel_t **kernel_p);

    /* What: frees the instance; NULL is allowed. Functions from select() become invalid.
     * Thread: [control]. */
    void (*destroy)(weft_kernel_t *kernel);

    /* What: fills props->size bytes. Thread: [any]. */
    weft_status_t (*props)(weft_kernel_t *kernel, weft_kernel_props_t *props);

    /* What: finds the function for a data type and operator, so that nothing is chosen on the data
     * path. Failure: ERR_UNSUPPORTED. Ownership: valid until destroy. Thread: [any]. */
    weft_status_t (*select)(weft_kernel_t *kernel, weft_dtype_t dtype, weft_op_t op,
                            weft_combine_fn_t *fn_p);

    /* Optional: as weft_net_ops_t.get_extension. */
    const void *(*get_extension)(weft_kernel_t *kernel, const char *name);

    /* Optional, from ABI 1.1 on: the name of the kernel's arithmetic. Kernels of one name give the same
     * bits (any NaN is a NaN) for every type, operator and order of sources, whatever their options, so
     * that ranks of one communicator may have different ones. Without it all ranks must have this
     * kernel, in this version and with the same options. */
    const char *arithmetic;
} weft_kernel_ops_t;

#ifdef __cplusplus
}
#endif
#endif
