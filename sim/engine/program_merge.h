/*
 * program_merge.h - several programs as one: jobs that run at the same time and have nothing in
 * common but links.
 */
#ifndef ORR_PROGRAM_MERGE_H
#define ORR_PROGRAM_MERGE_H

#include "sim/engine/executor.h"

G_BEGIN_DECLS

typedef struct {
  const char *name; /* before its lanes' names: "NAME: stage 0, replica 0"; NULL: nothing */
  const OrrProgram *program; /* sealed or not */
  /* of each of its links the number of the thing it stands for: equal numbers, one link */
  const guint32 *links;
  double start_s;     /* no op of its lanes' first streams runs before */
  guint32 *ret_links; /* gets the merged program's number of each of its links; NULL: not asked */
} OrrProgramPart;

/* A new program, not sealed, with the parts side by side. @ret_offsets has room for @n.
 * Bandwidths of a link that several parts know are equal (they are of one fabric); the first
 * part's counts. Links are numbered in the order in which the parts name them first. Faults,
 * slow lanes and lost ones come along, on time since the start; other ways (orr_program_epoch)
 * do not: they are the merged program's. The wait for a start has a label of its own, one of the
 * merged program's last (category "idle"). */
OrrProgram *orr_program_merge(const OrrProgramPart *parts, guint n, OrrProgramOffset *ret_offsets);

/* A span of the merged program in the numbers of the part at @offset. Times stay as they are. A
 * label that is not the part's own comes out beyond its labels: that span is its wait for its
 * start. */
OrrSpan orr_program_part_span(const OrrSpan *span, const OrrProgramOffset *offset);

G_END_DECLS

#endif
