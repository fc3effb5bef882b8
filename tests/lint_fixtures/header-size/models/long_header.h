/*
 * long_header.h - a header that lint_test.sh makes 251 lines long.
 */
#pragma once
