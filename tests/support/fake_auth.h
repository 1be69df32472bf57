/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The authentication service of the fake host: same message sizes and failures as the real one, a
 * simple keyed hash inside. The key is fake_host_t.key. */
#ifndef WEFT_TESTS_FAKE_AUTH_H
#define WEFT_TESTS_FAKE_AUTH_H

#include <weft/plugin/host.h>

extern const weft_auth_service_t fake_auth_service;

#endif
