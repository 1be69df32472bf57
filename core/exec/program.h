/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program is a proved plan bound to one kind of call: segmentation, kernel function, ports. It is
 * made once per collective, count, type, operator and root of a communicator, and run many times.
 * The thread that owns the communicator makes all calls. */
#ifndef WEFT_EXEC_PROGRAM_H
#define WEFT_EXEC_PROGRAM_H

#include <weft/plugin/kernel.h>
#include <weft/plugin/draft/lanes.h>
#include <weft/weft.h>

#include "core/exec/aim.h"
#include "core/exec/combiner.h"
#include "core/exec/links.h"
#include "core/exec/segmentation.h"
#include "core/plan/plan_cache.h"
#include "core/plan/stable.h"

/* The kernel that may run the program on its device. */
typedef struct weft_offload {
    const weft_kernel_lanes_t *ops; /* NULL: the host runs the program */
    weft_kernel_t *kernel;
    weft_lanes_queue_t *queue; /* of the communicator */
    bool meets;                /* the ranks can meet before a run: core/plan/meeting.h */
    weft_cost_limits_t limits; /* of slices between devices */
} weft_offload_t;

/* The caller's function in place of a kernel's. */
typedef struct weft_user_op {
    weft_op_fn_t fn; /* NULL: the kernel combines */
    void *arg;
} weft_user_op_t;

/* The memory that a program moves bytes in. */
typedef struct weft_program_memory {
    uint64_t bytes;      /* of a block */
    uint64_t tmp_bytes;  /* of scratch that a run of all channels needs */
    uint64_t near_bytes; /* payloads up to this size are in headers of slots: slot.h */
    bool copies_short;   /* no payload is left where receivers could read it: it is short, and this
                           rank would be done when it has sent it */
    bool on_host;        /* buffers and slots are host memory, which anybody can copy */
} weft_program_memory_t;

/* Who knows the count of a block. */
typedef enum weft_pairs {
    WEFT_PAIRS_NONE = 0, /* all ranks, or all blocks are equal */
    WEFT_PAIRS_KNOWN,    /* whoever handles the block */
    WEFT_PAIRS_LEARNED   /* its two ends; others learn it from messages, on one channel */
} weft_pairs_t;

typedef struct weft_program {
    const weft_plan_t *plan;
    weft_segmentation_t segmentation;
    weft_signature_t signature; /* sequence 0 */
    weft_combiner_t combiner;
    weft_offload_t offload;
    weft_user_op_t user; /* combines instead, if set */
    weft_dtype_t dtype;
    weft_op_t op; /* of the kernel */
    size_t elem;  /* bytes of an element */
    uint32_t in_chunks, out_chunks, tmp_chunks;
    uint32_t flags;      /* WEFT_COMBINE_FINAL if the kernel has to know FINAL moves */
    weft_pairs_t pairs;  /* counts that two ranks know, in a vector collective */
    bool pre;            /* IN is pre-multiplied */
    bool in_place;       /* proved for in-place calls */
    uint32_t channels;   /* copies of the plan; copy c runs the passes c, c + channels … */
    uint32_t nports;     /* of all channels */
    weft_port_t **ports; /* by channel, then as in the plan; NULL until bound */
    uint32_t bound;      /* ports bound so far */
    weft_program_memory_t memory;
    uint8_t *stable; /* per MOVE: WEFT_STABLE_* */
    weft_plan_landings_t landings;
    weft_aims_t aims; /* what runs keep of their MOVEs for the next run */
    char reason[400]; /* for weft_comm_explain */
} weft_program_t;

/* Counts and displacements of this rank's blocks in a vector collective, in elements. */
typedef struct weft_vectors {
    const uint64_t *in_counts, *in_displs;
    const uint64_t *out_counts, *out_displs;
} weft_vectors_t;

/* The buffers and numbers of one run of a program. */
typedef struct weft_binding {
    const void *in;
    void *out;
    const void *scalar;
    uint32_t sequence;
    uint32_t plan;  /* mixed into the signature's: hash of vectors, or of fused counts */
    uint64_t count; /* vectors: total for the signature */
    const weft_vectors_t *vectors;           /* NULL: all blocks are equal */
    const weft_segmentation_t *segmentation; /* NULL: the program's */
    bool in_place;                           /* `in` and `out` are the same memory */
} weft_binding_t;

/* Returns the signature that travels with every slice of such a run. */
static inline weft_signature_t weft_binding_signature(const weft_program_t *program,
                                                      const weft_binding_t *binding)
{
    weft_signature_t signature = program->signature;
    signature.sequence = binding->sequence;
    signature.plan += binding->plan;
    if (binding->vectors != NULL) {
        signature.count = binding->count;
    }
    return signature;
}

/* Returns which MOVEs may send without a copy in such a run: WEFT_STABLE_*, or 0 for none. Inputs
 * of vector collectives in place may overlap in any way. */
static inline uint32_t weft_binding_stable(const weft_binding_t *binding)
{
    return !binding->in_place         ? WEFT_STABLE_APART
           : binding->vectors == NULL ? WEFT_STABLE_IN_PLACE
                                      : 0;
}

/* Allocates the ports for program->plan, segmentation and channels. ERR_RESOURCE. */
weft_status_t weft_program_allocate(weft_program_t *program);
/* Frees what weft_program_allocate() has allocated. */
void weft_program_release(weft_program_t *program);

/* Returns the bytes that weft_program_allocate() has allocated. */
size_t weft_program_bytes(const weft_program_t *program);

/* Returns what the plan says of port i. */
const weft_plan_port_t *weft_program_port(const weft_program_t *program, uint32_t i);
/* Returns the channel of the link of port i, as weft_links_port() takes it. */
uint32_t weft_program_link(const weft_program_t *program, uint32_t i);

/* Binds ports as far as links are ready. OK: all are; IN_PROGRESS; or the failure of a link. */
weft_status_t weft_program_bind(weft_program_t *program, weft_links_t *links);

/* Takes the numbers of exported ports from the device before a run of the host. */
void weft_program_fetch_ports(const weft_program_t *program);
/* Gives them to the device after a run of the host. */
void weft_program_store_ports(const weft_program_t *program);

/* Combines with the user's function, folding from the left; otherwise as a kernel's combine
 * function. Sources and destinations may be the same memory at the same offset. */
void weft_user_combine(const weft_user_op_t *op, weft_dtype_t dtype, const weft_combine_t *c);

#endif
