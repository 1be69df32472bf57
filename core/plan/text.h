/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Texts of many plans, for plugins: the service of weft/plugin/host.h on top of the parser. */
#ifndef WEFT_PLAN_TEXT_H
#define WEFT_PLAN_TEXT_H

#include <weft/plugin/host.h>

const weft_plan_text_service_t *weft_plan_text_service(void);

#endif
