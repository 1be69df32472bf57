/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rails of NICs as a site gives them. Which ports reach each other is a fact of the cables, which
 * no host can see. */
#ifndef WEFT_TOPO_RAILS_H
#define WEFT_TOPO_RAILS_H

#include "core/topo/machine.h"

#define WEFT_RAILS_MAX 64u

/* Sets rails by `text`, "mlx5_0:0 mlx5_1:1": a name that the system has for a NIC, or its PCI
 * address, and a number below WEFT_RAILS_MAX. NICs that are not named keep theirs. `origin` says
 * where the text was given. ERR_CONFIG: no such NIC (the error lists those that there are), no such
 * number. */
weft_status_t weft_machine_set_rails(weft_machine_t *machine, const char *text, const char *origin);

#endif
