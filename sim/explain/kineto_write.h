/*
 * kineto_write.h - time lines as a trace in Kineto's form, which Perfetto opens too, and which
 * kineto.h reads back.
 */
#ifndef ORR_KINETO_WRITE_H
#define ORR_KINETO_WRITE_H

#include "sim/explain/timeline.h"

G_BEGIN_DECLS

/* One of the time lines that stand one above the other in a file, each from its own time 0. */
typedef struct {
  const OrrTimeline *timeline;
  const char *title;     /* of its process; NULL: the numbers of its devices */
  gint64 device;         /* only this one; -1: all */
  double begin_s, end_s; /* only what runs between these dates; the first becomes 0 */
} OrrKinetoPart;

/* FALSE with ORR_FAULT_RESOURCE: the file cannot be written. */
gboolean orr_kineto_write(const OrrKinetoPart *parts, guint n_parts, const char *path,
                          GError **error);

G_END_DECLS

#endif
