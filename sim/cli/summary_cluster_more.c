/*
 * summary_cluster_more.c - one line for each thing that was asked.
 */
#include "sim/cli/summary_cluster_more.h"

#include <math.h>

#include "sim/cli/show.h"
#include "workloads/cluster_jobs/cluster_jobs.h"

static void add_label(GString *out, const char *label) {
  g_string_append_printf(out, "  %-12s  ", label);
}

static void add_places(GString *out, const OrrClusterResult *r) {
  add_label(out, "places");
  g_string_append_printf(out, "gangs hold their GPUs %.3f times as long as at the given speed\n",
                         r->placement_slowdown);
  add_label(out, "fragments");
  g_string_append_printf(out,
                         "the largest gang that would start: %.0f GPUs in the mean; %.1f %% of the "
                         "free GPUs are beyond it\n",
                         r->largest_gang, 100 * r->fragmentation);
}

static void add_failures(GString *out, const OrrClusterResult *r) {
  add_label(out, "failures");
  g_string_append_printf(out,
                         "%" G_GINT64_FORMAT " struck, %" G_GINT64_FORMAT
                         " times a job stopped; %.0f GPU-hours lost, ETTR %.3f\n",
                         r->strikes, r->failures, r->failed_gpu_hours, r->ettr);
}

static void add_power(GString *out, const OrrClusterResult *r) {
  add_label(out, "power");
  g_string_append_printf(out, "GPUs %.0f kW", r->gpu_power_mean_w / 1000);
  g_autofree char *left_out = orr_cluster_power_left_out(&r->machine);
  if (!isnan(r->machine.all_w))
    g_string_append_printf(out, ", machine %.0f kW, %.0f MWh%s", r->machine.all_w / 1000,
                           r->energy_kwh / 1000, left_out);
  g_string_append_c(out, '\n');
}

static void add_part(GString *out, double cost, const char *what) {
  if (isnan(cost)) return;
  g_autofree char *number = orr_show_count((gint64)(cost + 0.5));
  g_string_append_printf(out, ", %s %s", number, what);
}

static void add_money(GString *out, const OrrScenario *scenario, const OrrClusterResult *r) {
  g_autoptr(GString) text = g_string_new(NULL);
  add_part(text, r->cost_hardware, "for the machine");
  add_part(text, r->cost_energy, "for energy");
  if (!isnan(r->cost_per_useful_gpu_hour))
    g_string_append_printf(text, ", %.3g per useful GPU-hour", r->cost_per_useful_gpu_hour);
  if (text->len > 0) {
    add_label(out, "cost");
    g_string_append_printf(out, "%s%s\n", scenario->prices.currency, text->str + 1);
  }
  if (isnan(r->carbon_kg)) return;
  g_autofree char *carbon = orr_show_count((gint64)(r->carbon_kg + 0.5));
  add_label(out, "carbon");
  g_string_append_printf(out, "%s kg of CO2\n", carbon);
}

static void add_asked(GString *out, const OrrScenario *scenario, const OrrClusterResult *r) {
  const OrrClusterAsk *ask = &((const OrrClusterJobs *)scenario->workload.params)->ask;
  add_label(out, "asked");
  if (isnan(r->asked_start_s))
    g_string_append(out, "the job asks for more GPUs than the cluster has\n");
  else
    g_string_append_printf(out,
                           "%" G_GINT64_FORMAT " GPUs submitted at %.1f h start at %.1f h, after "
                           "%.1f h\n",
                           ask->gpus, ask->at_s / 3600, r->asked_start_s / 3600,
                           r->asked_wait_s / 3600);
}

void orr_summary_cluster_more(GString *out, const OrrScenario *scenario,
                              const OrrClusterResult *r) {
  const OrrClusterJobs *params = scenario->workload.params;
  const OrrGangSpeedKind *speed = (const OrrGangSpeedKind *)(gconstpointer)params->speed.entry;
  const OrrFailures *set = &params->failures.set;
  if (!speed->is_given) add_places(out, r);
  if (set->processes && set->processes->len > 0) add_failures(out, r);
  if (!isnan(r->gpu_power_mean_w)) add_power(out, r);
  add_money(out, scenario, r);
  if (params->ask.gpus > 0) add_asked(out, scenario, r);
}
