/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parameters of algorithm plugins. Each is a key in the section of its plugin, like an option;
 * what is written behind an algorithm's name, as in "algo-x:depth=2,mirror=1", counts more. */
#ifndef WEFT_PLUGIN_ALGO_PARAMS_H
#define WEFT_PLUGIN_ALGO_PARAMS_H

#include <weft/plugin/algo.h>

#include "core/config/config.h"

/* Fills the values from the section of the plugin; 0 behind the last. ERR_CONFIG as of options,
 * ERR_RESOURCE. */
weft_status_t weft_algo_params_configure(weft_config_t *config, const char *plugin,
                                         const weft_algo_ops_t *ops,
                                         int64_t params[WEFT_ALGO_PARAMS_MAX]);

/* Takes "X=Y,Z=W" over the values that are there. ERR_CONFIG, with the nearest name or the range,
 * without saying where the text comes from. */
weft_status_t weft_algo_params_take(const char *plugin, const weft_algo_ops_t *ops,
                                    const char *text, int64_t params[WEFT_ALGO_PARAMS_MAX]);

#endif
