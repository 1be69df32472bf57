/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files that are written whole or not at all. */
#ifndef WEFT_TOOLS_WHOLE_FILE_H
#define WEFT_TOOLS_WHOLE_FILE_H

#include <stdio.h>

#include "weft/weft.h"

typedef struct whole_file {
    FILE *out;
    const char *path;
    char *place;  /* of the file itself, where `path` is a link to it, or NULL: written in place */
    char *beside; /* what is written, and takes that place */
} whole_file_t;

/* Opens a file that takes the place of `path` when it is closed: what is there stays until then.
 * What is no plain file, such as a device, is written in place, and so is a file in a folder where
 * no other can be made; "-" is standard output. ERR_SYSTEM: it cannot be written. */
weft_status_t whole_file_open(whole_file_t *file, const char *path);

/* Closes it. ERR_SYSTEM: something of it is lost, and what was there before is still there unless
 * it was written in place. */
weft_status_t whole_file_close(whole_file_t *file);

/* Closes it, and what was there before stays unless it was written in place. */
void whole_file_drop(whole_file_t *file);

#endif
