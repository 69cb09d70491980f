static void check(grader::Exercise& exercise) {
  struct Problem {
    const char* name;
    std::vector<int> rows;  // of each group
    int N, blocks;
  };
  std::vector<int> five(40, 5);
  for (const Problem& p :
       {Problem{"70, 0 and 100 rows, N 128, 4 blocks", {70, 0, 100}, 128, 4},
        Problem{"a drawn shape",
                {32 * exercise.drawn(1, 3), 32 * exercise.drawn(1, 3), 32 * exercise.drawn(1, 3)},
                128,
                4},
        Problem{"0, 0, 33, 1 and 64 rows, N 100, 3 blocks", {0, 0, 33, 1, 64}, 100, 3},
        Problem{"40 groups of 5 rows, N 64, 7 blocks", five, 64, 7},
        Problem{"one group of 50 rows, N 200, 20 blocks", {50}, 200, 20},
        Problem{"no rows, N 64, 2 blocks", {0, 0}, 64, 2}})
    exercise.add(p.name, [p](grader::Case& c) {
      const int count = static_cast<int>(p.rows.size()), wide = ceil_div(p.N, 64);
      std::vector<int> ends, group_of, first_tile;  // of each row its group, of each group a number
      int tiles = 0;
      for (int g = 0; g < count; ++g) {
        const int rows = p.rows[static_cast<size_t>(g)];
        group_of.insert(group_of.end(), static_cast<size_t>(rows), g);
        ends.push_back(static_cast<int>(group_of.size()));
        first_tile.push_back(tiles);
        tiles += ceil_div(rows, 32) * wide;
      }
      const int M = ends.back();
      const auto of_groups = c.input_of<int>(
          "ends", 1, count, [&](int, int g) { return ends[static_cast<size_t>(g)]; });
      const auto A = c.input<float>("A", 1, M), B = c.input<float>("B", count, p.N);
      const auto C = c.output<float>("C", M, p.N);
      const auto numbers = c.output<int>("numbers", M, wide);
      c.launch(kernels::grouped_kernel, dim3(p.blocks), dim3(64), 0,
               kernels::Groups{count, of_groups.data, p.N}, A.data, B.data, C.data, numbers.data);
      const auto group = [&](int row) { return group_of[static_cast<size_t>(row)]; };
      c.expect(C, 1e-6, [&](int row, int n) { return A.value(0, row) * B.value(group(row), n); });
      c.expect(numbers, 0, [&](int row, int column) {
        const auto g = static_cast<size_t>(group(row));
        return first_tile[g] + column * ceil_div(p.rows[g], 32) +
               (row - (ends[g] - p.rows[g])) / 32;
      });
    });
}
