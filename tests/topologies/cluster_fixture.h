/*
 * cluster_fixture.h - small machines for the tests of topologies/.
 *
 * The machine: 4 nodes of 4 GPUs; NVLink of 100 GB/s at 50 %: 50 GB/s effective; PCIe of 20 GB/s at
 * 50 %: 10; a NIC of 10 GB/s at 80 % for each GPU: 8; latencies 1, 2 and 10 us for NVLink, PCIe and
 * NIC.
 */
#pragma once

#include <string.h>

#include "sim/base/yaml.h"
#include "topologies/fabric.h"

static const char fixture_text[] =
    "schema: cluster/1\n"
    "name: small\n"
    "device: {name: dev, architecture: test, sms: 10, memory: 1 GiB, memory-bandwidth: 1 TB/s,\n"
    "  scale-up-bandwidth: 100 GB/s, scale-up-efficiency: 0.5, host-link-bandwidth: 20 GB/s}\n"
    "nodes: 4\n"
    "node: {gpus: 4, scale-up-domain: 4, scale-up-latency: 1 us, nics-per-gpu: 1, nic-bandwidth: "
    "10 GB/s,\n"
    "  nic-efficiency: 0.8, nic-latency: 10 us, host-link-efficiency: 0.5, host-link-latency: 2 "
    "us}\n";

typedef struct {
  OrrCluster cluster;
  OrrFabric *fabric;
} ClusterFixture;

/* The small machine with dotted paths set: {"nodes", "8", "fabric.levels", "3", NULL}. Findings,
 * the check's included, go to @diags. */
static inline void fixture_read(OrrCluster *cluster, const char *const *sets, OrrDiags *diags) {
  g_autoptr(OrrNode) root = orr_yaml_parse(fixture_text, strlen(fixture_text), "small.yaml", diags);
  g_assert_nonnull(root);
  for (guint i = 0; sets[i]; i += 2) {
    g_autoptr(GError) error = NULL;
    orr_field_set(&orr_cluster_table, root, sets[i], sets[i + 1], &error);
    g_assert_no_error(error);
  }
  if (orr_field_read(&orr_cluster_table, root, NULL, diags, cluster))
    orr_cluster_check(cluster, root->place, diags);
}

static inline void fixture_init(ClusterFixture *fixture, const char *const *sets, guint64 seed) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  fixture_read(&fixture->cluster, sets, diags);
  g_autofree char *text = orr_diags_text(diags);
  g_assert_cmpstr(text, ==, "");
  fixture->fabric = orr_fabric_new(&fixture->cluster, seed, &error);
  g_assert_no_error(error);
  g_assert_nonnull(fixture->fabric);
}

static inline void fixture_clear(ClusterFixture *fixture) {
  orr_fabric_free(fixture->fabric);
  orr_field_clear(&orr_cluster_table, &fixture->cluster);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ClusterFixture, fixture_clear)

#define FIXTURE(name_, seed_, ...)                                                                 \
  g_auto(ClusterFixture) name_ = {0};                                                              \
  fixture_init(&name_, (const char *const[]){__VA_ARGS__, NULL}, seed_)

/* Exactly one diagnostic is expected; it must hold @part. */
static inline void fixture_assert_refused(const char *part, const char *const *sets) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrCluster cluster;
  fixture_read(&cluster, sets, diags);
  g_autofree char *text = orr_diags_text(diags);
  if (!strstr(text, part)) g_error("expected '%s' in: %s", part, text);
  g_assert_cmpuint(orr_diags_n_errors(diags), ==, 1);
  orr_field_clear(&orr_cluster_table, &cluster);
}

#define ASSERT_REFUSED(part_, ...)                                                                 \
  fixture_assert_refused(part_, (const char *const[]){__VA_ARGS__, NULL})

static inline void assert_near(double got, double wanted) {
  if (!(got >= wanted * (1 - 1e-12) && got <= wanted * (1 + 1e-12)))
    g_error("got %.17g, wanted %.17g", got, wanted);
}

static inline OrrFabricLevel fixture_level(const ClusterFixture *fixture, const char *name) {
  g_autoptr(GArray) levels = orr_fabric_levels(fixture->fabric);
  for (guint i = 0; i < levels->len; i++) {
    OrrFabricLevel level = g_array_index(levels, OrrFabricLevel, i);
    if (strcmp(level.name, name) != 0) continue;
    level.name = NULL; /* goes with the array */
    return level;
  }
  g_error("no level %s", name);
}

/* "leaf3-spine0#1.up": from leaf3 to spine0; down: from spine0 to leaf3. "router0>router5#1": as
 * it says. Newly allocated; TRUE where the name says which way is up. */
static inline gboolean fixture_ends(const char *name, char **ret_from, char **ret_to) {
  g_auto(GStrv) direction = g_strsplit(name, ".", 2);
  g_auto(GStrv) number = g_strsplit(direction[0], "#", 2);
  gboolean arrow = strchr(number[0], '>') != NULL;
  g_auto(GStrv) ends = g_strsplit(number[0], arrow ? ">" : "-", 2);
  gboolean there = arrow || strcmp(direction[1], "up") == 0;
  const char *colon = strchr(ends[0], ':'); /* "rail3:", "plane1:" are both ends' */
  g_autofree char *prefix = colon ? g_strndup(ends[0], (gsize)(colon + 1 - ends[0])) : g_strdup("");
  g_autofree char *second = g_strconcat(prefix, ends[1], NULL);
  *ret_from = g_strdup(there ? ends[0] : second);
  *ret_to = g_strdup(there ? second : ends[0]);
  return !arrow;
}

/* Whether names of links tell single switches, and not trunks to all of a level. */
static inline gboolean fixture_names_switches(const ClusterFixture *fixture, const char *name) {
  return fixture->cluster.routing == ORR_ROUTING_ECMP || strchr(name, '>');
}

/* The links of one path each once, NICs at its ends, as many up as down, and each link starting
 * where the last one ended. Returns the switches passed. */
static inline guint fixture_check_links(const ClusterFixture *fixture, GArray *links) {
  g_autofree char *at = NULL;
  int height = 0;
  g_assert_cmpstr(orr_fabric_link_kind(fixture->fabric, g_array_index(links, guint32, 0)), ==,
                  "nic");
  g_assert_cmpstr(
      orr_fabric_link_kind(fixture->fabric, g_array_index(links, guint32, links->len - 1)), ==,
      "nic");
  for (guint i = 1; i + 1 < links->len; i++) {
    guint32 link = g_array_index(links, guint32, i);
    g_autofree char *name = orr_fabric_link_name(fixture->fabric, link);
    g_autofree char *from = NULL, *to = NULL;
    g_assert_cmpint(link, <, orr_fabric_n_links(fixture->fabric));
    g_assert_cmpstr(orr_fabric_link_kind(fixture->fabric, link), ==, "fabric");
    if (fixture_ends(name, &from, &to)) height += g_str_has_suffix(name, ".up") ? 1 : -1;
    if (fixture_names_switches(fixture, name) && at) g_assert_cmpstr(from, ==, at);
    g_free(at);
    at = g_steal_pointer(&to);
    for (guint j = 0; j < i; j++) g_assert_cmpuint(g_array_index(links, guint32, j), !=, link);
  }
  g_assert_cmpint(height, ==, 0);
  return links->len - 1;
}

static inline guint fixture_check_route(const ClusterFixture *fixture, gint64 src, gint64 dst,
                                        guint64 flow) {
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  orr_fabric_route(fixture->fabric, src, dst, flow, links);
  return fixture_check_links(fixture, links);
}
