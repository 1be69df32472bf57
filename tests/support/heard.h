/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is written on stderr in the meantime, such as log lines. */
#ifndef WEFT_TEST_HEARD_H
#define WEFT_TEST_HEARD_H

/* From now on. One at a time. */
void heard_begin(void);
/* Until now: the text is also passed on, and valid until the next call. */
const char *heard_end(void);
/* How often `words` stand in `text`. */
unsigned heard_count(const char *text, const char *words);

#endif
