# The points of a sweep by two objectives, and the front of those that no other betters.
stats data index 0 using (name_x = strcol(3), name_y = strcol(4), 1) nooutput
set format xy "%.2s%c"
set xlabel name_x
set ylabel name_y
set key outside right top
set grid
plot for [i = blocks - 1:0:-1] data index i using 1:2 with points pointtype 7 linecolor i + 1 pointsize (i == 0 ? 1 : 0.4) \
  title columnheader(1), \
  data index 0 using 1:2:7 with labels offset 1, 0.7 left font ",9" notitle
