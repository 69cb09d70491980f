// A warp stands for a wave: each lane is a block, and touches a sector of its tile's row and one of
// its column. The sectors of the warp's request are the rows, or columns, that the wave touches.
static __global__ void waves_kernel(int tiles_m, int tiles_n, const float* tile_rows,
                                    const float* tile_columns, float* visits) {
  const int number = blockIdx.x * 32 + threadIdx.x;
  if (number >= tiles_m * tiles_n) return;
  const kernels::Tile tile = kernels::tile_of(number, tiles_m, tiles_n);
  const float sum = tile_rows[tile.row * 8] + tile_columns[tile.column * 8];
  visits[tile.row * tiles_n + tile.column] = sum;  // as many numbers as tiles: none is left out
}

static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int tiles_m, tiles_n;
  };
  for (const Shape& s :
       {Shape{"16 x 16 tiles", 16, 16},
        Shape{"a drawn shape", 16 * exercise.drawn(1, 3), 16 * exercise.drawn(2, 3)},
        Shape{"10 x 7 tiles", 10, 7}, Shape{"7 x 10 tiles", 7, 10}, Shape{"1 x 5 tiles", 1, 5},
        Shape{"37 x 3 tiles", 37, 3}})
    exercise.add(s.name, [s](grader::Case& c) {
      const auto number = [](int row, int) { return static_cast<float>(row); };
      const auto rows = c.input_of<float>("tile_rows", s.tiles_m, 8, number);
      const auto columns = c.input_of<float>("tile_columns", s.tiles_n, 8, number);
      const auto visits = c.output<float>("visits", s.tiles_m, s.tiles_n);
      c.launch(waves_kernel, dim3(ceil_div(s.tiles_m * s.tiles_n, 32)), dim3(32), 0, s.tiles_m,
               s.tiles_n, rows.data, columns.data, visits.data);
      c.expect(visits, 0, [](int row, int column) { return row + column; });
    });
}
