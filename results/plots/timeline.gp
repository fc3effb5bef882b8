# A Gantt chart: one row per lane, time to the right.
set style fill solid 0.9 noborder
stats data using 1 name "ROW" nooutput
stats data using 6 name "LANE" nooutput
shown = ROW_max + 1
some = sprintf("seconds (the first %d of %d lanes; --param lanes=%d draws all)", shown, LANE_max, LANE_max)
set xlabel (LANE_max > shown ? some : "seconds")
set yrange [*:*] reverse
set ytics scale 0 font ",8"
set grid x
set key tmargin center horizontal
# Compute fills the upper part of a row, communication the strip below it.
plot for [i = 0:blocks - 1] data index i using 3:1:3:4:($1 + ($5 > 0 ? -0.42 : 0.22)):($1 + ($5 > 0 ? 0.18 : 0.45)):ytic(2) \
  with boxxyerror linecolor i + 1 title columnheader(1)
