/*
 * fuzz_topology.c - libFuzzer target: no bytes may break a reader of topologies, whether it
 * recognises them or not, or the plan that is made from what it read. The first byte selects the
 * reader: 'd' the first of dump.c's array, 'e' the second ..., 'p' those that recognise the text.
 */
#include "sim/import/topology/cluster_plan.h"
#include "tests/fuzz/fuzz_file.h"

static void plan(OrrDump *dump, const char *path, const OrrTopologyAnswers *answers) {
  static OrrLibrary *library;
  g_autoptr(GError) error = NULL;
  char *files[] = {(char *)path, NULL};
  if (!library) library = orr_library_new(NULL);
  g_autoptr(OrrClusterPlan) made = orr_cluster_plan_new(dump, answers, files, library, &error);
  g_assert_true((made != NULL) == (error == NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  guint n = 0;
  if (size == 0) return 0;
  while (orr_dump_readers[n]) n++;
  const guint which = (data[0] + 256u - 'd') % (n + 1);
  const char *path = fuzz_file(data + 1, size - 1);
  for (guint chooses = 0; chooses < 2; chooses++) {
    const OrrTopologyAnswers answers = {.device = chooses ? "h100-sxm" : NULL,
                                        .choose = chooses ? "1" : NULL};
    g_autoptr(OrrDump) dump = orr_dump_new();
    g_autoptr(OrrDiags) diags = orr_diags_new();
    if (which == n)
      orr_dump_read(dump, path, diags);
    else
      orr_dump_read_as(dump, orr_dump_readers[which], path, diags);
    g_autofree char *text = orr_diags_text(diags);
    if (orr_diags_n_errors(diags) == 0) plan(dump, path, &answers);
  }
  return 0;
}
