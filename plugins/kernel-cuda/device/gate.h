/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gates: places in a stream where it waits for the host. The gates of a queue are come to one after
 * another, so one set of words serves all of them. */
#ifndef KERNEL_CUDA_DEVICE_GATE_H
#define KERNEL_CUDA_DEVICE_GATE_H

#include "platform.h"

/* Host and device see it. Turns are counted here, not by the host: a recording brings the same gate again
 * and again. */
typedef struct lanes_gate {
    /* The device's. */
    uint64_t reached; /* turns: gates come to so far; stored last */
    uint64_t number;  /* of the last one */
    uint64_t pad[14];
    /* The host's. */
    uint64_t passed; /* turns: gates opened so far */
    uint32_t broken; /* 1: all are open, for ever */
} lanes_gate_t;

/* What the only thread of a gate does. What the host did before it opened the gate is seen behind it. */
static WEFT_DEVICE void lanes_gate_wait(lanes_gate_t *gate, uint64_t number)
{
    const uint64_t turn = gate->reached + 1;
    gate->number = number;
    device_publish_fence();
    device_publish64(&gate->reached, turn);
    for (uint32_t round = 0; device_acquire64(&gate->passed) < turn; round++) {
        if (device_look32(&gate->broken) != 0) {
            return;
        }
        device_pause(round);
    }
}

#endif
