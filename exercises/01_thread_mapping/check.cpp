static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int rows, columns, ld_in, ld_out;
  };
  for (const Shape& s :
       {Shape{"128 x 256", 128, 256, 256, 256},
        Shape{"a drawn shape", 8 * exercise.drawn(2, 20), 32 * exercise.drawn(9, 16), 512, 512},
        Shape{"13 x 100", 13, 100, 104, 112}, Shape{"1 x 1", 1, 1, 8, 8}})
    exercise.add(s.name, [s](grader::Case& c) {
      const auto in = c.input<float>("in", s.rows, s.columns, s.ld_in);
      const auto out = c.output<float>("out", s.rows, s.columns, s.ld_out);
      constexpr float FACTOR = 2.5f;
      c.launch(kernels::scale_kernel, dim3(ceil_div(s.columns, 32), ceil_div(s.rows, 8)),
               dim3(32, 8), 0, s.rows, s.columns, FACTOR, in.data, s.ld_in, out.data, s.ld_out);
      c.expect(out, 1e-6, [&](int row, int column) { return FACTOR * in.value(row, column); });
    });
}
