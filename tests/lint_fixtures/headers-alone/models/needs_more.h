/*
 * needs_more.h - a header that does not compile alone.
 */
gint64 orr_needs_more(void); /* without glib.h */
