/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of a thread's waits from outside: a descriptor that the caller of a join gave. Nothing is
 * read from it. Once it has ended a wait it is forgotten, so that what is undone then may wait. */
#ifndef WEFT_OS_CANCEL_H
#define WEFT_OS_CANCEL_H

#include <weft/types.h>

/* From now on weft_os_poll() in this thread returns −1 with the record ERR_ABORTED once `fd` is
 * readable or closed at its other end; 0 or less: no descriptor any more. A look, until 0, is no
 * wait: it does not take the end of one. */
void weft_os_cancel_by(int fd);
/* The descriptor of this thread; −1: none. */
int weft_os_cancel_fd(void);
/* For waits that have no descriptor. OK; ERR_ABORTED; ERR_ARG: it is no open descriptor. Does not
 * block. */
weft_status_t weft_os_cancelled(void);

#endif
