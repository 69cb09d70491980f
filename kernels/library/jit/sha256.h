#pragma once
// A digest of a text: who has one cannot find another text that has it too. Of our own, for what
// else has it, OpenSSL or the kernel's AF_ALG, is not wherever a program with these kernels is.
#include <string>

namespace ladder::jit {

// SHA-256, FIPS 180-4, as 64 hexadecimal digits.
std::string sha256(const std::string& text);

}  // namespace ladder::jit
