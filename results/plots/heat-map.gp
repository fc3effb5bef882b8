# Tokens a second and GPU over two axes; an empty field: no run there fits.
if (!exists("axis_x")) axis_x = "workload.parallel.tp"
if (!exists("axis_y")) axis_y = "workload.parallel.pp"
set cblabel "tokens a second and GPU"
set format cb "%.2s%c"
set xlabel axis_x
set ylabel axis_y
set palette defined (0 "#30426a", 0.5 "#3d9f8f", 1 "#f6e05e")
set logscale xy 2
set offsets graph 0.1, graph 0.1, graph 0.1, graph 0.1
plot data index 0 using 1:2:3 with points pointtype 5 pointsize 6 palette notitle, \
  data index 0 using 1:2:(sprintf("%.0f", $3)) with labels notitle
