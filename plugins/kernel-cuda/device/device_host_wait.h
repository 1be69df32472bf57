/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host waits: a stream stops until the host releases it. The host waits of a queue are reached one
 * after another, so that one set of words serves all of them. */
#ifndef KERNEL_CUDA_DEVICE_DEVICE_HOST_WAIT_H
#define KERNEL_CUDA_DEVICE_DEVICE_HOST_WAIT_H

#include "platform.h"

/* Host and device share it. The device counts the turns, because a graph launch brings the same
 * host wait again. */
typedef struct lanes_host_wait {
    /* Written by the device. */
    uint64_t reached; /* host waits reached so far; stored last */
    uint64_t number;  /* number of the last one; changes at any time once all are released */
    uint64_t pad[14];
    /* Written by the host. */
    uint64_t passed; /* host waits released so far */
    uint32_t broken; /* 1: all are released, present and future */
} lanes_host_wait_t;

/* Runs in the only thread of a host wait. The device sees behind it what the host wrote before the
 * release. */
static WEFT_DEVICE void lanes_host_wait_run(lanes_host_wait_t *wait, uint64_t number)
{
    const uint64_t turn = wait->reached + 1;
    device_note64(&wait->number, number);
    device_publish_fence();
    device_publish64(&wait->reached, turn);
    for (uint32_t round = 0; device_acquire64(&wait->passed) < turn; round++) {
        if (device_look32(&wait->broken) != 0) {
            return;
        }
        device_pause(round);
    }
}

#endif
