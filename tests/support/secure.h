/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program with raised privileges: a set-user-id copy of the test. */
#ifndef WEFT_TESTS_SUPPORT_SECURE_H
#define WEFT_TESTS_SUPPORT_SECURE_H

/* Runs the copy with the argument --secure and the variables of `environment`, "NAME=value" with
 * blanks between them. Returns its exit status. Skips the test where there is no such program. */
int secure_run(const char *environment);

/* Ends the copy. */
void secure_exit(int status);

#endif
