static void check(grader::Exercise& exercise) {
  struct Problem {
    const char* name;
    std::vector<int> rows;  // of each group
    int N;
  };
  for (const Problem& p : {Problem{"40, 16 and 53 rows, N 64", {40, 16, 53}, 64},
                           Problem{"a drawn shape",
                                   {16 * exercise.drawn(1, 3) + 5, 16 * exercise.drawn(1, 3),
                                    16 * exercise.drawn(1, 3) + 9},
                                   64},
                           Problem{"3, 0, 1 and 33 rows, N 136", {3, 0, 1, 33}, 136},
                           Problem{"32 and 16 rows, N 64", {32, 16}, 64},
                           Problem{"one group of 20 rows, N 8", {20}, 8}})
    exercise.add(p.name, [p](grader::Case& c) {
      const int groups = static_cast<int>(p.rows.size());
      std::vector<int> ends, group_of;  // of each row its group
      for (int g = 0; g < groups; ++g) {
        group_of.insert(group_of.end(), static_cast<size_t>(p.rows[static_cast<size_t>(g)]), g);
        ends.push_back(static_cast<int>(group_of.size()));
      }
      const int M = ends.back();
      const auto of_groups = c.input_of<int>(
          "ends", 1, groups, [&](int, int g) { return ends[static_cast<size_t>(g)]; });
      const auto A = c.input<half>("A", 1, M), B = c.input<half>("B", groups, p.N);
      const auto C = c.output<half>("C", M, p.N);
      c.launch(kernels::grouped_kernel, dim3(ceil_div(p.N, 64)), dim3(32), sizeof(kernels::Shared),
               M, p.N, groups, of_groups.data, A.data, B.data, C.data,
               ptx::tensor_map(C.data, M, p.N, p.N, 16));
      // A product of halves, rounded once.
      c.expect(C, 0x1p-11, [&](int row, int n) {
        return A.value(0, row) * B.value(group_of[static_cast<size_t>(row)], n);
      });
    });
}
