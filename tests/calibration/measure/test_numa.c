/*
 * test_numa.c - the NUMA node of a PCI device from a made-up sysfs, and memory from this machine.
 */
#include <glib/gstdio.h>
#include <string.h>

#include "calibration/measure/numa.h"

static char *make_sysfs(const char *device, const char *text) {
  char *root = g_dir_make_tmp("orrery-numa-XXXXXX", NULL);
  g_autofree char *folder = g_build_filename(root, "bus", "pci", "devices", device, NULL);
  g_autofree char *file = g_build_filename(folder, "numa_node", NULL);
  g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
  g_assert_true(g_file_set_contents(file, text, -1, NULL));
  return root;
}

static void remove_sysfs(char *root, const char *device) {
  const char *const parts[] = {"bus", "pci", "devices", device, "numa_node"};
  for (int depth = G_N_ELEMENTS(parts); depth >= 0; depth--) {
    g_autoptr(GString) path = g_string_new(root);
    for (int i = 0; i < depth; i++) g_string_append_printf(path, "/%s", parts[i]);
    g_assert_cmpint(g_remove(path->str), ==, 0);
  }
  g_free(root);
}

static int node_of(const char *text, const char *bus) {
  char *root = make_sysfs("0000:1b:00.0", text);
  const int node = orr_numa_node(root, bus);
  remove_sysfs(root, "0000:1b:00.0");
  return node;
}

/* CUDA writes the bus in capitals; sysfs has lower case. -1 is what a platform with one node
 * says. */
static void test_node(void) {
  g_assert_cmpint(node_of("1\n", "0000:1B:00.0"), ==, 1);
  g_assert_cmpint(node_of("-1\n", "0000:1B:00.0"), ==, -1);
  g_assert_cmpint(node_of("many\n", "0000:1B:00.0"), ==, -1);
  g_assert_cmpint(node_of("1000000\n", "0000:1B:00.0"), ==, -1);
  g_assert_cmpint(node_of("1\n", "0000:1C:00.0"), ==, -1);
}

/* On this machine's first node, on any, and on one that is not there: memory either way. */
static void test_memory(void) {
  const int nodes[] = {0, -1, 900};
  for (guint i = 0; i < G_N_ELEMENTS(nodes); i++) {
    const gsize n = 3 << 20;
    char *memory = orr_numa_alloc(n, nodes[i]);
    g_assert_nonnull(memory);
    g_assert_cmpint(memory[0] | memory[n - 1], ==, 0);
    memset(memory, 1, n);
    orr_numa_free(memory, n);
  }
  g_assert_null(orr_numa_alloc(G_MAXSIZE / 2, -1));
  orr_numa_free(NULL, 0);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/measure/numa/node", test_node);
  g_test_add_func("/measure/numa/memory", test_memory);
  return g_test_run();
}
