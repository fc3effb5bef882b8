/*
 * test_main.h - compiled in front of each test file: its main becomes an entry of the one program
 * that holds all tests (test_programs.c). 290 programs would take a quarter of a build to link.
 */
#pragma once

/* @file, which is not copied, is the path of the test as the compiler was given it. */
int orr_test_main_add(const char *file, int (*run)(int, char **));

#define main(count, values)                                                                        \
  orr_test_main_add(const char *file, int (*run)(int, char **));                                   \
  static int test_main(count, values);                                                             \
  static void __attribute__((constructor)) add_test_main(void) {                                   \
    orr_test_main_add(__FILE__, test_main);                                                        \
  }                                                                                                \
  static int test_main(count, values)
