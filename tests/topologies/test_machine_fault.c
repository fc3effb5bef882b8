/*
 * test_machine_fault.c - what names stand for, what kinds of faults effect, routes that do without
 * dead links.
 */
#include <string.h>

#include "sim/base/fault.h"
#include "sim/base/library.h"
#include "sim/base/yaml.h"
#include "tests/base/field_lint.h"
#include "topologies/machine_fault.h"
#include "tests/run/shared_library.h"

/* 8 nodes of 8 GPUs, 2 nodes a leaf: 4 leaves of 16 ports, 16 links up each; 40-port spines: the
 * fewest that divide 16 and have 4 * 16 / n ports are 2, with 8 cables to each leaf. */
typedef struct {
  OrrCluster cluster;
  OrrFabric *fabric;
} Machine;

static void machine_init(Machine *m, const char *routing) {
  const char *fabric = strstr(routing, "fabric:")
                           ? ""
                           : "fabric: {kind: fat-tree, levels: 2, nodes-per-leaf: 2, radix: 40}";
  g_autofree char *text = g_strdup_printf(
      "base: dgx-a100-superpod\nnodes: 8\nmax-nodes: 8\nrouting: %s\n%s\n", routing, fabric);
  OrrLibrary *library = shared_library();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) part = orr_yaml_parse(text, strlen(text), "cluster.yaml", diags);
  g_autoptr(OrrNode) tree = orr_library_expand(library, "cluster", part, diags);
  g_assert_true(orr_field_read(&orr_cluster_table, tree, library, diags, &m->cluster));
  m->fabric = orr_fabric_new(&m->cluster, 1, &error);
  g_assert_no_error(error);
}

static void machine_clear(Machine *m) {
  orr_fabric_free(m->fabric);
  orr_field_clear(&orr_cluster_table, &m->cluster);
}

static double total_fraction(GArray *parts) {
  double sum = 0;
  for (guint i = 0; i < parts->len; i++) sum += g_array_index(parts, OrrFabricPart, i).fraction;
  return sum;
}

typedef struct {
  const char *routing, *name;
  gboolean is_switch;
  guint n;
  double share;
} Name;

/* Each: how many parts, and their shares together. */
static void names(void) {
  static const Name cases[] = {
      {"ecmp", "gpu3.nic", FALSE, 2, 2},
      {"ecmp", "gpu3.nic.tx", FALSE, 1, 1},
      {"ecmp", "gpu3.nvlink", FALSE, 2, 2},
      {"ecmp", "leaf0-spine1#0", FALSE, 2, 2},
      {"ecmp", "leaf0-spine1", FALSE, 16, 16},
      {"ecmp", "leaf0-spine1#0.up", FALSE, 1, 1},
      {"ideal", "leaf0-spines", FALSE, 2, 2},
      {"ideal", "leaf0-spine1#0", FALSE, 2, 2.0 / 16},
      {"ideal", "leaf0-spine1", FALSE, 16, 1},
      {"ideal", "spine1", TRUE, 64, 4},
      {"ecmp", "spine1", TRUE, 64, 64},
      {"ecmp", "leaf0", TRUE, 2 * 16 + 2 * 16, 64}, /* its cables both ways, and 16 network cards */
      {"ideal", "leaf0", TRUE, 2 + 2 * 16, 2 + 32},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    Machine m;
    g_autoptr(GError) error = NULL;
    machine_init(&m, cases[i].routing);
    g_autoptr(GArray) parts = (cases[i].is_switch ? orr_fabric_find_switch : orr_fabric_find_links)(
        m.fabric, cases[i].name, &error);
    g_assert_no_error(error);
    g_test_message("%s, %s: %u parts, %g", cases[i].routing, cases[i].name, parts->len,
                   total_fraction(parts));
    g_assert_cmpuint(parts->len, ==, cases[i].n);
    g_assert_cmpfloat_with_epsilon(total_fraction(parts), cases[i].share, 1e-12);
    machine_clear(&m);
  }
}

/* The same cable by name where it is a link (ecmp) and where it is a share of a trunk (ideal):
 * as much bandwidth either way. Eight nodes on 4 leaves: 16 links up each; rails of 2 leaves a
 * rail; two planes. */
static void trunk_names(void) {
  static const char *const cases[][3] = {
      {"{kind: clos, down: 16x4}", "leaf2-spine0_5", "leaf0"},
      {"{kind: clos, down: 16x4, planes: 2}", "plane1:leaf2-spine0_3", "plane1:spine0_0"},
      {"{kind: clos, down: 8x2x4, oversubscription: 1x2}", "spine1_3-core0_3", "spine1_3"},
      {"{kind: rail-only, radix: 8, nodes-per-leaf: 4}", "rail3:leaf1-spine0", "rail3:leaf1"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *ideal = g_strdup_printf("ideal\nfabric: %s", cases[i][0]);
    g_autofree char *ecmp = g_strdup_printf("ecmp\nfabric: %s", cases[i][0]);
    Machine trunks, cables;
    machine_init(&trunks, ideal);
    machine_init(&cables, ecmp);
    for (guint is_switch = 0; is_switch < 2; is_switch++) {
      GArray *(*find)(const OrrFabric *, const char *, GError **) =
          is_switch ? orr_fabric_find_switch : orr_fabric_find_links;
      g_autoptr(GError) error = NULL;
      g_autoptr(GArray) shares = find(trunks.fabric, cases[i][1 + is_switch], &error);
      g_assert_no_error(error);
      g_autoptr(GArray) whole = find(cables.fabric, cases[i][1 + is_switch], &error);
      g_assert_no_error(error);
      double by_fraction = 0, by_link = 0;
      for (guint k = 0; k < shares->len; k++) {
        const OrrFabricPart *part = &g_array_index(shares, OrrFabricPart, k);
        by_fraction += part->fraction * orr_fabric_link_bandwidth(trunks.fabric, part->link);
      }
      for (guint k = 0; k < whole->len; k++)
        by_link +=
            orr_fabric_link_bandwidth(cables.fabric, g_array_index(whole, OrrFabricPart, k).link);
      g_test_message("%s: %u parts, %g B/s", cases[i][1 + is_switch], shares->len, by_link);
      g_assert_cmpfloat_with_epsilon(by_fraction, by_link, 1e-9 * by_link);
    }
    machine_clear(&trunks);
    machine_clear(&cables);
  }
}

static void unknown_names(void) {
  Machine m;
  machine_init(&m, "ecmp");
  g_autoptr(GError) link = NULL;
  g_autoptr(GError) other = NULL;
  g_assert_null(orr_fabric_find_links(m.fabric, "leaf0-spin1#0.up", &link));
  g_assert_error(link, ORR_FAULT, ORR_FAULT_DOCUMENT);
  g_assert_nonnull(strstr(link->message, "did you mean 'leaf0-spine1#0.up'?"));
  g_assert_null(orr_fabric_find_switch(m.fabric, "spine7", &other));
  g_assert_nonnull(strstr(other->message, "did you mean 'spine0'?"));
  machine_clear(&m);
}

static GHashTable *set_of(const GArray *parts) {
  GHashTable *set = g_hash_table_new(g_direct_hash, g_direct_equal);
  for (guint i = 0; i < parts->len; i++)
    g_hash_table_add(set, GUINT_TO_POINTER(g_array_index(parts, OrrFabricPart, i).link));
  return set;
}

/* Without a spine, every pair still has a route of as many links, and none crosses it; what
 * crosses no dead link keeps its route; without all spines the route is what it was. */
static void avoiding(gconstpointer routing) {
  Machine m;
  machine_init(&m, routing);
  g_autoptr(GArray) gone = orr_fabric_find_switch(m.fabric, "spine1", NULL);
  g_autoptr(GHashTable) dead = set_of(gone);
  g_autoptr(OrrFabric) without = orr_fabric_avoiding(m.fabric, dead);
  guint n_changed = 0;
  for (gint64 src = 0; src < 64; src += 3)
    for (gint64 dst = 0; dst < 64; dst++) {
      g_autoptr(GArray) before = g_array_new(FALSE, FALSE, sizeof(guint32));
      g_autoptr(GArray) after = g_array_new(FALSE, FALSE, sizeof(guint32));
      const double a = orr_fabric_route(m.fabric, src, dst, 0, before),
                   b = orr_fabric_route(without, src, dst, 0, after);
      gboolean crossed = FALSE;
      g_assert_cmpfloat(a, ==, b);
      g_assert_cmpuint(before->len, ==, after->len);
      for (guint i = 0; i < after->len; i++) {
        g_assert_false(
            g_hash_table_contains(dead, GUINT_TO_POINTER(g_array_index(after, guint32, i))));
        crossed = crossed ||
                  g_hash_table_contains(dead, GUINT_TO_POINTER(g_array_index(before, guint32, i)));
      }
      if (!crossed) g_assert_cmpmem(before->data, 4 * before->len, after->data, 4 * after->len);
      n_changed += crossed;
    }
  g_assert_cmpuint(n_changed, >, 200);
  machine_clear(&m);
}

/* What each kind says and effects. */
static void kinds(void) {
  static const struct {
    const char *text, *what;
    OrrFaultEffectKind kind;
    gint64 index; /* of the first effect; -1: not looked at */
    double loss;
    guint n;
  } cases[] = {
      {"{kind: link, name: gpu3.nic, bandwidth: 25 %}", "gpu3.nic at 25 %", ORR_FAULT_EFFECT_LINK,
       -1, 0.75, 2},
      {"{kind: nic, gpu: 3}", "NIC of GPU 3 down", ORR_FAULT_EFFECT_LINK, -1, 1, 2},
      {"{kind: slow-gpu, gpu: 5, slower: 20 %}", "GPU 5 20 % slower", ORR_FAULT_EFFECT_GPU, 5, 0.2,
       1},
      {"{kind: node-lost, node: 7}", "node 7 lost", ORR_FAULT_EFFECT_NODE, 7, 0, 1},
      {"{kind: switch, name: spine0}", "spine0 down", ORR_FAULT_EFFECT_LINK, -1, 1, 64},
  };
  static const OrrField field = {.name = "fault",
                                 .kind = ORR_FIELD_CHOICE,
                                 .sentence = "A fault.",
                                 .registry = &orr_machine_fault_registry};
  static const OrrFieldTable table = {"test", "A test.", sizeof(OrrChoice), &field, 1};
  Machine m;
  machine_init(&m, "ecmp");
  const OrrFaultTarget target = {&m.cluster, m.fabric, NULL};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = g_strdup_printf("fault: %s\n", cases[i].text);
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "fault.yaml", diags);
    g_autoptr(GArray) effects = g_array_new(FALSE, TRUE, sizeof(OrrFaultEffect));
    g_autofree char *what = NULL;
    OrrChoice choice;
    g_assert_true(orr_field_read(&table, tree, NULL, diags, &choice));
    g_assert_true(orr_machine_fault_strike(&choice, &target, effects, &what, NULL));
    const OrrFaultEffect *effect = &g_array_index(effects, OrrFaultEffect, 0);
    g_assert_cmpstr(what, ==, cases[i].what);
    g_assert_cmpuint(effects->len, ==, cases[i].n);
    g_assert_cmpint(effect->kind, ==, cases[i].kind);
    g_assert_cmpfloat(effect->loss, ==, cases[i].loss);
    if (cases[i].index >= 0) g_assert_cmpint(effect->index, ==, cases[i].index);
    orr_field_clear(&table, &choice);
  }
  machine_clear(&m);
}

static void tables(void) {
  for (const OrrEntry *const *entry = orr_machine_fault_registry.entries; *entry; entry++) {
    g_autofree char *findings = orr_field_lint((*entry)->params);
    g_assert_cmpstr(findings, ==, NULL);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/machine-fault/names", names);
  g_test_add_func("/machine-fault/trunk-names", trunk_names);
  g_test_add_func("/machine-fault/unknown-names", unknown_names);
  g_test_add_data_func("/machine-fault/avoiding/ecmp", "ecmp", avoiding);
  g_test_add_data_func("/machine-fault/avoiding/static", "static", avoiding);
  g_test_add_func("/machine-fault/kinds", kinds);
  g_test_add_func("/machine-fault/tables", tables);
  return g_test_run();
}
