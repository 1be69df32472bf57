/* SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel-cuda over the CUDA runtime for tests, as the tests of its parts want it: the instance,
 * whose end nothing may outlive, and small plans that send and receive through one FIFO each. */
#ifndef TESTS_CUDA_BENCH_H
#define TESTS_CUDA_BENCH_H

#include <string.h>

#include <weft/plugin/draft/lanes.h>
#include <weft/plugin/plan.h>

#include "tests/cuda/fake_cuda.h"
#include "tests/support/fake_host.h"
#include "tests/support/unit.h"

typedef struct bench {
    const weft_plugin_t *plugin;
    const weft_kernel_ops_t *ops;
    fake_host_t fake;
    weft_kernel_t *kernel;
    const weft_kernel_lanes_t *lanes;
    char error[512]; /* the last one that was taken */
} bench_t;

extern bench_t bench;

/* Loads the plugin; false: it says why it cannot. */
bool bench_load(void);
/* The same, and runs the tests; what main() returns. */
#define bench_main(tests) bench_run(#tests, tests, sizeof(tests) / sizeof((tests)[0]))
int bench_run(const char *name, const struct CMUnitTest *tests, size_t ntests);

/* The runtime as it is on a machine with two devices. */
void bench_reset(void);
/* An instance with one setting, or NULL. */
weft_status_t bench_create(const char *setting);
/* Around a test. Nothing of it may be left. */
int bench_open(void **state);
int bench_close(void **state);
#define BENCH(test) cmocka_unit_test_setup_teardown(test, bench_open, bench_close)

int bench_device(void);
/* What the runtime shall say of a buffer. */
void bench_place(uint32_t number, const void *at, uint64_t bytes, enum cudaMemoryType type,
                 int device);
/* Takes the error; says(): it has this part. */
void bench_take_error(void);
void bench_says(const char *part);
/* Both. */
void bench_said(const char *part);

/* FIFOs ---------------------------------------------------------------------------------------- */

#define SLOTS 4u
#define SLOT_BYTES 4096u
#define HEADS_BYTES (WEFT_FIFO_HEADERS + SLOTS * WEFT_FIFO_HEADER_BYTES)
#define FIFO_BYTES (HEADS_BYTES + SLOTS * SLOT_BYTES)

weft_lanes_port_t fifo_port(uint8_t *fifo, bool sends);
/* Of the slot of message n. */
float *fifo_payload(uint8_t *fifo, uint64_t n);
/* As if the peer had taken all messages below n; had sent message n, with such a signature. */
void fifo_release(uint8_t *fifo, uint64_t n);
void fifo_send(uint8_t *fifo, uint64_t n, uint64_t signature);

/* Plans ---------------------------------------------------------------------------------------- */

#define COUNT 1000u /* elements of a message */

typedef enum plan_kind {
    PLAN_SENDS,   /* OUT and the port get IN */
    PLAN_RECEIVES /* OUT gets the port */
} plan_kind_t;

/* A program of one lane, a queue to run it in, the end of its port. */
typedef struct plan {
    plan_kind_t kind;
    uint8_t *fifo;
    weft_lanes_queue_t *queue;
    weft_lanes_handle_t *handle;
    weft_lanes_endpoint_t *end;
    weft_lanes_call_t call;
    float in[COUNT], out[COUNT];
} plan_t;

extern const weft_lanes_program_t plan_sends;
/* Empties the FIFO. */
void plan_open(plan_t *plan, plan_kind_t kind, uint8_t *fifo);
/* At a port of the test's own. */
void plan_open_at(plan_t *plan, plan_kind_t kind, const weft_lanes_port_t *port);
void plan_close(plan_t *plan);
/* NULL: a stream of the queue's own. */
weft_status_t plan_start_in(plan_t *plan, cudaStream_t *stream, uint64_t *run_p);
weft_status_t plan_start(plan_t *plan, uint64_t *run_p);
weft_status_t plan_look(plan_t *plan, uint64_t run, weft_lanes_state_t *state);
/* Until it is over; a deadline of the suite ends one that never is. Takes the error. */
weft_status_t plan_finish(plan_t *plan, uint64_t run);
weft_status_t plan_run(plan_t *plan);
/* Until the lane waits for its port. */
void plan_wait_blocked(plan_t *plan, uint64_t run);

#endif
