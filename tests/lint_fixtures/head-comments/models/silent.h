/*
 * silent.h - a header with a head comment; its source has none to speak of.
 */
