static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int rows, columns;
  };
  const auto of = [](const Shape& s) {
    return [s](grader::Case& c) {
      const int ld_in = ceil_div(s.columns, 8) * 8, ld_out = ceil_div(s.rows, 8) * 8 + 8;
      const auto in = c.input<float>("in", s.rows, s.columns, ld_in);
      const auto out = c.output<float>("out", s.columns, s.rows, ld_out);
      c.launch(kernels::transpose_kernel, dim3(ceil_div(s.columns, 32), ceil_div(s.rows, 32)),
               dim3(32, 8), 0, s.rows, s.columns, in.data, ld_in, out.data, ld_out);
      c.expect(out, 0, [&](int row, int column) { return in.value(column, row); });
    };
  };
  for (const Shape& s : {Shape{"128 x 96", 128, 96}, Shape{"70 x 45", 70, 45},
                         Shape{"1 x 100", 1, 100}, Shape{"33 x 1", 33, 1}})
    exercise.add(s.name, of(s));
  exercise.add_timed("8192 x 8192", of({"", 8192, 8192}));
}
