/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the user has set, for libraries over weft that choose otherwise where nobody has: such a
 * library asks before it makes a communicator. The rules of weft.h hold here, which does not
 * include it. */
#ifndef WEFT_OPTION_H
#define WEFT_OPTION_H

#include <stddef.h>

#include <weft/weft.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the value that option `key` of section `section` was given, as it stands there, and a
 * final NUL: by options->settings, else by the variable WEFT_<SECTION>_<KEY>, else by the file,
 * which is read anew. "" if nobody gave one; defaults are not written. It does not ask whether
 * there is such an option and whether the value is legal, as making a communicator does. `options`
 * may be NULL. On failure nothing is written.
 * Errors: ERR_ARG (NULL, or the value needs more than `bytes` bytes; 1,001 are always enough),
 * ERR_CONFIG (what it reads cannot be read), ERR_RESOURCE.
 * Blocking: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_option_given(const weft_comm_options_t *options, const char *section,
                                            const char *key, char *value,
                                            size_t bytes) WEFT_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
