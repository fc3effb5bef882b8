/*
 * training_traffic - plans collectives of groups of GPUs as phases over the program's links.
 *
 * Groups that do the same at the same time are one communication: the tp ranks of a stage that
 * reduce their gradients, or the replicas of a class that send activations. Their plans have the
 * same phases, and a link that several of them cross carries the sum of their weights. That is
 * exact where the groups move in lock-step, which is what a lane means.
 */
#include "workloads/collectives/collective_cache.h"
#include "workloads/training/comm/training_traffic.h"

void orr_traffic_init(OrrTraffic *traffic, const OrrJob *job, OrrProgram *program) {
  *traffic = (OrrTraffic){
      .job = job,
      .context = {.fabric = job->world->fabric,
                  .cost = job->world->cost,
                  .nccl = &job->params->nccl,
                  .gpus_per_switch =
                      orr_nccl_gpus_per_switch(&job->params->nccl, job->world->cluster)},
      .program = program,
      .program_links = g_new0(guint32, orr_fabric_n_links(job->world->fabric)),
      .links = g_array_new(FALSE, FALSE, sizeof(guint32)),
      .slots = g_new0(guint32, orr_fabric_n_links(job->world->fabric)),
      .collectives = g_array_new(FALSE, TRUE, sizeof(OrrPlannedCollective)),
      .row_of_path = g_array_new(FALSE, TRUE, sizeof(guint32)),
      .calls = job->world->keeps_calls ? orr_work_calls_new() : NULL,
  };
}

void orr_traffic_clear(OrrTraffic *traffic) {
  g_clear_pointer(&traffic->program_links, g_free);
  g_clear_pointer(&traffic->links, g_array_unref);
  g_clear_pointer(&traffic->slots, g_free);
  g_clear_pointer(&traffic->collectives, g_array_unref);
  g_clear_pointer(&traffic->row_of_path, g_array_unref);
  g_clear_pointer(&traffic->calls, orr_work_calls_free);
}

void orr_comm_plan_clear(OrrCommPlan *plan) {
  g_free(plan->phases);
  *plan = (OrrCommPlan){0};
}

void orr_comm_plan_append(OrrCommPlan *plan, OrrCommPlan *next) {
  plan->phases = g_renew(OrrPhase, plan->phases, plan->n_phases + next->n_phases);
  for (guint i = 0; i < next->n_phases; i++) plan->phases[plan->n_phases++] = next->phases[i];
  plan->predicted_s += next->predicted_s;
  orr_comm_plan_clear(next);
}

void orr_comm_plan_free_all(OrrCommPlan *plans, gsize n) {
  for (gsize i = 0; plans && i < n; i++) orr_comm_plan_clear(&plans[i]);
  g_free(plans);
}

static guint32 program_link(OrrTraffic *traffic, guint32 fabric_link) {
  if (traffic->program_links[fabric_link]) return traffic->program_links[fabric_link] - 1;
  const guint32 link =
      orr_fabric_program_link(traffic->context.fabric, traffic->program, fabric_link);
  traffic->program_links[fabric_link] = link + 1;
  g_array_append_val(traffic->links, fabric_link);
  return link;
}

guint32 orr_traffic_path(OrrTraffic *traffic, const OrrLinkUse *fabric_uses, guint n) {
  g_autofree OrrLinkUse *uses = g_new(OrrLinkUse, n + 1);
  for (guint i = 0; i < n; i++)
    uses[i] = (OrrLinkUse){program_link(traffic, fabric_uses[i].link), fabric_uses[i].weight};
  return orr_program_path(traffic->program, uses, n);
}

static OrrCollectivePhase *phase_of(const OrrCollectivePlan *plan, guint k) {
  return &g_array_index(plan->phases, OrrCollectivePhase, k);
}

/* Sums the weights that phase @k of all @plans puts on each link, in order of first use. */
static OrrLinkUse *sum_uses(const OrrTraffic *traffic, const GPtrArray *plans, guint k,
                            guint *ret_n) {
  guint n = 0, most = 0;
  ORR_EACH_POINTER(const OrrCollectivePlan, plan, plans) most += phase_of(plan, k)->n_uses;
  OrrLinkUse *uses = g_new(OrrLinkUse, most + 1);
  ORR_EACH_POINTER(const OrrCollectivePlan, plan, plans) {
    const OrrCollectivePhase *phase = phase_of(plan, k);
    for (guint u = 0; u < phase->n_uses; u++) {
      guint32 *slot = &traffic->slots[phase->uses[u].link];
      if (*slot) {
        uses[*slot - 1].weight += phase->uses[u].weight;
        continue;
      }
      uses[n++] = phase->uses[u];
      *slot = n;
    }
  }
  for (guint u = 0; u < n; u++) traffic->slots[uses[u].link] = 0;
  *ret_n = n;
  return uses;
}

/* One plan for all @plans: the first one's, with the links and the longest latencies of all. */
static OrrCollectivePlan *join(const OrrTraffic *traffic, const GPtrArray *plans) {
  OrrCollectivePlan *first = g_ptr_array_index(plans, 0);
  if (plans->len == 1) return orr_collective_plan_ref(first);
  OrrCollectivePlan *joint = orr_collective_plan_own(orr_collective_plan_ref(first));
  for (guint k = 0; k < joint->phases->len; k++) {
    OrrCollectivePhase *phase = phase_of(joint, k);
    g_free(phase->uses);
    phase->uses = sum_uses(traffic, plans, k, &phase->n_uses);
    ORR_EACH_POINTER(const OrrCollectivePlan, plan, plans) {
      phase->latency_s = MAX(phase->latency_s, phase_of(plan, k)->latency_s);
    }
  }
  return joint;
}

static void fill_plan(OrrTraffic *traffic, const OrrCollectivePlan *joint, OrrCommPlan *ret_plan) {
  const guint n_phases = joint->phases->len;
  *ret_plan = (OrrCommPlan){g_new0(OrrPhase, n_phases), n_phases, joint->predicted_s};
  for (guint k = 0; k < n_phases; k++) {
    const OrrCollectivePhase *phase = phase_of(joint, k);
    ret_plan->phases[k] = (OrrPhase){
        .latency_s = phase->latency_s,
        .bytes = phase->bytes,
        .path =
            phase->n_uses > 0 ? orr_traffic_path(traffic, phase->uses, phase->n_uses) : ORR_NO_PATH,
    };
  }
}

/* The number of the row for this name, call and size. */
static guint row_for(OrrTraffic *traffic, const char *name, gint64 count,
                     const OrrCollectiveCall *call, const OrrCollectivePlan *plan) {
  ORR_EACH_AT(i, const OrrPlannedCollective, known, traffic->collectives)
    if (known->bytes == call->bytes && known->n_ranks == call->n &&
        g_str_equal(known->name, name) && g_str_equal(known->op, orr_collective_words[call->op]))
      return i;
  OrrPlannedCollective row = {
      .name = name,
      .op = orr_collective_words[call->op],
      .algorithm = plan->algorithm ? plan->algorithm->entry.name : "none",
      .n_ranks = call->n,
      .bytes = call->bytes,
      .count = count,
      .predicted_s = plan->predicted_s,
      .how = plan->how,
  };
  ORR_EACH(const OrrCollectivePhase, phase, plan->phases) row.latency_s += phase->latency_s;
  g_array_append_val(traffic->collectives, row);
  return traffic->collectives->len - 1;
}

/* Paths are each plan's own: the first one identifies the plan that a communication carries out. */
static void note_path(OrrTraffic *traffic, const OrrCommPlan *plan, guint row) {
  guint k = 0;
  while (k < plan->n_phases && plan->phases[k].path == ORR_NO_PATH) k++;
  if (k == plan->n_phases) return;
  const guint32 path = plan->phases[k].path;
  if (path >= traffic->row_of_path->len) g_array_set_size(traffic->row_of_path, path + 1);
  g_array_index(traffic->row_of_path, guint32, path) = row + 1;
}

static void keep_calls(OrrTraffic *traffic, const OrrCalls *calls, const OrrCommPlan *plan) {
  if (!traffic->calls || plan->n_phases == 0) return;
  const OrrKeptCalls kept = {.op = calls->calls[0].op,
                             .bytes = calls->calls[0].bytes,
                             .n_calls = calls->n_calls,
                             .n = calls->calls[0].n,
                             .gpus = calls->gpus};
  const guint32 number = orr_work_calls_add(traffic->calls, &kept);
  for (guint k = 0; k < plan->n_phases; k++)
    if (plan->phases[k].path != ORR_NO_PATH)
      orr_work_calls_put(traffic->calls, plan->phases[k].path, number);
}

/* Plans the first @n calls. */
static gboolean plan_all(const OrrTraffic *traffic, const OrrCalls *calls, guint n,
                         const OrrCollectiveAlgorithm *algorithm, GPtrArray *plans,
                         GError **error) {
  g_ptr_array_set_size(plans, 0);
  for (guint i = 0; i < n; i++) {
    OrrCollectivePlan *plan = orr_collective_cache_plan(
        traffic->job->world->plans, &traffic->context, &calls->calls[i], algorithm, error);
    if (!plan) return FALSE;
    g_ptr_array_add(plans, plan);
  }
  return TRUE;
}

static gboolean are_alike(const GPtrArray *plans) {
  const OrrCollectivePlan *first = g_ptr_array_index(plans, 0);
  for (guint i = 1; i < plans->len; i++) {
    const OrrCollectivePlan *plan = g_ptr_array_index(plans, i);
    if (plan->algorithm != first->algorithm || plan->phases->len != first->phases->len)
      return FALSE;
    for (guint k = 0; k < plan->phases->len; k++)
      if (phase_of(plan, k)->bytes != phase_of(first, k)->bytes) return FALSE;
  }
  return TRUE;
}

static OrrCollectivePhase *first_phase(const GPtrArray *plans, guint i) {
  return phase_of(g_ptr_array_index(plans, i), 0);
}

static gboolean is_multiple(double bytes, double flow) {
  return fabs(bytes / flow - round(bytes / flow)) < 1e-6;
}

/* The largest flow that the first phases of all plans are multiples of: a fraction 1/n of the
 * smallest. */
static double common_flow(const GPtrArray *plans) {
  double least = G_MAXDOUBLE;
  for (guint i = 0; i < plans->len; i++) least = MIN(least, first_phase(plans, i)->bytes);
  for (guint n = 1; n <= 64; n++) {
    gboolean fits = TRUE;
    for (guint i = 0; i < plans->len; i++)
      fits = fits && is_multiple(first_phase(plans, i)->bytes, least / n);
    if (fits) return least / n;
  }
  return least;
}

/* Rings over groups that are placed differently in their nodes have unit flows of different sizes:
 * one ring, or one per NIC, or fractions of one that is spread over routes. So have sends.
 * Expresses all in multiples of a common flow. */
static void level_flows(GPtrArray *plans) {
  for (guint i = 0; i < plans->len; i++) plans->pdata[i] = orr_collective_plan_own(plans->pdata[i]);
  const double flow = common_flow(plans);
  for (guint i = 0; i < plans->len; i++) {
    OrrCollectivePhase *phase = first_phase(plans, i);
    const guint32 multiple = (guint32)(phase->bytes / flow + 0.5);
    for (guint u = 0; u < phase->n_uses; u++) phase->uses[u].weight *= multiple;
    phase->bytes = flow;
  }
}

/* Whether some of the call's GPUs, but not all, share a scale-up domain with its first. */
static gboolean has_two_levels(const OrrTraffic *traffic, const OrrCollectiveCall *call) {
  const OrrFabric *fabric = traffic->context.fabric;
  guint together = 0;
  for (guint r = 0; r < call->n; r++)
    together +=
        orr_fabric_domain(fabric, call->gpus[r]) == orr_fabric_domain(fabric, call->gpus[0]);
  return together > 1 && together < call->n;
}

/* The algorithm that the job forces, where it supports the call; NULL: take the fastest. A
 * hierarchical exchange within one level is the flat one. */
static const OrrCollectiveAlgorithm *forced(const OrrTraffic *traffic,
                                            const OrrCollectiveCall *call) {
  static const char *const dispatches[] = {[ORR_DISPATCH_FLAT] = NULL,
                                           [ORR_DISPATCH_DEEPEP] = "deepep",
                                           [ORR_DISPATCH_HIERARCHICAL] = "hierarchical"};
  const int dispatch = traffic->job->params->experts.dispatch;
  const gboolean is_flat =
      dispatch == ORR_DISPATCH_HIERARCHICAL && call->exchange && !has_two_levels(traffic, call);
  const char *name = call->exchange && !is_flat ? dispatches[dispatch] : NULL;
  if (!name) name = traffic->job->params->collectives;
  const OrrEntry *entry = orr_registry_find(&orr_collective_registry, name);
  const OrrCollectiveAlgorithm *algorithm = (const OrrCollectiveAlgorithm *)entry;
  return algorithm && algorithm->supports(&traffic->context, call) ? algorithm : NULL;
}

double orr_traffic_alone_s(const OrrTraffic *traffic, const OrrCollectiveCall *call) {
  g_autoptr(OrrCollectivePlan) plan = orr_collective_cache_plan(
      traffic->job->world->plans, &traffic->context, call, forced(traffic, call), NULL);
  return plan ? plan->predicted_s : 0;
}

/* The slowest group first: the joint plan takes its phases and its predicted time. */
static gint slower_first(gconstpointer a, gconstpointer b) {
  const OrrCollectivePlan *x = *(const OrrCollectivePlan *const *)a,
                          *y = *(const OrrCollectivePlan *const *)b;
  return (x->predicted_s < y->predicted_s) - (x->predicted_s > y->predicted_s);
}

/* Plans all calls, the slowest first; where their plans differ, as rings or sends of a common unit
 * flow. @ret_alike: they did not. */
static gboolean plan_together(const OrrTraffic *traffic, const OrrCalls *calls, GPtrArray *plans,
                              gboolean *ret_alike, GError **error) {
  if (!plan_all(traffic, calls, calls->n_calls, forced(traffic, &calls->calls[0]), plans, error))
    return FALSE;
  *ret_alike = are_alike(plans);
  if (*ret_alike) return TRUE;
  const OrrCollectiveAlgorithm *ring =
      (const OrrCollectiveAlgorithm *)orr_registry_find(&orr_collective_registry, "ring");
  /* Not supported: a send. */
  const gboolean in_rings = ring->supports(&traffic->context, &calls->calls[0]);
  if (in_rings && !plan_all(traffic, calls, calls->n_calls, ring, plans, error)) return FALSE;
  level_flows(plans);
  g_ptr_array_sort(plans, slower_first);
  return TRUE;
}

/* Neighbouring points of a sweep join the same plans. Calls that are not alike are joined anew,
 * since their row is of another plan than the first call's. */
static OrrCollectivePlan *plan_jointly(OrrTraffic *traffic, const OrrCalls *calls, GPtrArray *plans,
                                       GError **error) {
  OrrCollectiveCache *cache = traffic->job->world->plans;
  const OrrCollectiveAlgorithm *algorithm = forced(traffic, &calls->calls[0]);
  const OrrJointCalls all = {&traffic->context, &calls->calls[0], calls->n_calls, algorithm};
  gboolean is_alike = TRUE;
  OrrCollectivePlan *joint = orr_collective_cache_find_joint(cache, &all);
  if (joint && plan_all(traffic, calls, 1, algorithm, plans, error)) return joint;
  g_clear_pointer(&joint, orr_collective_plan_free);
  if (!plan_together(traffic, calls, plans, &is_alike, error)) return NULL;
  joint = join(traffic, plans);
  if (is_alike) orr_collective_cache_keep_joint(cache, &all, joint);
  return joint;
}

gboolean orr_traffic_plan(OrrTraffic *traffic, const char *name, gint64 count,
                          const OrrCalls *calls, OrrCommPlan *ret_plan, GError **error) {
  g_autoptr(GPtrArray) plans =
      g_ptr_array_new_with_free_func((GDestroyNotify)orr_collective_plan_free);
  g_autoptr(OrrCollectivePlan) joint = plan_jointly(traffic, calls, plans, error);
  if (!joint) return FALSE;
  fill_plan(traffic, joint, ret_plan);
  keep_calls(traffic, calls, ret_plan);
  note_path(traffic, ret_plan,
            row_for(traffic, name, count, &calls->calls[0], g_ptr_array_index(plans, 0)));
  return TRUE;
}

/* Neighbours in a path are mostly of one weight, whose hash is then the same. */
void orr_traffic_load(const OrrTraffic *traffic, const OrrCommPlan *plan, guint64 salt,
                      guint64 *load) {
  guint32 before = 0;
  guint64 hash = orr_random_hash3(salt, before, 3);
  for (guint k = 0; plan && k < plan->n_phases; k++) {
    if (plan->phases[k].path == ORR_NO_PATH) continue;
    guint n = 0;
    const OrrLinkUse *uses = orr_program_path_uses(traffic->program, plan->phases[k].path, &n);
    for (guint u = 0; u < n; u++) {
      if (uses[u].weight != before) hash = orr_random_hash3(salt, uses[u].weight, 3);
      before = uses[u].weight;
      load[g_array_index(traffic->links, guint32, uses[u].link)] += hash;
    }
  }
}

gboolean orr_traffic_any_link(const OrrTraffic *traffic, const OrrCommPlan *plan,
                              OrrTrafficVisit visit, gconstpointer data) {
  for (guint k = 0; plan && k < plan->n_phases; k++) {
    guint n = 0;
    if (plan->phases[k].path == ORR_NO_PATH) continue;
    const OrrLinkUse *uses = orr_program_path_uses(traffic->program, plan->phases[k].path, &n);
    for (guint u = 0; u < n; u++)
      if (visit(g_array_index(traffic->links, guint32, uses[u].link), data)) return TRUE;
  }
  return FALSE;
}

static gboolean set_link(guint32 link, gconstpointer links) {
  ((guint8 *)links)[link] = TRUE;
  return FALSE;
}

void orr_traffic_cover(const OrrTraffic *traffic, const OrrCommPlan *plan, guint8 *links) {
  orr_traffic_any_link(traffic, plan, set_link, links);
}

static gboolean is_set(guint32 link, gconstpointer links) { return ((const guint8 *)links)[link]; }

gboolean orr_traffic_touches(const OrrTraffic *traffic, const OrrCommPlan *plan,
                             const guint8 *links) {
  return orr_traffic_any_link(traffic, plan, is_set, links);
}

/* Sets the slots of @plan's links to @mark; returns whether one of them was marked before. */
static gboolean mark_links(const OrrTraffic *traffic, const OrrCommPlan *plan, guint32 mark) {
  gboolean met = FALSE;
  for (guint k = 0; k < plan->n_phases; k++) {
    if (plan->phases[k].path == ORR_NO_PATH) continue;
    guint n = 0;
    const OrrLinkUse *uses = orr_program_path_uses(traffic->program, plan->phases[k].path, &n);
    for (guint u = 0; u < n; u++) {
      guint32 *slot = &traffic->slots[g_array_index(traffic->links, guint32, uses[u].link)];
      met = met || *slot;
      *slot = mark;
    }
  }
  return met;
}

gboolean orr_traffic_meet(const OrrTraffic *traffic, const OrrCommPlan *a, const OrrCommPlan *b) {
  mark_links(traffic, a, 1);
  const gboolean met = mark_links(traffic, b, 0);
  mark_links(traffic, a, 0);
  return met;
}
