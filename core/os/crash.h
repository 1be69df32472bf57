/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who crashed: a handler of deadly signals that writes the plugin and its method in one line, and
 * passes the signal on to whoever handled it before. */
#ifndef WEFT_OS_CRASH_H
#define WEFT_OS_CRASH_H

/* Notes the code of a shared object, so that a crash in it is named even where no note of a call
 * was made. `inside` is an address in it; `name` is copied. Beyond 64 objects nothing is noted. */
void weft_crash_add_object(const char *name, const void *inside);

/* Forgets it, before it is unloaded. */
void weft_crash_remove_object(const void *inside);

/* Installs the handler once per process, for SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP and SIGABRT.
 * The weft command does it always, other programs by core.check: a library should not take the
 * signals of a program unasked. Thread: any. */
void weft_crash_install(void);

#endif
