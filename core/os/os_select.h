/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OS seam: waiting for descriptors where poll(2) does not take them. */
#ifndef WEFT_OS_SELECT_H
#define WEFT_OS_SELECT_H

#include <poll.h>
#include <stdint.h>
#include <time.h>

/* As ppoll(2) without a mask, for events of POLLIN and POLLOUT, by select(2): that asks which
 * descriptors are open, not how many RLIMIT_NOFILE allows. An end or an error of a descriptor makes
 * the events ready that were asked for. Returns −1 with errno. */
int weft_os_select(struct pollfd *entries, uint32_t count, const struct timespec *left);

#endif
