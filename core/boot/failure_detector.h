/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The failure detector. It tells a dead neighbour (the end of its stream or process) from a silent
 * one (option boot.unresponsive), suspects ranks that do not answer where they should be,
 * and declares dead. Whoever is known to have left in order is not suspected. A rank that finds
 * others silent and hears nobody else may be cut off itself: it tells nobody of deaths until it
 * hears somebody.
 *
 * Thread: the health thread's. */
#ifndef WEFT_BOOT_FAILURE_DETECTOR_H
#define WEFT_BOOT_FAILURE_DETECTOR_H

#include "core/boot/boot_state.h"
#include "core/boot/neighbour.h"

/* Sets the clocks by the options of the bootstrap. */
void weft_detector_init(weft_health_t *health);
/* Returns the time. After a gap in this thread's own loop all clocks start anew: the silence was
 * ours. */
uint64_t weft_detector_look(weft_health_t *health);
/* Declares dead who was silent, suspect or awaited for too long. */
void weft_detector_step(weft_health_t *health, uint64_t now);
/* Returns when to step again at the latest; NEVER while nobody is doubtful. */
uint64_t weft_detector_next(const weft_health_t *health);

/* Something came from a neighbour, so this rank is not cut off: what it has kept to itself is told
 * to all neighbours. */
void weft_detector_heard(weft_health_t *health);
/* Gives the neighbour a sign of life, because it asked, or got a new connection. Anything else that
 * it hears from us is as good, but a question: who asks may hear nobody. An idle family sends
 * nothing. */
void weft_detector_beat(weft_health_t *health, weft_neighbour_t *neighbour);

/* The stream of a neighbour has ended, or its process has (`cause` 0): closes it, and declares the
 * rank dead unless it had left, or we are leaving. Or the stream broke (errno `cause`): the tree is
 * repaired, and the rank is looked for (weft_detector_refused). */
void weft_detector_stream_ended(weft_health_t *health, weft_neighbour_t *neighbour, int cause);
/* Nobody listens at the address of `rank`, which is suspect. If its connection broke it is dead
 * when all neighbours have answered a question, and none has said before that it left. */
void weft_detector_refused(weft_health_t *health, uint32_t rank);
/* `rank` does not answer where it should be. It has left, or it is declared dead after a while. */
void weft_detector_suspect(weft_health_t *health, uint32_t rank);
/* Nothing comes back from the address of `rank`, of which nothing was heard since then
 * (WEFT_BREAK_UNREACHABLE), or its kernel alone answers (WEFT_BREAK_STILL): a suspect that is
 * looked for until boot.unresponsive is over. */
void weft_detector_unreachable(weft_health_t *health, uint32_t rank, uint64_t since, uint8_t broke);
/* `rank`, which is above our parent, has knocked: it has lost all between, of which nobody could
 * tell us. Our parent may stand still, and its kernel keep the connection, so it is asked. If it
 * does not answer in half of boot.unresponsive, all between are unreachable here, too. If it does,
 * there are two sides, and we stay on its own: who listens to both would tell each that the other
 * is dead. */
void weft_detector_doubt(weft_health_t *health, uint32_t rank);
/* `rank` is alive after all, unless it was declared dead, which is final. */
void weft_detector_trust(weft_health_t *health, uint32_t rank);
/* Declares `rank` dead with the calling thread's error record, which gets the culprit. */
void weft_detector_declare_dead(weft_health_t *health, uint32_t rank);

#endif
