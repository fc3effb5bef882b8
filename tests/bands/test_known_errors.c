/*
 * test_known_errors.c - errors of results without a band: the file, and what answers say.
 */
#include <string.h>

#include "sim/bands/known_errors.h"

static OrrLibrary *library;

/* ByteRobust's table 8 against campaigns-checkpoints: saves to a peer are off by 94.2 % on three
 * rows, to storage by 1.7 %; one tier's say nothing about another. */
static void test_stalls(void) {
  static const char *const peer[] = {"peer", NULL}, *const storage[] = {"storage", "ssd", NULL};
  g_auto(GStrv) words = orr_known_errors_words(library, "campaign_result", "stall_s", peer);
  g_assert_cmpuint(g_strv_length(words), ==, 1);
  g_assert_cmpstr(words[0], ==,
                  "stall_s (peer) is off by 94 % on average where it was measured (3 rows of "
                  "validation set campaigns-checkpoints)");
  g_auto(GStrv) others = orr_known_errors_words(library, "campaign_result", "stall_s", storage);
  g_assert_cmpuint(g_strv_length(others), ==, 0);
  g_auto(GStrv) all = orr_known_errors_words(library, "campaign_result", NULL, NULL);
  g_assert_cmpuint(g_strv_length(all), ==, 3); /* out_p99; of host, peer */
}

/* Mean errors of 13 to 22 % need no warning. */
static void test_below_the_limit(void) {
  static const char *const tables[] = {"post_training_result", "serving_result", "none"};
  for (guint i = 0; i < G_N_ELEMENTS(tables); i++) {
    g_auto(GStrv) words = orr_known_errors_words(library, tables[i], NULL, NULL);
    g_assert_cmpuint(g_strv_length(words), ==, 0);
  }
}

/* What is written is the shipped file again. */
static void test_round_trip(void) {
  g_autoptr(GError) error = NULL;
  g_autoptr(GArray) errors = orr_known_errors_read(library, &error);
  g_assert_no_error(error);
  g_autofree char *text = orr_known_errors_text(errors), *shipped = NULL;
  g_assert_true(g_file_get_contents(ORR_SOURCE_DIR "/calibration/residuals/errors.csv", &shipped,
                                    NULL, &error));
  g_assert_cmpstr(text, ==, shipped);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  library = orr_library_new(NULL);
  g_test_add_func("/known-errors/stalls", test_stalls);
  g_test_add_func("/known-errors/below-the-limit", test_below_the_limit);
  g_test_add_func("/known-errors/round-trip", test_round_trip);
  const int status = g_test_run();
  orr_library_free(library);
  return status;
}
