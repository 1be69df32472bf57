/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the CUDA runtime for tests share, and what kernels need of it. */
#ifndef TESTS_CUDA_FAKE_H
#define TESTS_CUDA_FAKE_H

#include <pthread.h>
#include <stdio.h>

#include "tests/cuda/fake_cuda.h"

/* What the call of this name fails with now. */
cudaError_t fake_answer(const char *name);
/* Keeps an error, if it is one, as the last of this thread, and returns it. */
cudaError_t fake_told(cudaError_t error);
/* The device that is current in this thread; makes a context if there is none. */
int fake_device(void);

/* Addresses of devices' memory (fake_addresses.c), under the lock of fake_memory.c ------------- */

enum { FAKE_GRANULE = 1 << 16, FAKE_GRANULES = 1 << 20 };

/* As many as bytes, and a granule behind them that is nobody else's; NULL: no room. */
void *fake_addresses_take(size_t bytes);
void fake_addresses_give_back(const void *at, size_t bytes);
/* The number of the granule that has the address; FAKE_GRANULES: none has. */
uint32_t fake_addresses_granule(uintptr_t address);

/* Memory of devices (fake_memory.c) ------------------------------------------------------------ */

/* The part of a file that is the allocation of cudaMalloc() that begins at `at`; false: none
 * does. */
bool fake_memory_fd(const void *at, int *fd, uint64_t *offset, uint64_t *bytes);
/* The allocation of a device in which `at` is; false: it is in none. */
bool fake_memory_range(const void *at, uintptr_t *base, uint64_t *bytes);
/* Memory of the host that nobody may count on to be zeros; NULL: there is none. */
void *fake_memory_private(size_t bytes);
/* Memory of a device that really is at `real`: a part of the file, or −1, such private memory. The
 * address of its end is nobody else's. NULL: no room. */
void *fake_memory_apart(void *real, size_t bytes, int device, int fd);
/* Of a call that disturbs captures: spoils them, or what it fails with now. */
cudaError_t fake_memory_unsafe(const char *name);
/* Maps such a part of another process as memory of a device; NULL: no room. */
void *fake_memory_map(int fd, uint64_t offset, uint64_t bytes, int device);
bool fake_memory_unmap(void *at);
/* An allocation of the driver's virtual memory (fake_vmm.c). */
typedef struct fake_allocation {
    uint32_t users; /* handles and mappings */
    int fd, device;
    uint64_t bytes;
    uint32_t types; /* of handles that other processes open */
} fake_allocation_t;

fake_allocation_t *fake_allocation_share(fake_allocation_t *a);
void fake_allocation_drop(fake_allocation_t *a);
/* The function of the driver's virtual memory with that name; false: none has it. */
bool fake_vmm_function(const char *name, void **function_p);
/* The allocation that is mapped there, or NULL. */
fake_allocation_t *fake_memory_allocation(const void *at);
/* Addresses without memory, NULL: no room; maps an allocation there, for no device, with its bytes
 * at `real`, which are reserved. */
void *fake_memory_reserve(uint64_t bytes);
void fake_memory_unreserve(void *at, uint64_t bytes);
bool fake_memory_map_allocation(void *at, uint8_t *real, fake_allocation_t *a);
/* A handle of a file for other processes (fake_fabric.c), of the type of CUmemAllocationHandleType:
 * a descriptor, or what any process finds it by. False: such handles are not given. Takes a handle;
 * returns a descriptor of this process, or −1. */
bool fake_fabric_export(void *handle, int fd, uint32_t type);
int fake_fabric_import(void *handle, uint32_t type);

/* The allocation that begins at `at` is of a pool, which it has a use of: all devices of `access`
 * may access it. The pool of an address, or NULL. All that is of the pool, for a device. */
void fake_memory_pool_set(const void *at, cudaMemPool_t pool, uint32_t access);
cudaMemPool_t fake_memory_pool(const void *at);
void fake_memory_pool_grant(cudaMemPool_t pool, int device);
/* One use of a pool less (fake_pools.c). */
void fake_pool_drop(cudaMemPool_t pool);
/* What the runtime says of an address, without a failure. */
enum cudaMemoryType fake_memory_type(const void *at);
/* Lets a device access the memory; whether it may. */
void fake_memory_grant(const void *at, int device);
bool fake_memory_granted(const void *at, int device);
/* Where the bytes of a pointer are for what runs on a device: itself, if it is the host's. */
void *fake_memory_real(const void *at);
/* The same for what a kernel is given: every word that is an address of a device's memory. Numbers
 * are not as large, and where it was done before it changes nothing. A device behind a bus ends the
 * process at the address of other memory of the host than what is registered. */
void fake_memory_aim(void *words, size_t bytes);
/* Pages of the host (fake_pages.c). Pins them, as who registers them does; false: some cannot be
 * written. Whether all of them are mapped. */
bool fake_pages_pin(uintptr_t at, size_t bytes);
bool fake_pages_are_mapped(uintptr_t at, size_t bytes);
/* What a kernel does with a word, at the address that it uses: counted if fake_cuda.counts. */
enum { FAKE_READ, FAKE_GLANCE, FAKE_NOTE, FAKE_TELL, FAKE_HOLD, FAKE_STEPPED, FAKE_SEEK };
/* Whether that address is in memory of another device than the kernel's. */
bool fake_memory_is_apart(const void *word);
void fake_memory_count(int what, const void *word);

/* Stores of kernels in units of 16 and of 128 bytes (fake_stores.c) ---------------------------- */

/* A part of 16 bytes; `of_line`: of a unit of 128, whose parts a thread stores one after the
 * other. */
void fake_store_part(uint64_t *at, uint64_t low, uint64_t high, int of_line);
/* Time passes: what was stored comes to be seen. */
void fake_stores_linger(void);
/* All that the thread has stored is seen. */
void fake_fence(void);

/* Threads (fake_crew.c) ------------------------------------------------------------------------ */

/* Runs on a thread of its own; there are as many as are needed at once. */
void fake_crew_run(void (*run)(void *arg), void *arg);
/* Joins all; they must have nothing to do. */
void fake_crew_end(void);

/* Steps (fake_steps.c) ------------------------------------------------------------------------- */

/* Of everything that changes in streams, events and graphs. */
extern pthread_mutex_t fake_lock;
/* Under the lock, as all that follows unless it says otherwise: everybody who waits looks again. */
void fake_changed(void);
/* Until something changes. Ends the process when nothing has for long: `what` then never comes, and
 * what stands in the streams says why. */
void fake_wait(const char *what);
/* Until *wanted is as much as `number`: at most so long that a loaded machine starts what does not
 * wait first. */
void fake_linger(const uint64_t *wanted, uint64_t number);

/* A point in a stream: what is before it has been done, or not yet. */
typedef struct fake_point {
    uint32_t users;
    bool passed;
    double seconds;   /* when it was passed */
    uint64_t capture; /* number of the capture that it is in, or 0 */
} fake_point_t;

fake_point_t *fake_point_new(uint64_t capture);
fake_point_t *fake_point_share(fake_point_t *point);
void fake_point_drop(fake_point_t *point);

typedef struct fake_step {
    struct fake_step *next;
    const char *name;    /* of the work */
    int device;          /* of its stream */
    fake_point_t *after; /* or NULL: first wait until it is passed */
    void (*work)(const void *arg);
    uint64_t number;    /* among all of the process, in the order of the calls */
    uint64_t ticket;    /* its place in the hardware queue */
    bool issued;        /* it has left that */
    bool lingers;       /* it waits for somebody who waits or asks for it, or for long */
    fake_point_t *mark; /* or NULL: then pass it */
    bool joined;        /* in a capture: the origin comes behind it */
    _Alignas(16) uint8_t arg[];
} fake_step_t;

/* A copy of the step with a copy of its argument. */
fake_step_t *fake_step_new(const fake_step_t *what, const void *arg, size_t bytes);
/* Leaves the lock while it works. */
void fake_step_do(const fake_step_t *step);

/* Steps in order. */
typedef struct fake_row {
    struct fake_row *next; /* of a graph */
    fake_step_t *first, *last;
} fake_row_t;

void fake_row_add(fake_row_t *row, fake_step_t *step);
/* Frees the first. */
void fake_row_drop(fake_row_t *row);

/* Blocks (fake_blocks.c), without the lock ----------------------------------------------------- */

/* Runs part(arg, 0) to part(arg, n − 1) all at once, and returns when all have ended. */
void fake_together(void (*part)(const void *arg, uint32_t number), const void *arg, uint32_t n);
enum { FAKE_BLOCKS_HELD = 4 }; /* blocks that a processor holds at once */
/* The same for blocks of a kernel, as a step does it: each waits until the device has room for it,
 * which it is given in the order of the calls. */
void fake_blocks(void (*block)(const void *arg, uint32_t number), const void *arg, uint32_t n);
/* The blocks that follow on this thread are those of a kernel of the device. */
void fake_blocks_device(int device);
int fake_blocks_device_now(void);
/* Under the lock: which devices have no room. */
void fake_blocks_tell(FILE *file);

/* Hardware queues (fake_queues.c) -------------------------------------------------------------- */

typedef struct fake_queue fake_queue_t;

/* The next one of the device for a stream of this priority. */
fake_queue_t *fake_queue_of(int device, int priority);
/* A step is behind all that the queue has. */
void fake_queue_put(fake_queue_t *queue, fake_step_t *step);
/* Waits until all before the step have been issued and the point it waits for is passed; issues
 * it. */
void fake_queue_issue(fake_queue_t *queue, fake_step_t *step);
/* Waits until the queue has room, and no call waits for the context, which keeps others from
 * launching. */
void fake_queue_admit(const fake_queue_t *queue);
uint32_t fake_queue_number(const fake_queue_t *queue);
/* Under the lock: which calls wait for the context. */
void fake_queues_tell(FILE *file);
void fake_queues_free(void);

/* Without the lock: what a call of this kind (FAKE_WAITS_*) waits for. Returns once all that was
 * put into streams before has been done. */
void fake_context_wait(uint32_t kind, const char *call);

/* Streams (fake_streams.c) --------------------------------------------------------------------- */

struct CUstream_st {
    struct CUstream_st *next;
    unsigned long long number; /* no other stream ever has it */
    int device;
    int priority;
    fake_queue_t *hardware;
    bool blocking; /* the legacy stream waits for it */
    fake_row_t queue;
    uint64_t put, done; /* steps so far */
    uint64_t wanted;    /* so many of them somebody waits for, or a step is behind them */
    bool working;       /* a thread is at it */
    bool destroyed;     /* freed when it has done everything */
    struct fake_capture *capture;
    struct CUstream_st *captured; /* the next one of the capture */
    fake_row_t *row;              /* of the capture: where the steps go */
};

/* The stream of a handle, the special ones too; NULL: there is none. */
cudaStream_t fake_stream_of(cudaStream_t handle);
/* Without the lock: whether the stream is captured. */
bool fake_stream_captured(cudaStream_t handle);
/* Waits until a step may be put into the stream, if it is not captured. */
void fake_stream_admit(cudaStream_t stream);
/* Puts a copy of the step, with a copy of its argument, into the stream; takes its points over. */
cudaError_t fake_stream_put(cudaStream_t stream, const fake_step_t *step, const void *arg,
                            size_t bytes);

/* Without the lock: puts a call of `work` with a copy of the argument into the stream. */
#define fake_put(stream, work, arg, bytes) fake_put_as(#work, stream, work, arg, bytes)
cudaError_t fake_put_as(const char *name, cudaStream_t stream, void (*work)(const void *arg),
                        const void *arg, size_t bytes);
/* The same for work that lingers. */
cudaError_t fake_put_lingering(const char *name, cudaStream_t stream, void (*work)(const void *arg),
                               const void *arg, size_t bytes);
/* The same for a kernel, which wants the current device to be the stream's. */
#define fake_launch(stream, grid, arg, bytes) fake_launch_as(#grid, stream, grid, arg, bytes)
cudaError_t fake_launch_as(const char *name, cudaStream_t stream, void (*grid)(const void *arg),
                           const void *arg, size_t bytes);
/* Under the lock: whether a step with a number up to this one is in a stream. Somebody waits for
 * it. */
bool fake_streams_busy(uint64_t number);
/* Under the lock: what stands in the streams. */
void fake_streams_tell(FILE *file);
/* Without the lock: waits for all that has been put into the stream. */
cudaError_t fake_stream_settle(cudaStream_t stream);

/* Captures (fake_capture.c) -------------------------------------------------------------------- */

/* Whether a step may be put into the stream. */
cudaError_t fake_capture_check(cudaStream_t stream);
/* For a call that captured work is not allowed to see: spoils the capture, NULL is none. */
cudaError_t fake_capture_spoil(struct fake_capture *capture);
/* For a call that could disturb captures: spoils those that this thread is not allowed to
 * disturb. */
cudaError_t fake_capture_unsafe(void);
/* Of the stream's capture, or 0. */
uint64_t fake_capture_number(cudaStream_t stream);
/* The capture with this number, or NULL. */
struct fake_capture *fake_capture_find(uint64_t number);
/* The stream waits for a point of a capture, and becomes part of it. */
cudaError_t fake_capture_join(cudaStream_t stream, fake_point_t *point);

/* Graphs (fake_graphs.c) ----------------------------------------------------------------------- */

struct CUgraph_st {
    uint32_t users; /* handles and graph launches */
    fake_row_t *rows;
    bool runs; /* a graph launch is under way: the next one waits */
};

void fake_graph_drop(cudaGraph_t graph);

#endif
