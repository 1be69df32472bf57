/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plugin behind the checking layer of core.check, with the host services of the core and
 * allocations that can fail: what the cases of algo, kernel and tuner plugins begin with. */
#ifndef WEFT_TESTS_KITS_KIT_INSTANCE_H
#define WEFT_TESTS_KITS_KIT_INSTANCE_H

#include <weft/plugin/algo.h>
#include <weft/plugin/kernel.h>
#include <weft/plugin/tuner.h>

#include "core/check/check.h"
#include "core/plugin/host.h"
#include "kit_frame.h"

/* One use of a plugin in the process of a case; two may live side by side. */
typedef struct kit_instance {
    const kit_run_t *run;
    weft_host_core_t core;
    weft_host_t host;
    weft_check_t *check;
    const void *ops; /* the layer's, of the plugin's kind */
    void *config;
    void *object; /* what create() made */
} kit_instance_t;

/* Ends the case: one line. */
_Noreturn void kit_fail(const char *format, ...) WEFT_PRINTF(1, 2);
/* Ends the case as skipped. */
_Noreturn void kit_skip_case(const char *format, ...) WEFT_PRINTF(1, 2);

/* Makes the layer, the config struct and the object; a failure of create() ends the case. */
void kit_instance_open(kit_instance_t *instance, const kit_run_t *run);
/* Calls destroy() and requires that nothing is left and that no breach was found. */
void kit_instance_close(kit_instance_t *instance);

/* Ends the case if the layer has found a breach so far, or the status is a failure of the plugin
 * that is not allowed. `what` says what was called. */
void kit_require_ok(weft_status_t status, const char *what);
/* The same for calls that the plugin may refuse by ERR_UNSUPPORTED with a reason: true if it did
 * not. */
bool kit_accepted(weft_status_t status, const char *what);

/* Cases that all three kinds have. */
void kit_common_life(const kit_run_t *run);
void kit_common_two(const kit_run_t *run);
void kit_common_memory(const kit_run_t *run);

#endif
