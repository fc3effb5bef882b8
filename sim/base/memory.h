/*
 * memory.h - how much memory this process may plan to use.
 *
 * Work that would take more is refused before it begins, with an estimate: the alternative is a
 * machine that swaps, or a process that the kernel kills. The limit is of the process, not of a
 * scenario: it says nothing about what is simulated.
 */
#pragma once

#include "sim/base/ground.h"

/* Bytes of this machine, or of the control group that the process is in where that has less. */
double orr_memory_of_machine(void);

/* Bytes that may be used: what was set, or else ORR_MEMORY_SHARE of the machine's. */
double orr_memory_limit(void);
/* For the rest of the process and its children; 0: the default again. */
void orr_memory_set_limit(double bytes);

/* The default, as Linux's tmpfs has it, which likewise must leave room for everything else ("the
 * default is half of your physical RAM without swap", Documentation/filesystems/tmpfs.rst,
 * 2026-11). */
#define ORR_MEMORY_SHARE 0.5
