gint64 orr_needs_more(void); /* without glib.h */
