# Layouts and rates of a plan: output tokens per second per GPU against those that a user sees, and the Pareto front.
set xlabel "output tokens per second of a user"
set ylabel "output tokens per second per GPU"
set key tmargin right horizontal
set grid
set offsets graph 0.05, graph 0.05, graph 0.1, graph 0.05
plot for [i = blocks - 1:0:-1] data index i using 1:2 with points pointtype dot(i) linecolor i + 1 pointsize (i == 0 ? 1 : 0.5) \
  title columnheader(1), \
  data index 0 using 1:2 with lines linecolor 1 dashtype 3 notitle, \
  data index 0 using 1:2:(sprintf("layout %s", strcol(4))) with labels offset 0.5, 0.8 right font ",9" notitle
