/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Status codes of the user API and the plugin ABI. Zero is success. Positive values mean "not yet"
 * and are not failures. Negative values are failures. The list below generates the enum,
 * weft_status_name() and weft_status_text(). Values never change; new ones are appended. */
#ifndef WEFT_STATUS_H
#define WEFT_STATUS_H

/* X(value, NAME, text): the constant is WEFT_<NAME>. */
#define WEFT_STATUS_MAP(X)                                                                         \
    X(0, OK, "success")                                                                            \
    X(1, IN_PROGRESS, "started and not finished yet")                                              \
    X(2, AGAIN, "no resources now, try again after some progress")                                 \
    X(-1, ERR_ARG, "invalid argument")                                                             \
    X(-2, ERR_STATE, "call not allowed in this state")                                             \
    X(-3, ERR_CONFIG, "bad configuration")                                                         \
    X(-4, ERR_PLUGIN, "plugin cannot be used")                                                     \
    X(-5, ERR_MISMATCH, "ranks disagree about the call")                                           \
    X(-6, ERR_PEER_DEAD, "a rank died")                                                            \
    X(-7, ERR_PEER_UNRESPONSIVE, "a rank no longer answers")                                       \
    X(-8, ERR_PEER_LEFT, "a rank left the communicator")                                           \
    X(-9, ERR_LINK, "connection lost")                                                             \
    X(-10, ERR_TIMEOUT, "deadline passed")                                                         \
    X(-11, ERR_ABORTED, "communicator aborted")                                                    \
    X(-12, ERR_AUTH, "authentication failed")                                                      \
    X(-13, ERR_PROTO, "malformed or unexpected message")                                           \
    X(-14, ERR_RESOURCE, "out of memory, descriptors or another limit")                            \
    X(-15, ERR_SYSTEM, "system call failed")                                                       \
    X(-16, ERR_INTERNAL, "internal error of weft, please report it")                               \
    X(-17, ERR_UNSUPPORTED, "not supported")                                                       \
    X(-18, ERR_PLAN, "plan refused by the verifier")                                               \
    X(-19, ERR_REVOKED, "communicator revoked")

typedef enum weft_status {
#define WEFT_STATUS_ENUM(value, name, text) WEFT_##name = (value),
    WEFT_STATUS_MAP(WEFT_STATUS_ENUM)
#undef WEFT_STATUS_ENUM
} weft_status_t;

#endif
