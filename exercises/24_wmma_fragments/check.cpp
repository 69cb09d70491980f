static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int M, N, K, gap;  // between a row's end and the next row
  };
  for (const Shape& s :
       {Shape{"64 x 64 x 64", 64, 64, 64, 0},
        Shape{"a drawn shape", 16 * exercise.drawn(1, 4), 16 * exercise.drawn(1, 4),
              16 * exercise.drawn(5, 7), 0},
        Shape{"16 x 32 x 32", 16, 32, 32, 8}, Shape{"48 x 16 x 32", 48, 16, 32, 24}})
    exercise.add(s.name, [s](grader::Case& c) {
      const auto A = c.input<half>("A", s.M, s.K, s.K + s.gap);
      const auto B = c.input<half>("B", s.K, s.N, s.N + s.gap);
      const int ldc = s.N + s.gap / 2;
      const auto C = c.output<float>("C", s.M, s.N, ldc);
      c.launch(kernels::gemm_kernel, dim3(s.N / 16, s.M / 16), dim3(32), 0, s.K, A.data,
               s.K + s.gap, B.data, s.N + s.gap, C.data, ldc);
      c.expect_product(C, A, B);
    });
}
