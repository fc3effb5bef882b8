/*
 * program_effort.h - how long SimGrid would take to replay a program, predicted before the replay.
 *
 * Each start and each end of a transfer makes the engine solve for the transfers around it. So the
 * time grows with the number of transfers, and with the number of others that each can meet on its
 * links.
 */
#pragma once

#include "sim/engine/program.h"

typedef struct {
  double transfers; /* of the whole replay */
  double meetings;  /* sum over transfers and their links of the others that can be there too */
} OrrProgramEffort;

/* @program is sealed. Linear in joins and in the links of paths. Transfers of live works, which no
 * program lists, are not counted. */
OrrProgramEffort orr_program_effort(const OrrProgram *program);

/* Processor seconds of the replay on SimGrid. */
double orr_program_effort_simgrid_s(const OrrProgram *program);
