/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names for ld's --wrap=NAME: calls of NAME go to the function that is WEFT_TEST_WRAP(NAME), and
 * the function that is WEFT_TEST_REAL(NAME) is the one that they went to. */
#ifndef WEFT_TESTS_WRAP_H
#define WEFT_TESTS_WRAP_H

#define WEFT_TEST_WRAP(name) __asm__("__wrap_" #name)
#define WEFT_TEST_REAL(name) __asm__("__real_" #name)

#endif
