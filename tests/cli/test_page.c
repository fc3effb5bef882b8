/*
 * test_page.c - lines of an answer: labels, what continues a line, lists, and words.
 */
#include "sim/cli/page.h"

static void test_lines(void) {
  OrrPage *page = orr_page_new();
  orr_page_add(page, "%s\n", "a run");
  orr_page_line(page, "memory", "%d of %d", 1, 2);
  orr_page_more(page, ": it fits");
  orr_page_line(page, "", "more");
  g_autofree char *text = orr_page_end(page);
  g_assert_cmpstr(text, ==, "a run\n  memory        1 of 2: it fits\n                more\n");
}

/* The first item follows the label or '(' without a comma. */
static void test_items(void) {
  OrrPage *page = orr_page_new();
  orr_page_line(page, "kinds", "%s", "");
  orr_page_item(page, "a %d", 1);
  orr_page_item(page, "b");
  orr_page_more(page, " (");
  orr_page_item(page, "c");
  orr_page_item(page, "d");
  orr_page_more(page, ")");
  g_autofree char *text = orr_page_end(page);
  g_assert_cmpstr(text, ==, "  kinds         a 1, b (c, d)\n");
}

/* GPUs have the device's noun from there on, but not parts of other words. */
static void test_noun(void) {
  OrrPage *page = orr_page_new();
  orr_page_add(page, "%s\n", "My GPUs");
  orr_page_call(page, "chip");
  orr_page_line(page, "cost", "%s", "8 GPUs, a GPU's part, GPU-hours; NGPU GPU_X GPUDirect (GPU)");
  g_autofree char *text = orr_page_end(page);
  g_assert_cmpstr(
      text, ==,
      "My GPUs\n  cost          8 chips, a chip's part, chip-hours; NGPU GPU_X GPUDirect "
      "(chip)\n");
}

static void test_words(void) {
  g_autoptr(OrrPage) page = orr_page_new();
  g_assert_cmpstr(orr_page_things(page, 1, "GPU"), ==, "1 GPU");
  g_assert_cmpstr(orr_page_things(page, 1024, "GPU"), ==, "1,024 GPUs");
  g_assert_cmpstr(orr_page_count(page, 1233.5), ==, "1,234");
  g_assert_cmpstr(orr_page_percent(page, 0.0345), ==, "3.5 %");
  g_assert_cmpstr(orr_page_seconds(page, 0.25), ==, "250 ms");
  g_assert_cmpstr(orr_page_bytes(page, 1024), ==, "1 KiB");
  g_assert_cmpstr(orr_page_text(page, "%s-%d", "x", 3), ==, "x-3");
  g_assert_cmpstr(orr_page_keep(page, NULL), ==, "");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/page/lines", test_lines);
  g_test_add_func("/page/items", test_items);
  g_test_add_func("/page/words", test_words);
  g_test_add_func("/page/noun", test_noun);
  return g_test_run();
}
