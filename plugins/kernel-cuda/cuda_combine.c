/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions that select() gives out. They get no instance, so they go by where the operands
 * lie: on the processor if no device has any of them, on the device if it reaches all, else piece
 * by piece through memory of the processor. */
#include "cuda_combine.h"

#include <string.h>

#include "cuda_device.h"
#include "cuda_side.h"
#include "device/device_combine.h"
#include "launch.h"

#define PIECE                                                                                      \
    ((uint32_t)CUDA_SIDE_ROOM / WEFT_COMBINE_MAX) /* bytes of a source that are staged at once */
#define BLOCK_BYTES 16384u
#define BLOCKS_MOST 1024u

typedef struct cuda_places {
    int device; /* that has an operand, or −1 */
    bool reaches;
    cudaError_t error; /* of asking for it */
} cuda_places_t;

/* The first failure of this thread that nobody has asked for. */
static _Thread_local cudaError_t failure;

static void cuda_combine_place_of(const void *pointer, cuda_places_t *places)
{
    struct cudaPointerAttributes at;
    places->error = cudaPointerGetAttributes(&at, pointer);
    if (places->error == cudaSuccess &&
        (at.type == cudaMemoryTypeDevice || at.type == cudaMemoryTypeManaged)) {
        places->reaches = places->reaches && (places->device < 0 || places->device == at.device);
        places->device = at.device;
    }
}

/* A second look, at host memory, once it is known which device would have to reach it. */
static void cuda_combine_reach_of(const void *pointer, cuda_places_t *places)
{
    struct cudaPointerAttributes at;
    if (cudaPointerGetAttributes(&at, pointer) != cudaSuccess) {
        places->reaches = false;
    } else if (at.type == cudaMemoryTypeUnregistered) {
        places->reaches = places->reaches && cuda_device_shares_pages(places->device);
    } else if (at.type == cudaMemoryTypeHost) {
        places->reaches = places->reaches && at.devicePointer == pointer;
    }
}

static cuda_places_t cuda_combine_places_of(const weft_combine_t *c)
{
    cuda_places_t places = {.device = -1, .reaches = true};
    for (uint32_t i = 0; places.error == cudaSuccess && i < c->nsrc + c->ndst; i++) {
        cuda_combine_place_of(i < c->nsrc ? c->src[i] : c->dst[i - c->nsrc], &places);
    }
    for (uint32_t i = 0; places.device >= 0 && i < c->nsrc + c->ndst; i++) {
        cuda_combine_reach_of(i < c->nsrc ? c->src[i] : c->dst[i - c->nsrc], &places);
    }
    return places;
}

static cudaError_t combine_launch(weft_dtype_t dtype, weft_op_t op, const weft_combine_t *c,
                                  cudaStream_t stream)
{
    uint64_t blocks = c->count * cuda_element(dtype) / BLOCK_BYTES + 1;
    blocks = blocks < BLOCKS_MOST ? blocks : BLOCKS_MOST;
    return cuda_launch_combine(dtype, op, c, (uint32_t)blocks, stream);
}

/* Bits of the operands that the processor does not reach: of destinations behind those of
 * sources. */
static uint32_t combine_find_apart(const weft_combine_t *c)
{
    uint32_t apart = 0;
    for (uint32_t i = 0; i < c->nsrc + c->ndst; i++) {
        struct cudaPointerAttributes at;
        const void *pointer = i < c->nsrc ? c->src[i] : c->dst[i - c->nsrc];
        const bool host = cudaPointerGetAttributes(&at, pointer) == cudaSuccess &&
                          (at.type == cudaMemoryTypeUnregistered || at.type == cudaMemoryTypeHost);
        apart |= (host ? 0u : 1u) << i;
    }
    return apart;
}

/* Fetches sources of devices into the room; one result for all devices takes the place of the
 * first. */
static cudaError_t combine_piece(weft_dtype_t dtype, weft_op_t op, const weft_combine_t *c,
                                 uint32_t apart, uint64_t from, uint64_t count, cuda_side_t *side)
{
    const size_t elem = cuda_element(dtype), bytes = count * elem;
    const uint32_t apart_dst = apart >> c->nsrc;
    weft_combine_t piece = *c;
    cudaError_t error = cudaSuccess;
    piece.count = count;
    piece.ndst = piece.nt_mask = 0;
    for (uint32_t s = 0; s < c->nsrc && error == cudaSuccess; s++) {
        piece.src[s] = (const char *)c->src[s] + from * elem;
        if ((apart >> s & 1) != 0) {
            uint8_t *staged = side->room + s * PIECE;
            error = cudaMemcpyAsync(staged, piece.src[s], bytes, cudaMemcpyDefault, side->stream);
            piece.src[s] = staged;
        }
    }
    for (uint32_t d = 0; d < c->ndst; d++) {
        if ((apart_dst >> d & 1) == 0) {
            piece.dst[piece.ndst++] = (char *)c->dst[d] + from * elem;
        }
    }
    if (apart_dst != 0) {
        piece.dst[piece.ndst++] = side->room;
    }
    error = error == cudaSuccess ? cuda_stream_settle(side->stream, NULL) : error;
    if (error == cudaSuccess) {
        cuda_combine(dtype, op, &piece, 0, 1);
    }
    for (uint32_t d = 0; d < c->ndst && error == cudaSuccess; d++) {
        if ((apart_dst >> d & 1) != 0) {
            error = cudaMemcpyAsync((char *)c->dst[d] + from * elem, side->room, bytes,
                                    cudaMemcpyDefault, side->stream);
        }
    }
    return error == cudaSuccess ? cuda_stream_settle(side->stream, NULL) : error;
}

static cudaError_t combine_staged(weft_dtype_t dtype, weft_op_t op, const weft_combine_t *c,
                                  cuda_side_t *side)
{
    const uint64_t step = PIECE / cuda_element(dtype);
    const uint32_t apart = combine_find_apart(c);
    cudaError_t error = cudaSuccess;
    for (uint64_t from = 0; from < c->count && error == cudaSuccess; from += step) {
        const uint64_t left = c->count - from;
        error = combine_piece(dtype, op, c, apart, from, left < step ? left : step, side);
    }
    return error;
}

static bool combine_is_copy(weft_op_t op, const weft_combine_t *c)
{
    return c->nsrc == 1 && c->pre_mask == 0 &&
           !(op == WEFT_AVG && (c->flags & WEFT_COMBINE_FINAL) != 0);
}

static cudaError_t combine_copy(const weft_combine_t *c, size_t bytes, cuda_side_t *side)
{
    cudaError_t error = cudaSuccess;
    for (uint32_t d = 0; d < c->ndst && error == cudaSuccess; d++) {
        if (c->dst[d] != c->src[0]) {
            error = cudaMemcpyAsync(c->dst[d], c->src[0], bytes, cudaMemcpyDefault, side->stream);
        }
    }
    return error == cudaSuccess ? cuda_stream_settle(side->stream, NULL) : error;
}

/* What the device does not take is done piece by piece. What it has begun is not: a destination may
 * be a source, and have the sum already. */
static cudaError_t combine_beside(const cuda_places_t *places, weft_dtype_t dtype, weft_op_t op,
                                  const weft_combine_t *c)
{
    cuda_side_t *side = NULL;
    cudaError_t error = cuda_side_take(places->device, NULL, &side);
    if (error != cudaSuccess) {
        return error;
    }
    bool begun = places->reaches && combine_launch(dtype, op, c, side->stream) == cudaSuccess;
    if (begun) {
        error = cuda_stream_settle(side->stream, NULL);
    } else if (combine_is_copy(op, c)) {
        error = combine_copy(c, c->count * cuda_element(dtype), side);
    } else {
        error = combine_staged(dtype, op, c, side);
    }
    cuda_side_end(side, error);
    return error;
}

/* Asked and done inside the context of an instance: the question where an operand lies makes one on
 * the first device, in a thread that has none. */
static cudaError_t combine_inside(weft_dtype_t dtype, weft_op_t op, const weft_combine_t *c)
{
    const cuda_places_t places = cuda_combine_places_of(c);
    if (places.error == cudaSuccess && places.device < 0) {
        cuda_combine(dtype, op, c, 0, 1);
    }
    if (places.error != cudaSuccess || places.device < 0) {
        return places.error;
    }
    cudaError_t error = cudaSetDevice(places.device);
    return error == cudaSuccess ? combine_beside(&places, dtype, op, c) : error;
}

static cuda_context_driver_t combine_driver;

static void combine_find_driver(void)
{
    cuda_context_find_driver(&combine_driver);
}

static void combine(weft_dtype_t dtype, weft_op_t op, const weft_combine_t *c)
{
    static pthread_once_t found = PTHREAD_ONCE_INIT;
    cuda_context_t saved;
    if (c->count == 0) {
        return;
    }
    pthread_once(&found, combine_find_driver);
    cudaError_t error = cuda_context_enter(&combine_driver, cuda_side_some_device(), &saved);
    if (error == cudaSuccess) {
        error = combine_inside(dtype, op, c);
        cuda_context_leave(&saved);
    }
    failure = failure == cudaSuccess ? error : failure;
}

weft_status_t cuda_combine_status(weft_kernel_t *kernel)
{
    cuda_guard_t guard;
    const cudaError_t error = failure;
    failure = cudaSuccess;
    weft_status_t status = error != cudaSuccess ? cuda_guard_enter(kernel, &guard) : WEFT_OK;
    if (status == WEFT_OK && error != cudaSuccess) {
        status = cuda_side_failed(kernel, error, "combining");
        cuda_guard_leave(&guard);
    }
    return status;
}

/* One function for each type and operator. Floats have none for their bits. */
#define FUNCTION(dtype, op)                                                                        \
    static void combine_##dtype##_##op(const weft_combine_t *c)                                    \
    {                                                                                              \
        combine(WEFT_##dtype, WEFT_##op, c);                                                       \
    }
#define FUNCTIONS(dtype)                                                                           \
    FUNCTION(dtype, SUM)                                                                           \
    FUNCTION(dtype, PROD)                                                                          \
    FUNCTION(dtype, MIN)                                                                           \
    FUNCTION(dtype, MAX)                                                                           \
    FUNCTION(dtype, AVG)                                                                           \
    FUNCTION(dtype, PREMULSUM)
#define INTEGER_FUNCTIONS(dtype)                                                                   \
    FUNCTIONS(dtype) FUNCTION(dtype, BAND) FUNCTION(dtype, BOR) FUNCTION(dtype, BXOR)
#define INTEGERS(X) X(INT8) X(UINT8) X(INT16) X(UINT16) X(INT32) X(UINT32) X(INT64) X(UINT64)
#define FLOATS(X) X(FP16) X(FP32) X(FP64) X(BF16) X(FP8_E4M3) X(FP8_E5M2)
INTEGERS(INTEGER_FUNCTIONS)
FLOATS(FUNCTIONS)

#define ENTRY(dtype, op) [WEFT_##op] = combine_##dtype##_##op
#define ROW(dtype)                                                                                 \
    ENTRY(dtype, SUM), ENTRY(dtype, PROD), ENTRY(dtype, MIN), ENTRY(dtype, MAX),                   \
        ENTRY(dtype, AVG), ENTRY(dtype, PREMULSUM)
#define INTEGER_ROW(dtype)                                                                         \
    [WEFT_##dtype] = {ROW(dtype), ENTRY(dtype, BAND), ENTRY(dtype, BOR), ENTRY(dtype, BXOR)},
#define FLOAT_ROW(dtype) [WEFT_##dtype] = {ROW(dtype)},
static const weft_combine_fn_t functions[WEFT_DTYPE_COUNT][WEFT_OP_COUNT] = {INTEGERS(INTEGER_ROW)
                                                                                 FLOATS(FLOAT_ROW)};

weft_combine_fn_t cuda_combine_function(weft_dtype_t dtype, weft_op_t op)
{
    if ((unsigned)dtype >= WEFT_DTYPE_COUNT || (unsigned)op >= WEFT_OP_COUNT) {
        return NULL;
    }
    return functions[dtype][op];
}
