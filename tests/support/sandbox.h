/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A sandbox for faults: namespaces of its own for users, mounts and networks, so that a fault hits
 * nobody else and no rights are needed. Hosts in it are network namespaces on two bridges, with a
 * cable between these. */
#ifndef WEFT_TEST_SANDBOX_H
#define WEFT_TEST_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Folders that are empty in a sandbox, each with a file system of its own. */
#define SANDBOX_SHM "/dev/shm"
#define SANDBOX_TMP "/tmp"

/* Enters one. Returns NULL, or why this machine has none. */
const char *sandbox_enter(void);
/* How many files are in the folder. */
uint32_t sandbox_files(const char *folder);
/* Fills the file system of the folder until nothing more fits. */
void sandbox_fill(const char *folder);

/* Makes the network of host `host`, in which process `pid` is: address 10.77.0.(1 + host). Hosts
 * from `border` on are behind the cable. False: it cannot be made. */
bool hosts_connect(uint32_t host, uint32_t border, pid_t pid);
/* Waits until a number in memory that the hosts share is `least` or more. False: it took a
 * minute. */
bool hosts_await(const _Atomic uint32_t *number, uint32_t least);
/* The bridges and the cable between them; before the first host. */
bool hosts_begin(void);
/* Runs a script of the shell in the network of process `pid`. False: it failed. */
__attribute__((format(printf, 2, 3))) bool host_run(pid_t pid, const char *format, ...);
/* The host's cable is pulled, or plugged in again. */
void host_plug(uint32_t host, bool in);
/* Nothing reaches the host any more; what it sends arrives. */
void host_deafen(uint32_t host);
/* Nothing arrives any more that the host sends in whose network process `pid` is. */
void host_mute(pid_t pid);
/* Ends host_deafen() and host_mute(). */
void host_heal(uint32_t host, pid_t pid);
/* The host is put behind the cable, or before it. */
void host_move(uint32_t host, bool behind);
/* The cable between the bridges is pulled, or plugged in again. */
void hosts_divide(bool apart);

#endif
