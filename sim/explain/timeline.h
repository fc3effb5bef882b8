/*
 * timeline.h - what GPUs did when: kernels and copies, measured or simulated, and the steps.
 *
 * Times are seconds from some origin of the time line's own. An event takes 24 bytes, and names are
 * kept once, so that a trace of gigabytes fits.
 */
#ifndef ORR_TIMELINE_H
#define ORR_TIMELINE_H

#include "sim/explain/kernel_family.h"

G_BEGIN_DECLS

typedef struct {
  char *text; /* the kernel's */
  const OrrKernelFamily *family;
  const char *purpose; /* of communication: "tp", "dp", ...; interned; NULL: not known */
  double bytes;        /* of communication: the larger of its two buffers; 0: not known */
} OrrTimelineName;

typedef struct {
  double begin_s, end_s;
  guint32 name; /* of OrrTimeline.names */
  gint16 device, stream;
} OrrTimelineEvent;

typedef struct {
  char *name;
  double begin_s, end_s;
} OrrTimelineStep;

typedef struct {
  GArray *events; /* of OrrTimelineEvent, by begin once orr_timeline_sort was called */
  GArray *names;  /* of OrrTimelineName */
  GArray *steps;  /* of OrrTimelineStep, by begin */
  GHashTable *known;
  gsize name_bytes;
} OrrTimeline;

OrrTimeline *orr_timeline_new(void);
void orr_timeline_free(OrrTimeline *timeline); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrTimeline, orr_timeline_free)

/* The index of a name, which is added where it is new. @purpose may be NULL. */
guint32 orr_timeline_name(OrrTimeline *timeline, const char *text, const char *purpose,
                          double bytes);
void orr_timeline_add(OrrTimeline *timeline, guint32 name, gint64 device, gint64 stream,
                      double begin_s, double end_s);
void orr_timeline_add_step(OrrTimeline *timeline, const char *name, double begin_s, double end_s);
void orr_timeline_sort(OrrTimeline *timeline);

/* The lowest device that has kernels; 0 where there are none. */
gint64 orr_timeline_device(const OrrTimeline *timeline);
guint orr_timeline_n_devices(const OrrTimeline *timeline);

/* Steps from what repeats, where the time line has none: a kernel of @device that is launched at
 * even distances, as rarely as possible, begins each step. FALSE: nothing does. */
gboolean orr_timeline_find_steps(OrrTimeline *timeline, gint64 device);

/* The median of the steps by length (the lower one of two) that @device was busy in; the whole time
 * line where there are no steps. Borrows its name. */
OrrTimelineStep orr_timeline_median(const OrrTimeline *timeline, gint64 device);

G_END_DECLS

#endif
