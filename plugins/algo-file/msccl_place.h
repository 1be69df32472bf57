/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the chunks of a program's buffers lie. A program for in-place calls has one memory for
 * input and output; in a plan, IN can only be read. So a chunk is read from IN until it is written
 * for the first time, and what is written goes to OUT, or to TMP where the chunk is no output: its
 * shadow. */
#ifndef WEFT_ALGO_FILE_MSCCL_PLACE_H
#define WEFT_ALGO_FILE_MSCCL_PLACE_H

#include "msccl.h"

/* Memory of a gpu. A place is the number of a cell of the gpu. */
uint32_t msccl_place(const msccl_program_t *program, uint32_t gpu, uint32_t buffer,
                     uint32_t offset);
uint32_t msccl_places(const msccl_program_t *program, uint32_t gpu);
/* The chunk of IN or OUT that a place is, or NONE. */
uint32_t msccl_in_chunk(const msccl_program_t *program, uint32_t gpu, uint32_t place);
uint32_t msccl_out_chunk(const msccl_program_t *program, uint32_t gpu, uint32_t place);
uint32_t msccl_tmp_chunk(const msccl_program_t *program, uint32_t place);
/* The place of a chunk of OUT. */
uint32_t msccl_out_place(const msccl_program_t *program, uint32_t gpu, uint32_t chunk);
/* TMP chunks of its plan, but for those of dummies. */
uint32_t msccl_tmp_chunks(const msccl_program_t *program, uint32_t gpu);

#endif
