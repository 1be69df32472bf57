/* SPDX-License-Identifier: BSD-3-Clause
 *
 * algo-file with files made by a test, and its verdict on what they hold. */
#ifndef TESTS_SUPPORT_PLAN_FILES_H
#define TESTS_SUPPORT_PLAN_FILES_H

#include "tests/support/plan_fixture.h"

#define PLAN_FILES_EXAMPLES WEFT_SOURCE_DIR "/examples/plans/"

/* The bytes of a file, ended by a zero byte; free() them. */
char *plan_files_read(const char *path, size_t *count_p);

/* Creates algo-file with `files`; a test for XML skips where there is no expat. */
weft_status_t plan_files_open(plan_fixture_t *fixture, const char *files);
/* The same with one file of this text; the error's text is in weft_error_record(). */
weft_status_t plan_files_open_text(plan_fixture_t *fixture, const char *text);

/* Whether a shape is served, and the verifier's report on it (which must be possible). */
int plan_files_serve(const plan_fixture_t *fixture, weft_coll_t coll, uint32_t nranks,
                     uint32_t root);
weft_verify_report_t plan_files_verify(const plan_fixture_t *fixture, weft_coll_t coll,
                                       uint32_t nranks, uint32_t root, uint32_t slots,
                                       uint32_t slices, int in_place);

/* Fails unless create() fails with a text that contains `words`. */
void plan_files_refused(const char *text, const char *words);

#endif
