/* lint_test.sh makes this file 501 lines long. */
