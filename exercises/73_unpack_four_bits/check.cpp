static void check(grader::Exercise& exercise) {
  // Nibbles 0 to 7 of a word are these numbers of its eight.
  const auto number = [](uint32_t word, int i) {
    return static_cast<int>(word >> 4 * (i / 2 + i % 2 * 4) & 15);
  };
  const auto add = [&](const std::string& name, int n, const std::function<uint32_t(int)>& word,
                       const std::function<uint8_t(int)>& zero) {
    exercise.add(name, [=](grader::Case& c) {
      const auto draw = [](uint64_t bits) { return static_cast<uint32_t>(bits); };
      const auto words =
          word ? c.input_of<uint32_t>("words", 1, n, [&](int, int i) { return word(i); })
               : c.input<uint32_t>("words", 1, n, 0, draw);
      const auto draw_zero = [](uint64_t bits) { return static_cast<uint8_t>(bits % 17); };
      const int groups = ceil_div(n, 16);
      const auto zeros =
          zero ? c.input_of<uint8_t>("zeros", 1, groups, [&](int, int g) { return zero(g); })
               : c.input<uint8_t>("zeros", 1, groups, 0, draw_zero);
      const auto out = c.output<half>("out", n, 8);
      c.launch(kernels::unpack_kernel, dim3(ceil_div(n, 128)), dim3(128), 0, n, words.data,
               zeros.data, out.data);
      // Small whole numbers, which are exact.
      c.expect(out, 0, [&](int i, int j) { return number(words(i), j) - zeros(i / 16); });
    });
  };
  const auto by_hand = [](int) { return 0x1F3A0C85u; };
  add("the word by hand", 1, by_hand, [](int) { return uint8_t{5}; });
  add("1024 words", 1024, {}, {});
  add("a drawn shape", 128 * exercise.drawn(2, 7), {}, {});
  // In each nibble all numbers, the others being 0, and then 15.
  const auto one_nibble = [](int i) {
    const int shift = i / 16 % 8 * 4;
    const uint32_t value = static_cast<uint32_t>(i % 16) << shift;
    return i < 128 ? value : ~(15u << shift) | value;
  };
  add("every number in every nibble", 256, one_nibble, [](int) { return uint8_t{8}; });
  add("every zero point", 17 * 16, {}, [](int g) { return static_cast<uint8_t>(g); });
  add("1000 words", 1000, {}, {});
}
