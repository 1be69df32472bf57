/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of collectives, operators and patterns on the command line of `weft perf`. */
#ifndef WEFT_TOOLS_PERF_NAMES_H
#define WEFT_TOOLS_PERF_NAMES_H

#include "tools/perf_job.h"

/* Names (perf_names.c): of weft, and where they differ of nccl-tests ("alltoall"). */
/* The collective that `text` names, WEFT_COLL_COUNT for "all", or −1 and one line on stderr. */
int perf_coll_parse(const char *text);
/* The same from "all_reduce_perf" or a path to it; −1 for other names. */
int perf_coll_of_program(const char *program);
/* Writes "alltoall_perf"; "all_perf" for WEFT_COLL_COUNT. */
void perf_program_name(weft_coll_t coll, char *text, size_t bytes);
/* Operator of a row: "sum", "user", or "none" where nothing is reduced. */
const char *perf_op_text(weft_coll_t coll, weft_op_t op);
/* NAME or NAME:SEED. */
bool perf_pattern_parse(const char *text, perf_pattern_t *pattern);
const char *perf_pattern_name(const perf_pattern_t *pattern);
/* Lists for --help. */
void perf_names_print(FILE *out);

#endif
