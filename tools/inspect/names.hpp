// Names of the code of a process or core, or of files.
#pragma once

#include "inspect/target.hpp"
#include "platform/symbols.hpp"

#include <map>
#include <memory>
#include <string>

namespace sley::inspect {

class target_names final : public platform::symbol_source {
 public:
  explicit target_names(const target& of) : of_(of) {}

  void describe(std::uintptr_t pc, platform::frame_visitor visit,
                void* arg) const noexcept override;
  platform::object_name name_of_object(std::uintptr_t address) const noexcept override;
  void for_each_code(void (*visit)(void* arg, const platform::loaded_code& code),
                     void* arg) const noexcept override;

 private:
  // Looked for when a name is first asked for.
  const platform::file_symbols& symbols_of(const module& m) const;

  const target& of_;
  mutable std::map<const module*, std::unique_ptr<platform::file_symbols>> symbols_;
};

}  // namespace sley::inspect
