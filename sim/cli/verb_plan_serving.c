/*
 * verb_plan_serving.c - orrery plan serving: which layout of an engine serves the most requests
 * within objectives, and how many GPUs a rate needs.
 */
#include <unistd.h>

#include "sim/bands/band.h"
#include "sim/base/paths.h"
#include "sim/base/file.h"
#include "sim/base/number.h"
#include "sim/base/yaml.h"
#include "sim/cli/verb_plan.h"
#include "sim/run/simulate.h"
#include "workloads/serving/schedulers/scheduler.h"
#include "workloads/serving/serving.h"

enum { SLURM_CORES = 8 };

static char *executor, *model, *clusters, *devices, *stack, *prices, *formats, *caches, *ttft,
    *tpot, *trace_file, *trace_kind, *feed_device;
static double rate, fraction = 0.99;
static int n_gpus, input_tokens, output_tokens;
static gboolean exhaustive, is_whole, has_pools;

static const GOptionEntry options[] = {
    ORR_OPTION_TEXT("model", model, "NAME", "The model"),
    ORR_OPTION_TEXT("cluster", clusters, "NAME", "The machine; several: a,b"),
    ORR_OPTION_TEXT(
        "device", devices, "NAME",
        "Instead of --cluster: devices, each with its machine of the library, e.g. h100-sxm,b200"),
    ORR_OPTION_TEXT("stack", stack, "NAME", "The engine (default: the newest vllm)"),
    ORR_OPTION_TEXT("prices", prices, "NAME", "Prices, for the cost of tokens"),
    ORR_OPTION_TEXT("precision", formats, "WORD",
                    "Formats of the weights, e.g. bf16,fp8 (default: as in the model's public "
                    "checkpoints, and fp8 where the engine casts)"),
    ORR_OPTION_TEXT("kv-cache", caches, "WORD",
                    "Formats of the key-value cache (default: bf16,fp8)"),
    ORR_OPTION_INT("gpus", n_gpus, "GPUs that there are (default: as many as needed)"),
    ORR_OPTION_REAL("rate", rate, "Requests per second (default: as many as the GPUs serve)"),
    ORR_OPTION_INT("input", input_tokens, "Tokens of a prompt"),
    ORR_OPTION_INT("output", output_tokens, "Tokens of an answer"),
    ORR_OPTION_TEXT("trace", trace_file, "FILE",
                    "Instead of --input and --output: a trace of requests (Mooncake's, Azure's, a "
                    "CSV, JSON of benchmarks), whose times of arrival are scaled to each rate; "
                    "without --rate and --gpus its own rate"),
    ORR_OPTION_TEXT(
        "trace-kind", trace_kind, "WORD",
        "Its format: azure, csv, mooncake or sharegpt (default: by the file's beginning)"),
    ORR_OPTION_TEXT("ttft", ttft, "TIME", "Longest time to the first token, e.g. 2s"),
    ORR_OPTION_TEXT("tpot", tpot, "TIME", "Longest time per further token, e.g. 30ms"),
    ORR_OPTION_REAL("share", fraction,
                    "Fraction of the requests that must meet both (default 0.99)"),
    ORR_OPTION_FLAG("aggregated", is_whole, "Only layouts whose replicas prefill and decode"),
    ORR_OPTION_FLAG("feed-forward-pools", has_pools,
                    "Also layouts of mixtures whose experts have GPUs of their own, in all ratios "
                    "to attention's GPUs"),
    ORR_OPTION_TEXT("feed-forward-device", feed_device, "NAME",
                    "Device of these experts' GPUs (default: attention's)"),
    ORR_OPTION_FLAG("exhaustive", exhaustive,
                    "Search the rate of every layout, also where it cannot be among the best"),
    ORR_OPTION_SET("workload.engine.max-num-seqs=64"),
    ORR_OPTION('o', FILENAME, "file", orr_options.output, "FILE",
               "Write the best layout's scenario to FILE (default: plan-best.yaml)"),
    ORR_OPTION_DATABASE("Store the layouts in FILE (default: orrery.db); asking the same question "
                        "again continues there; 'none' stores nothing"),
    ORR_OPTION_JOBS(
        "Worker processes (default: one per core); on Slurm, cores of the job (default: 8)"),
    ORR_OPTION_TEXT("executor", executor, "WORD",
                    "local (default), or slurm: one job on the cores of a node; the same command "
                    "without it then prints the answer"),
    ORR_OPTION_JSON("one JSON object"),
    {NULL},
};

/* --- The question --- */

static gboolean read_time(const char *option, const char *text, double *ret_s, GError **error) {
  if (text && orr_quantity_parse(text, ORR_UNIT_SECONDS, ret_s, NULL) && *ret_s > 0) return TRUE;
  return orr_fault_set(error, ORR_FAULT_USAGE, "plan serving needs %s TIME, above 0 (%s)", option,
                       orr_unit_allowed(ORR_UNIT_SECONDS));
}

/* Settings that the search makes itself, and the option for each. */
static const char *searched_by(const char *setting) {
  static const char *const taken[][2] = {
      {"cluster", "--cluster, --device or --gpus"},
      {"model", "--model"},
      {"workload.kv-dtype=", "--kv-cache"},
      {"workload.precision=", "--precision"},
      {"workload.quantization=", "--precision"},
      {"workload.load", "--rate"},
      {"workload.replicas", "--gpus or --rate"},
      {"workload.parallel", "nothing: all layouts are searched"},
      {"workload.disaggregation.prefill", "--aggregated"},
      {"workload.engine.max-num-batched-tokens", "nothing: all layouts are searched"}};
  for (guint i = 0; i < G_N_ELEMENTS(taken); i++)
    if (g_str_has_prefix(setting, taken[i][0])) return taken[i][1];
  return NULL;
}

static gboolean check_settings(GError **error) {
  for (char **setting = orr_options.settings; setting && *setting; setting++) {
    const char *option = searched_by(*setting);
    if (!option) continue;
    return orr_fault_set(error, ORR_FAULT_USAGE, "--set %s: the search sets it; its limits: %s",
                         *setting, option);
  }
  return TRUE;
}

static gboolean check_numbers(GError **error) {
  const char *wrong = NULL;
  if (!model)
    wrong = "plan serving needs --model NAME ('orrery list models')";
  else if (!clusters == !devices)
    wrong = "plan serving needs --cluster NAME ('orrery list clusters') or --device NAME ('orrery "
            "list devices')";
  else if (trace_file && (input_tokens != 0 || output_tokens != 0))
    wrong =
        "a trace has the lengths of its requests: give --trace FILE, or --input N and --output N";
  else if (!trace_file && trace_kind)
    wrong = "--trace-kind is the format of a trace: give --trace FILE";
  else if (!trace_file && (input_tokens < 1 || output_tokens < 1))
    wrong = "plan serving needs --input N and --output N, 1 or more tokens, or --trace FILE";
  else if (n_gpus < 0 || rate < 0 || !isfinite(rate) || (n_gpus == 0 && rate == 0 && !trace_file))
    wrong = "plan serving needs --rate X or --gpus N, above 0, or both";
  else if (!(fraction > 0 && fraction <= 1))
    wrong = "--share takes a number above 0 and at most 1";
  if (wrong) g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "%s", wrong);
  return !wrong && orr_options_check_jobs(error);
}

/* "bf16,fp8" as words of quantization, in which bf16 is called "none". */
static char **split_formats(const char *text) {
  char **words = g_strsplit(text, ",", -1);
  for (char **word = words; *word; word++) {
    if (strcmp(*word, "bf16") != 0) continue;
    g_free(*word);
    *word = g_strdup("none");
  }
  return words;
}

static char **machines_of(OrrLibrary *library, GError **error) {
  char **names = g_strsplit(clusters ? clusters : devices, ",", -1);
  for (char **name = names; devices && *name; name++) {
    char *machine = orr_plan_serving_machine(library, *name, error);
    if (!machine) {
      g_strfreev(names);
      return NULL;
    }
    g_free(*name);
    *name = machine;
  }
  return names;
}

static void clear_question(OrrPlanServing *asked) {
  g_strfreev(asked->clusters);
  g_strfreev(asked->formats);
  g_strfreev(asked->caches);
  g_strfreev(asked->stacks);
  orr_plan_trace_free((OrrPlanTrace *)asked->trace);
}

static gboolean take_trace(OrrLibrary *library, OrrPlanServing *asked, GError **error) {
  if (!trace_file) return TRUE;
  const OrrPlanTrace *trace =
      orr_plan_trace_new(library, trace_file, trace_kind, orr_options.settings, error);
  if (!trace) return FALSE;
  orr_plan_trace_ask(trace, asked);
  if (asked->rate > 0 || asked->gpus > 0) return TRUE;
  return orr_fault_set(
      error, ORR_FAULT_USAGE,
      "--trace %s: its requests have no times, so give --rate X or --gpus N, above 0", trace_file);
}

/* Software for each machine: what the user names, or what runs on it. A strv. */
static char **stacks_of(OrrLibrary *library, char **machines) {
  GPtrArray *stacks = g_ptr_array_new();
  for (; *machines; machines++)
    g_ptr_array_add(stacks, orr_plan_serving_stack(library, stack, *machines));
  g_ptr_array_add(stacks, NULL);
  return (char **)g_ptr_array_free(stacks, FALSE);
}

/* The formats of all @stacks, each once. A strv; NULL with @error. */
static char **all_formats(OrrLibrary *library, char **stacks, GError **error) {
  g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(g_free);
  for (; *stacks; stacks++) {
    g_auto(GStrv) own = orr_plan_serving_formats(library, model, *stacks, error);
    if (!own) return NULL;
    for (char **word = own; *word; word++)
      if (!g_ptr_array_find_with_equal_func(all, *word, g_str_equal, NULL))
        g_ptr_array_add(all, g_strdup(*word));
  }
  g_ptr_array_add(all, NULL);
  return (char **)g_ptr_array_free(g_steal_pointer(&all), FALSE);
}

static gboolean read_question(OrrLibrary *library, OrrPlanServing *ret_asked, GError **error) {
  *ret_asked = (OrrPlanServing){.model = model,
                                .prices = prices,
                                .settings = orr_options.settings,
                                .gpus = n_gpus,
                                .rate = rate,
                                .input_tokens = input_tokens,
                                .output_tokens = output_tokens,
                                .fraction = fraction,
                                .is_whole = is_whole,
                                .has_pools = has_pools,
                                .feed_device = feed_device,
                                .exhaustive = exhaustive,
                                .jobs = (guint)MAX(orr_options.n_jobs, 0)};
  if (!check_numbers(error) || !check_settings(error) ||
      !read_time("--ttft", ttft, &ret_asked->ttft_s, error) ||
      !read_time("--tpot", tpot, &ret_asked->tpot_s, error) ||
      !take_trace(library, ret_asked, error))
    return FALSE;
  ret_asked->clusters = machines_of(library, error);
  if (!ret_asked->clusters) return FALSE;
  ret_asked->stacks = stacks_of(library, ret_asked->clusters);
  ret_asked->stack = ret_asked->stacks[0];
  ret_asked->caches = g_strsplit(caches ? caches : "bf16,fp8", ",", -1);
  ret_asked->has_all_formats = !formats;
  ret_asked->formats =
      formats ? split_formats(formats) : all_formats(library, ret_asked->stacks, error);
  return ret_asked->formats != NULL;
}

/* --- The search --- */

typedef struct {
  OrrLibrary *library;
  const OrrPlanServing *asked;
  OrrStore *store; /* NULL: nothing is stored */
  GArray *layouts;
  OrrPlanServingAnswer answer;
  OrrServingResult fleet;
  GError *lost; /* why layouts are not stored: the search goes on, and its answer is printed */
} Plan;

/* Progress, where somebody looks. */
static void show(const char *what, guint n_done, guint n, void *user) {
  if (!isatty(STDERR_FILENO)) return;
  g_autofree char *line = g_strdup_printf("%s: %u of %u", what, n_done, n);
  orr_terminal_line(n_done < n ? line : NULL);
}

static gboolean keep(guint index, const OrrPlanLayout *layout, void *user, GError **error) {
  Plan *plan = user;
  if (plan->store && !plan->lost)
    orr_plan_serving_store_layout(plan->store, plan->answer.run, plan->asked, index, layout,
                                  &plan->lost);
  return TRUE;
}

static gboolean search(Plan *plan, GError **error) {
  const OrrPlanWatch watch = {show, keep, plan};
  const gint64 begin_us = g_get_monotonic_time();
  if (plan->store &&
      !orr_plan_serving_store_begin(plan->store, plan->library, plan->asked, plan->layouts,
                                    &plan->answer.run, &plan->answer.n_known, error))
    return FALSE;
  const gboolean is_done =
      orr_plan_serving_search(plan->library, plan->asked, plan->layouts, &watch, error);
  if (isatty(STDERR_FILENO)) orr_terminal_line(NULL);
  plan->answer.seconds = (double)(g_get_monotonic_time() - begin_us) / G_USEC_PER_SEC;
  return is_done;
}

/* --- The fleet --- */

static gboolean write_scenario(const OrrNode *tree, const char *file, GError **error) {
  g_autofree char *yaml = orr_yaml_text(tree);
  g_autofree char *text = g_strconcat("# Made by orrery plan serving.\n", yaml, NULL);
  g_autofree char *placed = orr_relative_text(text, file);
  return orr_file_write(file, placed, -1, error);
}

/* The scenario is written and the fleet is stored when the answer is printed. */
static gboolean keep_fleet(Plan *plan, const OrrNode *tree, const OrrScenario *scenario,
                           const OrrOutcome *outcome, GError **error) {
  if (!write_scenario(tree, plan->answer.file, error)) return FALSE;
  if (plan->lost) {
    g_propagate_error(error, g_steal_pointer(&plan->lost));
    return FALSE;
  }
  return !plan->store || orr_outcome_store(outcome, scenario, plan->answer.file, plan->store,
                                           &plan->answer.fleet_run, error);
}

/* Of the fleet's run, and of the other layouts that the answer shows. */
static void add_caveats(const Plan *plan, const OrrOutcome *outcome, OrrCaveats *caveats) {
  const GArray *ranked = plan->answer.ranked;
  for (guint i = 0; i < outcome->warnings->len; i++)
    orr_caveats_add_text(caveats, outcome->warnings->pdata[i]);
  for (guint i = 0; i < MIN(ranked->len, ORR_PLAN_BEST); i++) {
    const OrrPlanLayout *layout =
        &g_array_index(plan->layouts, OrrPlanLayout, g_array_index(ranked, guint, i));
    const OrrPlanLoad load = {.rate = layout->fleet_rate};
    g_autoptr(OrrDiags) diags = orr_diags_new(); /* the search has read the layout */
    g_autoptr(OrrNode) tree =
        orr_plan_serving_tree(plan->library, plan->asked, layout, layout->replicas, &load, NULL);
    g_autoptr(OrrScenario) scenario =
        tree ? orr_scenario_read_fields(plan->library, tree, diags) : NULL;
    if (!scenario) continue;
    orr_caveats_add(caveats, scenario);
    orr_caveats_add_values(caveats, scenario);
  }
}

/* A layout's fleet and its run. */
typedef struct {
  OrrNode *tree;
  OrrScenario *scenario;
  OrrOutcome *outcome;
} Fleet;

static void clear_fleet(Fleet *fleet) {
  orr_node_free(fleet->tree);
  orr_scenario_free(fleet->scenario);
  orr_outcome_free(fleet->outcome);
  *fleet = (Fleet){0};
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Fleet, clear_fleet)

/* At the rate asked for or at what it is promised to serve. */
static gboolean run_fleet(const Plan *plan, const OrrPlanLayout *layout, Fleet *fleet,
                          GError **error) {
  const OrrPlanLoad load = {.rate = orr_plan_serving_fleet_load(plan->asked, layout)};
  g_autoptr(OrrDiags) diags = orr_diags_new();
  clear_fleet(fleet);
  fleet->tree =
      orr_plan_serving_tree(plan->library, plan->asked, layout, layout->replicas, &load, error);
  if (!fleet->tree) return FALSE;
  fleet->scenario = orr_scenario_read(plan->library, fleet->tree, diags);
  if (!fleet->scenario) {
    orr_diags_check(diags, error);
    return FALSE;
  }
  fleet->outcome = orr_simulate(plan->library, fleet->scenario, FALSE, error);
  return fleet->outcome != NULL;
}

/* The max-model-len with which the engine starts: 0 where it does without one, else the longest
 * request of the question; of a trace, what there is room for. */
static gint64 model_length(const OrrPlanServing *asked, const Fleet *fleet) {
  const OrrScenario *scenario = fleet->scenario;
  const OrrServing *params = scenario->workload.params;
  const gint64 room = orr_serving_start_room(params, &scenario->model, &scenario->cluster, NULL);
  if (room == 0 || params->engine.max_model_len > 0) return 0;
  return asked->trace ? room : MIN(room, asked->input_tokens + asked->output_tokens);
}

/* Prints the answer with the fleet of the best layout. */
static gboolean verify(Plan *plan, const OrrPlanLayout *best, GError **error) {
  OrrPlanLayout layout = *best;
  g_auto(Fleet) fleet = {0};
  if (!run_fleet(plan, &layout, &fleet, error)) return FALSE;
  layout.max_model_len = model_length(plan->asked, &fleet);
  if (layout.max_model_len > 0 && !run_fleet(plan, &layout, &fleet, error)) return FALSE;
  g_autofree char *launch = orr_plan_serving_launch(plan->library, plan->asked, &layout);
  plan->answer.launch = launch;
  plan->fleet = fleet.outcome->result.serving;
  orr_bands_add(plan->library, fleet.scenario, fleet.outcome, ORR_BAND_LEVEL);
  g_autoptr(OrrCaveats) caveats = orr_caveats_new(plan->library);
  add_caveats(plan, fleet.outcome, caveats);
  plan->answer.warnings = orr_caveats_texts(caveats);
  orr_terminal_outlive_reader();
  (orr_options.json ? orr_summary_plan_serving_json
                    : orr_summary_plan_serving_print)(&plan->answer);
  fflush(stdout);
  if (!keep_fleet(plan, fleet.tree, fleet.scenario, fleet.outcome, error)) return FALSE;
  if (!orr_options.json) orr_summary_plan_serving_stored(&plan->answer);
  return TRUE;
}

static gboolean check_found(const Plan *plan, GError **error) {
  if (plan->answer.ranked->len > 0) return TRUE;
  g_autofree char *reasons = orr_summary_plan_serving_reasons(plan->layouts);
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "no layout of %u serves it; layouts by reason: %s", plan->layouts->len,
                       reasons);
}

static int answer(Plan *plan, GError **error) {
  if (!search(plan, error)) return 1;
  g_autoptr(GArray) ranked = orr_plan_serving_rank(plan->asked, plan->layouts);
  plan->answer.ranked = ranked;
  if (!check_found(plan, error)) return 2;
  const OrrPlanLayout *best =
      &g_array_index(plan->layouts, OrrPlanLayout, g_array_index(ranked, guint, 0));
  g_autofree char *currency = prices ? orr_verb_plan_currency(plan->library, prices) : NULL;
  plan->answer.currency = currency;
  return verify(plan, best, error) ? 0 : orr_fault_exit_status(*error);
}

static int run_on(OrrLibrary *library, const OrrPlanServing *asked, GError **error) {
  const char *path = orr_options_database();
  gboolean is_slurm = FALSE;
  g_autoptr(GArray) layouts = orr_plan_serving_layouts(library, asked, error);
  const char *file = orr_options.output ? orr_options.output : "plan-best.yaml";
  if (!layouts || !orr_verb_plan_check(file, error) ||
      !orr_plan_slurm_asked(executor, path, &is_slurm, error))
    return 2;
  if (is_slurm)
    return orr_plan_slurm_submit(path, asked->jobs ? asked->jobs : SLURM_CORES, error) ? 0 : 1;
  g_autoptr(OrrStore) store = path ? orr_store_open(path, error) : NULL;
  if (path && !store) return 1;
  g_autofree char *stacks = orr_plan_serving_stack_words(asked);
  Plan plan = {.library = library, .asked = asked, .store = store, .layouts = layouts};
  plan.answer = (OrrPlanServingAnswer){
      .asked = asked,
      .layouts = layouts,
      .fleet = &plan.fleet,
      .noun = asked->clusters[1] ? "GPU" : orr_plan_noun(library, asked->clusters[0]),
      .assumed = orr_verb_plan_assumed(stack, orr_options.settings, stacks),
      .file = file,
      .db = path};
  const int status = answer(&plan, error);
  g_clear_error(&plan.lost);
  return status ? status : orr_patience_end_store(path, store);
}

static int run(OrrLibrary *library, char **args, GError **error) {
  OrrPlanServing asked = {0};
  const gboolean is_read =
      orr_cli_check_args(args, 0, 0, "plan serving takes options only", error) &&
      read_question(library, &asked, error);
  const int status = is_read ? run_on(library, &asked, error) : 2;
  clear_question(&asked);
  return status;
}

const OrrCommand orr_verb_plan_serving = {
    .verb = "serving",
    .sentence = "Which layout serves the most requests within objectives, and on how many GPUs.",
    .usage = "--model NAME (--cluster NAME[,NAME]... | --device NAME[,NAME]...) (--rate X | "
             "--gpus N) (--input N --output N | --trace FILE) --ttft TIME --tpot TIME [--precision "
             "WORD[,WORD]...] [--kv-cache WORD[,WORD]...] [--db FILE] [-o FILE]",
    .more = "Tensor, pipeline and expert parallelism, attention's data parallelism, prefill and "
            "decode on replicas of their own, formats of weights and cache, and the tokens of a "
            "step are searched. Each layout's highest rate is found by simulation, as orrery plan "
            "rate does, with two seeds, in a steady state; a layout that fails at the rate that "
            "would bring it among the best five is left there. Then the fleet of the best one is "
            "simulated. With --rate the layout of the fewest GPUs is the best, otherwise the one "
            "of the most requests, by the rate that a measurement reaches with 90 % confidence: "
            "the upper ends of the error bands decide, where measured runs say them, not the "
            "simulated rate next to it, and the fleet is simulated at that rate. A trace is "
            "replayed end to end until a steady state lasts ten times as long as a request stays; "
            "--set workload.requests=N takes its first N requests.",
    .options = options,
    .run = run,
};
