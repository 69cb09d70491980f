static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int rows, columns, ld;
  };
  const auto add = [](const Shape& s) {
    return [s](grader::Case& c) {
      const auto x = c.input<float>("x", s.rows, s.columns, s.ld);
      const auto y = c.input<float>("y", s.rows, s.columns, s.ld + 8);
      const auto out = c.output<float>("out", s.rows, s.columns, s.ld + 16);
      constexpr float ALPHA = 1.5f;
      c.launch(kernels::add_kernel, dim3(ceil_div(s.columns, 128), ceil_div(s.rows, 8)),
               dim3(32, 8), 0, s.rows, s.columns, ALPHA, x.data, x.ld, y.data, y.ld, out.data,
               out.ld);
      c.expect(out, 1e-6, [&](int row, int column) {
        return ALPHA * x.value(row, column) + y.value(row, column);
      });
    };
  };
  for (const Shape& s :
       {Shape{"32 x 256", 32, 256, 256},
        Shape{"a drawn shape", 8 * exercise.drawn(1, 4), 128 * exercise.drawn(3, 5), 640},
        Shape{"13 x 101", 13, 101, 104}, Shape{"9 x 130", 9, 130, 132}, Shape{"1 x 3", 1, 3, 8}})
    exercise.add(s.name, add(s));
  exercise.add_timed("8192 x 8192", add({"", 8192, 8192, 8192}));
}
