static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int M, N, K;
  };
  // One tile along K, two, three and a part, and sixteen.
  for (const Shape& s : {Shape{"32 x 32 x 256", 32, 32, 256},
                         Shape{"a drawn shape", 16 * exercise.drawn(1, 3),
                               16 * exercise.drawn(1, 3), 16 * exercise.drawn(17, 20)},
                         Shape{"20 x 40 x 53", 20, 40, 53}, Shape{"16 x 16 x 32", 16, 16, 32},
                         Shape{"5 x 3 x 7", 5, 3, 7}})
    exercise.add(s.name, [s](grader::Case& c) {
      const int lda = s.K + 1, ldb = s.N + 3, ldc = s.N + 5;
      const auto A = c.input<float>("A", s.M, s.K, lda), B = c.input<float>("B", s.K, s.N, ldb);
      const auto C = c.output<float>("C", s.M, s.N, ldc);
      c.launch(kernels::gemm_kernel, dim3(ceil_div(s.N, 16), ceil_div(s.M, 16)), dim3(16, 16), 0,
               s.M, s.N, s.K, A.data, lda, B.data, ldb, C.data, ldc);
      c.expect_product(C, A, B);
    });
}
