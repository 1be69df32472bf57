/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flight records that are read while their rank writes. It never waits for a reader, so a copy may
 * have half of one thing and half of another. Two more copies, one made before and one after, tell
 * what did not change in between. */
#ifndef WEFT_TOOLS_FLIGHT_SETTLE_H
#define WEFT_TOOLS_FLIGHT_SETTLE_H

#include <stdbool.h>

#include "core/comm/flight_record.h"

/* Leaves in `record` what did not change between the two other copies, and takes out the rest:
 * places that were given to another operation, run of calls, or communicator meanwhile. Counters
 * and states are those of `before`. Returns false if a name changed, so that it may be mixed: read
 * again. */
bool flight_settle(const weft_flight_record_t *before, weft_flight_record_t *record,
                   const weft_flight_record_t *after);

#endif
