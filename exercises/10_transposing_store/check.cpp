static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int M, K;
  };
  for (const Shape& s :
       {Shape{"256 x 32", 256, 32},
        Shape{"a drawn shape", 128 * exercise.drawn(3, 5), 8 * exercise.drawn(1, 5)},
        Shape{"130 x 19", 130, 19}, Shape{"77 x 8", 77, 8}, Shape{"3 x 1", 3, 1}})
    exercise.add(s.name, [s](grader::Case& c) {
      const auto A = c.input<float>("A", s.M, s.K, ceil_div(s.K, 8) * 8);
      const auto At = c.output<float>("At", s.K, s.M, ceil_div(s.M, 8) * 8);
      c.launch(kernels::transpose_kernel, dim3(ceil_div(s.K, 8), ceil_div(s.M, 128)), dim3(256), 0,
               s.M, s.K, A.data, A.ld, At.data, At.ld);
      c.expect(At, 0, [&](int k, int m) { return A.value(m, k); });
    });
}
