/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The connections of this process over TCP. */
#ifndef WEFT_TEST_CONNECTIONS_H
#define WEFT_TEST_CONNECTIONS_H

/* Returns how many there are, and in *kept_p those over which the system sends something while
 * nobody else does. */
long connections_count(long *kept_p);

#endif
