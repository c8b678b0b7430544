// session/sha256.h: SHA-256 of bytes that come in pieces, as `sha256sum` prints it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace hearth::session {

class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes);
  // 64 hexadecimal digits; the object is spent.
  std::string finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace hearth::session
