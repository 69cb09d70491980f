static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int rows, columns, ld_in, ld_out;
  };
  const auto of = [](const Shape& s) {
    return [s](grader::Case& c) {
      const auto in = c.input<float>("in", s.rows, s.columns, s.ld_in);
      const auto out = c.output<float>("out", s.columns, s.rows, s.ld_out);
      c.launch(kernels::transpose_kernel, dim3(ceil_div(s.columns, 64), ceil_div(s.rows, 64)),
               dim3(32, 8), 0, s.rows, s.columns, in.data, s.ld_in, out.data, s.ld_out);
      c.expect(out, 0, [&](int row, int column) { return in.value(column, row); });
    };
  };
  for (const Shape& s :
       {Shape{"128 x 128", 128, 128, 128, 136},
        Shape{"a drawn shape", 64 * exercise.drawn(3, 4), 64 * exercise.drawn(1, 3), 192, 264},
        Shape{"70 x 45", 70, 45, 48, 80}, Shape{"130 x 67, ld_in 67", 130, 67, 67, 136},
        Shape{"67 x 64, ld_out 67", 67, 64, 64, 67}, Shape{"1 x 100", 1, 100, 104, 2},
        Shape{"33 x 1", 33, 1, 1, 40}})
    exercise.add(s.name, of(s));
  exercise.add_timed("8192 x 8192", of({"", 8192, 8192, 8192, 8192}));
}
