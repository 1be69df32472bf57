/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The files that `weft new` writes, as text. The build makes them from tools/new and examples. */
#ifndef WEFT_TOOLS_NEW_TEMPLATES_H
#define WEFT_TOOLS_NEW_TEMPLATES_H

extern const char new_text_cmake[], new_text_readme[];
extern const char new_text_net[], new_text_algo[], new_text_kernel[], new_text_tuner[];

#endif
