/*
 * fuzzers.c - all fuzz targets as one libFuzzer program: ORR_FUZZ_TARGET names the one to run, as
 * fuzz.sh does; without it the program lists the names.
 *
 *   ORR_FUZZ_TARGET=yaml build-fuzz/tests/fuzzers [LIBFUZZER-OPTION...] [FILE-OR-FOLDER...]
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 100

typedef int OrrFuzzTarget(const uint8_t *data, size_t size); /* as in fuzz_main.h */

int orr_fuzz_main_add(const char *file, OrrFuzzTarget *run);
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
  char name[64]; /* of .../fuzz_NAME.c */
  OrrFuzzTarget *run;
} targets[MOST];
static int n_targets;
static OrrFuzzTarget *chosen;

int orr_fuzz_main_add(const char *file, OrrFuzzTarget *run) {
  const char *base = strrchr(file, '/');
  base = base ? base + 1 : file;
  if (!strstr(base, ".c")) return -1; /* a header that declares it */
  if (n_targets == MOST || sscanf(base, "fuzz_%63[^.]", targets[n_targets].name) != 1) abort();
  for (int i = 0; i < n_targets; i++)
    if (!strcmp(targets[i].name, targets[n_targets].name)) return i;
  targets[n_targets].run = run;
  return n_targets++;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  const char *wanted = getenv("ORR_FUZZ_TARGET");
  for (int i = 0; i < n_targets; i++) {
    if (!wanted) puts(targets[i].name);
    if (wanted && !strcmp(targets[i].name, wanted)) chosen = targets[i].run;
  }
  if (!chosen) exit(wanted ? 2 : 0);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return chosen(data, size); }
