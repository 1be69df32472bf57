/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A file as bytes. */
#ifndef WEFT_ALGO_FILE_FILE_SOURCE_H
#define WEFT_ALGO_FILE_FILE_SOURCE_H

#include "file.h"

/* Reads a whole file, named by the first `length` bytes of a list. ERR_CONFIG with the path: not
 * readable, no file, empty, too large. */
weft_status_t file_source_open(const weft_host_t *host, const char *path, size_t length,
                               file_source_t **source_p);
void file_source_close(const weft_host_t *host, file_source_t *source);

#endif
