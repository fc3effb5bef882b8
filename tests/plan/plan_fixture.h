/*
 * plan_fixture.h - a question of plan serving whose runs take some ms, its search and its store.
 */
#pragma once

#include <glib/gstdio.h>
#include <string.h>

#include "sim/base/fault.h"
#include "sim/base/yaml.h"
#include "sim/plan/plan_serving.h"
#include "tests/run/shared_library.h"

static char *h100[] = {"dgx-h100-superpod", NULL};
static char *wide[] = {"none", NULL};
static char *bf16[] = {"bf16", NULL};

/* Short prompts and answers, and a tenth of the requests may miss, which 400 of them tell: a run
 * takes some ms. */
static inline OrrPlanServing question(const char *stack) {
  return (OrrPlanServing){.model = "llama-3.1-8b",
                          .stack = stack,
                          .clusters = h100,
                          .formats = wide,
                          .caches = bf16,
                          .gpus = 4,
                          .input_tokens = 600,
                          .output_tokens = 20,
                          .ttft_s = 0.1,
                          .tpot_s = 0.02,
                          .fraction = 0.9,
                          .jobs = 2};
}

static inline GArray *layouts_of(OrrLibrary *library, const OrrPlanServing *asked) {
  g_autoptr(GError) error = NULL;
  GArray *layouts = orr_plan_serving_layouts(library, asked, &error);
  g_assert_no_error(error);
  return layouts;
}

static inline const OrrPlanLayout *at(const GArray *layouts, guint i) {
  return &g_array_index(layouts, OrrPlanLayout, i);
}

static inline void search(OrrLibrary *library, const OrrPlanServing *asked, GArray *layouts) {
  g_autoptr(GError) error = NULL;
  orr_plan_serving_search(library, asked, layouts, NULL, &error);
  g_assert_no_error(error);
}

/* --- The database --- */

typedef struct {
  OrrStore *store;
  const OrrPlanServing *asked;
  gint64 run;
  guint left; /* layouts that are still kept; then the search ends */
} Keeper;

static inline gboolean keep(guint index, const OrrPlanLayout *layout, void *user, GError **error) {
  Keeper *keeper = user;
  if (keeper->left-- == 0) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "enough");
    return FALSE;
  }
  return orr_plan_serving_store_layout(keeper->store, keeper->run, keeper->asked, index, layout,
                                       error);
}

/* Searches with a store, until @most layouts are kept; returns how many were known before. */
static inline guint search_stored(OrrLibrary *library, OrrStore *store, const OrrPlanServing *asked,
                                  GArray *layouts, guint most) {
  g_autoptr(GError) error = NULL;
  Keeper keeper = {store, asked, 0, most};
  const OrrPlanWatch watch = {NULL, keep, &keeper};
  guint n_known = 0;
  orr_plan_serving_store_begin(store, library, asked, layouts, &keeper.run, &n_known, &error);
  g_assert_no_error(error);
  const gboolean is_done = orr_plan_serving_search(library, asked, layouts, &watch, &error);
  g_assert_cmpint(is_done, ==, most == G_MAXUINT);
  return n_known;
}
