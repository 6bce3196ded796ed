// The part of OpenTelemetry C++'s API that <sley/opentelemetry.hpp> uses, with the signatures of
// opentelemetry-cpp 1.x: a context is an immutable chain of values, whose identity is its address.
// OpenTelemetry has its own shared_ptr and unique_ptr, which are the standard's in some builds.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace opentelemetry {

namespace nostd {
using std::shared_ptr;
using std::unique_ptr;
}  // namespace nostd

namespace context {

class Context {
 public:
  Context() = default;

  Context SetValue(std::string_view key, int value) const {
    auto with = values_ == nullptr ? values() : *values_;
    with[std::string(key)] = value;
    Context result;
    result.values_ = std::make_shared<const values>(std::move(with));
    return result;
  }
  // 0: it has none.
  int GetValue(std::string_view key) const {
    if (values_ == nullptr) return 0;
    const auto found = values_->find(std::string(key));
    return found == values_->end() ? 0 : found->second;
  }
  bool operator==(const Context& other) const noexcept { return values_ == other.values_; }

 private:
  using values = std::map<std::string, int>;

  std::shared_ptr<const values> values_;
};

class Token {
 public:
  bool operator==(const Context& other) const noexcept { return context_ == other; }
  ~Token();

 private:
  friend class RuntimeContextStorage;

  explicit Token(const Context& context) : context_(context) {}

  const Context context_;
};

class RuntimeContextStorage {
 public:
  virtual Context GetCurrent() noexcept = 0;
  virtual nostd::unique_ptr<Token> Attach(const Context& context) noexcept = 0;
  virtual bool Detach(Token& token) noexcept = 0;
  virtual ~RuntimeContextStorage() = default;

 protected:
  nostd::unique_ptr<Token> CreateToken(const Context& context) noexcept {
    return nostd::unique_ptr<Token>(new Token(context));
  }
};

// The storage by threads, which is there at first, is left out.
class RuntimeContext {
 public:
  static Context GetCurrent() noexcept { return storage()->GetCurrent(); }
  static nostd::unique_ptr<Token> Attach(const Context& context) noexcept {
    return storage()->Attach(context);
  }
  static bool Detach(Token& token) noexcept { return storage()->Detach(token); }
  static void SetRuntimeContextStorage(nostd::shared_ptr<RuntimeContextStorage> s) noexcept {
    storage() = std::move(s);
  }

 private:
  static nostd::shared_ptr<RuntimeContextStorage>& storage() noexcept {
    static nostd::shared_ptr<RuntimeContextStorage> current;
    return current;
  }
};

inline Token::~Token() { RuntimeContext::Detach(*this); }

}  // namespace context
}  // namespace opentelemetry
