/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A check that a drawing is well-formed XML: elements nest, attributes are quoted, every & begins
 * an entity. */
#ifndef TESTS_SUPPORT_XML_CHECK_H
#define TESTS_SUPPORT_XML_CHECK_H

#include <stddef.h>

/* NULL, or where the first mistake is. */
const char *xml_check(const char *text);
/* Elements of that name. */
size_t xml_count(const char *text, const char *name);

#endif
