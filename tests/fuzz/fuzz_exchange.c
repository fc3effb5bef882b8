/*
 * fuzz_exchange.c - libFuzzer target: no bytes may break a reader of other simulators' files; what
 * it writes is YAML that reads back. A line "%%" parts two files.
 */
#include <glib/gstdio.h>
#include <string.h>

#include "sim/base/yaml.h"
#include "sim/import/exchange/exchange_format.h"
#include "tests/fuzz/fuzz_file.h"

static void check(const char *text) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "imported", diags);
  g_autofree char *findings = orr_diags_text(diags);
  g_assert_cmpstr(findings, ==, "");
  g_assert_nonnull(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static OrrLibrary *library;
  static char second[64];
  const char *text = (const char *)data;
  const char *cut = g_strstr_len(text, (gssize)size, "\n%%\n");
  const gsize first = cut ? (gsize)(cut - text) : size;
  if (!library) library = orr_library_new(NULL);
  g_snprintf(second, sizeof second, "%s/orrery-fuzz-exchange-%d", g_get_tmp_dir(), (int)getpid());
  if (cut) g_assert_true(g_file_set_contents(second, cut + 4, (gssize)(size - first - 4), NULL));
  char *files[] = {(char *)fuzz_file(data, first), cut ? second : NULL, NULL};
  for (guint i = 0; i < 2; i++) {
    const OrrExchangeAnswers answers = {.device = i ? "h100-sxm" : NULL,
                                        .cluster = i ? NULL : "dgx-h100-superpod"};
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) notes = NULL;
    g_autofree char *made = orr_exchange_read(library, files, &answers, &notes, &error);
    g_assert_true((made != NULL) == (error == NULL));
    if (made) check(made);
  }
  if (cut) g_unlink(second);
  return 0;
}
