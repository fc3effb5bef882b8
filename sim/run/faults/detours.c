/*
 * detours.c - finds the dates at which the set of known dead links changes, and reroutes the
 * communications whose paths differ.
 */
#include "sim/run/faults/faults.h"

/* A run compiles its communications for at most this many sets of dead links. */
#define MOST_DETOURS 64

static void clear_detour(gpointer detour) {
  g_clear_pointer(&((OrrDetour *)detour)->dead, g_hash_table_unref);
}

/* The links that are known to be dead at @at_s and that routes can avoid; NULL: none. */
static GHashTable *dead_links(const OrrIntervals *affected, const OrrFabric *fabric, double at_s) {
  GHashTable *dead = NULL;
  for (guint i = 0; i < affected->things->len; i++) {
    const guint32 link = (guint32)g_array_index(affected->things, gint64, i);
    if (!orr_fabric_can_leave(fabric, link)) continue;
    if (orr_intervals_link_factor(affected, i, at_s) > 0) continue;
    if (!dead) dead = g_hash_table_new(g_direct_hash, g_direct_equal);
    g_hash_table_add(dead, GUINT_TO_POINTER(link));
  }
  return dead;
}

static gboolean same_set(GHashTable *a, GHashTable *b) {
  GHashTableIter iter;
  gpointer link;
  if (!a || !b || g_hash_table_size(a) != g_hash_table_size(b)) return !a && !b;
  g_hash_table_iter_init(&iter, a);
  while (g_hash_table_iter_next(&iter, &link, NULL))
    if (!g_hash_table_contains(b, link)) return FALSE;
  return TRUE;
}

/* Outages as routing sees them: they begin and end `detection` late. */
static void find_known(OrrIntervals *affected, const GPtrArray *outages) {
  for (guint i = 0; i < outages->len; i++) {
    OrrOutage known = *(const OrrOutage *)outages->pdata[i];
    known.begin_s += known.detection_s;
    known.end_s += known.detection_s;
    orr_intervals_add_links(affected, &known);
  }
}

GArray *orr_detours_find(const GPtrArray *outages, const OrrFabric *fabric) {
  GArray *detours = g_array_new(FALSE, TRUE, sizeof(OrrDetour));
  g_array_set_clear_func(detours, clear_detour);
  g_autoptr(GArray) dates = g_array_new(FALSE, FALSE, sizeof(double));
  g_auto(OrrIntervals) affected;
  orr_intervals_init(&affected);
  find_known(&affected, outages);
  for (guint i = 0; i < affected.things->len; i++) {
    g_autoptr(GArray) more = orr_intervals_dates(&affected, i);
    g_array_append_vals(dates, more->data, more->len);
  }
  orr_intervals_sort_dates(dates);
  GHashTable *last = NULL;
  for (guint i = 0; i < dates->len; i++) {
    OrrDetour detour = {g_array_index(dates, double, i),
                        dead_links(&affected, fabric, g_array_index(dates, double, i))};
    if (same_set(last, detour.dead)) {
      clear_detour(&detour);
      continue;
    }
    last = detour.dead;
    g_array_append_val(detours, detour);
  }
  return detours;
}

static void free_fabric(gpointer fabric) {
  if (fabric) orr_fabric_free(fabric);
}

GPtrArray *orr_detours_fabrics(const GArray *detours, const OrrFabric *fabric) {
  GPtrArray *fabrics = g_ptr_array_new_with_free_func(free_fabric);
  ORR_EACH(const OrrDetour, detour, detours) {
    GHashTable *dead = detour->dead;
    g_ptr_array_add(fabrics, dead ? orr_fabric_avoiding(fabric, dead) : NULL);
  }
  return fabrics;
}

gboolean orr_detours_check(const GArray *detours, GError **error) {
  if (detours->len <= MOST_DETOURS) return TRUE;
  return orr_fault_set(
      error, ORR_FAULT_DOCUMENT,
      "routes would change %u times (at most %d): use fewer faults of links, a longer "
      "mtbf, or routing ideal",
      detours->len, MOST_DETOURS);
}

/* A job's communications on another fabric, as paths of the program. */
typedef struct {
  OrrProgram *program;
  GHashTable *numbers; /* fabric link -> program link + 1 */
  const OrrWork *own, *other;
  guint32 *paths;    /* path of the other work -> path of the program + 1; 0: not added yet */
  GHashTable *alike; /* own path << 32 | other path -> 1: equal, 2: not */
} Detouring;

static guint32 link_number(Detouring *d, guint32 other_link) {
  const gpointer link = GUINT_TO_POINTER(g_array_index(d->other->links, guint32, other_link));
  gpointer number = g_hash_table_lookup(d->numbers, link);
  if (!number) {
    number = GUINT_TO_POINTER(
        orr_program_link(d->program, orr_program_link_name(d->other->program, other_link),
                         orr_program_link_bandwidth(d->other->program, other_link)) +
        1);
    g_hash_table_insert(d->numbers, link, number);
  }
  return GPOINTER_TO_UINT(number) - 1;
}

static guint32 path_number(Detouring *d, guint32 path) {
  if (path == ORR_NO_PATH) return path;
  if (!d->paths[path]) {
    guint n = 0;
    const OrrLinkUse *uses = orr_program_path_uses(d->other->program, path, &n);
    g_autofree OrrLinkUse *own = g_new(OrrLinkUse, n + 1);
    for (guint i = 0; i < n; i++)
      own[i] = (OrrLinkUse){link_number(d, uses[i].link), uses[i].weight};
    d->paths[path] = orr_program_path(d->program, own, n) + 1;
  }
  return d->paths[path] - 1;
}

static gboolean compare_paths(const Detouring *d, guint32 own, guint32 other) {
  guint n_own = 0, n_other = 0;
  const OrrLinkUse *a = orr_program_path_uses(d->own->program, own, &n_own);
  const OrrLinkUse *b = orr_program_path_uses(d->other->program, other, &n_other);
  if (n_own != n_other) return FALSE;
  for (guint i = 0; i < n_own; i++)
    if (a[i].weight != b[i].weight || g_array_index(d->own->links, guint32, a[i].link) !=
                                          g_array_index(d->other->links, guint32, b[i].link))
      return FALSE;
  return TRUE;
}

static gboolean same_path(Detouring *d, guint32 own, guint32 other) {
  if (own == ORR_NO_PATH || other == ORR_NO_PATH) return own == other;
  const gpointer key = GSIZE_TO_POINTER((gsize)own << 32 | other);
  gsize known = GPOINTER_TO_SIZE(g_hash_table_lookup(d->alike, key));
  if (!known) {
    known = compare_paths(d, own, other) ? 1 : 2;
    g_hash_table_insert(d->alike, key, GSIZE_TO_POINTER(known));
  }
  return known == 1;
}

static gboolean same_phases(Detouring *d, const OrrPhase *own, guint n_own, const OrrPhase *other,
                            guint n_other) {
  if (n_own != n_other) return FALSE;
  for (guint i = 0; i < n_own; i++)
    if (own[i].latency_s != other[i].latency_s || own[i].bytes != other[i].bytes ||
        !same_path(d, own[i].path, other[i].path))
      return FALSE;
  return TRUE;
}

void orr_detours_reroute(const OrrRerouted *rerouted, const OrrWork *other) {
  const OrrWork *work = rerouted->work;
  const guint n_comms = orr_program_n_comms(work->program);
  if (n_comms != orr_program_n_comms(other->program)) return;
  guint32 *const paths = g_new0(guint32, orr_program_n_paths(other->program) + 1);
  Detouring d = {rerouted->program,
                 rerouted->numbers,
                 work,
                 other,
                 paths,
                 g_hash_table_new(g_direct_hash, g_direct_equal)};
  for (guint32 comm = 0; comm < n_comms; comm++) {
    guint n_own = 0, n_other = 0;
    const OrrPhase *own = orr_program_phases(work->program, comm, &n_own);
    const OrrPhase *phases = orr_program_phases(other->program, comm, &n_other);
    if (same_phases(&d, own, n_own, phases, n_other)) continue;
    g_autofree OrrPhase *mine = g_memdup2(phases, n_other * sizeof *phases);
    for (guint i = 0; i < n_other; i++) mine[i].path = path_number(&d, phases[i].path);
    orr_program_reroute(rerouted->program, rerouted->first_comm + comm, mine, n_other);
  }
  g_hash_table_unref(d.alike);
  g_free(paths);
}
