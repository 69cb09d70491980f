static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int M, N, K;
  };
  for (const Shape& s : {Shape{"32 x 32 x 128", 32, 32, 128},
                         Shape{"a drawn shape", 16 * exercise.drawn(1, 3),
                               16 * exercise.drawn(1, 3), 64 * exercise.drawn(3, 4)},
                         Shape{"1 x 16 x 64", 1, 16, 64}, Shape{"20 x 9 x 100", 20, 9, 100},
                         Shape{"16 x 40 x 8", 16, 40, 8}})
    exercise.add(s.name, [s](grader::Case& c) {
      const int lda = ceil_div(s.K, 8) * 8, ldb = ceil_div(s.N, 8) * 8, ldc = ldb;
      const auto A = c.input<half>("A", s.M, s.K, lda), B = c.input<half>("B", s.K, s.N, ldb);
      const auto C = c.output<float>("C", s.M, s.N, ldc);
      c.launch(kernels::gemm_kernel, dim3(ceil_div(s.N, 16), ceil_div(s.M, 16)), dim3(32), 0, s.M,
               s.N, s.K, A.data, lda, B.data, ldb, C.data, ldc);
      c.expect_product(C, A, B);
    });
}
