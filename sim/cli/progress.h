/*
 * progress.h - a line on stderr that says how far the work is: only on a terminal, and only after a
 * second of it.
 */
#ifndef ORR_PROGRESS_H
#define ORR_PROGRESS_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct OrrProgress OrrProgress;

/* @what: "simulating". With @ticking a thread redraws the seconds while the caller is busy
 * elsewhere. */
OrrProgress *orr_progress_new(const char *what, gboolean ticking);
void orr_progress_update(OrrProgress *progress, guint done, guint total);
void orr_progress_free(OrrProgress *progress); /* erases the line */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrProgress, orr_progress_free)

G_END_DECLS

#endif
