/* test_quantity.c - units: values to the last bit, messages, human and exact text. */
#include "sim/base/fault.h"
#include "sim/base/quantity.h"

#include <math.h>
#include <string.h>

/* Decimal units must give the double that C itself reads, so == and not a tolerance. */
static void test_values(void) {
  const struct {
    const char *text;
    OrrUnit unit;
    double value;
  } cases[] = {
      {"128", ORR_UNIT_NONE, 128},
      {"1_000_000", ORR_UNIT_NONE, 1e6},
      {"1e6", ORR_UNIT_NONE, 1e6},
      {"-2.5E-3", ORR_UNIT_NONE, -0.0025},
      {".5", ORR_UNIT_NONE, 0.5},
      {"+3.", ORR_UNIT_NONE, 3},
      {"0.9", ORR_UNIT_FRACTION, 0.9},
      {"90 %", ORR_UNIT_FRACTION, 0.9},
      {"7%", ORR_UNIT_FRACTION, 0.07},
      {"80 GiB", ORR_UNIT_BYTES, 85899345920.0}, /* 80 * 2^30 */
      {"80 GB", ORR_UNIT_BYTES, 80e9},
      {"1 B", ORR_UNIT_BYTES, 1},
      {"1.5 kB", ORR_UNIT_BYTES, 1500},
      {"450 GB/s", ORR_UNIT_BYTES_PER_S, 450e9},
      {"400 Gb/s", ORR_UNIT_BYTES_PER_S, 50e9}, /* 400e9 / 8 */
      {"400 Gbit/s", ORR_UNIT_BYTES_PER_S, 50e9},
      {"400Gbps", ORR_UNIT_BYTES_PER_S, 50e9},
      {"2 GiB/s", ORR_UNIT_BYTES_PER_S, 2147483648.0},
      {"2 us", ORR_UNIT_SECONDS, 2e-6},
      {"2 \302\265s", ORR_UNIT_SECONDS, 2e-6},
      {"13.7 us", ORR_UNIT_SECONDS, 13.7e-6},
      {"3 ns", ORR_UNIT_SECONDS, 3e-9},
      {" 1.1 ms ", ORR_UNIT_SECONDS, 1.1e-3},
      {"2 min", ORR_UNIT_SECONDS, 120},
      {"0 s", ORR_UNIT_SECONDS, 0},
      {"1 d", ORR_UNIT_SECONDS, 86400},
      {"312 TFLOP/s", ORR_UNIT_FLOP_PER_S, 312e12},
      {"312 TFLOPS", ORR_UNIT_FLOP_PER_S, 312e12},
      {"1.41 GHz", ORR_UNIT_HERTZ, 1.41e9},
      {"700 W", ORR_UNIT_WATTS, 700},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GError) error = NULL;
    double value = NAN;
    g_assert_true(orr_quantity_parse(cases[i].text, cases[i].unit, &value, &error));
    g_assert_no_error(error);
    g_assert_cmpfloat(value, ==, cases[i].value);
  }
}

static void assert_refused(const char *text, OrrUnit unit, const char *message) {
  g_autoptr(GError) error = NULL;
  double value = 42;
  g_assert_false(orr_quantity_parse(text, unit, &value, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT);
  g_assert_cmpstr(error->message, ==, message);
  g_assert_cmpfloat(value, ==, 42);
}

#define BYTES "B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB"
#define RATES                                                                                      \
  "B/s, kB/s, MB/s, GB/s, TB/s, PB/s, b/s, kb/s, Mb/s, Gb/s, Tb/s, KiB/s, MiB/s, GiB/s, TiB/s"

static void test_refusals(void) {
  assert_refused("450", ORR_UNIT_BYTES_PER_S, "'450' has no unit: allowed are " RATES);
  assert_refused("0", ORR_UNIT_SECONDS, "'0' has no unit: allowed are ns, us, ms, s, min, h, d");
  assert_refused("450 GB", ORR_UNIT_BYTES_PER_S,
                 "'450 GB' has an unknown unit 'GB': allowed are " RATES);
  assert_refused("1 KB", ORR_UNIT_BYTES,
                 "'1 KB' has an unknown unit 'KB': allowed are " BYTES); /* 1000 or 1024? */
  assert_refused("8 GPUs", ORR_UNIT_NONE,
                 "'8 GPUs' has a unit ('GPUs') where a pure number is needed");
  assert_refused("3 ms", ORR_UNIT_FRACTION,
                 "'3 ms' has an unknown unit 'ms': allowed no unit or %");
  assert_refused("fast", ORR_UNIT_BYTES, "'fast' is not a number with a unit: " BYTES);
  assert_refused("", ORR_UNIT_NONE, "'' is not a number");
  assert_refused("inf", ORR_UNIT_NONE, "'inf' is not a number");
  assert_refused("nan", ORR_UNIT_NONE, "'nan' is not a number");
  assert_refused("-", ORR_UNIT_NONE, "'-' is not a number");
  assert_refused(".", ORR_UNIT_NONE, "'.' is not a number");
  assert_refused("0x10", ORR_UNIT_NONE, "'0x10' has a unit ('x10') where a pure number is needed");
  assert_refused("1__0", ORR_UNIT_NONE, "'1__0' has a unit ('__0') where a pure number is needed");
  assert_refused("1e400", ORR_UNIT_NONE, "'1e400' is too large");
  assert_refused("1e99999999999999999999", ORR_UNIT_NONE, "'1e99999999999999999999' is too large");
  assert_refused("1e308 GB", ORR_UNIT_BYTES, "'1e308 GB' is too large");
}

static void test_format(void) {
  const struct {
    double value;
    OrrUnit unit;
    const char *text;
  } cases[] = {
      {26.1, ORR_UNIT_SECONDS, "26.1 s"},
      {26.1234, ORR_UNIT_SECONDS, "26.12 s"},
      {0, ORR_UNIT_SECONDS, "0 s"},
      {2e-6, ORR_UNIT_SECONDS, "2 us"},
      {2e-12, ORR_UNIT_SECONDS, "0.002 ns"},
      {0.9999, ORR_UNIT_SECONDS, "999.9 ms"},
      {0.99999, ORR_UNIT_SECONDS, "1 s"}, /* 999.99 ms rounds to 1000 */
      {-0.5, ORR_UNIT_SECONDS, "-500 ms"},
      {7200, ORR_UNIT_SECONDS, "120 min"},
      {450e9, ORR_UNIT_BYTES_PER_S, "450 GB/s"},
      {50e-12, ORR_UNIT_J_PER_BYTE, "50 pJ/B"},
      {85899345920.0, ORR_UNIT_BYTES, "80 GiB"},
      {1000, ORR_UNIT_BYTES, "1000 B"},
      {1024, ORR_UNIT_BYTES, "1 KiB"},
      {312e12, ORR_UNIT_FLOP_PER_S, "312 TFLOP/s"},
      {0.52314, ORR_UNIT_FRACTION, "52.31 %"},
      {0, ORR_UNIT_FRACTION, "0"},
      {1234567, ORR_UNIT_NONE, "1234567"},
      {0.000012345678, ORR_UNIT_NONE, "1.235e-05"},
      {INFINITY, ORR_UNIT_SECONDS, "infinite"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = orr_quantity_format(cases[i].value, cases[i].unit);
    g_assert_cmpstr(text, ==, cases[i].text);
  }
}

static void test_exact_reads_back(void) {
  const double values[] = {0,    1,       0.1,  1.0 / 3, 26.1,   4.5e11,   85899345920.0,
                           1e-9, 13.7e-6, -2.5, 1e300,   5e-324, 123456.5, 100};
  for (int unit = 0; unit < ORR_N_UNITS; unit++)
    for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
      g_autoptr(GError) error = NULL;
      g_autofree char *text = orr_quantity_exact(values[i], (OrrUnit)unit);
      double value = NAN;
      orr_quantity_parse(text, (OrrUnit)unit, &value, &error);
      g_assert_no_error(error);
      g_assert_cmpfloat(value, ==, values[i]);
    }
  g_autofree char *rate = orr_quantity_exact(4.5e11, ORR_UNIT_BYTES_PER_S);
  g_autofree char *count = orr_quantity_exact(1536, ORR_UNIT_NONE);
  g_assert_cmpstr(rate, ==, "4.5e+11 B/s");
  g_assert_cmpstr(count, ==, "1536");
  /* YAML 1.1 wants a point and a sign in a number with an exponent, and printf leaves the point
   * out of 5e+09. */
  g_autofree char *round = orr_quantity_exact(5e9, ORR_UNIT_NONE),
                  *odd = orr_quantity_exact(176.25e9, ORR_UNIT_NONE);
  g_assert_cmpstr(round, ==, "5.0e+09");
  g_assert_cmpstr(odd, ==, "1.7625e+11");
}

static void test_every_listed_unit_is_read(void) {
  for (int unit = ORR_UNIT_BYTES; unit < ORR_N_UNITS; unit++) {
    g_auto(GStrv) listed = g_strsplit(orr_unit_allowed((OrrUnit)unit), ", ", -1);
    g_assert_true(g_strv_contains((const char *const *)listed, orr_unit_symbol((OrrUnit)unit)));
    for (guint i = 0; listed[i]; i++) {
      g_autofree char *text = g_strdup_printf("1 %s", listed[i]);
      double value = 0;
      g_assert_true(orr_quantity_parse(text, (OrrUnit)unit, &value, NULL));
      g_assert_cmpfloat(value, >, 0);
    }
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/quantity/values", test_values);
  g_test_add_func("/quantity/refusals", test_refusals);
  g_test_add_func("/quantity/format", test_format);
  g_test_add_func("/quantity/exact-reads-back", test_exact_reads_back);
  g_test_add_func("/quantity/every-listed-unit-is-read", test_every_listed_unit_is_read);
  return g_test_run();
}
