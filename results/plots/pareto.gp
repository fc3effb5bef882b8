# Every run that fits, and the front of those that nobody betters.
set format y "%.2s%c"
set xlabel "GPUs"
set ylabel "tokens a second"
set key left top
set grid
plot for [i = blocks - 1:0:-1] data index i using 1:2 with points pointtype 7 linecolor i + 1 pointsize (i == 0 ? 1 : 0.5) \
  title columnheader(1), \
  data index 0 using 1:2 with steps linecolor 1 notitle, \
  data index 0 using 1:2:5 with labels offset 1, 0.7 left font ",9" notitle
