/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Questions over the health channel that are about no collective. Their signature has `coll`
 * WEFT_SEND_RECV, and `op` says what is asked. */
#ifndef WEFT_COMM_QUESTION_H
#define WEFT_COMM_QUESTION_H

#include "core/base/signature.h"

#define WEFT_ASKS_STRIPES 0u    /* do you cut this message as I do? See stripes_compare.c */
#define WEFT_ASKS_TO_LISTEN 1u  /* will you receive puts? */
#define WEFT_ASKS_TO_ANSWER 2u  /* do you live? `sequence` is the number of the question */
#define WEFT_ASKS_TO_CONNECT 3u /* will you make link `root`? See wanted_links.h */

static inline bool weft_question_asks(const weft_signature_t *signature, uint32_t what)
{
    return signature->coll == WEFT_SEND_RECV && signature->op == what;
}

#endif
