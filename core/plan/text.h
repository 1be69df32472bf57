/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host service that reads texts of many plans for plugins (weft_plan_text_service_t in
 * weft/plugin/host.h), on top of the parser. */
#ifndef WEFT_PLAN_TEXT_H
#define WEFT_PLAN_TEXT_H

#include <weft/plugin/host.h>

const weft_plan_text_service_t *weft_plan_text_service(void);

#endif
