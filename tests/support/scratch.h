/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A folder of files for one test program. */
#ifndef WEFT_TEST_SCRATCH_H
#define WEFT_TEST_SCRATCH_H

#include <stddef.h>

/* Makes an empty folder that is removed when the program ends; the same one on every call. */
const char *scratch_folder(void);
/* Writes a file below it and returns its path, valid until the next call. */
const char *scratch_write(const char *name, const void *data, size_t bytes);
/* Path below the folder, valid until the next call. */
const char *scratch_path(const char *name);

#endif
