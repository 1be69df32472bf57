/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes without the secret that connect to every port of a sandbox. */
#ifndef TESTS_MATRIX_PORT_STRANGERS_H
#define TESTS_MATRIX_PORT_STRANGERS_H

#include <stdbool.h>

/* Connects `rate` times a second, for ever, to every port on which somebody listens in this network
 * namespace, TCP and abstract: silent, slow, rubbish, or gone at once. With `replay` it listens to
 * the loopback first, and says again, byte for byte, what those said who connected to a port
 * before. */
_Noreturn void port_strangers_run(unsigned rate, bool replay);

#endif
