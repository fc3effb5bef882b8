/*
 * plan_serving_search.c - answers layouts: a lone request and a burst for all of them, then the
 * highest rates, best estimates first, round after round (plan_serving.h).
 *
 * Each layout is answered in a process of its own, all of whose runs are on the engine `fair`; a
 * process can have many of it.
 */
#include "sim/plan/plan_serving.h"
#include "sim/base/children.h"
#include "sim/run/simulate.h"
#include "sim/sweep/capacity.h"
#include "workloads/serving/serving.h"
#include "workloads/serving/speculation/speculation.h"

enum {
  LONE_REQUESTS = 2,
  BURST = 32,
  SEEDS = 2,
  LOOKS_PER_CHILD = 8,
  LEADERS = 8,
  ASSURED = 3 * ORR_PLAN_BEST
};
static const double TOLERANCE = 0.05, CONFIDENCE = 0.9, STEP = 1.4;
/* Of a layout's estimate: where its search begins. */
static const double GUESS = 0.8;
/* Cells of a fleet that are searched for the rate with confidence; of a larger fleet each has as
 * much: what several share, a queue, changes little beyond. */
enum { MOST_CELLS = 8 };
/* Of the best layout's requests per GPU: layouts that serve less are of no interest. */
static const double POOR = 0.25;

const char *const orr_plan_status_words[] = {"open",    "measured", "pruned", "late",
                                             "refused", "failed",   NULL};

const char *const orr_plan_bound_words[] = {"-", "ttft", "tpot", NULL};

/* A machine that is ready, with its costs; children inherit it. */
typedef struct {
  guint cluster;
  gint64 gpus;
  OrrScenario *scenario; /* on which the world rests */
  OrrRunWorld *world;
} Machine;

typedef struct {
  OrrLibrary *library;
  const OrrPlanServing *asked;
  GArray *layouts;
  GArray *machines; /* of Machine */
  GArray *todo;     /* of guint: layouts of this round */
  double *leasts;   /* by todo: rates that would bring them among the best; NULL: a first look */
  gboolean is_sure; /* the round asks for confidence */
  const OrrPlanWatch *watch;
  const char *doing; /* for progress */
  guint n_before, n_all;
} Search;

static OrrPlanLayout *layout_at(const Search *search, guint index) {
  return &g_array_index(search->layouts, OrrPlanLayout, index);
}

static void set_why(OrrPlanLayout *layout, OrrPlanStatus status, const char *why) {
  layout->status = (gint32)status;
  g_strlcpy(layout->why, why, sizeof layout->why);
  g_strdelimit(g_strchomp(layout->why), "\n", ' ');
}

/* The message without the place, which is in a text that nobody sees. */
static void set_fault(OrrPlanLayout *layout, OrrPlanStatus status, const char *message) {
  const char *after = strstr(message, "error: ");
  set_why(layout, status, after ? after + 7 : message);
}

/* --- A lone request, and a burst --- */

static OrrNode *tree_of(const Search *search, const OrrPlanLayout *layout, gint64 cells,
                        const OrrPlanLoad *load, GError **error) {
  g_autoptr(OrrNode) tree =
      orr_plan_serving_tree(search->library, search->asked, layout, cells, load, error);
  return tree && orr_field_set(&orr_scenario_table, tree, "engine", "fair", error)
             ? g_steal_pointer(&tree)
             : NULL;
}

static OrrScenario *scenario_of(const Search *search, const OrrPlanLayout *layout,
                                const OrrPlanLoad *load, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = tree_of(search, layout, 1, load, error);
  OrrScenario *scenario = tree ? orr_scenario_read(search->library, tree, diags) : NULL;
  if (tree && !scenario) orr_diags_check(diags, error);
  return scenario;
}

static const OrrRunWorld *world_of(const Search *search, const OrrPlanLayout *layout) {
  ORR_EACH(const Machine, machine, search->machines)
    if (machine->cluster == layout->cluster && machine->gpus == layout->gpus) return machine->world;
  return NULL;
}

/* Simulates, on the layout's machine where that is ready, else on one of its own. */
static OrrOutcome *simulate(const Search *search, const OrrPlanLayout *layout,
                            const OrrScenario *scenario, GError **error) {
  const OrrSimulation options = {.brief = TRUE};
  const OrrRunWorld *world = world_of(search, layout);
  g_autoptr(OrrRunWorld) own = world ? NULL : orr_run_world_new(search->library, scenario, error);
  if (!world) world = own;
  return world ? orr_simulate_in(world, scenario, &options, error) : NULL;
}

static gboolean is_constant(const OrrLengths *lengths) {
  return (double)orr_lengths_largest(lengths) == orr_lengths_mean(lengths);
}

/* Whether no request of the load can have its first token sooner than one alone. A trace counts
 * images among its prompts' tokens, to which the lone request's are added. */
static gboolean is_least_ttft(const OrrPlanServing *asked, const OrrServing *params) {
  const gboolean caches = params->engine.prefix_caching != ORR_PREFIX_NONE;
  const gboolean may_hit = (caches && params->shared_prefix > 0) || params->distinct_images > 0;
  return is_constant(&params->input) && !may_hit && !(asked->trace && params->images > 0);
}

/* Whether none can take less time per token. Drafts are accepted by chance, and the lone request of
 * a trace has images besides its prompt. */
static gboolean is_least_tpot(const OrrPlanServing *asked, const OrrServing *params) {
  const gboolean drafts = orr_speculation_of(&params->engine.speculation).tokens > 0;
  const gboolean is_even = is_constant(&params->input) && is_constant(&params->output);
  return is_even && !drafts && !(asked->trace && params->images > 0);
}

/* Runs @load on @layout. FALSE: the layout has the reason. */
static gboolean run_load(const Search *search, OrrPlanLayout *layout, const OrrPlanLoad *load,
                         OrrServingResult *ret_result) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrScenario) scenario = scenario_of(search, layout, load, &error);
  g_autoptr(OrrOutcome) outcome = scenario ? simulate(search, layout, scenario, &error) : NULL;
  if (!outcome) {
    set_fault(layout,
              g_error_matches(error, ORR_FAULT, ORR_FAULT_DOCUMENT) ? ORR_PLAN_REFUSED
                                                                    : ORR_PLAN_FAILED,
              error->message);
    return FALSE;
  }
  const OrrServing *params = scenario->workload.params;
  layout->ttft_is_least = is_least_ttft(search->asked, params);
  layout->tpot_is_least = is_least_tpot(search->asked, params);
  *ret_result = outcome->result.serving;
  return TRUE;
}

/* What a request alone misses; NULL: nothing. Newly allocated. */
static char *late_alone(const OrrPlanServing *asked, const OrrPlanLayout *layout) {
  const char *request = asked->trace ? "the trace's shortest request" : "a request";
  if (layout->ttft_is_least && layout->lone_ttft_s > asked->ttft_s)
    return g_strdup_printf("%s alone has its first token after %.3g s", request,
                           layout->lone_ttft_s);
  if (layout->tpot_is_least && asked->output_tokens > 1 && layout->lone_tpot_s > asked->tpot_s)
    return g_strdup_printf("%s alone takes %.3g ms per token", request, 1000 * layout->lone_tpot_s);
  return NULL;
}

static void judge_lone(const OrrPlanServing *asked, OrrPlanLayout *layout,
                       const OrrServingResult *lone) {
  layout->lone_ttft_s = lone->ttft.mean;
  layout->lone_tpot_s = lone->tpot.mean;
  layout->memory_bytes = lone->memory_bytes;
  g_autofree char *text = asked->exhaustive ? NULL : late_alone(asked, layout);
  if (text) set_why(layout, ORR_PLAN_LATE, text);
}

/* A burst that takes longer per token than the objective has too many requests at once. This
 * decides the order of layouts, no more. */
static double estimate(const OrrPlanServing *asked, const OrrServingResult *burst) {
  return burst->requests_per_s * fmin(1, asked->tpot_s / fmax(burst->tpot.p99, 1e-9));
}

static void look(const Search *search, OrrPlanLayout *layout) {
  const gint64 replicas = MAX(1, layout->prefill + layout->decoders);
  const OrrPlanLoad lone = {.clients = 1, .requests = LONE_REQUESTS};
  const OrrPlanLoad burst = {.clients = BURST * replicas, .requests = BURST * replicas};
  OrrServingResult result;
  if (!run_load(search, layout, &lone, &result)) return;
  judge_lone(search->asked, layout, &result);
  if (layout->status == ORR_PLAN_OPEN && run_load(search, layout, &burst, &result))
    layout->estimate_rps = estimate(search->asked, &result);
}

/* --- The highest rate --- */

static OrrPlanBound bound_of(const OrrPlanServing *asked, const OrrCapacityPoint *point) {
  const OrrServingResult *result = &point->result;
  if (!point->is_steady && result->missed_tpot != result->missed_ttft)
    return result->missed_tpot > result->missed_ttft ? ORR_PLAN_BOUND_TPOT : ORR_PLAN_BOUND_TTFT;
  /* where both are met, the few misses vary too much over the seeds: the nearer one it is. So it is
   * of a run that ended early, before the requests that it counts were the late ones */
  const double first = result->ttft.p99 / asked->ttft_s, further = result->tpot.p99 / asked->tpot_s;
  return first > further ? ORR_PLAN_BOUND_TTFT : ORR_PLAN_BOUND_TPOT;
}

/* One cell's part of a run of @cells. */
static OrrPlanRate rate_of(const OrrCapacityPoint *point, gint64 cells) {
  const OrrServingResult *result = &point->result;
  const double n = (double)cells;
  return (OrrPlanRate){.rate = point->rate / n,
                       .meets = point->alone.meets,
                       .fraction = orr_capacity_fraction(result),
                       .goodput_rps = result->goodput_rps / n,
                       .ttft_p99_s = result->ttft.p99,
                       .tpot_p99_s = result->tpot.p99,
                       .tpot_mean_s = result->tpot.mean,
                       .output_tokens_per_s_per_gpu = result->output_tokens_per_s_per_gpu,
                       .power_w = result->gpu_power_mean_w / n,
                       .cost_per_million_output_tokens = result->cost_per_million_output_tokens};
}

/* Only runs with a steady state: the others have no figures. */
static void note_rate(OrrPlanLayout *layout, const OrrCapacityPoint *point) {
  if (point->is_steady && layout->n_rates < ORR_PLAN_MOST_RATES)
    layout->rates[layout->n_rates++] = rate_of(point, 1);
}

/* What the lowest rate that fails misses. */
static OrrPlanBound bound_at(const OrrPlanServing *asked, const OrrCapacity *capacity) {
  const OrrCapacityPoint *lowest = NULL;
  ORR_EACH(const OrrCapacityPoint, point, capacity->points)
    if (!point->alone.meets && (!lowest || point->rate < lowest->rate)) lowest = point;
  return lowest ? bound_of(asked, lowest) : ORR_PLAN_BOUND_NONE;
}

static void take_capacity(const OrrPlanServing *asked, OrrPlanLayout *layout,
                          const OrrCapacity *capacity, double least) {
  const OrrCapacityPoint *best = orr_capacity_best(capacity);
  layout->bound = (gint32)bound_at(asked, capacity);
  ORR_EACH(OrrCapacityPoint, point, capacity->points) note_rate(layout, point);
  layout->status = least > 0 && !best ? ORR_PLAN_PRUNED : ORR_PLAN_MEASURED;
  layout->rate = best ? best->rate : 0;
  layout->fails = capacity->alone.fails;
  layout->below_rps = least > 0 && !best ? least : 0;
  layout->sure_rate = layout->ttft_factor = layout->tpot_factor = NAN;
  for (guint i = 0; best && i < layout->n_rates; i++)
    if (layout->rates[i].rate == best->rate) layout->at = layout->rates[i];
}

/* The search of @query on @cells of @layout, which it completes, from @start. NULL: the layout has
 * the reason. */
static OrrCapacity *find(const Search *search, OrrPlanLayout *layout, gint64 cells,
                         OrrCapacityQuery *query, double start) {
  const OrrPlanLoad load = {.rate = start > 0 ? start : 1};
  query->fraction = search->asked->fraction;
  query->tolerance = TOLERANCE;
  query->step = STEP;
  query->seeds = SEEDS;
  query->in_process = TRUE;
  query->world = cells == 1 ? world_of(search, layout) : NULL;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) tree = tree_of(search, layout, cells, &load, &error);
  OrrCapacity *capacity = tree ? orr_capacity_find(search->library, tree, query, &error) : NULL;
  if (capacity) return capacity;
  const gboolean is_document = g_error_matches(error, ORR_FAULT, ORR_FAULT_DOCUMENT);
  g_autofree char *late = is_document ? late_alone(search->asked, layout) : NULL;
  set_fault(layout,
            late          ? ORR_PLAN_LATE
            : is_document ? ORR_PLAN_REFUSED
                          : ORR_PLAN_FAILED,
            late ? late : error->message);
  return NULL;
}

static void measure(const Search *search, OrrPlanLayout *layout, double least) {
  OrrCapacityQuery query = {.least = least};
  g_autoptr(OrrCapacity) capacity = find(search, layout, 1, &query, GUESS * layout->estimate_rps);
  layout->n_rates = 0;
  if (capacity) take_capacity(search->asked, layout, capacity, least);
}

/* What counts from now on, and the last of the layout's rates: replicas share what arrives, so a
 * fleet serves more than its cells do apart. */
static void take_fleet(const OrrCapacityPoint *best, gint64 cells, OrrPlanLayout *layout) {
  layout->at = rate_of(best, cells);
  layout->rate = layout->at.rate;
  if (layout->n_rates == ORR_PLAN_MOST_RATES) layout->n_rates--;
  layout->rates[layout->n_rates++] = layout->at;
}

/* The rates, also with confidence, of the whole fleet of a layout that is among the best: what
 * `orrery plan rate` finds for it. */
static void assure(const Search *search, OrrPlanLayout *layout) {
  const gint64 cells = CLAMP(layout->replicas, 1, MOST_CELLS);
  OrrCapacityQuery query = {.confidence = CONFIDENCE};
  if (cells == 1) query.known = (OrrCapacityRange){layout->rate, layout->fails};
  g_autoptr(OrrCapacity) capacity =
      find(search, layout, cells, &query, (double)cells * layout->rate);
  const OrrCapacityPoint *best = capacity ? orr_capacity_best(capacity) : NULL;
  if (!best) return;
  const OrrPlanBound bound = bound_at(search->asked, capacity);
  take_fleet(best, cells, layout);
  if (bound != ORR_PLAN_BOUND_NONE) layout->bound = (gint32)bound;
  const gboolean is_known = best->band.quality != ORR_BAND_NONE;
  layout->sure_rate = is_known ? capacity->sure.meets / (double)cells : NAN;
  layout->ttft_factor = best->band.factors[ORR_LIMIT_TTFT];
  layout->tpot_factor = best->band.factors[ORR_LIMIT_TPOT];
  layout->is_weak = best->band.quality == ORR_BAND_WEAK;
  layout->is_assured = TRUE;
}

/* --- In processes --- */

/* A first look is short: a child takes several layouts. */
static guint per_child(const Search *search) {
  return search->leasts || search->is_sure ? 1 : LOOKS_PER_CHILD;
}

static void answer_one(const Search *search, guint i, OrrPlanLayout *layout) {
  if (search->is_sure)
    assure(search, layout);
  else if (search->leasts)
    measure(search, layout, search->leasts[i]);
  else
    look(search, layout);
}

static GBytes *work(guint index, void *user, GError **error) {
  const Search *search = user;
  const guint n = per_child(search), begin = index * n, end = MIN(begin + n, search->todo->len);
  GByteArray *bytes = g_byte_array_new();
  for (guint i = begin; i < end; i++) {
    OrrPlanLayout layout = *layout_at(search, g_array_index(search->todo, guint, i));
    answer_one(search, i, &layout);
    g_byte_array_append(bytes, (const guint8 *)&layout, sizeof layout);
  }
  return g_byte_array_free_to_bytes(bytes);
}

static void progress(guint n_done, void *user) {
  const Search *search = user;
  const guint n = MIN(n_done * per_child(search), search->todo->len);
  if (search->watch->progress)
    search->watch->progress(search->doing, search->n_before + n, search->n_all,
                            search->watch->user);
}

/* Puts the child's answer in its place; a child that died takes nothing with it. */
static void take_answer(const Search *search, guint i, const OrrChildAnswer *answer) {
  OrrPlanLayout *layout = layout_at(search, g_array_index(search->todo, guint, i));
  const gsize at = (i % per_child(search)) * sizeof *layout;
  gsize size = 0;
  const guint8 *bytes = answer->bytes ? g_bytes_get_data(answer->bytes, &size) : NULL;
  if (bytes && at + sizeof *layout <= size)
    memcpy(layout, bytes + at, sizeof *layout);
  else
    set_why(layout, ORR_PLAN_FAILED, answer->error->message);
}

/* Answers the layouts of `todo`. */
static gboolean run_round(Search *search, GError **error) {
  const guint n = per_child(search);
  const OrrChildren children = {.n = (search->todo->len + n - 1) / n,
                                .jobs = search->asked->jobs,
                                .work = work,
                                .progress = progress,
                                .user = search};
  orr_engine_prepare(ORR_ENGINE_SIMGRID, NULL); /* once, instead of in each child */
  g_autoptr(GPtrArray) answers = orr_children_run(&children);
  ORR_EACH_VALUE_AT(i, const guint, index, search->todo) {
    take_answer(search, i, answers->pdata[i / n]);
    const OrrPlanLayout *layout = layout_at(search, index);
    if (search->watch->keep && layout->status != ORR_PLAN_OPEN &&
        !search->watch->keep(index, layout, search->watch->user, error))
      return FALSE;
  }
  search->n_before += search->todo->len;
  return TRUE;
}

/* --- The order --- */

/* GPUs that the question needs by the estimate, or requests/s that it gets: small is good. */
static double promise(const OrrPlanServing *asked, const OrrPlanLayout *layout) {
  const double per_gpu = layout->estimate_rps / (double)layout->gpus;
  if (asked->rate <= 0) {
    const double cells = (double)(asked->gpus / layout->gpus);
    return -cells * layout->estimate_rps;
  }
  return -per_gpu;
}

static int compare_promise(gconstpointer a, gconstpointer b, gpointer user) {
  const Search *search = user;
  const guint i = *(const guint *)a, j = *(const guint *)b;
  const double x = promise(search->asked, layout_at(search, i)),
               y = promise(search->asked, layout_at(search, j));
  return x != y ? (x > y) - (x < y) : (i > j) - (i < j);
}

static gboolean is_same_split(const OrrPlanLayout *a, const OrrPlanLayout *b) {
  return a->cluster == b->cluster && a->prefill == b->prefill && a->decoders == b->decoders &&
         memcmp(&a->split, &b->split, sizeof a->split) == 0 &&
         memcmp(&a->decode, &b->decode, sizeof a->decode) == 0;
}

/* Moves the best layouts of different splits to the front: layouts of one split are near to each
 * other, so the first rounds learn more from different ones. */
static void lead(const Search *search, GArray *open) {
  guint n = 0; /* leaders, at the front */
  for (guint i = 0; i < open->len && n < LEADERS; i++) {
    const guint index = g_array_index(open, guint, i);
    gboolean is_new = TRUE;
    for (guint j = 0; j < n; j++)
      is_new = is_new && !is_same_split(layout_at(search, index),
                                        layout_at(search, g_array_index(open, guint, j)));
    if (!is_new) continue;
    g_array_remove_index(open, i);
    g_array_insert_val(open, n, index);
    n++;
  }
}

static GArray *open_layouts(const Search *search) {
  GArray *open = g_array_new(FALSE, FALSE, sizeof(guint));
  for (guint i = 0; i < search->layouts->len; i++)
    if (layout_at(search, i)->status == ORR_PLAN_OPEN) g_array_append_val(open, i);
  return open;
}

/* The rate that would bring @layout among the best of @ranked. 0: any would; INFINITY: none can. */
static double least_of(const Search *search, const OrrPlanLayout *layout, const GArray *ranked) {
  const OrrPlanServing *asked = search->asked;
  if (asked->exhaustive || ranked->len == 0) return 0;
  const OrrPlanLayout *best = layout_at(search, g_array_index(ranked, guint, 0));
  const double poor = POOR * best->rate * (double)layout->gpus / (double)best->gpus;
  if (ranked->len < ORR_PLAN_BEST) return poor;
  const OrrPlanLayout *last = layout_at(search, g_array_index(ranked, guint, ORR_PLAN_BEST - 1));
  const gint64 cells = (asked->rate > 0 ? last->replicas * last->gpus : asked->gpus) / layout->gpus;
  const double wanted = asked->rate > 0 ? asked->rate : last->fleet_rate;
  return cells > 0 ? fmax(wanted / (double)cells, poor) : INFINITY;
}

static void prune(OrrPlanLayout *layout) {
  set_why(layout, ORR_PLAN_PRUNED, "one replica has more GPUs than the best answers");
}

/* Layouts of the next round, with their leasts. FALSE: there are none. */
static gboolean next_round(Search *search, GArray *open, GError **error) {
  g_autoptr(GArray) ranked = orr_plan_serving_rank(search->asked, search->layouts);
  /* before anything is known, a layout that serves nothing would be searched down to no rate */
  const guint most = ranked->len > 0 || search->asked->exhaustive ? ORR_PLAN_ROUND : 1;
  g_array_set_size(search->todo, 0);
  while (open->len > 0 && search->todo->len < most) {
    const guint index = g_array_index(open, guint, 0);
    const double least = least_of(search, layout_at(search, index), ranked);
    g_array_remove_index(open, 0);
    if (isinf(least)) {
      prune(layout_at(search, index));
      search->n_before++;
      if (search->watch->keep &&
          !search->watch->keep(index, layout_at(search, index), search->watch->user, error))
        return FALSE;
      continue;
    }
    search->leasts[search->todo->len] = least;
    g_array_append_val(search->todo, index);
  }
  return search->todo->len > 0;
}

static gboolean measure_all(Search *search, GError **error) {
  double leasts[ORR_PLAN_ROUND];
  g_autoptr(GArray) open = open_layouts(search);
  g_array_sort_with_data(open, compare_promise, search);
  lead(search, open);
  search->doing = "rates";
  search->n_before = 0;
  search->n_all = open->len;
  search->leasts = leasts;
  g_autoptr(GError) reason = NULL;
  while (next_round(search, open, &reason))
    if (!run_round(search, &reason)) break;
  if (!reason) return TRUE;
  g_propagate_error(error, g_steal_pointer(&reason));
  return FALSE;
}

/* Whether @layout, which was not asked for confidence, could be promised more than @best is: its
 * rate with confidence is hardly above the simulated one. */
static gboolean could_be_better(const Search *search, const OrrPlanLayout *layout,
                                const OrrPlanLayout *best) {
  if (!orr_plan_serving_is_promised(search->asked, best)) return TRUE;
  if (search->asked->rate > 0) return layout->replicas * layout->gpus < best->replicas * best->gpus;
  return layout->fleet_rate > best->fleet_sure_rate;
}

/* The layouts to ask for confidence: the best, as many as are shown, and after these the ones that
 * could be promised more than the best answer so far. An earlier search may have asked some. */
static void next_assured(Search *search) {
  g_autoptr(GArray) ranked = orr_plan_serving_rank(search->asked, search->layouts);
  guint n_assured = 0;
  ORR_EACH_VALUE(const guint, value, ranked) n_assured += layout_at(search, value)->is_assured;
  g_array_set_size(search->todo, 0);
  for (guint i = 0; i < ranked->len && search->todo->len < ORR_PLAN_BEST; i++) {
    const guint index = g_array_index(ranked, guint, i);
    const OrrPlanLayout *layout = layout_at(search, index),
                        *best = layout_at(search, g_array_index(ranked, guint, 0));
    if (!layout->is_assured && n_assured + search->todo->len < ASSURED &&
        (i < ORR_PLAN_BEST || could_be_better(search, layout, best)))
      g_array_append_val(search->todo, index);
  }
}

/* The best are asked for with confidence. */
static gboolean assure_best(Search *search, GError **error) {
  search->is_sure = TRUE;
  search->doing = "confidence";
  for (guint round = 0; round < ASSURED / ORR_PLAN_BEST; round++) {
    next_assured(search);
    search->n_before = 0;
    search->n_all = search->todo->len;
    if (search->todo->len > 0 && !run_round(search, error)) return FALSE;
  }
  return TRUE;
}

/* --- What children share --- */

static void machine_clear(gpointer data) {
  Machine *machine = data;
  orr_run_world_free(machine->world);
  orr_scenario_free(machine->scenario);
}

static const OrrPlanLoad one_request = {.clients = 1, .requests = 1};

/* On one node, routes do not depend on the seed. */
static void add_machine(Search *search, const OrrPlanLayout *layout) {
  OrrScenario *scenario = scenario_of(search, layout, &one_request, NULL);
  if (!scenario) return;
  Machine machine = {.cluster = layout->cluster, .gpus = layout->gpus, .scenario = scenario};
  if (layout->gpus <= scenario->cluster.node.gpus)
    machine.world = orr_run_world_new(search->library, scenario, NULL);
  if (machine.world)
    g_array_append_val(search->machines, machine);
  else
    machine_clear(&machine);
}

/* A request builds the tables of costs of its formats. */
static void warm_formats(const Search *search, const OrrPlanLayout *layout, guint64 *warmed) {
  const guint bit = (layout->format * 8 + layout->cache) % 64;
  OrrPlanLayout copy = *layout;
  OrrServingResult result;
  if (*warmed >> bit & 1) return;
  if (run_load(search, &copy, &one_request, &result)) *warmed |= (guint64)1 << bit;
}

/* Makes the machines of all open layouts that are large enough ready. */
static void warm(Search *search) {
  guint64 warmed = 0;
  for (guint i = 0; i < search->layouts->len; i++) {
    const OrrPlanLayout *layout = layout_at(search, i);
    if (layout->status != ORR_PLAN_OPEN) continue;
    if (!world_of(search, layout)) {
      add_machine(search, layout);
      warmed = 0;
    }
    if (world_of(search, layout)) warm_formats(search, layout, &warmed);
  }
}

gboolean orr_plan_serving_search(OrrLibrary *library, const OrrPlanServing *asked, GArray *layouts,
                                 const OrrPlanWatch *watch, GError **error) {
  static const OrrPlanWatch nobody = {NULL, NULL, NULL};
  Search search = {.library = library,
                   .asked = asked,
                   .layouts = layouts,
                   .watch = watch ? watch : &nobody,
                   .machines = g_array_new(FALSE, FALSE, sizeof(Machine)),
                   .doing = "layouts"};
  g_array_set_clear_func(search.machines, machine_clear);
  search.todo = open_layouts(&search);
  search.n_all = search.todo->len;
  for (guint i = 0; i < layouts->len; i++) orr_plan_serving_size(asked, layout_at(&search, i));
  if (search.n_all > 0) warm(&search);
  const gboolean is_fine = (search.n_all == 0 || run_round(&search, error)) &&
                           measure_all(&search, error) && assure_best(&search, error);
  g_array_unref(search.todo);
  g_array_unref(search.machines);
  return is_fine;
}
