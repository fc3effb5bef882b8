/*
 * dump_hostlist.h - Slurm's host lists: "node[01-03,7],login1", "r[1-2]n[01-16]".
 *
 * Every pair of brackets is a dimension: the last varies fastest. Numbers keep their leading zeros.
 * A list is expanded up to a limit, which the caller sets: [0-999999999] is refused, not expanded.
 *
 * Source: Slurm, src/common/hostlist.c; scontrol show hostnames.
 */
#ifndef ORR_DUMP_HOSTLIST_H
#define ORR_DUMP_HOSTLIST_H

#include <glib.h>

G_BEGIN_DECLS

/* The names in @text (char*, owned). NULL with ORR_FAULT_DOCUMENT: brackets that do not pair, a
 * range that runs backwards or holds no number, more than @max names. */
GPtrArray *orr_dump_hostlist(const char *text, guint max, GError **error);

/* The shortest list of names that expands to them in the same order: "n[0-3],n[6-7]". */
char *orr_dump_hostlist_text(const char *const *names);

G_END_DECLS

#endif
