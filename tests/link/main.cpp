// An object file with every kernel header, twice in one program: it links when every function in
// the headers is a template, inline or static. (tests/CMakeLists.txt renames the second's first().)
extern "C" int first();
extern "C" int second();

int main() {
  return first() == 1 && second() == 1 ? 0 : 1;
}
