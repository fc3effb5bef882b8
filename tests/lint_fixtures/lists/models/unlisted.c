/*
 * unlisted.c - a source that stands in no list.
 */
int orr_unlisted(int a);

int orr_unlisted(int a) { return a; }
