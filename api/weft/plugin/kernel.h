/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ABI of kernel plugins: arithmetic on one kind of memory. The plugins plugins/kernel-<name>
 * implement it. The core's executor calls it for every slice of every MOVE. */
#ifndef WEFT_PLUGIN_KERNEL_H
#define WEFT_PLUGIN_KERNEL_H

#include <weft/plugin/memory_kind.h>
#include <weft/plugin/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_kernel weft_kernel_t; /* plugin instance */

#define WEFT_COMBINE_MAX 4 /* most sources and most destinations of one combination */

/* Flag of a combination: it is the last one of the reduction, so AVG divides by nranks here. */
#define WEFT_COMBINE_FINAL 1u

/* One combination: every dst = src[0] op src[1] op ..., element by element, folded from the left.
 * A dst may equal a src (same address); otherwise the areas do not overlap. Pointers are aligned
 * to the element. With one source the combination is a copy, with pre-multiplication and final
 * division where asked. */
typedef struct weft_combine {
    const void *src[WEFT_COMBINE_MAX];
    void *dst[WEFT_COMBINE_MAX];
    uint64_t count;      /* elements; 0 is legal and touches nothing */
    uint32_t nsrc, ndst; /* 1 to WEFT_COMBINE_MAX */
    uint32_t pre_mask;   /* bit i: multiply src[i] by *scalar first (PREMULSUM), and round */
    uint32_t nt_mask;    /* bit i: dst[i] is not read soon here; use non-temporal stores */
    uint32_t flags;      /* WEFT_COMBINE_FINAL or 0 */
    uint32_t nranks;     /* divisor of AVG */
    const void *scalar;  /* one element of the data type; NULL if pre_mask is 0 */
} weft_combine_t;

/* Name of the arithmetic of kernel-cpu and kernel-cuda: sources folded from the left, divisions
 * correctly rounded, no contraction to fused operations, subnormals kept. 2: with operators on
 * bits; ranks whose kernel lacks them would leave the others waiting. 3: products of PREMULSUM are
 * rounded to the data type. */
#define WEFT_ARITHMETIC "weft/3"

/* Performs a combination. Integer arithmetic wraps. 16- and 8-bit floats are combined in fp32 and
 * rounded once; a product of PREMULSUM is rounded to the data type before it is summed, so that a
 * source has the same bits where it is multiplied here and where another rank sent the product. The
 * stores are visible before any later release store of the same thread; non-temporal stores are
 * fenced. How the calling thread rounds, whether it flushes subnormal numbers, and its traps, which
 * are the program's, change nothing.
 * Blocking: no. Thread: [any]. */
typedef void (*weft_combine_fn_t)(const weft_combine_t *combine);

/* Paths between two devices of one host. The core finds which one joins two ranks. */
typedef enum weft_kernel_path {
    WEFT_KERNEL_PATH_SAME = 0,   /* both ranks use one device */
    WEFT_KERNEL_PATH_DIRECT = 1, /* a link past the bus joins them: NVLink, xGMI */
    WEFT_KERNEL_PATH_BUS = 2,    /* PCIe; also if it is not known what joins them */
    WEFT_KERNEL_PATH_HOST = 3,   /* slots in host memory: kernels that share no memory */
    WEFT_KERNEL_PATH_COUNT = 4
} weft_kernel_path_t;

/* What slices cost over a path, for cost models. All 0: the kernel does not say; the figures of
 * the transport hold. */
typedef struct weft_kernel_edge {
    uint64_t latency_ns;  /* nanoseconds until the receiver has a slice that it waits for */
    uint64_t overhead_ns; /* of each slice behind another; 0: a quarter of the latency */
    uint64_t bandwidth;   /* bytes per second of one channel alone; 0: the edge is not told */
    uint64_t together;    /* … of all channels of a device together; 0: no other limit */
} weft_kernel_edge_t;

/* How slices travel between two devices of a host (draft/lanes.h). */
typedef enum weft_kernel_protocol {
    WEFT_KERNEL_PROTOCOL_SIMPLE = 0, /* through slots and windows, behind fences */
    WEFT_KERNEL_PROTOCOL_LL = 1,     /* in flagged words; headers are such words, too */
    WEFT_KERNEL_PROTOCOL_LL128 = 2,  /* in flagged lines */
    WEFT_KERNEL_PROTOCOL_WHOLE = 3,  /* a chunk of any length, read in place: whole runs */
    WEFT_KERNEL_PROTOCOL_COUNT = 4
} weft_kernel_protocol_t;

/* Bytes of the slices that may travel by a protocol, both included; most 0: none may. */
typedef struct weft_kernel_range {
    uint64_t least, most;
} weft_kernel_range_t;

typedef struct weft_kernel_props {
    size_t size;
    uint32_t memory_kind; /* one WEFT_MEMORY_* */
    char variant[32];     /* implementation chosen at run time, e.g. "avx512" */
    uint64_t bandwidth;   /* bytes per second that a two-source fp32 sum stores; for cost models */
    uint32_t channels;    /* channels that keep the device busy with one large message; 0 = 1 */

    /* Since ABI 1.2, for kernels whose devices run plans (draft/lanes.h). */
    weft_kernel_edge_t edge[WEFT_KERNEL_PATH_COUNT];
    uint64_t launch_ns; /* nanoseconds of a launch, once a call; 0: nothing */

    /* Since ABI 1.3: other protocols than SIMPLE, whose edges are above. Bandwidth 0: the path does
     * not have the protocol. Ranks agree on ranges that all of them allow; what is in none of them
     * goes by SIMPLE. */
    weft_kernel_edge_t protocol[WEFT_KERNEL_PATH_COUNT][WEFT_KERNEL_PROTOCOL_COUNT];
    weft_kernel_range_t range[WEFT_KERNEL_PATH_COUNT][WEFT_KERNEL_PROTOCOL_COUNT];
} weft_kernel_props_t;

typedef struct weft_kernel_ops {
    size_t size;

    /* As weft_net_ops_t.create. Errors: also ERR_UNSUPPORTED, if this machine lacks what the
     * config asks for. */
    weft_status_t (*create)(const weft_host_t *host, const void *config, weft_kernel_t **kernel_p);

    /* Frees the instance. NULL is allowed. Functions from select() become invalid.
     * Blocking: no. Thread: [control]. */
    void (*destroy)(weft_kernel_t *kernel);

    /* Fills props->size bytes of `props`.
     * Blocking: no. Thread: [any]. */
    weft_status_t (*props)(weft_kernel_t *kernel, weft_kernel_props_t *props);

    /* Finds the function for a data type and an operator, so that nothing has to be chosen on the
     * data path. The function is valid until destroy(). The core may be newer than the kernel and
     * ask for types and operators that it does not know.
     * Errors: ERR_UNSUPPORTED (the call that needs it returns this).
     * Blocking: no. Thread: [any]. */
    weft_status_t (*select)(weft_kernel_t *kernel, weft_dtype_t dtype, weft_op_t op,
                            weft_combine_fn_t *fn_p);

    /* Optional: as weft_net_ops_t.get_extension. */
    const void *(*get_extension)(weft_kernel_t *kernel, const char *name);

    /* Optional, since ABI 1.1: the name of the kernel's arithmetic, a constant. Kernels with the
     * same name have the same operators and give the same bits for every type, operator and order
     * of sources, whatever their options; NaNs may differ in sign and payload. Ranks of one
     * communicator may then use different kernels. If it is NULL, all ranks must use this kernel,
     * in this version and with the same options. */
    const char *arithmetic;

    /* Optional, since ABI 1.4: fills props->size bytes of `props` with what is presumed of a device
     * where none is at hand, for tools that price plans of other machines. `config` as in create().
     * Blocking: no. Thread: [any]. */
    void (*presume)(const void *config, weft_kernel_props_t *props);

    /* Optional, since ABI 1.5: returns how the combinations went that this thread has made since it
     * last called this. A kernel has it if its functions can fail, which themselves return nothing.
     * The core calls it after each of them. After an error the destinations hold anything, and a
     * combination that is late may still write there.
     * Errors, after host->set_error: ERR_SYSTEM, ERR_RESOURCE, ERR_TIMEOUT.
     * Blocking: no. Thread: [any]. */
    weft_status_t (*combine_status)(weft_kernel_t *kernel);
} weft_kernel_ops_t;

#ifdef __cplusplus
}
#endif
#endif
