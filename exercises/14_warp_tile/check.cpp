static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int M, N, K;
  };
  for (const Shape& s : {Shape{"64 x 64 x 32", 64, 64, 32},
                         Shape{"a drawn shape", 64 * exercise.drawn(1, 2),
                               64 * exercise.drawn(1, 2), 8 * exercise.drawn(5, 8)},
                         Shape{"100 x 72 x 20", 100, 72, 20}, Shape{"1 x 4 x 3", 1, 4, 3}})
    exercise.add(s.name, [s](grader::Case& c) {
      const int lda = s.K + 3, ldb = s.N + 4, ldc = s.N + 8;
      const auto A = c.input<float>("A", s.M, s.K, lda), B = c.input<float>("B", s.K, s.N, ldb);
      const auto C = c.output<float>("C", s.M, s.N, ldc);
      c.launch(kernels::gemm_kernel, dim3(ceil_div(s.N, 64), ceil_div(s.M, 64)), dim3(256), 0, s.M,
               s.N, s.K, A.data, lda, B.data, ldb, C.data, ldc);
      c.expect_product(C, A, B);
    });
}
