/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of verdicts. */
#include "core/plan/verdict.h"

const char *weft_verdict_name(weft_verdict_t verdict)
{
    static const char *const names[] = {
        [WEFT_VERDICT_OK] = "ok",
        [WEFT_VERDICT_MALFORMED] = "malformed",
        [WEFT_VERDICT_UNMATCHED] = "unmatched",
        [WEFT_VERDICT_DEADLOCK] = "deadlock",
        [WEFT_VERDICT_WRONG] = "wrong result",
        [WEFT_VERDICT_UNWRITTEN] = "unwritten read",
        [WEFT_VERDICT_RACE] = "race",
        [WEFT_VERDICT_TOO_BIG] = "too big to verify",
    };
    return (unsigned)verdict < sizeof names / sizeof *names ? names[verdict] : "unknown";
}
