/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Images of a program: the shared object is loaded several times, so that each process has
 * variables of its own. A process begins with the variables as they were when the image was
 * loaded. */
#ifndef WEFT_SIMULATION_IMAGE_H
#define WEFT_SIMULATION_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IMAGE_PARTS = 4 };

typedef struct image_part {
    uint8_t *begin;
    size_t bytes;
    uint8_t *fresh; /* what it held when the image was loaded */
} image_part_t;

typedef struct image {
    void *handle;
    uintptr_t base, end;
    image_part_t parts[IMAGE_PARTS]; /* that can be written */
    uint32_t nparts;
    uint8_t *tls; /* variables of the thread that ran last */
    void *tls_of; /* where they are kept while another one runs */
    size_t tls_bytes, tls_filled;
    const uint8_t *tls_fresh;
    bool used; /* by a process that lives */
    uint32_t number;
} image_t;

/* Loads one more image of the file. Ends the program if that fails. */
image_t *image_load(const char *file);
void *image_symbol(const image_t *image, const char *name);
/* Puts the variables back. */
void image_reset(image_t *image);
/* Makes a thread's variables, as they begin; and has the image's code see them from now on. */
void *image_make_tls(const image_t *image);
void image_use_tls(image_t *image, void *tls);
void image_free_tls(image_t *image, void *tls);

#endif
