/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See fake_spans.h. */
#include "tests/cuda/fake_spans.h"

#include <stdlib.h>
#include <string.h>

size_t fake_spans_from(const fake_spans_t *spans, uintptr_t begin)
{
    size_t first = 0, after = spans->count;
    while (first < after) {
        const size_t middle = first + (after - first) / 2;
        if (spans->span[middle].begin < begin) {
            first = middle + 1;
        } else {
            after = middle;
        }
    }
    return first;
}

/* From the i-th on, how far they reach. */
static void spans_measure(fake_spans_t *spans, size_t i)
{
    uintptr_t reach = i > 0 ? spans->span[i - 1].reach : 0;
    for (; i < spans->count; i++) {
        reach = spans->span[i].end > reach ? spans->span[i].end : reach;
        spans->span[i].reach = reach;
    }
}

void fake_spans_add(fake_spans_t *spans, uintptr_t begin, size_t bytes, void *of)
{
    const size_t i = fake_spans_from(spans, begin);
    if (spans->count == spans->room) {
        spans->room = 2 * spans->room + 64;
        spans->span = realloc(spans->span, spans->room * sizeof *spans->span);
        if (spans->span == NULL) {
            abort();
        }
    }
    memmove(spans->span + i + 1, spans->span + i, (spans->count - i) * sizeof *spans->span);
    spans->span[i] = (fake_span_t){.begin = begin, .end = begin + bytes, .of = of};
    spans->count++;
    spans_measure(spans, i);
}

void fake_spans_take_out(fake_spans_t *spans, uintptr_t begin, const void *of)
{
    size_t i = fake_spans_from(spans, begin);
    while (spans->span[i].of != of) {
        i++;
    }
    spans->count--;
    memmove(spans->span + i, spans->span + i + 1, (spans->count - i) * sizeof *spans->span);
    spans_measure(spans, i);
}

void *fake_spans_in(const fake_spans_t *spans, uintptr_t begin, uintptr_t end)
{
    for (size_t i = fake_spans_from(spans, end); i > 0 && spans->span[i - 1].reach > begin; i--) {
        if (spans->span[i - 1].end > begin) {
            return spans->span[i - 1].of;
        }
    }
    return NULL;
}
