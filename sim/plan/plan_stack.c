/*
 * plan_stack.c - the software that answers a plan which names none: what the machine can run.
 */
#include "sim/plan/plan.h"
#include "sim/run/scenario_stack.h"
#include "workloads/stack.h"

static const OrrNode *document_at(OrrLibrary *library, const char *type, const OrrNode *owner) {
  g_autoptr(OrrDiags) ignored = orr_diags_new(); /* an unknown name is reported when it is read */
  const OrrNode *named = owner ? orr_node_get(owner, type) : NULL;
  const OrrNode *name = named && named->kind == ORR_NODE_MAP ? orr_node_get(named, "base") : named;
  if (!name || name->kind != ORR_NODE_SCALAR) return NULL;
  return orr_library_borrow(library, type, name->text, (OrrPlace){0}, ignored);
}

/* @key of the device of @cluster, a name of the library or a path; NULL: the usual one. */
static const char *device_text(OrrLibrary *library, const char *cluster, const char *key) {
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  const OrrNode *tree =
      cluster ? orr_library_borrow(library, "cluster", cluster, (OrrPlace){0}, ignored) : NULL;
  const OrrNode *own = tree ? orr_node_get(tree, "device") : NULL;
  const char *text = own && own->kind == ORR_NODE_MAP ? orr_node_get_text(own, key) : NULL;
  const OrrNode *device = document_at(library, "device", tree);
  return text ? text : device ? orr_node_get_text(device, key) : NULL;
}

const char *orr_plan_noun(OrrLibrary *library, const char *cluster) {
  const char *noun = device_text(library, cluster, "noun");
  return noun ? noun : "GPU";
}

double orr_plan_board_w(OrrLibrary *library, const char *cluster) {
  const char *tdp = device_text(library, cluster, "tdp");
  double watts = 0;
  return tdp && orr_quantity_parse(tdp, ORR_UNIT_WATTS, &watts, NULL) ? watts : 0;
}

char *orr_plan_stack(OrrLibrary *library, const char *kind, const char *cluster) {
  const char *platform = device_text(library, cluster, "platform");
  g_autofree char *newest = orr_scenario_stack_default(library, kind);
  g_auto(GStrv) known = platform ? orr_stack_on(library, kind, platform) : NULL;
  const gboolean runs =
      !known || !*known || (newest && g_strv_contains((const char *const *)known, newest));
  return runs ? g_steal_pointer(&newest) : g_strdup(*known);
}
