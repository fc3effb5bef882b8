/*
 * listed.c - a source that stands in a list.
 */
int orr_listed(int a);

int orr_listed(int a) { return a; }
