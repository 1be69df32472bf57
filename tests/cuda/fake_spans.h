/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spans of addresses, each of somebody. A kernel's launch asks for each word that it is given, of a
 * runtime that knows thousands of them: they are in order of where they begin. Spans may
 * overlap. */
#ifndef TESTS_CUDA_FAKE_SPANS_H
#define TESTS_CUDA_FAKE_SPANS_H

#include <stddef.h>
#include <stdint.h>

typedef struct fake_span {
    uintptr_t begin, end;
    uintptr_t reach; /* the largest end up to this one */
    void *of;
} fake_span_t;

typedef struct fake_spans {
    fake_span_t *span;
    size_t count, room;
} fake_spans_t;

void fake_spans_add(fake_spans_t *spans, uintptr_t begin, size_t bytes, void *of);
/* Takes out the one that begins there and is of `of`, which is in it. */
void fake_spans_take_out(fake_spans_t *spans, uintptr_t begin, const void *of);
/* Whose span has a byte of those from `begin` up to `end`; NULL: none has. */
void *fake_spans_in(const fake_spans_t *spans, uintptr_t begin, uintptr_t end);
/* The first one that begins at `begin` or later; `count`: none does. */
size_t fake_spans_from(const fake_spans_t *spans, uintptr_t begin);

#endif
