template <ptx::Major MAJOR_A, ptx::Major MAJOR_B>
static void add(grader::Exercise& exercise, const char* name, int M, int N, int K) {
  exercise.add(name, [=](grader::Case& c) {
    constexpr bool A_TRANSPOSED = MAJOR_A == ptx::Major::MN,
                   B_TRANSPOSED = MAJOR_B == ptx::Major::K;
    const auto A = A_TRANSPOSED ? c.input<half>("A", K, M) : c.input<half>("A", M, K);
    const auto B = B_TRANSPOSED ? c.input<half>("B", N, K) : c.input<half>("B", K, N);
    const auto C = c.output<float>("C", M, N, N + 3);
    const auto map = [](const auto& matrix) {
      return ptx::tensor_map(matrix.data, matrix.rows, matrix.columns, matrix.ld, 64);
    };
    c.launch(kernels::gemm_kernel<MAJOR_A, MAJOR_B>, dim3(1), dim3(128), sizeof(kernels::Shared), M,
             N, map(A), map(B), C.data, N + 3);
    // The products are exact in fp32, and their sum is off by less than K^2 * 2^-24.
    c.expect(C, 1e-3, [=](int m, int n) {
      double sum = 0;
      for (int k = 0; k < K; ++k)
        sum += double{A_TRANSPOSED ? A.value(k, m) : A.value(m, k)} *
               double{B_TRANSPOSED ? B.value(n, k) : B.value(k, n)};
      return sum;
    });
  });
}
static void check(grader::Exercise& exercise) {
  constexpr ptx::Major ALONG_K = ptx::Major::K, ALONG_MN = ptx::Major::MN;
  add<ALONG_K, ALONG_MN>(exercise, "NN, 64 x 64 x 64", 64, 64, 64);
  add<ALONG_K, ALONG_K>(exercise, "NT, 64 x 64 x 64", 64, 64, 64);
  add<ALONG_MN, ALONG_MN>(exercise, "TN, 64 x 64 x 64", 64, 64, 64);
  add<ALONG_MN, ALONG_K>(exercise, "TT, 64 x 64 x 64", 64, 64, 64);
  add<ALONG_MN, ALONG_K>(exercise, "a drawn shape", 8 * exercise.drawn(3, 7),
                         8 * exercise.drawn(3, 7), 8 * exercise.drawn(3, 7));
  add<ALONG_MN, ALONG_K>(exercise, "TT, 40 x 56 x 24", 40, 56, 24);
}
