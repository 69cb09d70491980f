static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int M, N, K;
  };
  const auto gemm = [](const Shape& s) {
    return [s](grader::Case& c) {
      const int lda = ceil_div(s.K, 8) * 8, ldb = ceil_div(s.N, 8) * 8, ldc = ldb;
      const auto A = c.input<float>("A", s.M, s.K, lda), B = c.input<float>("B", s.K, s.N, ldb);
      const auto C = c.output<float>("C", s.M, s.N, ldc);
      c.launch(kernels::gemm_kernel, dim3(ceil_div(s.N, 32), ceil_div(s.M, 8)), dim3(32, 8), 0, s.M,
               s.N, s.K, A.data, lda, B.data, ldb, C.data, ldc);
      c.expect_product(C, A, B);
    };
  };
  for (const Shape& s : {Shape{"32 x 64 x 64", 32, 64, 64},
                         Shape{"a drawn shape", 8 * exercise.drawn(1, 4), 32 * exercise.drawn(1, 3),
                               32 * exercise.drawn(3, 5)},
                         Shape{"30 x 45 x 70", 30, 45, 70}, Shape{"8 x 32 x 33", 8, 32, 33},
                         Shape{"1 x 17 x 3", 1, 17, 3}})
    exercise.add(s.name, gemm(s));
  exercise.add_timed("4096 x 4096 x 4096", gemm({"", 4096, 4096, 4096}));
}
