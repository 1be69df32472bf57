/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stepped programs: those whose MOVEs a block may do one after the other, each as a whole
 * (device/device_stepped.h). Plain host code without CUDA. */
#ifndef KERNEL_CUDA_LANES_STEPPED_H
#define KERNEL_CUDA_LANES_STEPPED_H

#include "device/run.h"

/* Writes down the steps of a program, or none if it is not stepped: if it has loops, several lanes,
 * MOVEs of several chunks, or a PAR of which a member both receives and sends, so that sending
 * first could be wrong. */
void lanes_stepped_plan(lanes_stepped_t *stepped, const weft_lanes_program_t *program);

/* Sets where the operands of a run are, whose segmentation is known. The run is not stepped any
 * more if its segmentation is not: if a block has more than one pass, or a chunk more than one
 * slice. */
void lanes_stepped_aim(lanes_run_t *run);

#endif
