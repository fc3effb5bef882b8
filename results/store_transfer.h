/*
 * store_transfer.h - copies the rows of runs from one results database to another, for all tables.
 * store_merge.c decides which run becomes which.
 *
 * Rows pass from connection to connection one at a time, so memory does not grow with their number,
 * and one transaction can merge any number of databases (SQLite attaches ten at most).
 */
#ifndef ORR_STORE_TRANSFER_H
#define ORR_STORE_TRANSFER_H

#include "results/store_private.h"

G_BEGIN_DECLS

/* A run there and its number here. */
typedef struct {
  gint64 there, here;
  gboolean is_taken; /* its rows come; else it is here already */
} OrrTransferRun;

typedef struct {
  const OrrStore *store, *source;
  GPtrArray *tables; /* of those there that have rows of runs, by name */
  GHashTable *runs;  /* &there -> OrrTransferRun *, owned */
} OrrTransfer;

/* Makes here what tables and columns are there, with their meanings (metric_def). A batch has
 * begun; both connections outlive @ret_transfer, which is to be cleared where this fails too. */
gboolean orr_transfer_init(OrrTransfer *ret_transfer, const OrrStore *store, const OrrStore *source,
                           GError **error);
void orr_transfer_clear(OrrTransfer *transfer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrTransfer, orr_transfer_clear)

void orr_transfer_note(OrrTransfer *transfer, gint64 there, gint64 here, gboolean is_taken);

/* The number here of a run there; @there where none was noted. */
gint64 orr_transfer_number(const OrrTransfer *transfer, gint64 there);

/* TRUE where the run @here has the rows of the run @there in every table, in their order, apart
 * from runs' numbers and wall times. */
gboolean orr_transfer_is_same(const OrrTransfer *transfer, gint64 there, gint64 here);

/* Copies the rows of every run that is taken; columns that hold runs' numbers are mapped. */
gboolean orr_transfer_rows(const OrrTransfer *transfer, GError **error);

G_END_DECLS

#endif
