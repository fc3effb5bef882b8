/*
 * sweep_needs.c - results that mean nothing until the document gives what they are computed from.
 *
 * Without prices a cost is NULL at every point, and so is an energy without a power model of the
 * device: minimizing it would pick an arbitrary point, and a limit on it would never hold. So an
 * objective or a constraint that uses such a result is an error, whose message names the path to
 * set. An axis over that path, over a section that contains it or over a part of it, gives it too.
 */
#include "sim/sweep/sweep_private.h"

#include "sim/sweep/sweep_axis.h"

/* A number at a path; any price; a rent or a purchase; the price of a kWh; its carbon; what nodes
 * draw besides their GPUs, by a meter or by parts; jobs whose steps are replayed. */
typedef enum {
  NEEDS_PATH,
  NEEDS_PRICES,
  NEEDS_HARDWARE,
  NEEDS_KWH,
  NEEDS_CARBON,
  NEEDS_NODES,
  NEEDS_STEPS
} Need;

static const struct {
  const char *result; /* as expressions name it */
  Need need;
  const char *path; /* of the scenario */
  const char *what; /* the number or section at the path */
} needs[] = {
    {"cost", NEEDS_PRICES, "prices", "prices"},
    {"cost-lost", NEEDS_PRICES, "prices", "prices"},
    {"cost-per-gpu-hour", NEEDS_PRICES, "prices", "prices"},
    {"cost-per-day", NEEDS_PRICES, "prices", "prices"},
    {"cost-per-step", NEEDS_PRICES, "prices", "prices"},
    {"cost-per-run", NEEDS_PRICES, "prices", "prices"},
    {"cost-per-run", NEEDS_PATH, "workload.run-tokens", "the tokens of the run"},
    {"cost-per-run", NEEDS_PATH, "workload.run-steps", "the steps of the run"},
    {"run-days", NEEDS_PATH, "workload.run-tokens", "the tokens of the run"},
    {"run-days", NEEDS_PATH, "workload.run-steps", "the steps of the run"},
    {"cost-per-million-tokens", NEEDS_PRICES, "prices", "prices"},
    {"cost-per-million-input-tokens", NEEDS_PRICES, "prices", "prices"},
    {"cost-per-million-output-tokens", NEEDS_PRICES, "prices", "prices"},
    {"cost-per-million-response-tokens", NEEDS_PRICES, "prices", "prices"},
    {"cost-per-useful-gpu-hour", NEEDS_PRICES, "prices", "prices"},
    {"cost-hardware", NEEDS_HARDWARE, "prices.gpu-hour", "a rent or a price of purchase"},
    {"cost-energy", NEEDS_KWH, "prices.kwh", "a price of a kWh"},
    {"hardware-cost-per-gpu-hour", NEEDS_HARDWARE, "prices.gpu-hour",
     "a rent or a price of purchase"},
    {"energy-cost-per-gpu-hour", NEEDS_KWH, "prices.kwh", "a price of a kWh"},
    {"carbon-kg-per-day", NEEDS_CARBON, "prices.carbon-grams-per-kwh", "grams of CO2 per kWh"},
    {"carbon-g-per-million-tokens", NEEDS_CARBON, "prices.carbon-grams-per-kwh",
     "grams of CO2 per kWh"},
    {"machine-power-mean-w", NEEDS_NODES, "cluster.power.rest-busy",
     "what nodes draw besides their GPUs"},
    {"carbon-kg", NEEDS_CARBON, "prices.carbon-grams-per-kwh", "grams of CO2 per kWh"},
    {"carbon-kg", NEEDS_STEPS, "workload.speed", "the power of replayed steps"},
    {"energy-kwh", NEEDS_NODES, "cluster.power.rest-busy", "what nodes draw besides their GPUs"},
    {"energy-kwh", NEEDS_STEPS, "workload.speed", "the power of replayed steps"},
    {"cost-energy", NEEDS_STEPS, "workload.speed", "the power of replayed steps"},
    {"gpu-power-mean-w", NEEDS_STEPS, "workload.speed", "the power of replayed steps"},
    {"machine-power-mean-w", NEEDS_STEPS, "workload.speed", "the power of replayed steps"},
    {"nodes-power-mean-w", NEEDS_NODES, "cluster.power.rest-busy",
     "what nodes draw besides their GPUs"},
};

/* How the names of results begin that need a power model of the device. */
static const char *const powered[] = {"energy-",    "gpu-energy-", "power-",
                                      "gpu-power-", "carbon-",     NULL};

static gboolean is_part_of(const char *path, const char *whole) {
  const gsize n = strlen(whole);
  return strncmp(path, whole, n) == 0 && (path[n] == '\0' || path[n] == '.');
}

static gboolean axis_gives(const OrrSweepPlan *plan, const char *path) {
  for (guint i = 0; i < plan->axes->len; i++) {
    const char *axis = ((const OrrSweepAxis *)plan->axes->pdata[i])->path;
    if (is_part_of(path, axis)) return TRUE;
  }
  return FALSE;
}

static gboolean any_axis_below(const OrrSweepPlan *plan, const char *path) {
  for (guint i = 0; i < plan->axes->len; i++)
    if (is_part_of(((const OrrSweepAxis *)plan->axes->pdata[i])->path, path)) return TRUE;
  return FALSE;
}

/* Of jobs, whose places take their steps' times; other workloads have no such choice. */
static gboolean are_steps_replayed(const OrrSweepPlan *plan, const char *path) {
  void *data = NULL;
  const OrrField *field = orr_field_assign_member(&orr_scenario_table, plan->base, path, &data);
  if (!field || field->kind != ORR_FIELD_CHOICE) return TRUE;
  const OrrChoice *choice = (const OrrChoice *)(const void *)((const char *)data + field->offset);
  return g_str_equal(choice->entry->name, "steps");
}

/* A path that this kind of workload does not have is nothing to give. */
static gboolean is_number_given(const OrrSweepPlan *plan, const char *path) {
  double value = 0;
  void *data = NULL;
  const OrrField *field = orr_field_assign_member(&orr_scenario_table, plan->base, path, &data);
  return !field || (orr_field_number(field, data, &value) && value > 0);
}

static gboolean is_given(const OrrSweepPlan *plan, Need need, const char *path) {
  const OrrPrices *prices = &plan->base->prices;
  if (axis_gives(plan, path)) return TRUE;
  switch (need) {
  case NEEDS_PRICES:
    return orr_prices_has_hardware(prices) || prices->kwh > 0 || any_axis_below(plan, "prices");
  case NEEDS_HARDWARE:
    return orr_prices_has_hardware(prices) || any_axis_below(plan, "prices");
  case NEEDS_KWH:
    return prices->kwh > 0;
  case NEEDS_CARBON:
    return prices->carbon_grams_per_kwh > 0;
  case NEEDS_NODES:
    return orr_cluster_power_knows_nodes(&plan->base->cluster.power) ||
           any_axis_below(plan, "cluster.power.parts");
  case NEEDS_STEPS:
    return are_steps_replayed(plan, path);
  default:
    return is_number_given(plan, path);
  }
}

static gboolean has_power(const OrrSweepPlan *plan) {
  return orr_device_power_is_known(&plan->base->cluster.device.power) ||
         axis_gives(plan, "cluster.device.power") || any_axis_below(plan, "cluster.device.power");
}

/* A cost has energy in it where a kWh has a price. */
static gboolean has_meter(const OrrSweepPlan *plan, const char *name) {
  return g_str_has_prefix(name, "energy-cost-") || g_str_has_prefix(name, "carbon-") ||
         ((g_str_equal(name, "cost") || g_str_has_prefix(name, "cost-")) &&
          plan->base->prices.kwh > 0);
}

/* Points keep no spans, from which the power of a training run over time is computed. */
static void check_spans(const OrrSweepPlan *plan, const char *name, OrrPlace place,
                        OrrDiags *diags) {
  if (plan->kind->result == &orr_training_result_table &&
      (g_str_equal(name, "power-swing-w") || g_str_equal(name, "power-ramp-w-per-s")))
    orr_diags_error(diags, place,
                    "%s is not known at any point: it needs spans, which points do not keep; "
                    "'orrery run' reports it",
                    name);
}

static gboolean needs_power(const OrrSweepPlan *plan, const char *name) {
  for (guint i = 0; powered[i]; i++)
    if (g_str_has_prefix(name, powered[i])) return TRUE;
  return has_meter(plan, name);
}

static void check_power(const OrrSweepPlan *plan, const char *name, OrrPlace place,
                        OrrDiags *diags) {
  static const char rest[] = "cluster.power.rest-busy";
  const char *but = g_str_has_prefix(name, "cost") ? ", or leave out prices.kwh" : "";
  if (needs_power(plan, name) && !has_power(plan))
    orr_diags_error(diags, place,
                    "%s is not known at any point without a power model of device %s: set "
                    "cluster.device.power%s",
                    name, plan->base->cluster.device.name, but);
  else if (has_meter(plan, name) && !is_given(plan, NEEDS_NODES, rest))
    orr_diags_error(diags, place,
                    "%s is not known at any point without what nodes draw besides their GPUs: set "
                    "%s%s",
                    name, rest, but);
}

void orr_sweep_needs_check(const OrrSweepPlan *plan, const OrrExpression *expression,
                           OrrPlace place, OrrDiags *diags) {
  for (guint slot = 0; slot < plan->names->len; slot++) {
    if (!orr_expression_uses(expression, slot)) continue;
    const char *name = g_array_index(plan->names, OrrExpressionName, slot).name;
    for (guint i = 0; i < G_N_ELEMENTS(needs); i++)
      if (g_str_equal(needs[i].result, name) && !is_given(plan, needs[i].need, needs[i].path))
        orr_diags_error(diags, place, "%s is not known at any point without %s: set %s", name,
                        needs[i].what, needs[i].path);
    if (slot >= plan->first_result && slot < plan->first_derived) {
      check_power(plan, name, place, diags);
      check_spans(plan, name, place, diags);
    }
  }
}

/* --- Names that moved --- */

static const struct {
  const char *name, *instead;
} moved[] = {
    {"cost_per_token", "cost_per_million_tokens, by the scenario's prices"},
    {"gpu_hour_price", "cost_per_gpu_hour, by the scenario's prices"},
};

static gboolean is_name_char(char c) { return g_ascii_isalnum(c) || c == '_' || c == '-'; }

/* Whether @text has the word @name; '-' and '_' are equal. */
static gboolean has_word(const char *text, const char *name) {
  const gsize n = strlen(name);
  g_autofree char *plain = g_strdelimit(g_strdup(text), "-", '_');
  for (const char *at = strstr(plain, name); at; at = strstr(at + 1, name))
    if ((at == plain || !is_name_char(at[-1])) && !is_name_char(at[n])) return TRUE;
  return FALSE;
}

gboolean orr_sweep_needs_refuse_moved(const char *text, OrrPlace place, OrrDiags *diags) {
  for (guint i = 0; i < G_N_ELEMENTS(moved); i++) {
    if (!has_word(text, moved[i].name)) continue;
    orr_diags_error(diags, place, "%s has moved: write %s", moved[i].name, moved[i].instead);
    return TRUE;
  }
  return FALSE;
}
