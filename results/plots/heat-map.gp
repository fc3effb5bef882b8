# The best result over two axes. An empty field has no run that fits into memory and satisfies the constraints.
most = 0
stats data index 0 using (name_x = strcol(6), name_y = strcol(7), name_value = strcol(8), most = valid(3) && $3 > most ? $3 : most, 1) nooutput
set format cb axis(most)
set xlabel name_x
set ylabel name_y
set cblabel name_value
set palette defined (0 "#f4f1e4", 0.5 "#a5d3b5", 1 "#2f9e8f")
set style fill solid 1 border lt -1
plot data index 0 using 1:2:($1 - 0.5):($1 + 0.5):($2 - 0.5):($2 + 0.5):3:xtic(4):ytic(5) with boxxyerror palette notitle, \
  data index 0 using 1:2:(short($3)) with labels notitle
