/*
 * fuzz_trace.c - libFuzzer target: no bytes may break the readers of request traces. The first byte
 * picks the reader; each request that one gives has whole lengths, and times rise.
 */
#include "tests/fuzz/fuzz_file.h"
#include "workloads/serving/arrivals/arrival.h"

static const char *const kinds[] = {"azure", "csv", "mooncake", "sharegpt", "mooncake-sessions"};

static void draw(const OrrArrival *arrival, const void *params) {
  const OrrArrivalContext context = {.requests = 1000, .seed = 1, .longest = 1 << 20};
  g_autoptr(GError) error = NULL;
  gpointer state = arrival->open(params, &context, &error);
  g_assert_true((state != NULL) == (error == NULL));
  OrrRequest request;
  double before_s = 0;
  while (state && arrival->next(state, &request)) {
    g_assert_true(request.arrival_s >= before_s && request.prompt > 0 && request.output > 0);
    before_s = request.arrival_s;
    for (OrrRequest turn = request; arrival->after && arrival->after(state, &turn, 0, &turn);)
      g_assert_true(turn.arrival_s >= 0 && turn.prompt > 0 && turn.output > 0);
  }
  if (state) arrival->close(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const OrrArrival *arrival = (const OrrArrival *)orr_registry_find(
      &orr_arrival_registry, kinds[data[0] % G_N_ELEMENTS(kinds)]);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_node_new_map((OrrPlace){"fuzz", 1, 1, NULL});
  orr_node_set(tree, "file",
               orr_node_new_scalar((OrrPlace){"fuzz", 1, 1, NULL}, fuzz_file(data + 1, size - 1)));
  g_autofree void *params = g_malloc0(arrival->entry.params->size);
  g_assert_true(orr_field_read(arrival->entry.params, tree, NULL, diags, params));
  draw(arrival, params);
  orr_field_clear(arrival->entry.params, params);
  return 0;
}
