// A file as of the room `state` that calls the room `queue`, which is above it.
namespace sley::rt {

void wake_p() noexcept;

void call_upwards() noexcept { wake_p(); }

}  // namespace sley::rt
