/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The environment as a launcher would leave it. */
#ifndef WEFT_TESTS_SUPPORT_LAUNCHER_ENVIRONMENT_H
#define WEFT_TESTS_SUPPORT_LAUNCHER_ENVIRONMENT_H

/* Clears the variables of all launchers, then sets "NAME=value" strings up to NULL. */
void launcher_environment(const char *first, ...);

#endif
