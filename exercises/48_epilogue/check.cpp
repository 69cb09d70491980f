static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int M, N, K;
  };
  for (const Shape& s : {Shape{"64 x 64 x 64", 64, 64, 64},
                         Shape{"a drawn shape", 8 * exercise.drawn(3, 7), 8 * exercise.drawn(3, 7),
                               8 * exercise.drawn(3, 7)},
                         Shape{"50 x 37 x 40", 50, 37, 40}, Shape{"1 x 1 x 8", 1, 1, 8},
                         Shape{"64 x 24 x 16", 64, 24, 16}})
    exercise.add(s.name, [s](grader::Case& c) {
      const int ld = ceil_div(s.N, 8) * 8;
      const auto A = c.input<half>("A", s.M, s.K), B = c.input<half>("B", s.K, s.N, ld);
      const auto bias = c.input<float>("bias", 1, s.N);
      const auto C = c.output<half>("C", s.M, s.N, ld + 8);
      c.launch(kernels::linear_kernel, dim3(1), dim3(128), sizeof(kernels::Shared), s.M, s.N,
               ptx::tensor_map(A.data, s.M, s.K, s.K, 64),
               ptx::tensor_map(B.data, s.K, s.N, ld, 64), bias.data, C.data, ld + 8);
      c.expect(C, 1e-3, [&](int row, int column) {
        double sum = bias.value(0, column);
        for (int k = 0; k < s.K; ++k) sum += A.value(row, k) * B.value(k, column);
        return sum > 0 ? sum : 0.0;
      });
    });
}
