/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The version and the stamp, which cmake/stamp.cmake makes anew when a source has changed. */
#include "core/base/build.h"

#include <weft/weft.h>

#include "core/base/build_stamp.h"

#define STRING2(x) #x
#define STRING(x) STRING2(x)

const char *weft_build(void)
{
    return STRING(WEFT_VERSION_MAJOR) "." STRING(WEFT_VERSION_MINOR) "." STRING(
        WEFT_VERSION_PATCH) "+" WEFT_BUILD_STAMP;
}
