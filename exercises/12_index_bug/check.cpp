template <int TM, int TN>
static void add(grader::Exercise& exercise, const char* name, int M, int N, int K) {
  exercise.add(name, [=](grader::Case& c) {
    const int lda = ceil_div(K, 8) * 8, ldb = ceil_div(N, 8) * 8, ldc = ldb;
    const auto A = c.input<float>("A", M, K, lda), B = c.input<float>("B", K, N, ldb);
    const auto C = c.output<float>("C", M, N, ldc);
    c.launch(kernels::gemm_kernel<TM, TN>, dim3(ceil_div(N, 16 * TN), ceil_div(M, 16 * TM)),
             dim3(16, 16), 0, M, N, K, A.data, lda, B.data, ldb, C.data, ldc);
    c.expect_product(C, A, B);
  });
}

static void check(grader::Exercise& exercise) {
  add<4, 4>(exercise, "4 x 4 a thread", 64, 64, 32);
  add<4, 4>(exercise, "a drawn shape", 64 * exercise.drawn(1, 2), 64 * exercise.drawn(1, 2),
            16 * exercise.drawn(3, 5));
  add<8, 4>(exercise, "8 x 4 a thread", 128, 64, 16);
  add<4, 8>(exercise, "4 x 8 a thread", 64, 128, 16);
  add<2, 6>(exercise, "2 x 6 a thread", 50, 101, 19);
}
