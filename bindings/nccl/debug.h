/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is printed, and what `weft nccl-run` is told. */
#ifndef BINDINGS_NCCL_DEBUG_H
#define BINDINGS_NCCL_DEBUG_H

/* Prints a warning on stderr if NCCL_DEBUG asks for warnings. */
void nccl_debug_warn(const char *text);
/* If NCCL_DEBUG asks for the version, and once in a process: prints which library this is. */
void nccl_debug_hello(void);
/* If NCCL_COMM_ID is set, and once in a process: warns that it has no effect. */
void nccl_debug_comm_id(void);
/* Tells `weft nccl-run`, once, that the library was called. */
void nccl_debug_used(void);
/* Names a refused call in the file that `weft nccl-run` reads at the end, if there is one. */
void nccl_debug_refused(const char *call);

#endif
