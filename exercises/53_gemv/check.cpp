static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int rows, columns;
  };
  const auto of = [](const Shape& s) {
    return [s](grader::Case& c) {
      const int lda = ceil_div(s.columns, 8) * 8;
      const auto A = c.input<float>("A", s.rows, s.columns, lda);
      const auto x = c.input<float>("x", 1, s.columns);
      const auto y = c.output<float>("y", 1, s.rows);
      c.launch(kernels::gemv_kernel, dim3(s.rows), dim3(256), 0, s.columns, A.data, lda, x.data,
               y.data);
      c.expect(y, 1e-4, [&](int, int row) {
        double sum = 0;
        for (int i = 0; i < s.columns; ++i) sum += A.value(row, i) * x.value(0, i);
        return sum;
      });
    };
  };
  for (const Shape& s :
       {Shape{"4 x 2048", 4, 2048},
        Shape{"a drawn shape", exercise.drawn(5, 7), 1024 * exercise.drawn(2, 4)},
        Shape{"2 x 5127", 2, 5127}, Shape{"3 x 1029", 3, 1029}, Shape{"5 x 2", 5, 2}})
    exercise.add(s.name, of(s));
  exercise.add_timed("8192 x 8192", of({"", 8192, 8192}));
}
