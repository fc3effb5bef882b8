/*
 * test_prices.c - what a machine and an hour of a GPU cost, by hand; and what is refused.
 */
#include <math.h>

#include "tests/base/field_lint.h"
#include "tests/topologies/cluster_fixture.h"
#include "topologies/prices.h"

/* Reads and checks @body, and checks it against the small machine; the findings, "" without. */
static char *read_prices(const char *body, OrrPrices *prices) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *text = g_strconcat("schema: prices/1\ncurrency: EUR\n", body, NULL);
  g_autoptr(OrrNode) root = orr_yaml_parse(text, strlen(text), "p.yaml", diags);
  g_assert_nonnull(root);
  if (orr_field_read(&orr_prices_table, root, NULL, diags, prices)) {
    FIXTURE(fixture, 1, "fabric", "{kind: fat-tree, radix: 8}"); /* 4 nodes of 4 */
    orr_prices_check(prices, root->place, diags);
    orr_prices_check_cluster(prices, &fixture.cluster, root->place, diags);
  }
  return orr_diags_text(diags);
}

static void assert_refused(const char *body, const char *part) {
  OrrPrices prices;
  g_autofree char *found = read_prices(body, &prices);
  g_test_message("%s: %s", body, found);
  g_assert_nonnull(strstr(found, part));
  g_assert_nonnull(strstr(found, "p.yaml:"));
  orr_field_clear(&orr_prices_table, &prices);
}

/* The small machine: 4 nodes, 16 GPUs with a NIC of 80 Gb/s each; 4 leaves, 2 spines of 8 ports,
 * 16 + 16 cables, 64 optics.
 *
 *   16 * 100 + 4 * 50 + 16 * 10 + 6 * 40 + 32 * 1 + 64 * 2 = 1600 + 200 + 160 + 240 + 32 + 128
 *   = 2360; a GPU-hour = 2360 / 16 / (2 * 8766 * 0.5) */
#define BOUGHT                                                                                     \
  "gpu: 100\nnode: 50\nnic: 10\nlifetime-years: 2\nutilisation: 0.5\n"                             \
  "cables: [{rate: 80 Gb/s, price: 1}]\noptics: [{rate: 10 GB/s, price: 2}]\n"

static void test_bought(void) {
  FIXTURE(fixture, 1, "fabric", "{kind: fat-tree, radix: 8}");
  OrrPrices prices;
  /* the cheapest that has the ports and the rate: neither 4 ports nor half the rate */
  g_autofree char *found =
      read_prices(BOUGHT "switches: [{ports: 16, rate: 80 Gb/s, price: 60}, {ports: 4, rate: 80 "
                         "Gb/s, price: 7}, {ports: 12, rate: 80 Gb/s, price: 40}, {ports: 64, "
                         "rate: 40 Gb/s, price: 9}]\n",
                  &prices);
  g_autoptr(OrrBill) bill = orr_bill_new(fixture.fabric);
  g_assert_cmpstr(found, ==, "");
  assert_near(orr_prices_machine(&prices, bill, "dev"), 2360);
  assert_near(orr_prices_gpu_hour(&prices, bill, "dev"), 2360.0 / 16 / (2 * 8766 * 0.5));
  g_autofree char *text = orr_prices_text(&prices, bill, &fixture.cluster);
  g_assert_nonnull(strstr(text, "machine          2360.00 EUR, 147.50 per GPU; network 560.00"));
  orr_field_clear(&orr_prices_table, &prices);
}

/* A list that is absent is left out: 1600 + 200 + 160 + 32 + 128. A rent is what it is, and each
 * device may have its own. */
static void test_left_out(void) {
  FIXTURE(fixture, 1, "fabric", "{kind: fat-tree, radix: 8}");
  OrrPrices bought, rented;
  g_autofree char *found = read_prices(BOUGHT, &bought);
  g_autofree char *again =
      read_prices("gpu-hour: 2\ndevices: [{device: dev, gpu-hour: 3}]\n", &rented);
  g_autoptr(OrrBill) bill = orr_bill_new(fixture.fabric);
  g_assert_cmpstr(found, ==, "");
  g_assert_cmpstr(again, ==, "");
  assert_near(orr_prices_machine(&bought, bill, "dev"), 2120);
  assert_near(orr_prices_gpu_hour(&rented, bill, "dev"), 3);
  assert_near(orr_prices_gpu_hour(&rented, bill, "other"), 2);
  g_assert_true(isnan(orr_prices_machine(&rented, bill, "dev")));
  g_assert_true(isnan(orr_prices_gpu_hour(&(OrrPrices){0}, bill, "dev")));
  orr_field_clear(&orr_prices_table, &bought);
  orr_field_clear(&orr_prices_table, &rented);
}

static void test_refusals(void) {
  assert_refused("gpu-hour: 2\ngpu: 100\nlifetime-years: 2\nutilisation: 1\n", "rented or bought");
  assert_refused("gpu: 100\n", "need lifetime-years and utilisation");
  assert_refused("pue: 1.2\n", "gives no price");
  assert_refused("gpu-hour: 2\nlifetime-years: 2\n", "prices has none");
  assert_refused("gpu-hour: 0\n", "greater than 0");
  assert_refused("kwh: 0.1\npue: 0.9\n", "pue");
  assert_refused("gpu-hour: 1e400\n", "too large");
  assert_refused("gpu-hour: 2 EUR\n", "gpu-hour");
  assert_refused("kwh: 0.1\nswitches: 3\n", "list of maps");
  assert_refused("kwh: 0.1\ncables: [{rate: 400, price: 1}]\n", "Gb/s");
  assert_refused("gpu-hour-price: 2\n", "it has moved, write gpu-hour");
  assert_refused("gpu_hour: 2\n", "did you mean 'gpu-hour'");
  assert_refused(BOUGHT "switches: [{ports: 64, rate: 400 Gb/s, price: 5}]\n",
                 "no price of switch of 8 ports at 80 Gb/s (leaf): add one to switches");
  assert_refused("devices: [{device: other, gpu-hour: 3}]\n", "no gpu-hour of device dev");
}

static void test_table(void) {
  g_autofree char *findings = orr_field_lint(&orr_prices_table);
  g_assert_cmpstr(findings, ==, NULL);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/prices/bought", test_bought);
  g_test_add_func("/prices/left-out", test_left_out);
  g_test_add_func("/prices/refusals", test_refusals);
  g_test_add_func("/prices/table", test_table);
  return g_test_run();
}
