/*
 * cost.c - makes and frees the cost model, and passes each operator to the file of its kind.
 *
 * Invariants:
 * 1. Several threads may query a model: what a query builds (cost_build.c) is built once, and
 *    depends on nothing but the profile.
 * 2. Tables hold log(measured / roofline), with the same roofline that queries use: at a row the
 *    answer is the row, and away from all rows the roofline carries the trend. So a device that
 *    differs from the measured one scales every answer by its own roofline.
 * 3. An answer is finite and above 0 for any shape above 0; a shape with a 0 in it costs 0.
 */
#include "calibration/cost/cost.h"

#include "calibration/cost/cost_private.h"
#include "calibration/cost/cost_tables.h"

const char *const orr_how_words[] = {"measured", "interpolated", "carried-over",
                                     "modelled", "outside",      NULL};

static gboolean differ_in_rates(const OrrDevice *a, const OrrDevice *b) {
  gboolean differs = a->memory_bytes_per_s != b->memory_bytes_per_s || a->sms != b->sms;
  for (int d = 0; d < ORR_N_DTYPES && !differs; d++)
    differs = orr_device_peak_flops(a, (OrrDtype)d) != orr_device_peak_flops(b, (OrrDtype)d);
  return differs;
}

OrrCostModel *orr_cost_model_new(const OrrProfile *profile, const OrrDevice *device,
                                 GError **error) {
  return orr_cost_model_new_scaled(profile, device, NULL, device, error);
}

/* --- life --- */

/* Lists the tables of libraries that were measured on @device. */
static void add_library_gemm(OrrCostModel *model, const OrrCostModel *rates,
                             const OrrDevice *device) {
  const gboolean is_here = device != model->measured_on;
  for (guint i = 0; i < orr_profile_length(model->profile->library_gemm); i++) {
    const OrrProfileLibraryGemm *table = model->profile->library_gemm->pdata[i];
    const char *on = table->measured_on ? table->measured_on : model->measured_on->name;
    if (g_strcmp0(on, device->name) == 0) orr_cost_library_gemm_add(model, rates, table, is_here);
  }
}

/* The formats and libraries of the large tables, and the small tables whole. */
static gboolean read_profile(OrrCostModel *model, const OrrDevice *named, GError **error) {
  const OrrProfile *profile = model->profile;
  const gboolean borrows = g_strcmp0(named->name, model->measured_on->name) != 0;
  if (!(model->measured = orr_cost_model_with_rates(model, model->measured_on, error)))
    return FALSE;
  model->measured->measured = model->measured;
  if (borrows && !(model->named = orr_cost_model_with_rates(model, named, error))) return FALSE;
  if (!orr_cost_build_check(profile, error)) return FALSE;
  for (guint i = 0; i < orr_profile_length(profile->gemm); i++) {
    const OrrProfileGemm *table = profile->gemm->pdata[i];
    if (table->rows->len > 0 && table->layout == ORR_GEMM_FORWARD && table->batch <= 1)
      model->gemm_library[table->dtype] = table->library;
  }
  for (guint i = 0; i < orr_profile_length(profile->collectives); i++)
    if (!orr_cost_collective_build(model, profile->collectives->pdata[i], error)) return FALSE;
  orr_cost_collective_judge(model);
  add_library_gemm(model, model->measured, model->measured_on);
  if (borrows) add_library_gemm(model, model->named, named);
  return orr_cost_serving_build(model, profile, error) &&
         orr_cost_library_build(model, profile->libraries, error);
}

static void take_profile(OrrCostModel *model, const OrrProfile *profile) {
  model->profile = profile;
  model->tables = orr_cost_tables_new(profile);
  model->collectives = g_ptr_array_new_with_free_func((GDestroyNotify)orr_cost_collective_free);
  model->library_gemm = g_ptr_array_new_with_free_func((GDestroyNotify)orr_cost_library_gemm_free);
  orr_cost_serving_init(model);
  orr_field_defaults(&orr_profile_constants_table, &model->defaults);
  model->constants = profile ? &profile->constants : &model->defaults;
  model->kernels = profile ? profile->kernels : NULL;
  model->nccl = profile ? profile->nccl : NULL;
  model->choices = profile ? profile->choices : NULL;
}

OrrCostModel *orr_cost_model_new_scaled(const OrrProfile *profile, const OrrDevice *measured_on,
                                        const OrrDevice *named, const OrrDevice *device,
                                        GError **error) {
  g_autoptr(OrrCostModel) model = g_new0(OrrCostModel, 1);
  if (!named) named = device;
  model->measured_on = measured_on;
  take_profile(model, profile);
  if (profile && !read_profile(model, named, error)) {
    g_prefix_error(error, "profile %s: ", profile->name);
    return NULL;
  }
  if (!orr_cost_roofline_take(model, device, error)) return NULL;
  model->is_another = g_strcmp0(model->measured_on->name, model->device->name) != 0;
  model->is_scaled = differ_in_rates(device, measured_on);
  model->is_changed = differ_in_rates(device, named);
  return g_steal_pointer(&model);
}

void orr_cost_model_share(OrrCostModel *model, OrrCostTables *tables) {
  OrrCostModel *const models[] = {model, model->measured, model->named};
  if (!model->borrows_tables) orr_cost_tables_free(model->tables);
  for (guint i = 0; i < G_N_ELEMENTS(models); i++)
    if (models[i]) models[i]->tables = tables;
  model->borrows_tables = TRUE;
}

double orr_cost_tensor_share(const OrrCostModel *model) {
  const OrrDevice *here = model->device, *there = model->measured_on;
  if (here->sms <= 0 || there->sms <= 0 || here->bf16_flops <= 0 || there->bf16_flops <= 0)
    return 1;
  return here->bf16_flops / (double)here->sms / (there->bf16_flops / (double)there->sms);
}

static double link_bandwidth(const OrrDevice *device) {
  return device->scale_up_bytes_per_s > 0 ? device->scale_up_bytes_per_s
                                          : device->host_link_bytes_per_s;
}

double orr_cost_links_slower(const OrrCostModel *model) {
  const double here = link_bandwidth(model->device), there = link_bandwidth(model->measured_on);
  return here > 0 && there > here ? there / here : 1;
}

const char *orr_cost_carried_from(const OrrCostModel *model) {
  return model->is_another || model->is_scaled ? g_intern_string(model->measured_on->name) : NULL;
}

const char *orr_cost_how_text(const char *carried_from, OrrHow how) {
  if (how != ORR_HOW_CARRIED) return g_intern_static_string(orr_how_words[how]);
  g_autofree char *text = g_strdup_printf(
      "carried over from %s", carried_from ? carried_from : "another device or library");
  return g_intern_string(text);
}

void orr_cost_model_free(OrrCostModel *model) {
  if (!model) return;
  if (!model->borrows_tables) orr_cost_tables_free(model->tables);
  ORR_FREE(model->measured, model->named);
  g_ptr_array_unref(model->collectives);
  g_ptr_array_unref(model->library_gemm);
  orr_cost_serving_clear(model);
  if (model->libraries) g_ptr_array_unref(model->libraries);
  orr_field_clear(&orr_profile_constants_table, &model->defaults);
  g_free(model);
}

static OrrCost gemm(const OrrCostModel *model, const OrrOperator *op) {
  if (op->gemm.whole_m <= op->gemm.m) return orr_cost_gemm(model, op);
  OrrOperator whole = *op;
  whole.gemm.m = op->gemm.whole_m;
  OrrCost cost = orr_cost_gemm(model, &whole);
  cost.time_s *= (double)op->gemm.m / (double)op->gemm.whole_m;
  return cost;
}

static OrrCost look_up(const OrrCostModel *model, const OrrOperator *op) {
  switch ((OrrOperatorKind)op->kind) {
  case ORR_OPERATOR_GEMM:
    return gemm(model, op);
  case ORR_OPERATOR_ATTENTION:
    return orr_cost_attention(model, op, (OrrDtype)op->dtype);
  case ORR_OPERATOR_MEMORY:
    return orr_cost_memory(model, op);
  case ORR_OPERATOR_MOE:
    return orr_cost_moe(model, op);
  case ORR_OPERATOR_COMM:
    break;
  }
  return (OrrCost){0, ORR_HOW_MODELLED};
}

OrrCost orr_cost_operator(const OrrCostModel *model, const OrrOperator *op) {
  return orr_cost_scaled(model, look_up(model, op));
}

double orr_cost_host_launch_s(const OrrCostModel *model, OrrKernels kernels) {
  const OrrProfileConstants *constants = model->constants;
  if (kernels == ORR_KERNELS_MODERN) return constants->host_launch_s;
  return constants->eager_operators * constants->eager_operator_s;
}

double orr_cost_operator_dispatch_s(const OrrCostModel *model, OrrKernels kernels) {
  const double own_s = kernels == ORR_KERNELS_MODERN ? model->constants->operator_dispatch_s : 0;
  return own_s > 0 ? own_s : orr_cost_host_launch_s(model, kernels);
}

const OrrInterference *orr_cost_interference(const OrrCostModel *model) {
  return &model->constants->interference;
}
