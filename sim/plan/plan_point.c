/*
 * plan_point.c - the best points of a plan's sweep, simulated again one by one.
 */
#include "sim/base/settings.h"
#include "sim/plan/plan.h"

OrrNode *orr_plan_point(OrrLibrary *library, const char *file, char **settings, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_scenario_tree(library, file, diags);
  if (!tree) {
    orr_diags_check(diags, error);
    return NULL;
  }
  orr_node_remove(tree, "sweep");
  return orr_settings_apply(&orr_scenario_table, tree, settings, error) ? g_steal_pointer(&tree)
                                                                        : NULL;
}

static OrrNode *tree_of(guint index, void *points, GError **error) {
  return orr_node_copy(((const GPtrArray *)points)->pdata[index]);
}

OrrStudyAnswer *orr_plan_try(OrrLibrary *library, const GPtrArray *points, guint jobs) {
  const OrrStudy study = {
      .library = library, .n = points->len, .jobs = jobs, .tree = tree_of, .user = (void *)points};
  return orr_study_run(&study);
}

typedef struct {
  const GPtrArray *points;
  const OrrPlanPatience *watch;
  gint64 end_us;
} Watched;

static OrrNode *watched_tree(guint index, void *user, GError **error) {
  return tree_of(index, (void *)((const Watched *)user)->points, error);
}

static void watched_progress(guint n_done, void *user) {
  const Watched *watched = user;
  if (watched->watch->progress)
    watched->watch->progress(n_done, watched->points->len, watched->watch->user);
}

static gboolean watched_stop(void *user) {
  const Watched *watched = user;
  return g_get_monotonic_time() >= watched->end_us ||
         (watched->watch->stop && watched->watch->stop(watched->watch->user));
}

OrrStudyAnswer *orr_plan_try_brief(OrrLibrary *library, const OrrRunWorld *world,
                                   const GPtrArray *points, const OrrPlanPatience *watch) {
  Watched watched = {points, watch,
                     g_get_monotonic_time() + (gint64)(watch->most_s * G_USEC_PER_SEC)};
  const OrrStudy study = {.library = library,
                          .n = points->len,
                          .tree = watched_tree,
                          .world = world,
                          .is_brief = TRUE,
                          .progress = watched_progress,
                          .stop = watched_stop,
                          .user = &watched};
  return orr_study_run(&study);
}

OrrStudyAnswer *orr_plan_simulate(OrrLibrary *library, const GPtrArray *points, guint jobs,
                                  GError **error) {
  OrrStudyAnswer *answers = orr_plan_try(library, points, jobs);
  for (guint i = 0; i < points->len; i++) {
    if (!answers[i].error) continue;
    orr_fault_set(error, ORR_FAULT_STUCK, "point %u of the best failed: %s", i + 1,
                  answers[i].error->message);
    orr_study_free(answers, points->len);
    return NULL;
  }
  return answers;
}

char *orr_plan_why(const OrrStudyAnswer *best, const OrrStudyAnswer *other) {
  const double best_s = best->result.training.iteration_time_s,
               other_s = other->result.training.iteration_time_s;
  const double slower = other_s / best_s - 1;
  GString *text = g_string_new(NULL);
  g_string_append_printf(text, "%.1f %% slower", 100 * slower);
  double below = INFINITY;
  for (int n = 0; n < 2; n++) {
    int most = -1;
    double grown = 0.05 * fabs(other_s - best_s);
    for (int k = 0; k < ORR_N_TIMES; k++) {
      const double more = other->seconds[k] - best->seconds[k];
      if (more > grown && more < below) {
        most = k;
        grown = more;
      }
    }
    if (most < 0) break;
    below = grown;
    g_autofree char *seconds = orr_quantity_format(grown, ORR_UNIT_SECONDS);
    g_string_append_printf(text, "%s%s +%s", n ? ", " : ": ", orr_time_words[most], seconds);
  }
  return g_string_free(text, FALSE);
}

gboolean orr_plan_count(const char *option, const char *text, double *ret_count, GError **error) {
  static const char suffixes[] = "kmbgt";
  static const double factors[] = {1e3, 1e6, 1e9, 1e9, 1e12};
  char *end;
  double count = g_ascii_strtod(text, &end);
  const char *suffix = *end ? strchr(suffixes, g_ascii_tolower(*end)) : NULL;
  if (suffix) {
    count *= factors[suffix - suffixes];
    end++;
  }
  if (end > text && !*end && isfinite(count) && count >= 1) {
    *ret_count = count;
    return TRUE;
  }
  return orr_fault_set(error, ORR_FAULT_USAGE,
                       "%s is '%s': a count of 1 or more is allowed, such as 4194304, 4M or 2T",
                       option, text);
}
