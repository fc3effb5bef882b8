/*
 * verb_plan_scaling.c - orrery plan scaling: which model a machine trains best in some weeks.
 *
 * Sizes of one shape are simulated in the fastest layout that the GPUs have for each. A scaling law
 * (sim/plan/scaling.c) says what the tokens of that time make of them.
 */
#include "sim/base/json_write.h"
#include "sim/cli/verb_plan.h"

static const char shape[] = "llama-3.1-8b";
static const char default_law[] = "besiroglu-2024", default_repeats[] = "muennighoff-2023";

static int n_gpus;
static double days, useful = 1;
static char *law_name, *data_text;

static const GOptionEntry options[] = {
    ORR_VERB_PLAN_ENTRIES(orr_verb_plan_asked),
    ORR_OPTION_INT("gpus", n_gpus, "How many GPUs"),
    ORR_OPTION_REAL("days", days, "Days until the end"),
    ORR_OPTION_REAL("useful", useful,
                    "Fraction of the time that is training, not failures and restarts (default 1)"),
    ORR_OPTION_TEXT("law", law_name, "NAME",
                    "besiroglu-2024 (default), hoffmann-2022 or muennighoff-2023"),
    ORR_OPTION_TEXT("data", data_text, "N",
                    "Different tokens that there are, such as 2T: more are repetitions, which "
                    "muennighoff-2023 knows, the default then"),
    ORR_OPTION_JSON("one JSON object"),
    {NULL},
};

/* Times layers and width of the shape: 0.4 billion to 4 trillion parameters of Llama's. */
static const double factors[] = {0.25, 0.375, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8};
enum { N_SIZES = G_N_ELEMENTS(factors), BASE_SIZE = 4 };

typedef struct {
  double parameters;
  char *model; /* inline */
  gboolean is_tried;
  OrrPlanFastest fastest;
  double tokens, loss; /* at the end; loss INFINITY: no layout works */
} Size;

typedef struct {
  OrrPlanSweeps sweeps;
  OrrPlanTraining asked;
  const OrrScalingLaw *law;
  double unique, seconds;
  Size sizes[N_SIZES];
} Search;

static gboolean check_options(Search *search, GError **error) {
  search->unique = INFINITY;
  if (n_gpus < 1 || days <= 0 || !isfinite(days))
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "plan scaling needs --gpus N and --days X, above 0");
  if (!(useful > 0 && useful <= 1))
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "--useful takes a number above 0 and at most 1, found %g", useful);
  if (data_text && !orr_plan_count("--data", data_text, &search->unique, error)) return FALSE;
  const char *usual = data_text ? default_repeats : default_law;
  search->law = orr_scaling_law(law_name ? law_name : usual, error);
  if (!search->law) return FALSE;
  if (data_text && search->law->token_repeats == 0)
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "--law %s knows no repeated tokens, which --data asks about: "
                         "muennighoff-2023 does",
                         law_name);
  search->seconds = days * 86400 * useful;
  search->asked.gpus = n_gpus;
  return TRUE;
}

static gboolean make_sizes(Search *search, GError **error) {
  for (guint i = 0; i < N_SIZES; i++) {
    Size *size = &search->sizes[i];
    size->model = orr_plan_scaled_model(search->sweeps.library, search->asked.model, factors[i],
                                        &size->parameters, error);
    if (!size->model) return FALSE;
  }
  return TRUE;
}

/* "62.3B". */
static char *amount(double value) {
  static const struct {
    double unit;
    const char *suffix;
  } units[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}};
  for (guint i = 0; i < G_N_ELEMENTS(units); i++)
    if (value >= units[i].unit)
      return g_strdup_printf("%.3g%s", value / units[i].unit, units[i].suffix);
  return g_strdup_printf("%.3g", value);
}

static gboolean try_size(Search *search, guint at, GError **error) {
  Size *size = &search->sizes[at];
  if (size->is_tried) return TRUE;
  g_autofree char *parameters = amount(size->parameters);
  g_autofree char *title = g_strdup_printf("%s parameters", parameters);
  OrrPlanTraining asked = search->asked;
  asked.model = size->model;
  asked.title = title;
  if (!orr_verb_plan_fastest(&search->sweeps, &asked, &size->fastest, error)) return FALSE;
  size->is_tried = TRUE;
  size->tokens = size->fastest.tokens_per_s * search->seconds;
  size->loss = size->tokens > 0
                   ? orr_scaling_loss(search->law, size->parameters, size->tokens, search->unique)
                   : INFINITY;
  return TRUE;
}

/* The size nearest to the best one of as many FLOPs, if all sizes ran as fast as the shape. */
static guint guess(const Search *search) {
  const Size *base = &search->sizes[BASE_SIZE];
  if (base->tokens <= 0) return BASE_SIZE;
  const double best = orr_scaling_parameters_of_flops(
      search->law, 6 * base->parameters * base->fastest.tokens_per_s * search->seconds);
  guint nearest = 0;
  for (guint i = 1; i < N_SIZES; i++)
    if (fabs(log(search->sizes[i].parameters / best)) <
        fabs(log(search->sizes[nearest].parameters / best)))
      nearest = i;
  return nearest;
}

static guint best_of(const Search *search) {
  guint best = BASE_SIZE;
  for (guint i = 0; i < N_SIZES; i++)
    if (search->sizes[i].is_tried &&
        (!search->sizes[best].is_tried || search->sizes[i].loss < search->sizes[best].loss))
      best = i;
  return best;
}

/* Tries sizes until the best one has a worse neighbour on each side that there is. */
static gboolean find(Search *search, GError **error) {
  if (!try_size(search, BASE_SIZE, error) || !try_size(search, guess(search), error)) return FALSE;
  for (guint best = N_SIZES; best != best_of(search);) {
    best = best_of(search);
    if ((best > 0 && !try_size(search, best - 1, error)) ||
        (best + 1 < N_SIZES && !try_size(search, best + 1, error)))
      return FALSE;
  }
  return TRUE;
}

/* --- The answer --- */

static void print_size(const Search *search, const Size *size, double best_loss) {
  g_autofree char *parameters = amount(size->parameters), *tokens = amount(size->tokens);
  if (size->tokens <= 0) {
    printf("%12s  %12s  %s\n", parameters, "-", size->fastest.why);
    return;
  }
  const double needed =
      orr_scaling_tokens(search->law, size->parameters, best_loss, search->unique);
  const double wait = needed / (size->fastest.tokens_per_s * useful) / 86400;
  g_autofree char *low = amount(size->tokens * size->fastest.low);
  g_autofree char *high = amount(size->tokens * size->fastest.high);
  g_autofree char *band =
      size->fastest.high > 0 ? g_strdup_printf("%s to %s", low, high) : g_strdup("none");
  g_autofree char *reach = wait > 36525 ? g_strdup("never") : g_strdup_printf("%.3g", wait);
  printf("%12s  %12.4g  %8s  %-16s  %13.3g  %.4f  %s\n", parameters, size->fastest.tokens_per_s,
         tokens, band, size->tokens / size->parameters, size->loss, reach);
}

/* Between the neighbours of the best size. */
static Size best_between(const Search *search) {
  OrrScalingSpeed speeds[N_SIZES];
  guint n = 0;
  const guint best = best_of(search);
  for (guint i = best > 0 ? best - 1 : 0; i <= MIN(best + 1, N_SIZES - 1); i++)
    if (search->sizes[i].tokens > 0)
      speeds[n++] =
          (OrrScalingSpeed){search->sizes[i].parameters, search->sizes[i].fastest.tokens_per_s};
  Size found = {0};
  found.parameters =
      orr_scaling_best(search->law, speeds, n, search->seconds, search->unique, &found.tokens);
  found.loss = orr_scaling_loss(search->law, found.parameters, found.tokens, search->unique);
  return found;
}

/* The answer's own remarks are added to the warnings of the sweeps. */
static void add_warnings(const Search *search, const Size *found) {
  const guint best = best_of(search);
  if (found->parameters > search->law->most_parameters) {
    g_autofree char *most = amount(search->law->most_parameters);
    g_autofree char *text = g_strdup_printf("law %s was fitted to models of at most %s parameters",
                                            search->law->name, most);
    orr_caveats_add_text(search->sweeps.caveats, text);
  }
  if (best == 0 || best == N_SIZES - 1)
    orr_caveats_add_text(search->sweeps.caveats,
                         best ? "the best size may be larger than the largest one here"
                              : "the best size may be smaller than the smallest one here");
}

static void print_text(const Search *search, const Size *found) {
  printf("%12s  %12s  %8s  %-16s  %13s  %6s  %s\n", "parameters", "tokens/s", "tokens", "80 % band",
         "per parameter", "loss", "days to the least loss");
  for (guint i = 0; i < N_SIZES; i++)
    if (search->sizes[i].is_tried)
      print_size(search, &search->sizes[i], search->sizes[best_of(search)].loss);
  g_autofree char *size = amount(found->parameters), *seen = amount(found->tokens);
  printf("best          %s parameters on %s tokens, %.3g per parameter: loss %.4f\n", size, seen,
         found->tokens / found->parameters, found->loss);
  if (found->tokens > search->unique)
    printf("data          each token is seen %.3g times\n", found->tokens / search->unique);
  printf("law           %s (%s)\n", search->law->name, search->law->source);
  g_autofree char *assumed =
      orr_verb_plan_assumed_training(search->sweeps.library, search->asked.cluster);
  g_autofree char *words = assumed ? orr_show_assumed(assumed) : NULL;
  if (words) printf("stack         %s (--stack names another)\n", words);
  orr_show_warnings("warning       ", orr_caveats_texts(search->sweeps.caveats));
  g_autofree char *again = orr_verb_plan_again();
  g_autofree char *part = useful < 1 ? g_strdup_printf(" --useful %g", useful) : g_strdup("");
  printf("next          orrery plan gpus --model NAME --cluster %s --tokens N --days %.4g%s%s\n",
         search->asked.cluster, days, part, again);
}

static void write_size(GString *out, const Size *size) {
  ORR_JSON_NUMBERS(out, {"parameters", size->parameters}, {"tokens", size->tokens},
                   {"loss", size->loss});
}

static void print_json(const Search *search, const Size *found) {
  g_autoptr(GString) out = g_string_new("{");
  g_autofree char *assumed =
      orr_verb_plan_assumed_training(search->sweeps.library, search->asked.cluster);
  orr_json_write_text(out, "law", search->law->name);
  orr_json_write_text(out, "release_assumed", assumed);
  write_size(out, found);
  orr_json_write_array(out, "sizes");
  for (guint i = 0; i < N_SIZES; i++) {
    const Size *size = &search->sizes[i];
    if (!size->is_tried || size->tokens <= 0) continue;
    orr_json_write_element(out, "\n  ");
    write_size(out, size);
    ORR_JSON_NUMBERS(out, {"tokens_per_s", size->fastest.tokens_per_s},
                     {"tokens_low", size->tokens * size->fastest.low},
                     {"tokens_high", size->tokens * size->fastest.high});
    g_string_append_c(out, '}');
  }
  g_string_append_c(out, ']');
  const GPtrArray *warnings = orr_caveats_texts(search->sweeps.caveats);
  orr_json_write_texts(out, "warnings", (char *const *)warnings->pdata, warnings->len);
  printf("%s}\n", out->str);
}

static int answer(const Search *search, GError **error) {
  const Size *best = &search->sizes[best_of(search)];
  g_autofree char *smallest = amount(search->sizes[0].parameters);
  if (best->tokens <= 0) {
    orr_fault_set(error, ORR_FAULT_DOCUMENT, "no size from %s parameters on can be trained: %s",
                  smallest, best->fastest.why);
    return 2;
  }
  const Size found = best_between(search);
  add_warnings(search, &found);
  (orr_options.json ? print_json : print_text)(search, &found);
  return 0;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  Search search = {0};
  if (!orr_verb_plan_asked.model) orr_verb_plan_asked.model = g_strdup(shape);
  if (!orr_cli_check_args(args, 0, 0, "plan scaling takes options only", error) ||
      !orr_verb_plan_read(&search.asked, error) || !check_options(&search, error) ||
      !orr_plan_gpus_per_node(library, &search.asked, error))
    return 2;
  if (!orr_verb_plan_sweeps_begin(&search.sweeps, library, error)) return 1;
  const int status =
      make_sizes(&search, error) && find(&search, error) ? answer(&search, error) : 2;
  for (guint i = 0; i < N_SIZES; i++) {
    g_free(search.sizes[i].model);
    orr_plan_fastest_clear(&search.sizes[i].fastest);
  }
  orr_verb_plan_sweeps_end(&search.sweeps);
  return status;
}

const OrrCommand orr_verb_plan_scaling = {
    .verb = "scaling",
    .sentence = "The model, and its tokens, that a machine trains best in some days.",
    .usage = "--cluster NAME --gpus N --days X [--useful X] [--law NAME] [--data N] [--model NAME] "
             "[--db FILE] [--json]",
    .more = "Tries sizes of the shape of --model (default: llama-3.1-8b): for each the fastest "
            "layout, as plan training finds it. A scaling law gives the loss after the tokens of "
            "that time; between sizes the speed is interpolated. The last column is how long a "
            "size takes to the least loss of the table: smaller models cost less to serve. "
            "--useful is the fraction of the time that is training (the goodput of a campaign).",
    .options = options,
    .run = run,
};
