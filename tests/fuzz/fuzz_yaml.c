/*
 * fuzz_yaml.c - libFuzzer target: no bytes may break the YAML reader, and what it accepts survives
 * writing and reading.
 *
 * Rules held here: no tree means an error; a tree without errors, written and read again, is the
 * same tree. It is then read as documents of the kinds that need no library: that may find errors
 * and nothing else; what is read without errors can be checked and dumped.
 */
#include "sim/base/yaml.h"
#include "topologies/prices.h"
#include "workloads/campaign/campaign.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* TRUE: read without errors into @out, which the caller clears in any case. */
static gboolean read_as(const OrrFieldTable *table, const OrrNode *tree, void *out) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  const gboolean is_read = orr_field_read_uncertain(table, tree, NULL, diags, out, NULL);
  g_assert_true(is_read == (orr_diags_n_errors(diags) == 0));
  if (!is_read) return FALSE;
  g_autoptr(OrrNode) dump = orr_field_dump(table, out);
  return dump != NULL;
}

static void read_documents(const OrrNode *tree) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrPrices prices;
  OrrFailures failures;
  OrrCampaign campaign;
  OrrDevice device;
  if (read_as(&orr_prices_table, tree, &prices)) orr_prices_check(&prices, tree->place, diags);
  orr_field_clear(&orr_prices_table, &prices);
  if (read_as(&orr_failures_table, tree, &failures))
    orr_failures_check(&failures, tree->place, diags);
  orr_field_clear(&orr_failures_table, &failures);
  read_as(&orr_campaign_table, tree, &campaign);
  orr_field_clear(&orr_campaign_table, &campaign);
  read_as(&orr_device_table, tree, &device);
  orr_field_clear(&orr_device_table, &device);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse((const char *)data, size, "fuzz", diags);
  g_autofree char *findings = orr_diags_text(diags);
  g_assert_true(g_utf8_validate(findings, -1, NULL));
  if (!tree) g_assert_cmpuint(orr_diags_n_errors(diags), >, 0);
  if (!tree || orr_diags_n_errors(diags) > 0) return 0;
  g_autofree char *text = orr_yaml_text(tree);
  g_autoptr(OrrNode) again = orr_yaml_parse(text, strlen(text), "fuzz-again", diags);
  g_autofree char *new_findings = orr_diags_text(diags);
  g_assert_cmpstr(new_findings, ==, "");
  g_assert_true(orr_node_equal(tree, again));
  read_documents(tree);
  return 0;
}
