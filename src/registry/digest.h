// registry/digest.h: SHA-256 over a sequence of fields that cannot be confused: each is preceded by
// its length, each list by its count, so moving a byte from one field to the next changes the sum.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct evp_md_ctx_st;

namespace hearth::registry {

class Digest {
 public:
  Digest();

  void add(std::string_view field);
  void add_count(std::uint64_t count);
  void add_list(const std::vector<std::string>& fields);

  // 64 hexadecimal digits; the digest is spent.
  std::string finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  void update(const void* data, std::size_t size);

  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace hearth::registry
