/*
 * gang_speed.c - classes of places and their paces.
 */
#include "workloads/cluster_jobs/core/gang_speed.h"

static void answer_free(gpointer data) {
  OrrGangAnswer *answer = data;
  g_array_unref(answer->place.shares);
  g_free(answer);
}

OrrGangSpeed *orr_gang_speed_new(const OrrGangSpeedKind *kind, const void *params,
                                 const OrrWorld *world, const OrrGangMap *map) {
  OrrGangSpeed *speed = g_new0(OrrGangSpeed, 1);
  const guint n_leaves = map->n_parts[ORR_GANG_LEAF];
  *speed = (OrrGangSpeed){.kind = kind, .params = params, .world = world, .map = map};
  speed->answers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, answer_free);
  speed->sizes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  speed->in_order = g_ptr_array_new();
  speed->loads = g_new0(double, n_leaves + 1);
  speed->crossing = g_new0(guint, n_leaves + 1);
  if (world && orr_device_power_is_known(&world->cluster->device.power))
    speed->static_w = world->cluster->device.power.static_w;
  return speed;
}

void orr_gang_speed_free(OrrGangSpeed *speed) {
  if (!speed) return;
  g_ptr_array_unref(speed->in_order);
  g_hash_table_unref(speed->answers);
  g_hash_table_unref(speed->sizes);
  g_clear_error(&speed->error);
  ORR_FREE(speed->loads, speed->crossing, speed);
}

static guint power_of_two(guint n) {
  guint power = 1;
  while (power < n) power *= 2;
  return power;
}

static OrrGangAnswer *ask(OrrGangSpeed *speed, const OrrGangClass *place) {
  OrrGangAnswer *answer = g_new0(OrrGangAnswer, 1);
  answer->place = *place;
  answer->place.shares = g_array_copy(place->shares);
  answer->pace = (OrrGangPace){.slow = {1, 1, 1}, .watts = NAN};
  if (!speed->error)
    speed->kind->pace(speed->params, speed->world, &answer->place, &answer->pace, &speed->error);
  g_ptr_array_add(speed->in_order, answer);
  return answer;
}

const OrrGangPace *orr_gang_speed_pace(OrrGangSpeed *speed, const OrrGangJob *job) {
  const OrrGangMap *map = speed->map;
  OrrGangClass place = {
      .model = job->model, .gpus = job->gpus, .asked = job->asked_gpus, .nodes = job->shares->len};
  place.level = orr_gang_map_level(map, job->shares);
  place.leaves = power_of_two(orr_gang_map_n_parts(map, job->shares, ORR_GANG_LEAF));
  place.shares = job->shares;
  place.most_in_leaf = orr_gang_map_most(map, job->shares, ORR_GANG_LEAF);
  g_autofree char *key =
      g_strdup_printf("%s\n%ld %ld %d %u %ld", place.model, place.gpus, place.asked, place.level,
                      place.leaves, place.most_in_leaf);
  OrrGangAnswer *answer = g_hash_table_lookup(speed->answers, key);
  if (!answer) {
    answer = ask(speed, &place);
    g_hash_table_insert(speed->answers, g_steal_pointer(&key), answer);
  }
  answer->n_starts++;
  return &answer->pace;
}

static double ask_size(OrrGangSpeed *speed, const OrrGangClass *place) {
  double found = 1;
  if (!speed->error)
    speed->kind->resized(speed->params, speed->world, place, &found, &speed->error);
  return found;
}

gboolean orr_gang_speed_resized(OrrGangSpeed *speed, const OrrGangJob *job, gint64 gpus,
                                double *ret_speed) {
  if (!speed->kind->resized) return FALSE;
  const OrrGangClass place = {.model = job->model, .gpus = gpus, .asked = job->asked_gpus};
  g_autofree char *key = g_strdup_printf("%s\n%ld %ld", place.model, place.gpus, place.asked);
  const double *known = g_hash_table_lookup(speed->sizes, key);
  if (!known) {
    const double found = ask_size(speed, &place);
    known = g_memdup2(&found, sizeof found);
    g_hash_table_insert(speed->sizes, g_steal_pointer(&key), (gpointer)known);
  }
  *ret_speed = *known;
  return TRUE;
}

double orr_gang_speed_slow(const OrrGangPace *pace, double free) {
  const double inverse = 1 / free;
  if (inverse <= 1) return pace->slow[0];
  if (inverse <= 2) return pace->slow[0] + (pace->slow[1] - pace->slow[0]) * (inverse - 1);
  return pace->slow[1] + (pace->slow[2] - pace->slow[1]) * (inverse - 2) / 2;
}

double orr_gang_speed_watts(const OrrGangSpeed *speed, const OrrGangJob *job) {
  const double alone = job->pace->slow[0], slow = job->slow > 0 ? job->slow : alone;
  const double waits_w = speed->static_w * (double)job->gpus;
  return (job->pace->watts * alone + waits_w * (slow - alone)) / slow;
}
