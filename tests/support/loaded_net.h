/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A loaded net plugin as far as error texts need one. */
#ifndef TESTS_SUPPORT_LOADED_NET_H
#define TESTS_SUPPORT_LOADED_NET_H

#include "core/plugin/loader.h"

static const weft_plugin_t loaded_net_plugin = {.name = "net-test"};
static const weft_loaded_t loaded_net = {.plugin = &loaded_net_plugin,
                                         .path = "/there/net-test.so"};

#endif
