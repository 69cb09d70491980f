static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int M, N, K;
  };
  for (const Shape& s : {Shape{"64 x 64 x 64", 64, 64, 64},
                         Shape{"a drawn shape", 32 * exercise.drawn(1, 2),
                               32 * exercise.drawn(1, 2), 16 * exercise.drawn(5, 7)},
                         Shape{"32 x 32 x 16", 32, 32, 16}, Shape{"45 x 20 x 50", 45, 20, 50},
                         Shape{"1 x 70 x 3", 1, 70, 3}})
    exercise.add(s.name, [s](grader::Case& c) {
      const int lda = ceil_div(s.K, 8) * 8, ldb = ceil_div(s.N, 8) * 8, ldc = ldb;
      const auto A = c.input<half>("A", s.M, s.K, lda), B = c.input<half>("B", s.K, s.N, ldb);
      const auto C = c.output<float>("C", s.M, s.N, ldc);
      c.launch(kernels::gemm_kernel, dim3(ceil_div(s.N, 32), ceil_div(s.M, 32)), dim3(32), 0, s.M,
               s.N, s.K, A.data, lda, B.data, ldb, C.data, ldc);
      c.expect_product(C, A, B);
    });
}
