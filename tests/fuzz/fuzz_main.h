/*
 * fuzz_main.h - compiled in front of each fuzz_NAME.c: its LLVMFuzzerTestOneInput becomes an entry
 * of the one program that holds all targets (fuzzers.c). Twenty programs would take twenty links of
 * the whole product.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int OrrFuzzTarget(const uint8_t *data, size_t size);

/* @file, which is not copied, is the path of the target as the compiler was given it. What is
 * already there is not added again. */
int orr_fuzz_main_add(const char *file, OrrFuzzTarget *run);

#define FUZZ_JOIN(a, b) a##b
#define FUZZ_NAME(line) FUZZ_JOIN(add_fuzz_target_, line)

/* Stands at the declaration and at the definition. */
#define LLVMFuzzerTestOneInput(first, second)                                                      \
  orr_fuzz_main_add(const char *file, OrrFuzzTarget *run);                                         \
  static int fuzz_one(first, second);                                                              \
  static void __attribute__((constructor)) FUZZ_NAME(__LINE__)(void) {                             \
    orr_fuzz_main_add(__FILE__, fuzz_one);                                                         \
  }                                                                                                \
  static int fuzz_one(first, second)
