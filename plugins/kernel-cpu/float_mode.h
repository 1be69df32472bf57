/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The mode in which a thread computes with floats: rounding, flushing of subnormal numbers, traps.
 * It belongs to the program, which may have changed it on some ranks only (-ffast-math does, where
 * it links). Results may not depend on it, so that all ranks get the same bits. */
#ifndef KERNEL_CPU_FLOAT_MODE_H
#define KERNEL_CPU_FLOAT_MODE_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/plugin/kernel.h>

#if defined(__x86_64__)
/* MXCSR: to nearest, subnormals kept, no traps. The low bits tell what has happened. */
#define FLOAT_MODE_IEEE 0x1f80u
#define FLOAT_MODE_MASK 0xffc0u
#define FLOAT_MODE_ODD 0x8040u /* what a program may set besides: subnormals are zero */

static inline uint64_t float_mode_get(void)
{
    return __builtin_ia32_stmxcsr();
}

static inline void float_mode_set(uint64_t mode)
{
    __builtin_ia32_ldmxcsr((unsigned)mode);
}
#elif defined(__aarch64__)
/* FPCR: 0 is to nearest, subnormals kept, NaNs as they come, halves with infinities, no traps. */
#define FLOAT_MODE_IEEE 0u
#define FLOAT_MODE_MASK 0x07ffffffu
#define FLOAT_MODE_ODD 0x07080000u /* the opposite: AHP, DN, FZ, FZ16 */

static inline uint64_t float_mode_get(void)
{
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}

static inline void float_mode_set(uint64_t mode)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
}
#else
/* Not known: the program's mode is taken for IEEE's. */
#define FLOAT_MODE_IEEE 0u
#define FLOAT_MODE_MASK 0u
#define FLOAT_MODE_ODD 0u

static inline uint64_t float_mode_get(void)
{
    return FLOAT_MODE_IEEE;
}

static inline void float_mode_set(uint64_t mode)
{
    (void)mode;
}
#endif

static inline bool float_mode_is_ieee(uint64_t mode)
{
    return (mode & FLOAT_MODE_MASK) == FLOAT_MODE_IEEE;
}

/* Not inlined: compilers move arithmetic across a change of the mode. */
#define COMBINE_APART __attribute__((noinline))

/* Calls `fn`, a function that is COMBINE_APART, in the mode of IEEE 754's defaults. */
static inline void float_mode_call(weft_combine_fn_t fn, const weft_combine_t *c)
{
    const uint64_t mode = float_mode_get();
    if (__builtin_expect(float_mode_is_ieee(mode), 1)) {
        fn(c);
        return;
    }
    float_mode_set(FLOAT_MODE_IEEE);
    fn(c);
    float_mode_set(mode);
}

#endif
