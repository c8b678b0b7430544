#include "blueprint/requirement.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace hearth::blueprint;

namespace {

std::string canonical(std::string_view text) { return canonical_text(parse_requirement(text)); }

std::string complaint_about(std::string_view text) {
  try {
    return "accepted as " + canonical(text);
  } catch (const RequirementError& error) {
    return error.what();
  }
}

void complains(std::string_view text, std::string_view why) {
  const std::string complaint = complaint_about(text);
  INFO(text, ": ", complaint);
  CHECK(complaint.find(why) != std::string::npos);
}

}  // namespace

TEST_CASE("requirements that mean the same get one spelling") {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"pandas", "pandas"},
      {" Pandas ", "pandas"},
      {"Foo.._-Bar", "foo-bar"},
      {"httpx[http2, Brotli,http2]", "httpx[brotli,http2]"},
      {"httpx[]", "httpx"},
      {"numpy >= 1.20 , < 2", "numpy<2,>=1.20"},
      {"numpy(>=1.20,<2)", "numpy<2,>=1.20"},
      {"numpy ==1.*", "numpy==1.*"},
      {"numpy~=1.4.2", "numpy~=1.4.2"},
      {"numpy===anything goes", nullptr},
      {"numpy===Weird-1", "numpy===weird-1"},
      {"numpy==1!2.0rc1.post2.dev3+local.4", "numpy==1!2.0rc1.post2.dev3+local.4"},
      {"numpy>=1.0-1", "numpy>=1.0-1"},
      {"numpy>=v1.0.Alpha-2", "numpy>=v1.0.alpha-2"},
      {"pip @ https://example.org/pip.whl", "pip @ https://example.org/pip.whl"},
      {"pip@git+ssh://git@example.org/x.git#sha=1", "pip @ git+ssh://git@example.org/x.git#sha=1"},
      {"argparse;python_version<'2.7'", "argparse ; python_version < \"2.7\""},
      {"a ; os_name=='nt' and ( extra == \"x\" or 'y' not  in sys_platform )",
       "a ; os_name == \"nt\" and (extra == \"x\" or \"y\" not in sys_platform)"},
      {"a @ file:///x ; os_name == 'say \"hi\"'", "a @ file:///x ; os_name == 'say \"hi\"'"},
  };
  for (const auto& [text, expected] : cases) {
    INFO(text);
    if (expected == nullptr) {
      CHECK_THROWS_AS(canonical(text), RequirementError);
    } else {
      CHECK(canonical(text) == expected);
      CHECK(canonical(expected) == expected);
    }
  }
}

TEST_CASE("package requirements that cannot be parsed are refused with the reason") {
  complains("", "does not have a name");
  complains("-pandas-", "option of pip");
  complains("pandas-", "begins and ends with a letter or digit");
  complains("pandas numpy", "expects a version comparison at \"numpy\"");
  complains("pandas=1.0", "expects a version comparison");
  complains("pandas>=", "no version after");
  complains("pandas>=abc", "is no version of PEP 440");
  complains("pandas>=1..2", "is no version of PEP 440");
  complains("pandas>=1.*", "only == and != may have");
  complains("pandas~=1", "at least two numbers");
  complains("pandas>=1+local", "only == and != may have");
  complains("pandas==1+", "is no version of PEP 440");
  complains("pandas>=1,", "expects a version comparison");
  complains("pandas(>=1", "expects \")\"");
  complains("pandas[extra", "expects \"]\"");
  complains("pandas[a b]", "expects \"]\"");
  complains("pandas[,]", "an extra");
  complains("pandas @", "no URL");
  complains("pandas @ nonsense", "no URL");
  complains("pandas @ https://example.org/x.whl junk", "does not make sense from \"junk\"");
  complains("pändas", "beyond ASCII");
}

TEST_CASE("markers that pip would not read are refused") {
  complains("a;", "variable or string");
  complains("a; python", "unknown variable \"python\"");
  complains("a; python_version", "comparison");
  complains("a; python_version < 3.8", "unknown variable \"3\"");
  complains("a; python_version < '3.8", "unfinished string");
  complains("a; (os_name == 'nt'", "closing");
  complains("a; os_name == 'nt' or", "variable or string");
  complains("a; os_name not 'nt'", "comparison");
  complains("a; os_name == 'nt' xor os_name == 'x'", "does not make sense");
  complains("a; " + std::string(500, '('), "nested too deeply");
}

TEST_CASE("options of pip, line breaks and NUL are refused as requirements") {
  complains("-r requirements.txt", "option of pip");
  complains("--index-url=https://evil.example", "option of pip");
  complains("pandas\n--index-url=https://evil.example", "line break");
  complains("pandas\r", "line break");
  complains(std::string("pandas\0x", 8), "line break, a control character");
  complains(std::string(3000, 'a'), "longer than 2000");
}

TEST_CASE("variables that pip would put into a requirement are refused") {
  complains("a ; '${HTTPS_PROXY}' > platform_system", "variable of the environment");
  complains("a===${HOME}", "variable of the environment");
  complains("a @ https://example.org/${TOKEN}/a.whl", "variable of the environment");
}

TEST_CASE("C26: a requirement with credentials is refused without repeating them") {
  const std::vector<std::string> with_credentials = {"a @ https://user:hunter2@example.org/a.whl",
                                                     "a @ https://hunter2@example.org/a.whl",
                                                     "a @ git+ssh://git:hunter2@example.org/a.git"};
  for (const std::string& text : with_credentials) {
    try {
      parse_requirement(text);
      FAIL("accepted");
    } catch (const RequirementError& error) {
      CHECK(error.confidential);
      CHECK(std::string(error.what()).find("hunter2") == std::string::npos);
    }
  }
  CHECK_NOTHROW(parse_requirement("a @ https://example.org/path@1.0"));
}
