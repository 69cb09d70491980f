static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int rows, columns;
    float centre;  // exp of 100 is more than a float can hold, exp of -100 next to nothing
  };
  const auto of = [](const Shape& s) {
    return [s](grader::Case& c) {
      const int ld = ceil_div(s.columns, 8) * 8;
      const auto in = c.input<float>("in", s.rows, s.columns, ld, [s](uint64_t bits) {
        return s.centre + 10.0f * grader::uniform<float>(bits);
      });
      const auto out = c.output<float>("out", s.rows, s.columns, ld + 8);
      c.launch(kernels::softmax_kernel<2>, dim3(s.rows), dim3(256), 0, s.columns, in.data, ld,
               out.data, ld + 8);
      std::vector<double> sums(s.rows, 0);
      for (int row = 0; row < s.rows; ++row)
        for (int i = 0; i < s.columns; ++i) sums[row] += std::exp(in.value(row, i) - s.centre);
      c.expect(out, 1e-5, [&](int row, int column) {
        return std::exp(in.value(row, column) - s.centre) / sums[row];
      });
    };
  };
  for (const Shape& s :
       {Shape{"4 x 2048", 4, 2048, 100},
        Shape{"a drawn shape", exercise.drawn(5, 8), 1024 * exercise.drawn(1, 2), 0},
        Shape{"3 x 1333", 3, 1333, -100}, Shape{"2 x 7", 2, 7, 0}})
    exercise.add(s.name, of(s));
  exercise.add_timed("32768 x 2048", of({"", 32768, 2048, 0}));
}
