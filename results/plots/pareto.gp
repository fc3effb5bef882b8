# Every run that fits into memory, and the Pareto front of throughput over GPUs; whiskers are error bands.
# A cross marks what measurements would most likely show, where the point lies outside its band.
outside(y, low, high) = y < low || y > high
set format y "%.1s%c"
set xlabel "GPUs"
set ylabel "tokens per second"
set key tmargin right horizontal
set grid
set offsets graph 0.05, graph 0.12, graph 0.1, graph 0.05
plot data index 0 using 1:2:6:7 with yerrorbars linecolor 1 linewidth 1.5 pointsize 0 notitle, \
  data index 0 using 1:8:(outside($2, $6, $7) ? 0.8 : 0) with points pointtype 2 pointsize variable linecolor 1 notitle, \
  for [i = blocks - 1:0:-1] data index i using 1:2 with points pointtype dot(i) linecolor i + 1 pointsize (i == 0 ? 1 : 0.5) \
  title columnheader(1), \
  data index 0 using 1:2 with steps linecolor 1 notitle, \
  data index 0 using 1:2:5 with labels offset 1, 0.7 left font ",9" notitle
