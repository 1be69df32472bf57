/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads text files of the topology line by line and word by word: words are separated by blanks, a
 * word may be "quoted", # begins a comment. Every error names file, line, and what was expected. */
#ifndef WEFT_TOPO_TEXT_LINE_H
#define WEFT_TOPO_TEXT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/types.h>

#define WEFT_TEXT_BYTES_MAX (1u << 20)
#define WEFT_TEXT_WORD_MAX 256u

typedef struct weft_text_line {
    const char *file; /* as errors name it */
    const char *at;
    uint32_t line;
    char word[WEFT_TEXT_WORD_MAX]; /* the last one read; of KEY=VALUE the value */
    char key[32];                  /* of KEY=VALUE, else empty */
    weft_status_t status;          /* of the first error */
} weft_text_line_t;

/* Reads a whole file of at most WEFT_TEXT_BYTES_MAX; weft_os_free() frees the text. */
weft_status_t weft_text_read(const char *path, char **text_p);

/* Before the first line of `text`. */
void weft_text_begin(weft_text_line_t *line, const char *file, const char *text);
/* Goes to the next line that has a word and reads it; false: there is none, or an error. */
bool weft_text_next_line(weft_text_line_t *line);
/* Reads the next word of the line; false: there is none, or an error. */
bool weft_text_next_word(weft_text_line_t *line);

/* Reads the first line, "NAME 1"; anything else is an error. */
void weft_text_take_head(weft_text_line_t *line, const char *name);
/* True if the last word read is this one, without a key. */
bool weft_text_is(const weft_text_line_t *line, const char *word);

/* Records "FILE:LINE: …", unless there was an error before. */
void weft_text_refuse(weft_text_line_t *line, const char *format, ...) WEFT_PRINTF(2, 3);

/* Value of the word, or an error that names `what`. */
uint32_t weft_text_count(weft_text_line_t *line, const char *what, uint32_t most);
/* "25GB/s", "200Gb/s", "500MB/s", in bytes per second; above 0. */
double weft_text_bandwidth(weft_text_line_t *line, const char *what);
/* "512GiB", "64MiB", "4096". */
uint64_t weft_text_bytes(weft_text_line_t *line, const char *what);

/* Writes a bandwidth that reads back as the same. */
void weft_text_put_bandwidth(double value, char *text, size_t bytes);

#endif
