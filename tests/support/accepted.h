/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The other end of a connection to a listener of core/os. */
#ifndef WEFT_TESTS_SUPPORT_ACCEPTED_H
#define WEFT_TESTS_SUPPORT_ACCEPTED_H

#include <stddef.h>
#include <sys/socket.h>

/* Takes a connection that waits. Returns its descriptor, which does not block; −1: none waits. */
static inline int accepted(int listener)
{
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

#endif
