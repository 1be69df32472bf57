/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The XML of a program, by expat. Elements are algo > gpu > tb > step, ids count from 0 in the
 * order of the file. A document type is refused, and with it every entity that a file could define:
 * what is read is never larger than the file. */
#ifndef WEFT_ALGO_FILE_MSCCL_PARSE_H
#define WEFT_ALGO_FILE_MSCCL_PARSE_H

#include "msccl.h"

/* The parts of msccl_read(). */
weft_status_t msccl_parse(msccl_program_t *program, const char *text, size_t bytes);

#endif
