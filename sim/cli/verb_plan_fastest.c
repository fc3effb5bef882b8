/*
 * verb_plan_fastest.c - the fastest layout of one model on some GPUs, for plans that try several.
 */
#include <glib/gstdio.h>

#include "sim/base/file.h"
#include "sim/cli/verb_plan.h"

gboolean orr_verb_plan_sweeps_begin(OrrPlanSweeps *sweeps, OrrLibrary *library, GError **error) {
  sweeps->folder = g_dir_make_tmp("orrery-plan-XXXXXX", error);
  if (!sweeps->folder) return FALSE;
  sweeps->library = library;
  sweeps->file = g_build_filename(sweeps->folder, "plan.yaml", NULL);
  sweeps->caveats = orr_caveats_new(library);
  return TRUE;
}

void orr_verb_plan_sweeps_end(OrrPlanSweeps *sweeps) {
  g_unlink(sweeps->file);
  g_rmdir(sweeps->folder);
  ORR_FREE(sweeps->file, sweeps->folder);
  orr_caveats_free(sweeps->caveats);
}

/* Why no point of the sweep is an answer: "no layout fits" is a statement about memory, so points
 * that ended in another way are counted. Newly allocated. */
static char *why_none(const OrrSweepReport *report) {
  const guint64 *by = report->by_status;
  GString *text = g_string_new("no layout fits");
  if (report->n_done == by[ORR_POINT_UNFIT]) return g_string_free(text, FALSE);
  g_string_assign(text, "no layout can run:");
  for (guint i = 0; i < ORR_N_POINT_STATUSES; i++)
    if (by[i])
      g_string_append_printf(text, " %" G_GUINT64_FORMAT " %s;", by[i], orr_point_words[i]);
  if (report->refused->len)
    g_string_append_printf(text, " most: %s",
                           g_array_index(report->refused, OrrSweepExclusion, 0).reason);
  return g_string_free(text, FALSE);
}

static void take_best(const OrrSweepReport *report, OrrPlanFastest *ret_fastest) {
  const OrrSweepBest *best = &g_array_index(report->best, OrrSweepBest, 0);
  const OrrBand *band = best->bands ? &best->bands->of[0] : NULL;
  ret_fastest->tokens_per_s = best->score[0];
  if (!band || band->quality == ORR_BAND_NONE) return;
  ret_fastest->low = band->low;
  ret_fastest->high = band->high;
  ret_fastest->middle = band->middle;
  ret_fastest->is_weak = band->quality == ORR_BAND_WEAK;
}

gboolean orr_verb_plan_fastest(const OrrPlanSweeps *sweeps, const OrrPlanTraining *asked,
                               OrrPlanFastest *ret_fastest, GError **error) {
  g_autofree char *text = orr_plan_training_text(sweeps->library, asked, error);
  if (!text || !orr_verb_plan_set(&text, orr_options.settings, sweeps->file, error) ||
      !orr_file_write(sweeps->file, text, -1, error))
    return FALSE;
  g_autoptr(GError) reason = NULL;
  g_autofree char *none = NULL;
  g_autoptr(OrrSweepReport) report =
      orr_verb_plan_sweep(sweeps->library, sweeps->file, orr_options_database(), &none, &reason);
  if (!report && !none) {
    g_propagate_error(error, g_steal_pointer(&reason));
    return FALSE;
  }
  for (guint i = 0; report && i < report->caveats->len; i++)
    orr_caveats_add_text(sweeps->caveats, report->caveats->pdata[i]);
  g_autofree char *note = orr_plan_training_batch_note(asked, text, orr_options.settings);
  if (note && report && report->best->len > 0) orr_caveats_add_text(sweeps->caveats, note);
  ret_fastest->why = report ? why_none(report) : g_strdup_printf("no layout can run: %s", none);
  if (!report || report->best->len == 0) return TRUE;
  take_best(report, ret_fastest);
  ret_fastest->point = orr_plan_point(sweeps->library, sweeps->file,
                                      g_array_index(report->best, OrrSweepBest, 0).again, error);
  return ret_fastest->point != NULL;
}

void orr_plan_fastest_clear(OrrPlanFastest *fastest) {
  g_clear_pointer(&fastest->why, g_free);
  g_clear_pointer(&fastest->point, orr_node_free);
}
