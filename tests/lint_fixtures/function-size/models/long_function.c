/*
 * long_function.c - a function that lint_test.sh makes too long.
 */
int orr_long_function(int a);

/* lint_test.sh makes this function 61 lines long. */
int orr_long_function(int a) {
  return a;
}
