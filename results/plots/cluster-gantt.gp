# Nodes over time: a box for each gang on each run of neighbouring nodes, by the gang's size.
set style fill solid 0.8 noborder
set xlabel "days"
set ylabel "node"
set yrange [*:*] reverse
set key tmargin center horizontal
plot for [i = 0:blocks - 1] data index i using 3:1:3:4:($1 - 0.45):($2 + 0.45) with boxxyerror linecolor i + 1 title columnheader(1)
