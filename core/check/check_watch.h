/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The watch of core.check: a thread that looks whether calls of plugins return. */
#ifndef WEFT_CHECK_CHECK_WATCH_H
#define WEFT_CHECK_CHECK_WATCH_H

/* Starts the watch, or counts one more user. A call that lasts longer than `patience` seconds (of
 * the first user; 0: never) ends the process by abort(): the thread in it cannot be called back. */
void weft_check_watch_start(double patience);
/* Ends it with its last user, and waits for the thread: 50 ms at most. Another user may start it
 * again meanwhile. */
void weft_check_watch_stop(void);

#endif
