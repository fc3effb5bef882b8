/*
 * progress.h - a progress line on stderr: printed only on a terminal, and only when the work takes
 * longer than one second.
 */
#ifndef ORR_PROGRESS_H
#define ORR_PROGRESS_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct OrrProgress OrrProgress;

/* @what: the line's first word, "simulating". With @ticking a thread updates the elapsed seconds
 * while the caller cannot. */
OrrProgress *orr_progress_new(const char *what, gboolean ticking);
void orr_progress_update(OrrProgress *progress, guint done, guint total);
void orr_progress_free(OrrProgress *progress); /* erases the line */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrProgress, orr_progress_free)

G_END_DECLS

#endif
