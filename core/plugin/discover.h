/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The machine of this host: from a file of the configuration, else from the first topo plugin that
 * knows it, else from /sys. */
#ifndef WEFT_PLUGIN_DISCOVER_H
#define WEFT_PLUGIN_DISCOVER_H

#include <weft/plugin/topo.h>

#include "core/plugin/registry.h"
#include "core/topo/machine.h"

/* Fills the machine, with rails as the configuration has them. Free it with weft_machine_fini().
 * Reads files and asks drivers, some milliseconds to a tenth of a second. ERR_CONFIG: an option or
 * a file is wrong; ERR_PLUGIN: a topo plugin described what cannot be; or any error of a plugin. On
 * failure nothing is left. */
weft_status_t weft_discover(const weft_registry_t *registry, const weft_config_t *config,
                            const weft_settings_t *settings, weft_machine_t *machine);

/* The same of one instance of a topo plugin, without the configuration. ERR_UNSUPPORTED: it knows
 * nothing. */
weft_status_t weft_discover_by(const weft_topo_ops_t *ops, weft_topo_t *topo, const char *plugin,
                               weft_machine_t *machine);

#endif
