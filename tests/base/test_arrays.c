/*
 * test_arrays.c - the loops of arrays.h end, go on and grow as plain loops do.
 */
#include "sim/base/arrays.h"

#include <string.h>

typedef struct {
  int value;
} Item;

static GArray *one_to_five(void) {
  GArray *items = g_array_new(FALSE, FALSE, sizeof(Item));
  for (int i = 1; i <= 5; i++) ORR_APPEND(items, Item, {i});
  return items;
}

static void test_all(void) {
  g_autoptr(GArray) items = one_to_five();
  int sum = 0, places = 0;
  ORR_EACH(const Item, item, items) sum += item->value;
  ORR_EACH_AT(i, const Item, item, items) places += (int)i * item->value;
  g_assert_cmpint(sum, ==, 15);
  g_assert_cmpint(places, ==, 0 * 1 + 1 * 2 + 2 * 3 + 3 * 4 + 4 * 5);
}

/* `break` ends the whole loop, `continue` one round. */
static void test_jumps(void) {
  g_autoptr(GArray) items = one_to_five();
  int before = 0, odd = 0;
  ORR_EACH(const Item, item, items) {
    if (item->value == 3) break;
    before += item->value;
  }
  ORR_EACH(const Item, item, items) {
    if (item->value % 2 == 0) continue;
    odd += item->value;
  }
  g_assert_cmpint(before, ==, 1 + 2);
  g_assert_cmpint(odd, ==, 1 + 3 + 5);
}

/* What the body appends is visited too, though the array may have moved. */
static void test_growth(void) {
  g_autoptr(GArray) items = one_to_five();
  int n = 0;
  ORR_EACH(const Item, item, items) {
    if (item->value < 100) ORR_APPEND(items, Item, {item->value + 100});
    n++;
  }
  g_assert_cmpint(n, ==, 10);
}

static void test_kinds(void) {
  GArray *none = NULL;
  g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(double));
  g_autoptr(GPtrArray) words = g_ptr_array_new();
  double sum = 0;
  guint length = 0;
  ORR_APPEND(numbers, double, 0.5);
  ORR_APPEND(numbers, double, 1.25);
  g_ptr_array_add(words, (gpointer) "one");
  g_ptr_array_add(words, (gpointer) "three");
  ORR_EACH_VALUE(const double, number, numbers) sum += number;
  ORR_EACH_POINTER_AT(i, const char, word, words) length += (i + 1) * (guint)strlen(word);
  ORR_EACH(const Item, item, none) sum += item->value;
  g_assert_cmpfloat(sum, ==, 1.75);
  g_assert_cmpuint(length, ==, 3 + 2 * 5);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/arrays/all", test_all);
  g_test_add_func("/arrays/jumps", test_jumps);
  g_test_add_func("/arrays/growth", test_growth);
  g_test_add_func("/arrays/kinds", test_kinds);
  return g_test_run();
}
