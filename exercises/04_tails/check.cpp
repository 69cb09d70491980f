static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int M, N, K;
  };
  for (const Shape& s : {Shape{"32 x 64 x 16", 32, 64, 16},
                         Shape{"a drawn shape", 8 * exercise.drawn(1, 4), 32 * exercise.drawn(1, 3),
                               8 * exercise.drawn(3, 6)},
                         Shape{"30 x 45 x 7", 30, 45, 7}, Shape{"1 x 33 x 1", 1, 33, 1},
                         Shape{"9 x 5 x 0", 9, 5, 0}})
    exercise.add(s.name, [s](grader::Case& c) {
      const int lda = ceil_div(s.K + 1, 8) * 8, ldb = ceil_div(s.N, 8) * 8, ldc = ldb + 8;
      const auto A = c.input<float>("A", s.M, s.K, lda), B = c.input<float>("B", s.K, s.N, ldb);
      const auto C = c.output<float>("C", s.M, s.N, ldc);
      c.launch(kernels::gemm_kernel, dim3(ceil_div(s.N, 32), ceil_div(s.M, 8)), dim3(32, 8), 0, s.M,
               s.N, s.K, A.data, lda, B.data, ldb, C.data, ldc);
      c.expect_product(C, A, B);
    });
}
