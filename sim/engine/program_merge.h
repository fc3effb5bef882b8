/*
 * program_merge.h - merges the programs of several jobs that run at the same time and share only
 * links.
 */
#pragma once

#include "sim/engine/executor.h"

typedef struct {
  const char *name; /* prefix of its lanes' names: "NAME: stage 0, replica 0"; NULL: no prefix */
  const OrrProgram *program; /* sealed or not */
  /* for each of its links an identifier; links with equal identifiers are one */
  const guint32 *links;
  double start_s;     /* its lanes' first streams run no op earlier */
  guint32 *ret_links; /* receives the merged program's number of each of its links; may be NULL */
} OrrProgramPart;

/* A new, unsealed program with all parts. @ret_offsets has room for @n. A link of several parts
 * has the bandwidth of the first part; all agree, since the parts share a fabric. Links are
 * numbered in the order in which the parts first name them. Faults, slow lanes and lost lanes are
 * copied, with dates since the start; epochs (orr_program_epoch) are not: add them to the merged
 * program. The wait for a start has a label of its own (category "idle"), after all labels of the
 * parts. */
OrrProgram *orr_program_merge(const OrrProgramPart *parts, guint n, OrrProgramOffset *ret_offsets);

/* A span of the merged program, with the numbers of the part at @offset and unchanged times. A
 * label beyond the part's labels marks the wait for its start. */
OrrSpan orr_program_part_span(const OrrSpan *span, const OrrProgramOffset *offset);
