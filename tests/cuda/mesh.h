/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All ranks of a job in one process over FIFOs in plain memory, each run by the core's
 * interpreter in the test's thread or by kernel-cuda on the runtime's. */
#ifndef TESTS_CUDA_MESH_H
#define TESTS_CUDA_MESH_H

#include <weft/plugin/draft/lanes.h>

#include "core/exec/interpreter.h"
#include "tests/cuda/flat.h"
#include "tests/support/fake_host.h"

enum { MESH_RANKS = 9, MESH_CHANNELS = 80 };

/* The two kernels: kernel-cuda with its extension, and kernel-cpu for ranks on the host. */
typedef struct mesh_kernels {
    fake_host_t host;
    const weft_kernel_ops_t *ops[2]; /* lanes, cpu */
    weft_loaded_t loaded[2];
    weft_kernel_t *kernel[2];
    const weft_kernel_lanes_t *lanes;
} mesh_kernels_t;

void mesh_kernels_open(mesh_kernels_t *kernels);
void mesh_kernels_close(mesh_kernels_t *kernels);

typedef struct mesh_call {
    weft_coll_t coll; /* may be a vector collective */
    weft_dtype_t dtype;
    weft_op_t op;
    uint64_t count;
    uint32_t root;
    uint32_t slots, slices;
    uint64_t slot_bytes;
    bool in_place;
} mesh_call_t;

typedef struct mesh_rank {
    weft_program_t program;
    weft_mapped_port_t *ports; /* of the host's interpreter */
    weft_workspace_t workspace;
    weft_interpreter_t run;
    flat_t flat;
    weft_lanes_endpoint_t **ends;
    weft_lanes_queue_t *queue;
    weft_lanes_handle_t *handle;
    uint64_t number; /* of its run on the device */
    uint8_t *memory[2], *in, *out;
    uint64_t *vector; /* in counts and displacements, out counts and displacements */
    weft_vectors_t v;
    uint32_t nin, nout;
    uint64_t scalar;
    uint64_t sequence; /* added to that of the run: to make it differ */
    bool on_device, stays_away;
    weft_status_t status;
    weft_lanes_state_t state;
} mesh_rank_t;

typedef struct mesh {
    mesh_kernels_t *kernels;
    mesh_call_t call;
    uint32_t n;
    mesh_rank_t rank[MESH_RANKS];
    void *fifo[MESH_RANKS][MESH_RANKS][MESH_CHANNELS];
} mesh_t;

/* Plans outlive the mesh. */
mesh_t *mesh_open(mesh_kernels_t *kernels, weft_plan_t *const *plans, uint32_t n,
                  const mesh_call_t *call);
void mesh_close(mesh_t *mesh);

/* Fills the buffers and starts every rank that does not stay away; bit r of `devices`: rank r
 * runs on the device. */
void mesh_start(mesh_t *mesh, uint32_t devices, uint32_t sequence);
/* One step of every rank under way. Returns how many are. */
uint32_t mesh_step(mesh_t *mesh);
/* Until all have ended, or fails the test when that takes `seconds`. */
void mesh_finish(mesh_t *mesh, unsigned seconds);
/* Fails the test unless all ended well and every output is what the collective's definition
 * says. */
void mesh_check(mesh_t *mesh);

#endif
