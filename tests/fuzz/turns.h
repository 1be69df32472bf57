/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One thread for a state machine and the hostile world around it. What the core waits for comes to
 * turns.c (--wrap): while nothing is ready the world has its turn, and time passes only in waits,
 * in no time. The functions of threads of the core are noted and not started, so that a target can
 * call them. */
#ifndef WEFT_TESTS_FUZZ_TURNS_H
#define WEFT_TESTS_FUZZ_TURNS_H

#include <stdbool.h>
#include <stdint.h>

/* The world's turn: true if it did something. False: it has nothing left to do, and time jumps. */
typedef bool (*turns_world_t)(void *arg);

/* Begins a run: the clock stands at one second. A run in which the core waits for ever, or more
 * often than anything needs, ends the process. */
void turns_begin(turns_world_t world, void *arg);
void turns_pass(uint64_t ns);
/* Time since the world did something last, or since `deadline` if that came later. */
uint64_t turns_since(uint64_t deadline);
/* Runs the thread that the core has started since turns_begin(). False: none. */
bool turns_run_thread(void);

#endif
