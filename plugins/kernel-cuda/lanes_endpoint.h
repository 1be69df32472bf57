/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Endpoints: the ends of FIFOs that runs use. */
#ifndef KERNEL_CUDA_LANES_ENDPOINT_H
#define KERNEL_CUDA_LANES_ENDPOINT_H

#include <weft/plugin/draft/lanes.h>

weft_status_t lanes_endpoint_open(weft_kernel_t *kernel, const weft_lanes_port_t *port,
                                  weft_lanes_endpoint_t **end_p);
void lanes_endpoint_close(weft_lanes_endpoint_t *end);
uint64_t lanes_endpoint_next(const weft_lanes_endpoint_t *end);
void lanes_endpoint_seek(weft_lanes_endpoint_t *end, uint64_t next);
weft_status_t lanes_endpoint_windows(weft_lanes_endpoint_t *end,
                                     const weft_lanes_window_t *windows);

#endif
