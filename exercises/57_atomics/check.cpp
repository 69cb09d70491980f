static void check(grader::Exercise& exercise) {
  struct Shape {
    int n, blocks;
  };
  for (const Shape& s : {Shape{8192, 4}, Shape{5003, 3}, Shape{2, 2}})
    exercise.add(std::to_string(s.n), [s](grader::Case& c) {
      const auto in = c.input<float>("in", 1, s.n);
      const auto total = c.zeros<float>("total", 1, 1);
      c.launch(kernels::total_kernel, dim3(s.blocks), dim3(256), 0, s.n, in.data, total.data);
      double sum = 0;
      for (int i = 0; i < s.n; ++i) sum += in.value(0, i);
      c.expect(total, 1e-4, [&](int, int) { return sum; });
    });
}
