/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See mesh.h. */
#include "tests/cuda/mesh.h"

#include <stdlib.h>
#include <string.h>

#include "core/exec/port_export.h"
#include "core/os/os.h"
#include "tests/support/kernel_reference.h"
#include "tests/support/unit.h"
#include "tests/support/values.h"

/* Kernels -------------------------------------------------------------------------------------- */

void mesh_kernels_open(mesh_kernels_t *kernels)
{
    static const char *const paths[2] = {WEFT_KERNEL_CUDA_FILE, WEFT_PLUGIN_DIR "/kernel-cpu.so"};
    char why[256];
    memset(kernels, 0, sizeof *kernels);
    fake_host_init(&kernels->host, "device");
    for (uint32_t i = 0; i < 2; i++) {
        const weft_plugin_t *plugin = fake_plugin_open(paths[i], WEFT_KIND_KERNEL, why, sizeof why);
        if (plugin == NULL) {
            fail_msg("%s", why);
        }
        void *config = fake_config_create(plugin, NULL, why, sizeof why);
        assert_non_null(config);
        kernels->ops[i] = plugin->ops;
        kernels->loaded[i] = (weft_loaded_t){.plugin = plugin, .path = paths[i]};
        assert_int_equal(kernels->ops[i]->create(&kernels->host.host, config, &kernels->kernel[i]),
                         WEFT_OK);
        fake_config_destroy(config);
    }
    kernels->lanes = kernels->ops[0]->get_extension(kernels->kernel[0], WEFT_KERNEL_LANES);
    assert_non_null(kernels->lanes);
}

void mesh_kernels_close(mesh_kernels_t *kernels)
{
    for (uint32_t i = 0; i < 2; i++) {
        kernels->ops[i]->destroy(kernels->kernel[i]);
    }
    assert_int_equal(atomic_load(&kernels->host.live), 0);
    fake_host_fini(&kernels->host);
}

/* Lengths and values --------------------------------------------------------------------------- */

static weft_coll_t shape_of(const mesh_t *mesh)
{
    return weft_coll_base(mesh->call.coll);
}

static bool is_vector(const mesh_t *mesh)
{
    return mesh->call.coll != shape_of(mesh);
}

/* Elements that `from` has for `to`, and of the block of rank `from`. */
static uint64_t length(const mesh_t *mesh, uint32_t from, uint32_t to)
{
    uint64_t count = mesh->call.count;
    return is_vector(mesh) ? (from * 37u + to * 101u + count * 3 / 4) % (count + 1) : count;
}

static uint64_t block_length(const mesh_t *mesh, uint32_t rank, uint32_t block, bool in)
{
    switch (shape_of(mesh)) {
    case WEFT_ALL_TO_ALL:
        return in ? length(mesh, rank, block) : length(mesh, block, rank);
    case WEFT_ALL_GATHER:
    case WEFT_GATHER:
        return length(mesh, in ? rank : block, 0);
    case WEFT_REDUCE_SCATTER:
    case WEFT_SCATTER:
        return length(mesh, in ? block : rank, 0);
    default:
        return mesh->call.count;
    }
}

static double input(const mesh_t *mesh, uint32_t rank, uint32_t block, uint64_t i)
{
    const mesh_call_t *call = &mesh->call;
    if (weft_coll_reduces(shape_of(mesh))) {
        return values_input(call->dtype, call->op, mesh->n, rank, block * call->count + i);
    }
    return (double)((rank * 5 + block * 3 + i * 7) % 15);
}

static double output(const mesh_t *mesh, uint32_t rank, uint32_t block, uint64_t i)
{
    const mesh_call_t *call = &mesh->call;
    switch (shape_of(mesh)) {
    case WEFT_ALL_REDUCE:
    case WEFT_REDUCE:
        return values_reduced(call->dtype, call->op, mesh->n, i);
    case WEFT_REDUCE_SCATTER:
        return values_reduced(call->dtype, call->op, mesh->n, rank * call->count + i);
    case WEFT_BROADCAST:
        return input(mesh, call->root, 0, i);
    case WEFT_ALL_TO_ALL:
        return input(mesh, block, rank, i);
    case WEFT_SCATTER:
        return input(mesh, call->root, rank, i);
    default:
        return input(mesh, block, 0, i);
    }
}

/* Ranks ---------------------------------------------------------------------------------------- */

static void open_ports(mesh_t *mesh, mesh_rank_t *r)
{
    const weft_plan_t *plan = r->program.plan;
    uint64_t bytes = weft_fifo_bytes(mesh->call.slots, mesh->call.slot_bytes);
    r->ports = calloc(plan->nports + 1, sizeof *r->ports);
    r->ends = calloc(plan->nports + 1, sizeof(weft_lanes_endpoint_t *));
    for (uint32_t p = 0; p < plan->nports; p++) {
        const weft_plan_port_t *port = &plan->ports[p];
        uint32_t from = port->sends ? plan->rank : port->peer;
        uint32_t to = port->sends ? port->peer : plan->rank;
        assert_true(port->channel < MESH_CHANNELS);
        void **fifo = &mesh->fifo[from][to][port->channel];
        if (*fifo == NULL) {
            *fifo = weft_os_pages(bytes);
        }
        weft_mapped_port_init(&r->ports[p], port->peer, port->sends != 0, *fifo, mesh->call.slots,
                              mesh->call.slot_bytes);
        r->program.ports[p] = &r->ports[p].port;
        assert_int_equal(
            weft_port_export(&r->ports[p].port, mesh->kernels->lanes, mesh->kernels->kernel[0]),
            WEFT_OK);
        r->ends[p] = r->ports[p].port.export.end;
    }
}

/* Counts and displacements of one side, with holes between blocks; returns the elements in all. */
static uint64_t lay_out(const mesh_t *mesh, uint32_t rank, bool in, uint64_t *counts, uint32_t n)
{
    uint64_t *displs = counts + n, end = 0;
    for (uint32_t b = 0; b < n; b++) {
        counts[b] = block_length(mesh, rank, b, in);
        displs[b] = end;
        end += counts[b] + (is_vector(mesh) ? 2 : 0);
    }
    return end;
}

/* One buffer in the other, as plan.h says; on ranks that have both. */
static void join_buffers(mesh_t *mesh, uint32_t rank)
{
    mesh_rank_t *r = &mesh->rank[rank];
    const weft_plan_t *plan = r->program.plan;
    int is_root = rank == mesh->call.root;
    uint64_t own = rank * mesh->call.count * r->program.elem;
    if (!mesh->call.in_place || !weft_coll_has_input(plan->coll, is_root) ||
        !weft_coll_has_output(plan->coll, is_root)) {
        return;
    }
    if (r->nout > r->nin) {
        r->in = r->out + own;
    } else {
        r->out = r->in + (r->nout < r->nin ? own : 0);
    }
}

static void open_buffers(mesh_t *mesh, uint32_t rank)
{
    mesh_rank_t *r = &mesh->rank[rank];
    r->nin = weft_coll_blocks(shape_of(mesh), mesh->n, WEFT_OPERAND_IN);
    r->nout = weft_coll_blocks(shape_of(mesh), mesh->n, WEFT_OPERAND_OUT);
    r->vector = calloc(2 * (size_t)(r->nin + r->nout), sizeof *r->vector);
    uint64_t *out = r->vector + 2 * (size_t)r->nin;
    uint64_t in_elements = lay_out(mesh, rank, true, r->vector, r->nin);
    uint64_t out_elements = lay_out(mesh, rank, false, out, r->nout);
    r->v = (weft_vectors_t){r->vector, r->vector + r->nin, out, out + r->nout};
    /* Exact sizes: sanitizers see what is read or written beyond them. */
    r->in = r->memory[0] = malloc(in_elements * r->program.elem + 1);
    r->out = r->memory[1] = malloc(out_elements * r->program.elem + 1);
    join_buffers(mesh, rank);
}

/* Cut as the engine cuts; where only pairs know lengths, passes differ from rank to rank. */
static void cut_message(const mesh_t *mesh, uint32_t rank, const weft_plan_t *plan,
                        weft_program_t *program)
{
    const mesh_call_t *call = &mesh->call;
    weft_segmentation_t *g = &program->segmentation;
    weft_segmentation_params_t cut = {.k = plan->k,
                                      .slices = call->slices,
                                      .slice_bytes = call->slot_bytes,
                                      .channels = program->channels};
    uint64_t largest = 1;
    if (!program->pairs) {
        weft_segmentation_set(g, call->count, program->elem, &cut);
        return;
    }
    weft_segmentation_set_largest(g, program->elem, &cut);
    for (uint32_t b = 0; b < mesh->n; b++) {
        for (int in = 0; in < 2; in++) {
            bool has =
                b < weft_coll_blocks(plan->coll, mesh->n, in ? WEFT_OPERAND_IN : WEFT_OPERAND_OUT);
            uint64_t count = has ? block_length(mesh, rank, b, in) : 0;
            largest = count > largest ? count : largest;
        }
    }
    g->passes = (largest + g->pass - 1) / g->pass;
}

static void open_program(mesh_t *mesh, uint32_t rank, const weft_plan_t *plan)
{
    const mesh_call_t *call = &mesh->call;
    mesh_rank_t *r = &mesh->rank[rank];
    bool reduces = weft_coll_reduces(plan->coll);
    r->program = (weft_program_t){.plan = plan,
                                  .channels = 1,
                                  .memory.near_bytes = WEFT_SLOT_INLINE,
                                  .dtype = call->dtype,
                                  .elem = reference_size(call->dtype),
                                  .in_chunks = weft_plan_chunks(plan, WEFT_OPERAND_IN),
                                  .out_chunks = weft_plan_chunks(plan, WEFT_OPERAND_OUT),
                                  .flags = reduces && call->op == WEFT_AVG ? WEFT_COMBINE_FINAL : 0,
                                  .pre = reduces && call->op == WEFT_PREMULSUM,
                                  .pairs = is_vector(mesh) && plan->coll != WEFT_ALL_GATHER &&
                                           plan->coll != WEFT_REDUCE_SCATTER,
                                  .signature = {.coll = (uint8_t)call->coll,
                                                .dtype = (uint8_t)call->dtype,
                                                .op = (uint8_t)call->op,
                                                .root = call->root,
                                                .count = call->count,
                                                .plan = 77}};
    assert_int_equal(weft_combiner_select(&mesh->kernels->loaded[1], mesh->kernels->kernel[1],
                                          call->dtype, call->op, &r->program.combiner),
                     WEFT_OK);
    cut_message(mesh, rank, plan, &r->program);
    assert_int_equal(weft_program_allocate(&r->program), WEFT_OK);
    values_put(&r->scalar, 0, call->dtype, values_scalar(rank));
    open_ports(mesh, r);
    open_buffers(mesh, rank);
    assert_int_equal(weft_interpreter_init(&r->run, &r->program, &r->workspace), WEFT_OK);
    flat_init(&r->flat, &r->program, call->op);
    assert_int_equal(
        mesh->kernels->lanes->prepare(mesh->kernels->kernel[0], &r->flat.program, &r->handle),
        WEFT_OK);
    assert_int_equal(mesh->kernels->lanes->queue_open(mesh->kernels->kernel[0], &r->queue),
                     WEFT_OK);
    flat_fini(&r->flat);
}

mesh_t *mesh_open(mesh_kernels_t *kernels, weft_plan_t *const *plans, uint32_t n,
                  const mesh_call_t *call)
{
    mesh_t *mesh = calloc(1, sizeof *mesh);
    mesh->kernels = kernels;
    mesh->call = *call;
    mesh->n = n;
    for (uint32_t rank = 0; rank < n; rank++) {
        open_program(mesh, rank, plans[rank]);
    }
    return mesh;
}

void mesh_close(mesh_t *mesh)
{
    for (uint32_t rank = 0; rank < mesh->n; rank++) {
        mesh_rank_t *r = &mesh->rank[rank];
        mesh->kernels->lanes->release(r->handle);
        mesh->kernels->lanes->queue_close(r->queue);
        for (uint32_t p = 0; p < r->program.plan->nports; p++) {
            weft_port_unexport(&r->ports[p].port);
        }
        weft_interpreter_fini(&r->run);
        weft_workspace_fini(&r->workspace);
        weft_program_release(&r->program);
        free(r->ports);
        free(r->ends);
        free(r->memory[0]);
        free(r->memory[1]);
        free(r->vector);
    }
    for (uint32_t from = 0; from < mesh->n; from++) {
        for (uint32_t at = 0; at < mesh->n * MESH_CHANNELS; at++) {
            void *fifo = mesh->fifo[from][at / MESH_CHANNELS][at % MESH_CHANNELS];
            weft_os_pages_free(fifo, weft_fifo_bytes(mesh->call.slots, mesh->call.slot_bytes));
        }
    }
    free(mesh);
}

/* Runs ----------------------------------------------------------------------------------------- */

static void fill(mesh_t *mesh, uint32_t rank)
{
    mesh_rank_t *r = &mesh->rank[rank];
    weft_dtype_t dtype = mesh->call.dtype;
    for (uint32_t b = 0; b < r->nout; b++) {
        for (uint64_t i = 0; i < r->v.out_counts[b]; i++) {
            values_put(r->out, r->v.out_displs[b] + i, dtype, 13);
        }
    }
    for (uint32_t b = 0; b < r->nin; b++) {
        for (uint64_t i = 0; i < r->v.in_counts[b]; i++) {
            values_put(r->in, r->v.in_displs[b] + i, dtype, input(mesh, rank, b, i));
        }
    }
}

static void start_on_device(mesh_t *mesh, mesh_rank_t *r, uint32_t sequence)
{
    const weft_segmentation_t *g = &r->program.segmentation;
    weft_signature_t signature = r->program.signature;
    weft_lanes_call_t call = {
        .size = sizeof call,
        .in = r->in,
        .out = r->out,
        .segmentation = {g->count, g->slice, g->chunk, g->pass, g->passes, g->slices, g->k},
        .scalar = r->scalar,
        .ends = r->ends};
    weft_lanes_job_t job = {.handle = r->handle, .call = &call};
    if (is_vector(mesh)) {
        call.vectors = (weft_lanes_vectors_t){r->v.in_counts, r->v.in_displs, r->v.out_counts,
                                              r->v.out_displs};
        call.nin = r->nin;
        call.nout = r->nout;
    }
    signature.sequence = sequence;
    memcpy(call.signature, &signature, sizeof signature);
    assert_int_equal(mesh->kernels->lanes->start(r->queue, NULL, &job, 1), WEFT_OK);
    r->number = job.run;
}

void mesh_start(mesh_t *mesh, uint32_t devices, uint32_t sequence)
{
    for (uint32_t rank = 0; rank < mesh->n; rank++) {
        fill(mesh, rank);
    }
    for (uint32_t rank = 0; rank < mesh->n; rank++) {
        mesh_rank_t *r = &mesh->rank[rank];
        uint32_t mine = sequence + (uint32_t)r->sequence;
        r->status = r->stays_away ? WEFT_OK : WEFT_IN_PROGRESS;
        r->state = (weft_lanes_state_t){.size = sizeof r->state};
        r->on_device = (devices >> rank & 1) != 0;
        if (r->stays_away) {
            continue;
        }
        if (r->on_device) {
            start_on_device(mesh, r, mine);
            continue;
        }
        weft_interpreter_start(&r->run,
                               &(weft_binding_t){.in = r->in,
                                                 .out = r->out,
                                                 .scalar = &r->scalar,
                                                 .sequence = mine,
                                                 .count = mesh->call.count,
                                                 .vectors = is_vector(mesh) ? &r->v : NULL});
    }
}

static void step_rank(mesh_t *mesh, mesh_rank_t *r)
{
    bool moved = false;
    if (!r->on_device) {
        r->status = weft_interpreter_step(&r->run, &moved);
        return;
    }
    r->status = mesh->kernels->lanes->poll(r->handle, r->number, &r->state);
}

uint32_t mesh_step(mesh_t *mesh)
{
    uint32_t under_way = 0;
    for (uint32_t rank = 0; rank < mesh->n; rank++) {
        mesh_rank_t *r = &mesh->rank[rank];
        if (r->status == WEFT_IN_PROGRESS) {
            step_rank(mesh, r);
        }
        under_way += r->status == WEFT_IN_PROGRESS;
    }
    return under_way;
}

void mesh_finish(mesh_t *mesh, unsigned seconds)
{
    uint64_t end = weft_os_clock_ns() + seconds * UINT64_C(1000000000);
    while (mesh_step(mesh) > 0) {
        if (weft_os_clock_ns() > end) {
            fail_msg("%s of %u ranks, %llu elements stands still", weft_coll_name(mesh->call.coll),
                     mesh->n, (unsigned long long)mesh->call.count);
        }
        weft_os_yield();
    }
}

static void check_rank(const mesh_t *mesh, uint32_t rank)
{
    const mesh_rank_t *r = &mesh->rank[rank];
    weft_dtype_t dtype = mesh->call.dtype;
    for (uint32_t b = 0; b < r->nout; b++) {
        for (uint64_t i = 0; i < r->v.out_counts[b]; i++) {
            uint64_t expected = 0, found = reference_load(dtype, r->out, r->v.out_displs[b] + i);
            values_put(&expected, 0, dtype, output(mesh, rank, b, i));
            if (!reference_same(dtype, found, expected)) {
                fail_msg("%s of %u ranks, %llu %s, %s: rank %u (%s) has %llx in block %u at %llu, "
                         "not %llx",
                         weft_coll_name(mesh->call.coll), mesh->n,
                         (unsigned long long)mesh->call.count, reference_dtype_name(dtype),
                         reference_op_name(mesh->call.op), rank, r->on_device ? "device" : "host",
                         (unsigned long long)found, b, (unsigned long long)i,
                         (unsigned long long)expected);
            }
        }
    }
}

void mesh_check(mesh_t *mesh)
{
    for (uint32_t rank = 0; rank < mesh->n; rank++) {
        assert_int_equal(mesh->rank[rank].status, WEFT_OK);
        if (weft_coll_has_output(shape_of(mesh), rank == mesh->call.root)) {
            check_rank(mesh, rank);
        }
    }
}
