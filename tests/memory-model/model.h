/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A model: two or three threads that run a protocol of the core over the core's own source. It is
 * played in two ways. As a test it runs many times, also under TSan. GenMC, a model checker,
 * explores all of its executions that a memory model allows: see `check`.
 *
 * A model is one translation unit, which includes the sources it is about. */
#ifndef WEFT_TESTS_MEMORY_MODEL_H
#define WEFT_TESTS_MEMORY_MODEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef WEFT_GENMC

#include <assert.h>
#include <genmc.h>
#define MODEL_ROUNDS 1
#define model_assert(condition) assert(condition)
/* Executions in which it does not hold end here. */
#define model_await(condition) __VERIFIER_assume(condition)
#define model_turn() ((void)0)

#else

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#ifndef MODEL_ROUNDS
#define MODEL_ROUNDS 2000
#endif
#define model_assert(condition)                                                                    \
    ((condition) ? (void)0                                                                         \
                 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), abort()))
#define model_await(condition)                                                                     \
    while (!(condition)) {                                                                         \
        model_turn();                                                                              \
    }
#define model_turn() ((void)sched_yield())

#endif

/* What a model has. */
static void model_begin(void);
static void model_end(void);

/* The threads of a model, which all start after model_begin(). */
#define MODEL_PLAY(...)                                                                            \
    int main(void)                                                                                 \
    {                                                                                              \
        void *(*const play[])(void *) = {__VA_ARGS__};                                             \
        pthread_t thread[sizeof play / sizeof play[0]];                                            \
        for (int round = 0; round < MODEL_ROUNDS; round++) {                                       \
            model_begin();                                                                         \
            for (unsigned i = 0; i < sizeof play / sizeof play[0]; i++) {                          \
                pthread_create(&thread[i], NULL, play[i], NULL);                                   \
            }                                                                                      \
            for (unsigned i = 0; i < sizeof play / sizeof play[0]; i++) {                          \
                pthread_join(thread[i], NULL);                                                     \
            }                                                                                      \
            model_end();                                                                           \
        }                                                                                          \
        return 0;                                                                                  \
    }

#endif
