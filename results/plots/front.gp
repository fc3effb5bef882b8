# The points of a sweep by two objectives, and the Pareto front: points that no other point beats on every objective.
# Labels show the run of every few points of the front; orrery query DB front lists them all. Whiskers are error bands.
# A cross marks what measurements would most likely show, where the point lies outside its band.
outside(y, low, high) = y < low || y > high
most_x = most_y = 0
stats data index 0 using (name_x = strcol(3), name_y = strcol(4), most_x = $1 > most_x ? $1 : most_x, most_y = $2 > most_y ? $2 : most_y, 1) nooutput
few = 1 + int(STATS_records / 12)
set format x axis(most_x)
set format y axis(most_y)
set xlabel name_x
set ylabel name_y
set key tmargin right horizontal
set grid
set offsets graph 0.02, graph 0.06, graph 0.05, 0
plot data index 0 using 1:2:9:10 with xerrorbars linecolor 1 pointsize 0 notitle, \
  data index 0 using 1:2:11:12 with yerrorbars linecolor 1 pointsize 0 notitle, \
  data index 0 using 13:2:(outside($1, $9, $10) ? 0.8 : 0) with points pointtype 2 pointsize variable linecolor 1 notitle, \
  data index 0 using 1:14:(outside($2, $11, $12) ? 0.8 : 0) with points pointtype 2 pointsize variable linecolor 1 notitle, \
  for [i = blocks - 1:0:-1] data index i using 1:2 with points pointtype dot(i) linecolor i + 1 pointsize (i == 0 ? 1 : 0.4) \
  title columnheader(1), \
  data index 0 using 1:2 with lines linecolor 1 dashtype 3 notitle, \
  data index 0 using 1:2:(sprintf("run %s", strcol(7))) every few with labels offset 0, 0.8 right font ",9" notitle
