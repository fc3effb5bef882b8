/*
 * test_plan_serving.c - layouts of an engine: which there are, that pruning finds the best that an
 * exhaustive search finds, that stored answers are taken up again, and that launch lines are read
 * back as the same scenario.
 */
#include <math.h>

#include "sim/import/launch/launch_form.h"
#include "sim/sweep/capacity.h"
#include "tests/base/test_size.h"
#include "tests/plan/plan_fixture.h"

static char *l40s[] = {"l40s-server", NULL};
static char *both[] = {"none", "fp8", NULL};

/* --- Layouts --- */

static guint count(const GArray *layouts, gint64 tp, gint64 pp, gint64 dp, gint64 prefill) {
  guint n = 0;
  for (guint i = 0; i < layouts->len; i++) {
    const OrrPlanLayout *one = at(layouts, i);
    n += one->split.tp == tp && one->split.pp == pp && one->split.dp_attention == dp &&
         one->prefill == prefill;
  }
  return n;
}

static void test_layouts(void) {
  OrrLibrary *library = shared_library();
  OrrPlanServing asked = question("vllm-0.19");
  g_autoptr(GArray) dense = layouts_of(library, &asked);
  g_assert_cmpuint(count(dense, 4, 1, 1, 0), ==, 2); /* 8,192 and 512 tokens; 600 fit in 2,048 */
  g_assert_cmpuint(count(dense, 1, 2, 1, 0), ==, 0); /* inside NVLink: tp */
  g_assert_cmpuint(count(dense, 1, 1, 1, 3), ==, 1); /* 3 that prefill, 1 that decodes */
  for (guint i = 0; i < dense->len; i++) g_assert_cmpint(at(dense, i)->gpus, <=, 4);
  asked.clusters = l40s;
  g_autoptr(GArray) pcie = layouts_of(library, &asked);
  g_assert_cmpuint(count(pcie, 1, 2, 1, 0), ==, 2); /* without NVLink: pipelines too */
  asked.model = "mixtral-8x7b";
  asked.is_whole = TRUE;
  g_autoptr(GArray) moe = layouts_of(library, &asked);
  g_assert_cmpuint(count(moe, 1, 1, 4, 0), ==, 2); /* attention's data parallelism */
  g_assert_cmpuint(count(moe, 2, 1, 1, 0), ==, 4); /* experts split, and whole */
  g_assert_cmpuint(count(moe, 1, 1, 1, 1), ==, 0);
}

/* On four GPUs attention has one, tp 2 or dp-attention 2, and experts one or two: six layouts with
 * two or three micro-batches, of two budgets each. Engines have no options for them. */
static void test_pools(void) {
  OrrLibrary *library = shared_library();
  OrrPlanServing asked = question("vllm-0.19");
  asked.model = "mixtral-8x7b";
  asked.is_whole = TRUE;
  g_autoptr(GArray) one = layouts_of(library, &asked);
  asked.has_pools = TRUE;
  g_autoptr(GArray) two = layouts_of(library, &asked);
  g_assert_cmpuint(two->len, ==, one->len + 6 * 2 * 2);
  for (guint i = 0; i < two->len; i++) {
    const OrrPlanLayout *layout = at(two, i);
    const OrrPlanLoad load = {.rate = 1, .requests = 1};
    g_autoptr(GError) error = NULL;
    if (layout->split.feed_gpus == 0) continue;
    g_assert_cmpint(layout->gpus, ==,
                    layout->split.tp * layout->split.dp_attention + layout->split.feed_gpus);
    g_assert_cmpint(layout->gpus, <=, 4);
    g_assert_cmpint(layout->split.ep, ==, layout->split.feed_gpus);
    g_assert_null(orr_plan_serving_launch(library, &asked, layout));
    g_autoptr(OrrNode) tree = orr_plan_serving_tree(library, &asked, layout, 1, &load, &error);
    g_assert_no_error(error);
    const OrrNode *parallel = orr_node_get(orr_node_get(tree, "workload"), "parallel");
    g_assert_cmpstr(orr_node_get_text(orr_node_get(parallel, "feed-forward"), "gpus"), ==,
                    layout->split.feed_gpus == 1 ? "1" : "2");
  }
}

static void test_formats(void) {
  OrrLibrary *library = shared_library();
  const struct {
    const char *model, *stack, *formats;
  } all[] = {{"llama-3.1-8b", "vllm-0.19", "none fp8"}, /* the engine casts */
             {"llama-3.1-8b", "trtllm-1.0", "none"},
             {"deepseek-v3", "vllm-0.19", "fp8-block nvfp4-mlp"}}; /* of its checkpoints */
  for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) words = orr_plan_serving_formats(library, all[i].model, all[i].stack, &error);
    g_assert_no_error(error);
    g_autofree char *text = g_strjoinv(" ", words);
    g_assert_cmpstr(text, ==, all[i].formats);
  }
}

static void test_machines(void) {
  OrrLibrary *library = shared_library();
  g_autoptr(GError) error = NULL;
  g_autofree char *dgx = orr_plan_serving_machine(library, "h100-sxm", &error);
  g_assert_cmpstr(dgx, ==, "dgx-h100-superpod");
  g_autofree char *other = orr_plan_serving_machine(library, "l40s", &error);
  g_assert_cmpstr(other, ==, "l40s-server");
  g_assert_null(orr_plan_serving_machine(library, "abacus", &error));
  g_assert_nonnull(strstr(error->message, "h100-sxm"));
}

/* --- Pruning against an exhaustive search --- */

/* The best layouts, and their rates within the tolerance of a search, 5 %: an exhaustive search
 * begins at other rates. */
static void assert_same_best(OrrLibrary *library, const OrrPlanServing *asked, guint least_pruned) {
  OrrPlanServing all = *asked;
  all.exhaustive = TRUE;
  g_autoptr(GArray) some = layouts_of(library, asked);
  g_autoptr(GArray) every = layouts_of(library, &all);
  search(library, asked, some);
  search(library, &all, every);
  g_autoptr(GArray) best = orr_plan_serving_rank(asked, some);
  g_autoptr(GArray) truth = orr_plan_serving_rank(&all, every);
  g_assert_cmpuint(best->len, >, 0);
  guint pruned = 0;
  for (guint i = 0; i < some->len; i++) {
    pruned += at(some, i)->status == ORR_PLAN_PRUNED || at(some, i)->status == ORR_PLAN_LATE;
    g_assert_cmpint(at(every, i)->status, !=, ORR_PLAN_PRUNED);
  }
  g_assert_cmpuint(pruned, >=, least_pruned);
  const OrrPlanLayout *mine = at(some, g_array_index(best, guint, 0));
  const OrrPlanLayout *twin = at(every, g_array_index(best, guint, 0));
  const OrrPlanLayout *true_best = at(every, g_array_index(truth, guint, 0));
  g_assert_cmpfloat_with_epsilon(mine->fleet_rate / twin->fleet_rate, 1, 0.06);
  if (asked->rate > 0)
    g_assert_cmpint(mine->replicas * mine->gpus, <=, true_best->replicas * true_best->gpus);
  else
    g_assert_cmpfloat(mine->fleet_rate, >=, true_best->fleet_rate / 1.06);
}

static void test_exhaustive_gpus(void) {
  OrrLibrary *library = shared_library();
  const OrrPlanServing asked = question("vllm-0.19");
  assert_same_best(library, &asked, 3);
}

static void test_exhaustive_rate(void) {
  OrrLibrary *library = shared_library();
  OrrPlanServing asked = question("sglang-0.5");
  asked.rate = 95; /* four GPUs of five layouts serve it: slower ones are pruned */
  assert_same_best(library, &asked, 5);
}

/* A request alone is too late everywhere: nothing is measured. */
static void test_late(void) {
  OrrLibrary *library = shared_library();
  OrrPlanServing asked = question("vllm-0.19");
  asked.tpot_s = 0.0001;
  g_autoptr(GArray) layouts = layouts_of(library, &asked);
  search(library, &asked, layouts);
  g_autoptr(GArray) ranked = orr_plan_serving_rank(&asked, layouts);
  g_assert_cmpuint(ranked->len, ==, 0);
  for (guint i = 0; i < layouts->len; i++)
    if (at(layouts, i)->status != ORR_PLAN_REFUSED)
      g_assert_cmpint(at(layouts, i)->status, ==, ORR_PLAN_LATE);
}

/* Prompts that begin with the same text find most of it in the cache, but for the first one. */
static void test_prefix_late(void) {
  static char *prefix[] = {"workload.shared-prefix=560", NULL};
  OrrLibrary *library = shared_library();
  OrrPlanServing asked = question("vllm-0.19");
  asked.gpus = 1;
  asked.is_whole = TRUE;
  asked.settings = prefix;
  g_autoptr(GArray) first = layouts_of(library, &asked);
  search(library, &asked, first);
  g_assert_cmpint(at(first, 0)->status, ==, ORR_PLAN_MEASURED);
  asked.ttft_s =
      0.95 * at(first, 0)->lone_ttft_s; /* the mean of one that misses and one that hits */
  g_autoptr(GArray) layouts = layouts_of(library, &asked);
  search(library, &asked, layouts);
  g_assert_cmpint(at(layouts, 0)->status, ==, ORR_PLAN_MEASURED);
  g_assert_cmpfloat(at(layouts, 0)->rate, >, 0);
}

/* --- The fleet --- */

/* The highest rate of one cell that meets the objectives; the last of the rates is the fleet's. */
static double cell_rate(const OrrPlanLayout *layout) {
  double most = 0;
  for (guint i = 0; i + 1 < layout->n_rates; i++)
    if (layout->rates[i].meets) most = fmax(most, layout->rates[i].rate);
  return most;
}

/* Of a fleet of two, plan says what `plan rate` says of it from the same rate on: by the simulation
 * alone, and with confidence. Two cells that share what arrives serve no less than both apart. */
static void test_fleet(void) {
  OrrLibrary *library = shared_library();
  OrrPlanServing asked = question("vllm-0.19");
  const OrrCapacityQuery query = {
      .fraction = asked.fraction, .tolerance = 0.05, .step = 1.4, .seeds = 2, .confidence = 0.9};
  guint n = 0;
  asked.gpus = 2;
  asked.is_whole = TRUE;
  g_autoptr(GArray) layouts = layouts_of(library, &asked);
  search(library, &asked, layouts);
  for (guint i = 0; i < layouts->len; i++) {
    const OrrPlanLayout *layout = at(layouts, i);
    const OrrPlanLoad load = {.rate = 2 * cell_rate(layout)};
    g_autoptr(GError) error = NULL;
    if (layout->replicas != 2 || !layout->is_assured) continue;
    g_autoptr(OrrNode) tree = orr_plan_serving_tree(library, &asked, layout, 2, &load, &error);
    g_assert_no_error(error);
    orr_field_set(&orr_scenario_table, tree, "engine", "fair", &error);
    g_assert_no_error(error);
    g_autoptr(OrrCapacity) fleet = orr_capacity_find(library, tree, &query, &error);
    g_assert_no_error(error);
    g_assert_cmpfloat_with_epsilon(2 * layout->rate, fleet->alone.meets, 1e-9);
    g_assert_cmpfloat_with_epsilon(2 * layout->sure_rate, fleet->sure.meets, 1e-9);
    g_assert_cmpfloat(layout->rate, ==, layout->at.rate);
    g_assert_cmpfloat(layout->rate, >=, 0.94 * cell_rate(layout));
    n++;
  }
  g_assert_cmpuint(n, >, 0);
}

/* --- Sizes --- */

static void test_sizes(void) {
  OrrPlanServing asked = {.rate = 20, .gpus = 8};
  OrrPlanLayout layout = {.status = ORR_PLAN_MEASURED, .gpus = 2, .rate = 6, .sure_rate = 5};
  orr_plan_serving_size(&asked, &layout); /* 20 / 6: four cells of two GPUs */
  g_assert_cmpint(layout.replicas, ==, 4);
  g_assert_cmpfloat(layout.fleet_rate, ==, 24);
  g_assert_cmpfloat(layout.fleet_sure_rate, ==, 20);
  layout.rate = 4; /* five cells are ten GPUs */
  orr_plan_serving_size(&asked, &layout);
  g_assert_cmpfloat(layout.fleet_rate, ==, 0);
  asked.rate = 0; /* as much as eight GPUs serve */
  orr_plan_serving_size(&asked, &layout);
  g_assert_cmpfloat(layout.fleet_rate, ==, 16);
}

/* What counts is the rate with confidence: 4 of 6 and 5 of 5.5 requests/s make the second layout
 * the better one, on two cells for ten requests/s where the first needs three. A layout that was
 * not asked for confidence, or has none, comes behind both, whatever its rate. */
static void test_sure_first(void) {
  static const OrrPlanLayout all[] = {
      {.status = ORR_PLAN_MEASURED, .gpus = 1, .rate = 6, .sure_rate = 4, .is_assured = TRUE},
      {.status = ORR_PLAN_MEASURED, .gpus = 1, .rate = 5.5, .sure_rate = 5, .is_assured = TRUE},
      {.status = ORR_PLAN_MEASURED, .gpus = 1, .rate = 7, .sure_rate = NAN, .is_assured = TRUE},
      {.status = ORR_PLAN_MEASURED, .gpus = 1, .rate = 8, .sure_rate = NAN}};
  g_autoptr(GArray) layouts = g_array_new(FALSE, FALSE, sizeof(OrrPlanLayout));
  g_array_append_vals(layouts, all, G_N_ELEMENTS(all));
  static const guint order[] = {1, 0, 2, 3};
  for (double rate = 0; rate <= 10; rate += 10) {
    const OrrPlanServing asked = {.rate = rate, .gpus = 8};
    g_autoptr(GArray) ranked = orr_plan_serving_rank(&asked, layouts);
    g_assert_cmpuint(ranked->len, ==, G_N_ELEMENTS(order));
    for (guint i = 0; i < ranked->len; i++)
      g_assert_cmpuint(g_array_index(ranked, guint, i), ==, order[i]);
  }
  const OrrPlanServing ten = {.rate = 10, .gpus = 8}, all_gpus = {.gpus = 8};
  g_assert_true(orr_plan_serving_is_promised(&ten, at(layouts, 1)));
  g_assert_false(orr_plan_serving_is_promised(&ten, at(layouts, 2)));
  g_assert_cmpfloat(orr_plan_serving_fleet_load(&ten, at(layouts, 1)), ==, 10);
  g_assert_cmpint(at(layouts, 0)->replicas, ==, 3);
  g_assert_cmpint(at(layouts, 1)->replicas, ==, 2);
  for (guint i = 0; i < 3; i++)
    orr_plan_serving_size(&all_gpus, &g_array_index(layouts, OrrPlanLayout, i));
  g_assert_cmpfloat(orr_plan_serving_fleet_load(&all_gpus, at(layouts, 1)), ==, 8 * 5);
  g_assert_cmpfloat(orr_plan_serving_fleet_load(&all_gpus, at(layouts, 2)), ==, 8 * 7);
  /* two GPUs are too few for the first one's three cells: it answers by its simulated rate */
  const OrrPlanServing few = {.rate = 10, .gpus = 2};
  g_autoptr(GArray) ranked = orr_plan_serving_rank(&few, layouts);
  g_assert_cmpuint(g_array_index(ranked, guint, 0), ==, 1);
  g_assert_cmpint(at(layouts, 0)->replicas, ==, 2);
}

/* --- The database --- */

static void assert_equal(const GArray *a, const GArray *b) {
  for (guint i = 0; i < a->len; i++) {
    const OrrPlanLayout *x = at(a, i), *y = at(b, i);
    g_assert_cmpint(x->status, ==, y->status);
    g_assert_cmpint(x->bound, ==, y->bound);
    g_assert_cmpstr(x->why, ==, y->why);
    g_assert_cmpfloat(x->rate, ==, y->rate);
    g_assert_cmpfloat(x->fails, ==, y->fails);
    g_assert_cmpint(x->is_assured, ==, y->is_assured);
    if (x->is_assured) g_assert_cmpint(isnan(x->sure_rate), ==, isnan(y->sure_rate));
    g_assert_true(!x->is_assured || isnan(x->sure_rate) || x->sure_rate == y->sure_rate);
    g_assert_cmpfloat(x->at.ttft_p99_s, ==, y->at.ttft_p99_s);
    g_assert_cmpuint(x->n_rates, ==, y->n_rates);
  }
}

/* A search that was ended goes on, to the answer of one that was not. */
static void test_resumed(void) {
  OrrLibrary *library = shared_library();
  g_autoptr(GError) error = NULL;
  g_autofree char *folder = g_dir_make_tmp("orrery-plan-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "plan.db", NULL);
  OrrPlanServing asked = question("vllm-0.19");
  asked.is_whole = TRUE;
  asked.gpus = 1;
  g_autoptr(GArray) whole = layouts_of(library, &asked);
  g_autoptr(GArray) first = layouts_of(library, &asked);
  g_autoptr(GArray) second = layouts_of(library, &asked);
  g_autoptr(GArray) third = layouts_of(library, &asked);
  g_autoptr(OrrStore) store = orr_store_open(path, &error);
  g_assert_no_error(error);
  search(library, &asked, whole);
  g_assert_cmpuint(search_stored(library, store, &asked, first, 1), ==, 0);
  g_assert_cmpuint(search_stored(library, store, &asked, second, G_MAXUINT), ==, 1);
  g_assert_cmpuint(search_stored(library, store, &asked, third, G_MAXUINT), ==, whole->len);
  g_autoptr(GArray) best = orr_plan_serving_rank(&asked, whole);
  g_autoptr(GArray) resumed = orr_plan_serving_rank(&asked, second);
  g_assert_cmpuint(g_array_index(best, guint, 0), ==, g_array_index(resumed, guint, 0));
  assert_equal(second, third);
  asked.rate = 1; /* another question */
  g_autoptr(GArray) other = layouts_of(library, &asked);
  g_assert_cmpuint(search_stored(library, store, &asked, other, 0), ==, 0);
  g_clear_pointer(&store, orr_store_free);
  g_unlink(path);
  g_rmdir(folder);
}

/* --- Twice as many requests --- */

/* The highest simulated rate moves by no more than two steps of the search, 5 % each. Which layout
 * counts as the best is decided by rates with confidence, in steps of their own. */
static void test_doubled(void) {
  static char *requests[][2] = {{"workload.requests=1000", NULL}, {"workload.requests=2000", NULL}};
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  OrrPlanServing asked = question("vllm-0.19");
  asked.is_whole = TRUE;
  asked.gpus = 1;
  double rates[2] = {0, 0};
  for (guint i = 0; i < 2; i++) {
    asked.settings = requests[i];
    g_autoptr(GArray) layouts = layouts_of(library, &asked);
    search(library, &asked, layouts);
    g_autoptr(GArray) ranked = orr_plan_serving_rank(&asked, layouts);
    g_assert_cmpuint(ranked->len, >, 0);
    for (guint k = 0; k < ranked->len; k++)
      rates[i] = fmax(rates[i], at(layouts, g_array_index(ranked, guint, k))->rate);
    g_test_message("%s: %g", *requests[i], rates[i]);
  }
  g_assert_cmpfloat_with_epsilon(rates[1] / rates[0], 1, 0.1);
}

/* --- Launch lines --- */

static OrrScenario *scenario_of(OrrLibrary *library, OrrNode *tree) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  OrrScenario *scenario = orr_scenario_read_fields(library, tree, diags);
  orr_diags_check(diags, &error);
  g_assert_no_error(error);
  return scenario;
}

/* Sections of the workload that a launch line says. */
static const char *const said[] = {"parallel", "engine", "quantization", "kv-dtype", "precision"};

static void assert_round(OrrLibrary *library, const OrrPlanServing *asked,
                         const OrrPlanLayout *layout) {
  const OrrPlanLoad load = {.rate = 1};
  g_autoptr(GError) error = NULL;
  g_autofree char *line = orr_plan_serving_launch(library, asked, layout);
  g_assert_nonnull(line);
  g_autoptr(OrrNode) tree = orr_plan_serving_tree(library, asked, layout, 1, &load, &error);
  g_autoptr(OrrScenario) scenario = scenario_of(library, tree);
  OrrLaunchOptions options = {.cluster = asked->clusters[0], .stack = asked->stack};
  g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, &options);
  orr_launch_form_add_text(draft, "line", line, strlen(line));
  orr_launch_form_read(draft);
  g_autofree char *back_text = orr_launch_draft_scenario(draft, &error);
  g_assert_no_error(error);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) back_tree = orr_yaml_parse(back_text, strlen(back_text), "back", diags);
  g_autoptr(OrrScenario) back = scenario_of(library, back_tree);
  g_autofree char *a_text = orr_scenario_resolved(scenario), *b_text = orr_scenario_resolved(back);
  g_autoptr(OrrNode) a = orr_yaml_parse(a_text, strlen(a_text), "a", diags);
  g_autoptr(OrrNode) b = orr_yaml_parse(b_text, strlen(b_text), "b", diags);
  g_assert_cmpstr(scenario->model.name, ==, back->model.name);
  for (guint i = 0; i < G_N_ELEMENTS(said); i++) {
    const OrrNode *x = orr_node_get(orr_node_get(a, "workload"), said[i]);
    const OrrNode *y = orr_node_get(orr_node_get(b, "workload"), said[i]);
    g_assert_nonnull(x);
    if (orr_node_equal(x, y)) continue;
    g_autofree char *x_text = orr_yaml_text(x), *y_text = orr_yaml_text(y);
    g_error("%s differs:\n%s\n%s\nof\n%s", said[i], x_text, y_text, line);
  }
}

static void test_launch(void) {
  static char *formats[] = {"none", "fp8", "fp8-block", NULL};
  static char *caches[] = {"bf16", "fp8", NULL};
  static const char *const stacks[] = {"vllm-0.19", "sglang-0.5", "trtllm-1.0"};
  OrrLibrary *library = shared_library();
  for (guint i = 0; i < G_N_ELEMENTS(stacks); i++) {
    OrrPlanServing asked = question(stacks[i]);
    asked.formats = formats;
    asked.caches = caches;
    asked.model = "llama-3.1-70b";
    OrrPlanLayout layout = {.split = {4, 1, 1, 1}, .batched_tokens = 2048, .gpus = 4};
    assert_round(library, &asked, &layout);
    layout.split = (OrrPlanSplit){2, 2, 1, 1};
    layout.cache = 1;
    assert_round(library, &asked, &layout);
    layout.batched_tokens = 512;
    layout.format = 1;
    if (i < 2) assert_round(library, &asked, &layout);
    layout.max_model_len = 1200;
    if (i < 1) assert_round(library, &asked, &layout);
    asked.model = "qwen3-235b-a22b";
    layout = (OrrPlanLayout){.split = {2, 1, 4, 8}, .format = 2, .batched_tokens = 8192, .gpus = 8};
    if (i < 2) assert_round(library, &asked, &layout);
    layout.split = (OrrPlanSplit){8, 1, 1, 8};
    assert_round(library, &asked, &layout);
  }
}

/* The line is of one server: of several it says how many. */
static void test_servers(void) {
  OrrPlanServing asked = question("vllm-0.19");
  asked.formats = both;
  OrrPlanLayout layout = {.split = {1, 1, 1, 1}, .batched_tokens = 8192, .gpus = 1, .replicas = 7};
  g_autofree char *seven = orr_plan_serving_launch(shared_library(), &asked, &layout);
  layout.replicas = 1;
  g_autofree char *one = orr_plan_serving_launch(shared_library(), &asked, &layout);
  g_assert_true(g_str_has_prefix(seven, "# servers: 7\nvllm serve "));
  g_assert_true(g_str_has_prefix(one, "vllm serve "));
}

/* Software without a launch line: an engine that casts nothing, roles that have no options. */
static void test_no_launch(void) {
  OrrLibrary *library = shared_library();
  OrrPlanServing asked = question("trtllm-1.0");
  asked.formats = both;
  OrrPlanLayout layout = {.split = {1, 1, 1, 1}, .format = 1, .batched_tokens = 8192, .gpus = 1};
  g_assert_null(orr_plan_serving_launch(library, &asked, &layout));
  layout.format = 0;
  layout.decode = layout.split;
  layout.prefill = layout.decoders = 1;
  g_assert_null(orr_plan_serving_launch(library, &asked, &layout));
  asked.stack = "vllm-0.19";
  g_autofree char *apart = orr_plan_serving_launch(library, &asked, &layout);
  g_assert_nonnull(strstr(apart, "kv_producer"));
  g_assert_nonnull(strstr(apart, "kv_consumer"));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/plan-serving/layouts", test_layouts);
  g_test_add_func("/plan-serving/pools", test_pools);
  g_test_add_func("/plan-serving/formats", test_formats);
  g_test_add_func("/plan-serving/machines", test_machines);
  g_test_add_func("/plan-serving/fleet", test_fleet);
  g_test_add_func("/plan-serving/sizes", test_sizes);
  g_test_add_func("/plan-serving/sure-first", test_sure_first);
  g_test_add_func("/plan-serving/exhaustive-gpus", test_exhaustive_gpus);
  if (test_size(TRUE, FALSE))
    g_test_add_func("/plan-serving/exhaustive-rate", test_exhaustive_rate);
  g_test_add_func("/plan-serving/late", test_late);
  g_test_add_func("/plan-serving/resumed", test_resumed);
  if (test_size(TRUE, FALSE)) g_test_add_func("/plan-serving/doubled", test_doubled);
  g_test_add_func("/plan-serving/prefix-late", test_prefix_late);
  g_test_add_func("/plan-serving/launch", test_launch);
  g_test_add_func("/plan-serving/no-launch", test_no_launch);
  g_test_add_func("/plan-serving/servers", test_servers);
  return g_test_run();
}
