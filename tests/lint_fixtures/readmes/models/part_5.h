/*
 * part_5.h - one of six headers in a folder without a README.
 */
