/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the code in this folder needs of the machine it runs on: words that two sides share, the
 * threads of a block, a pause. Compiled as CUDA for a device, as C for a host, where a block is one
 * thread. */
#ifndef KERNEL_CUDA_DEVICE_PLATFORM_H
#define KERNEL_CUDA_DEVICE_PLATFORM_H

#include <stdint.h>

#include "arith.h"

#define DEVICE_WARP 32u /* threads of a block that go through the program together */

/* Tests count what a lane reads of FIFOs, which glances go to the host, what it notes for it, and
 * the words and headers by which it tells others; slices that are told late; and positions that are
 * read from the host. */
#ifndef DEVICE_COUNT
#define DEVICE_COUNT(what, word) ((void)0)
#endif

#ifdef __CUDACC__

/* From CUDA 12.3 on. */
#define DEVICE_WHOLE_128                                                                           \
    (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 3))

/* Loads that see what was written before the store they read; by anybody in the system. */
static WEFT_DEVICE uint64_t device_acquire64(const uint64_t *word)
{
    uint64_t value;
    asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

/* Looks at a word that somebody in the system publishes. device_acquire_fence() follows where the
 * look found something, before what the word speaks of is read or written: one fence for all words
 * of a slice, and none for looks in vain. */
static WEFT_DEVICE uint64_t device_poll64(const uint64_t *word)
{
    uint64_t value;
    asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

static WEFT_DEVICE void device_acquire_fence(void)
{
    asm volatile("fence.acq_rel.sys;" : : : "memory");
}

/* The same look at a word of the host's memory, where a device has words of its own: it is rare. */
static WEFT_DEVICE uint64_t device_glance64(const uint64_t *word)
{
    return device_poll64(word);
}

/* Reads what a published word speaks of. */
static WEFT_DEVICE uint64_t device_read64(const uint64_t *word)
{
    return *word;
}

/* The same as device_acquire64() between blocks of this device. */
static WEFT_DEVICE uint64_t device_acquire64_near(const uint64_t *word)
{
    uint64_t value;
    asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

static WEFT_DEVICE void device_release64_near(uint64_t *word, uint64_t value)
{
    asm volatile("fence.acq_rel.gpu;\n\tst.relaxed.gpu.u64 [%0], %1;"
                 :
                 : "l"(word), "l"(value)
                 : "memory");
}

/* Adds with acquire and release. Returns what was there. */
static WEFT_DEVICE uint64_t device_add64_near(uint64_t *word, uint64_t n)
{
    uint64_t value;
    asm volatile("atom.acq_rel.gpu.add.u64 %0, [%1], %2;"
                 : "=l"(value)
                 : "l"(word), "l"(n)
                 : "memory");
    return value;
}

/* Several words are published behind one fence. */
static WEFT_DEVICE void device_publish_fence(void)
{
    asm volatile("fence.acq_rel.sys;" : : : "memory");
}

static WEFT_DEVICE void device_publish64(uint64_t *word, uint64_t value)
{
    asm volatile("st.relaxed.sys.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
}

static WEFT_DEVICE void device_publish32(uint32_t *word, uint32_t value)
{
    asm volatile("st.relaxed.sys.u32 [%0], %1;" : : "l"(word), "r"(value) : "memory");
}

/* Loads and stores of words that order nothing. */
static WEFT_DEVICE uint32_t device_look32(const uint32_t *word)
{
    uint32_t value;
    asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

static WEFT_DEVICE void device_note32(uint32_t *word, uint32_t value)
{
    asm volatile("st.relaxed.sys.u32 [%0], %1;" : : "l"(word), "r"(value) : "memory");
}

static WEFT_DEVICE void device_note64(uint64_t *word, uint64_t value)
{
    asm volatile("st.relaxed.sys.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
}

/* 32 bytes, both aligned to 16: two stores. */
static WEFT_DEVICE void device_copy32(void *to, const void *from)
{
    const ulonglong2 *source = (const ulonglong2 *)from;
    ulonglong2 *target = (ulonglong2 *)to;
    ulonglong2 first = source[0], second = source[1];
    target[0] = first;
    target[1] = second;
}

/* 16 bytes that nobody sees in part: two words, both aligned to 16. PTX promises it of 128 bits in
 * one piece, which older toolkits do not know; the instruction of a pair is the same. */
static WEFT_DEVICE void device_part_load(const uint64_t *at, uint64_t *low, uint64_t *high)
{
    uint64_t first, second;
#if DEVICE_WHOLE_128
    asm volatile("{\n\t.reg .b128 t;\n\tld.relaxed.sys.b128 t, [%2];\n\tmov.b128 {%0, %1}, t;\n\t}"
                 : "=l"(first), "=l"(second)
                 : "l"(at)
                 : "memory");
#else
    asm volatile("ld.relaxed.sys.v2.u64 {%0, %1}, [%2];"
                 : "=l"(first), "=l"(second)
                 : "l"(at)
                 : "memory");
#endif
    *low = first;
    *high = second;
}

/* Begins to copy such 16 bytes into the block's memory. The thread does not wait for them … */
static WEFT_DEVICE void device_part_fetch(void *to, const void *from)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(to)), "l"(from)
                 : "memory");
#else
    uint64_t *words = (uint64_t *)to;
    device_part_load((const uint64_t *)from, &words[0], &words[1]);
#endif
}

/* … until here. */
static WEFT_DEVICE void device_part_fetched(void)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" : : : "memory");
#endif
}

static WEFT_DEVICE void device_word_store(uint64_t *at, uint64_t data, uint64_t flag)
{
#if DEVICE_WHOLE_128
    asm volatile("{\n\t.reg .b128 t;\n\tmov.b128 t, {%1, %2};\n\tst.relaxed.sys.b128 [%0], t;\n\t}"
                 :
                 : "l"(at), "l"(data), "l"(flag)
                 : "memory");
#else
    asm volatile("st.relaxed.sys.v2.u64 [%0], {%1, %2};"
                 :
                 : "l"(at), "l"(data), "l"(flag)
                 : "memory");
#endif
}

/* Threads of a warp that have one flagged line, of 128 bytes. */
static WEFT_DEVICE uint32_t device_line_mask(void)
{
    return 0xffu << (threadIdx.x & 24);
}

/* A part of a flagged line. Its threads store at once: many devices and paths keep that whole. */
static WEFT_DEVICE void device_line_store(uint64_t *at, uint64_t low, uint64_t high)
{
    __syncwarp(device_line_mask());
    device_word_store(at, low, high);
}

/* Its threads load at once, too: else one may find the flag behind a store that others have not
 * seen. */
static WEFT_DEVICE void device_line_meet(void)
{
    __syncwarp(device_line_mask());
}

/* Whether it is so for all threads of a flagged line, of whom one has loaded the flag. */
static WEFT_DEVICE int device_line_vote(int here)
{
    return __all_sync(device_line_mask(), here);
}

/* Here the threads vote. */
static WEFT_DEVICE int device_line_look(const uint64_t *part, uint64_t flag)
{
    (void)part;
    (void)flag;
    return 1;
}

static WEFT_DEVICE void device_pause_units(uint32_t round)
{
    (void)round;
}

static WEFT_DEVICE uint32_t device_thread(void)
{
    return threadIdx.x;
}

static WEFT_DEVICE uint32_t device_threads(void)
{
    return blockDim.x;
}

/* The warp of this thread, how many the block has, and the thread's number in it. Threads of
 * different warps that do different things do them at the same time. */
static WEFT_DEVICE uint32_t device_warp(void)
{
    return threadIdx.x / DEVICE_WARP;
}

static WEFT_DEVICE uint32_t device_warps(void)
{
    return blockDim.x / DEVICE_WARP;
}

static WEFT_DEVICE uint32_t device_lane(void)
{
    return threadIdx.x % DEVICE_WARP;
}

static WEFT_DEVICE uint32_t device_lanes(void)
{
    return DEVICE_WARP;
}

/* Those that copy: all but the leader's warp. Asked where they are needed: a number that is kept
 * through the whole program takes a register. */
static WEFT_DEVICE uint32_t device_worker(void)
{
    uint32_t thread;
    asm volatile("mov.u32 %0, %tid.x;" : "=r"(thread));
    return thread - DEVICE_WARP;
}

static WEFT_DEVICE uint32_t device_workers(void)
{
    uint32_t threads;
    asm volatile("mov.u32 %0, %ntid.x;" : "=r"(threads));
    return threads - DEVICE_WARP;
}

/* Whether this thread is one of them. */
static WEFT_DEVICE uint32_t device_works(void)
{
    return device_thread() >= DEVICE_WARP;
}

/* Whether the leader copies itself, as a block of one thread: known to the compiler, so that the
 * copy has one caller on a device. */
static WEFT_DEVICE uint32_t device_leader_copies(void)
{
    return 0;
}

/* Thread 0 comes to the barrier by another way than its warp: the form that allows it. */
static WEFT_DEVICE void device_barrier(void)
{
    asm volatile("barrier.sync 0;" : : : "memory");
}

/* The threads of a warp see what each of them has stored before, and go on together. */
static WEFT_DEVICE void device_warp_barrier(void)
{
    __syncwarp();
}

/* A barrier to which all threads of a warp come the same way. Behind the form above those that
 * parted before go on one after the other. */
static WEFT_DEVICE void device_barrier_together(void)
{
    device_barrier();
    device_warp_barrier();
}

/* The same of so many threads, in whole warps; the others of the block do not come. */
static WEFT_DEVICE void device_barrier_of(uint32_t threads)
{
    device_warp_barrier();
    asm volatile("barrier.sync 1, %0;" : : "r"(threads) : "memory");
    device_warp_barrier();
}

/* Between looks at a word; `round` counts looks in vain. */
static WEFT_DEVICE void device_pause(uint32_t round)
{
    if (round > 64) {
        __nanosleep(round < 1024 ? 64 : 512);
    }
}

#else

#include <sched.h>
#include <string.h>
#include <time.h>

/* Looks acquire and published words are release stores here, so that no fence is needed: race
 * detectors understand those better than fences. A model has the relaxed orders of a device, and
 * its fences. */
#ifndef DEVICE_LOOK_ORDER
#define DEVICE_LOOK_ORDER __ATOMIC_ACQUIRE
#define DEVICE_PUBLISH_ORDER __ATOMIC_RELEASE
#endif
#ifndef DEVICE_FENCE
#define DEVICE_FENCE() ((void)0)
#endif

/* Tests store units later, in another order or in parts, as a device may, until time passes. A
 * model has parts of one word. */
#ifndef DEVICE_STORE_PART
#define DEVICE_STORE_PART(at, low, high, line) device_halves_store(at, low, high)
#endif
#ifndef DEVICE_LOAD_PART
#define DEVICE_LOAD_PART(at, low, high) device_halves_load(at, low, high)
#endif
#ifndef DEVICE_PAUSE
#define DEVICE_PAUSE(round) device_nap(round)
#endif

static inline uint64_t device_acquire64(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline uint64_t device_poll64(const uint64_t *word)
{
    DEVICE_COUNT(READ, word);
    return __atomic_load_n(word, DEVICE_LOOK_ORDER);
}

static inline void device_acquire_fence(void)
{
    DEVICE_FENCE();
}

static inline uint64_t device_glance64(const uint64_t *word)
{
    DEVICE_COUNT(GLANCE, word);
    return __atomic_load_n(word, DEVICE_LOOK_ORDER);
}

static inline uint64_t device_read64(const uint64_t *word)
{
    DEVICE_COUNT(READ, word);
    return *word;
}

static inline uint64_t device_acquire64_near(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void device_release64_near(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static inline uint64_t device_add64_near(uint64_t *word, uint64_t n)
{
    return __atomic_fetch_add(word, n, __ATOMIC_ACQ_REL);
}

static inline void device_publish_fence(void)
{
    DEVICE_FENCE();
}

static inline void device_publish64(uint64_t *word, uint64_t value)
{
    DEVICE_COUNT(TELL, word);
    __atomic_store_n(word, value, DEVICE_PUBLISH_ORDER);
}

static inline void device_publish32(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, DEVICE_PUBLISH_ORDER);
}

static inline uint32_t device_look32(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void device_note32(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static inline void device_note64(uint64_t *word, uint64_t value)
{
    DEVICE_COUNT(NOTE, word);
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static inline void device_copy32(void *to, const void *from)
{
    DEVICE_COUNT(READ, from);
    memcpy(to, from, 32);
}

/* No store of 16 bytes here is whole: the half with the flag comes last, and is loaded first. */
static inline void device_halves_store(uint64_t *at, uint64_t low, uint64_t high)
{
    __atomic_store_n(&at[0], low, __ATOMIC_RELAXED);
    __atomic_store_n(&at[1], high, __ATOMIC_RELEASE);
}

static inline void device_halves_load(const uint64_t *at, uint64_t *low, uint64_t *high)
{
    *high = __atomic_load_n(&at[1], __ATOMIC_ACQUIRE);
    *low = __atomic_load_n(&at[0], __ATOMIC_RELAXED);
}

static inline void device_part_load(const uint64_t *at, uint64_t *low, uint64_t *high)
{
    DEVICE_LOAD_PART(at, low, high);
}

static inline void device_part_fetch(void *to, const void *from)
{
    uint64_t *words = (uint64_t *)to;
    device_part_load((const uint64_t *)from, &words[0], &words[1]);
}

static inline void device_part_fetched(void)
{
}

static inline void device_word_store(uint64_t *at, uint64_t data, uint64_t flag)
{
    DEVICE_STORE_PART(at, data, flag, 0);
}

/* One thread stores all parts of a flagged line, that with the flag last … */
static inline void device_line_store(uint64_t *at, uint64_t low, uint64_t high)
{
    DEVICE_STORE_PART(at, low, high, 1);
}

/* … and looks at the flag before it loads any. */
static inline int device_line_look(const uint64_t *part, uint64_t flag)
{
    const uintptr_t line = (uintptr_t)part & ~(uintptr_t)127;
    return __atomic_load_n((const uint64_t *)line + 15, __ATOMIC_ACQUIRE) == flag;
}

static inline void device_line_meet(void)
{
}

static inline int device_line_vote(int here)
{
    return here;
}

static inline uint32_t device_thread(void)
{
    return 0;
}

static inline uint32_t device_threads(void)
{
    return 1;
}

static inline uint32_t device_warp(void)
{
    return 0;
}

static inline uint32_t device_warps(void)
{
    return 1;
}

static inline uint32_t device_lane(void)
{
    return 0;
}

static inline uint32_t device_lanes(void)
{
    return 1;
}

static inline uint32_t device_worker(void)
{
    return 0;
}

static inline uint32_t device_workers(void)
{
    return 1;
}

static inline uint32_t device_works(void)
{
    return 1;
}

static inline uint32_t device_leader_copies(void)
{
    return 1;
}

static inline void device_barrier(void)
{
}

static inline void device_warp_barrier(void)
{
}

static inline void device_barrier_together(void)
{
}

static inline void device_barrier_of(uint32_t threads)
{
    (void)threads;
}

/* Lanes outnumber processors here: give way early, then sleep. */
static inline void device_nap(uint32_t round)
{
    struct timespec nap = {.tv_sec = 0, .tv_nsec = round < 256 ? 20000 : 200000};
    if (round < 4) {
        sched_yield();
    } else {
        nanosleep(&nap, NULL);
    }
}

static inline void device_pause(uint32_t round)
{
    DEVICE_PAUSE(round);
}

static inline void device_pause_units(uint32_t round)
{
    device_pause(round);
}

#endif
#endif
