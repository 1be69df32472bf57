/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device with one stream for each rank, as "draft.weft.kernel.lanes/0" has it, that computes
 * nothing: the test says when the stream goes on and what becomes of runs. The core does what waits
 * for the host. */
#ifndef WEFT_TESTS_FAKE_DEVICE_H
#define WEFT_TESTS_FAKE_DEVICE_H

#include <pthread.h>

#include "core/comm/handle.h"

enum { FAKE_ITEMS = 64, FAKE_JOBS = 64 };

/* Something in the stream. */
typedef struct fake_item {
    bool gate, recorded;
    uint64_t number; /* of the gate, or of the run */
    const weft_lanes_handle_t *handle;
} fake_item_t;

typedef struct fake_device {
    pthread_mutex_t lock;
    /* What the test says. */
    bool prepares;        /* runs plans in streams */
    bool halted;          /* the stream does not come to what is in it */
    bool recording;       /* … is kept in place of being done */
    bool holds_runs;      /* runs do not end */
    weft_status_t refuse; /* of start(), host_wait_enqueue() and is_capturing() in a stream */
    weft_status_t ends;   /* of runs, if not OK */
    weft_lanes_state_t state;
    /* What happened. */
    fake_item_t item[FAKE_ITEMS];
    uint32_t first, items;
    fake_item_t tape[FAKE_ITEMS];
    uint32_t taped;
    uint64_t runs; /* started in the stream */
    uint64_t over; /* of them */
    weft_lanes_call_t call[FAKE_JOBS];
    int launches, gates, aborts, queues, open_ends;
    bool broken;
} fake_device_t;

/* What a rank does with its device on a communicator of its own; returns how much was wrong. */
typedef int (*fake_device_body_t)(weft_comm_t *comm, fake_device_t *device, uint32_t rank,
                                  uint32_t n);
/* Runs it as every rank, threads of this process. Deadlines are two seconds. `prepares`: the device
 * runs plans. Fails the test unless all was right, and everything is closed in the end. */
void fake_device_run(uint32_t nranks, fake_device_body_t body, bool prepares);

/* Gives the communicator the device in place of what its kernel has; before its first call. */
void fake_device_enter(fake_device_t *device, weft_comm_t *comm);
void fake_device_leave(fake_device_t *device);
/* The number in the signature of a run. */
uint32_t fake_device_sequence(const fake_device_t *device, int run);
/* Puts what was captured into the stream. */
void fake_device_replay(fake_device_t *device);
/* Waits until the stream is empty; false after ten seconds. */
bool fake_device_drain(fake_device_t *device);
/* Halts the stream, or lets it go on. */
void fake_device_halt(fake_device_t *device, bool halted);

#endif
