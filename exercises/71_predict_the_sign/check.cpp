static void check(grader::Exercise& exercise) {
  exercise.add("one block", [](grader::Case& c) {
    // From 1 to 2, with an odd last bit: no factor is a tf32.
    const auto draw = [](uint64_t bits) {
      return 1 + static_cast<float>(bits >> 41 | 1) * 0x1p-23f;
    };
    const auto x = c.input<float>("x", 1, 128, 0, draw), y = c.input<float>("y", 1, 128, 0, draw);
    const auto less = c.zeros<int>("cut_is_less", 1, 128);
    const auto more = c.zeros<int>("cut_is_more", 1, 128);
    const auto rounded_less = c.zeros<int>("rounded_is_less", 1, 128);
    const auto nearer = c.zeros<int>("rounded_sum_is_nearer", 1, 128);
    c.launch(kernels::products_kernel, dim3(1), dim3(128), 0, x.data, y.data, less.data, more.data,
             rounded_less.data, nearer.data);
    // Cutting goes towards zero. Warps 0 and 3 have positive products, 1 and 2 negative ones.
    const auto is_positive = [](int i) { return i / 32 == 0 || i / 32 == 3; };
    c.expect(less, 0, [=](int, int i) { return is_positive(i); });
    c.expect(more, 0, [=](int, int i) { return !is_positive(i); });
    c.expect(nearer, 0, [](int, int i) { return i % 32 == 0; });
  });
}
