/*
 * replica_loss.c - a replica that comes and goes: what it forgets, what it loses, how it is slowed.
 */
#include "workloads/serving/replica/replica_private.h"

gboolean orr_replica_is_stepping(const OrrReplica *replica) {
  return replica->step_end_s != G_MAXDOUBLE || replica->n_in_flight > 0 || replica->n_reading > 0 ||
         replica->is_called;
}

gboolean orr_replica_is_empty(const OrrReplica *replica) {
  guint n = replica->expected.length + replica->joined.length;
  for (guint i = 0; i < replica->n_cores; i++)
    n += replica->cores[i].n_kept + replica->cores[i].n_expected;
  return replica->n_requests == 0 && n == 0;
}

void orr_replica_slow(OrrReplica *replica, double factor) {
  replica->slow = factor;
  orr_replica_notice(replica);
}

void orr_replica_reprice(OrrReplica *replica, OrrServingCost *price, gboolean is_cut) {
  const gboolean goes_on = replica->is_cut && !is_cut;
  orr_serving_cost_free(replica->price);
  replica->price = price;
  replica->is_cut = is_cut;
  orr_replica_notice(replica);
  if (goes_on) orr_replica_plan(replica);
}

void orr_replica_unexpect(OrrReplica *replica, OrrRequest *request) {
  replica->n_requests--;
  if (g_queue_remove(&replica->expected, request)) return;
  orr_core_unexpect(&replica->cores[request->core], request);
  orr_replica_notice(replica);
}

void orr_replica_forget(OrrReplica *replica) {
  for (guint i = 0; i < replica->n_cores; i++) {
    OrrCore *core = &replica->cores[i];
    orr_replica_close_core(replica, core);
    orr_kv_forget(core->kv);
    orr_core_clear(core);
  }
  orr_replica_open_cores(replica);
}

static gint by_number(gconstpointer a, gconstpointer b) {
  const guint32 x = (*(OrrRequest *const *)a)->id, y = (*(OrrRequest *const *)b)->id;
  return (x > y) - (x < y);
}

void orr_replica_lose(OrrReplica *replica, GPtrArray *requests) {
  g_autoptr(GPtrArray) all = g_ptr_array_new();
  orr_replica_catch_up(replica);
  for (guint i = 0; i < replica->n_cores; i++) orr_core_take_all(&replica->cores[i], all);
  for (OrrRequest *request; (request = g_queue_pop_head(&replica->joined));) {
    orr_kv_release(replica->cores[request->core].kv, request);
    g_ptr_array_add(all, request);
  }
  for (OrrRequest *request; (request = g_queue_pop_head(&replica->parsing));)
    g_ptr_array_add(all, request);
  for (guint i = 0; i < all->len; i++) ((OrrRequest *)all->pdata[i])->lacking = 0;
  for (guint i = 0; i < replica->n_cores; i++) replica->cores[i].n_parsing = 0;
  g_ptr_array_extend(requests, all, NULL, NULL);
  g_queue_clear(&replica->newcomers);
  g_queue_clear(&replica->expected); /* their station appended them */
  g_ptr_array_sort(requests, by_number);
  orr_tier_store_free(
      replica->tiers.stores[ORR_TIER_HOST]); /* the node's memory; its SSD comes back with it */
  replica->tiers.stores[ORR_TIER_HOST] = orr_tier_store_new(orr_serving_run_tier_blocks(
      replica->run, replica->books->group, replica->run->work->params.engine.tiers.host_bytes));
  orr_replica_spill(replica);
  orr_replica_forget(replica);
  replica->generation++;
  replica->n_requests = replica->prompt_tokens = 0;
  replica->n_in_flight = replica->n_reading = 0;
  replica->used_blocks = 0;
  replica->stage_free_s = replica->last_done_s = 0;
  replica->step_end_s = G_MAXDOUBLE;
  replica->is_run = FALSE;
}
