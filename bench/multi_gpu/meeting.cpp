#include "meeting.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

namespace ladder::multi_gpu {
namespace {

using Clock = std::chrono::steady_clock;

// The first of these variables that is set.
const char* first_of(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* value = std::getenv(name)) return value;
  return nullptr;
}

// A name in the abstract namespace: there is no file that could be left behind.
struct Address {
  sockaddr_un un{};
  socklen_t size;

  explicit Address(const std::string& job) {
    const std::string name = fmt::format("gemm_ladder.{}.{}", getuid(), job).substr(0, 100);
    un.sun_family = AF_UNIX;
    std::memcpy(un.sun_path + 1, name.data(), name.size());
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&un); }
};

void send_all(int socket, const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = send(socket, &bytes[done], bytes.size() - done, MSG_NOSIGNAL);
    if (n <= 0) throw std::runtime_error("another rank has ended");
    done += static_cast<size_t>(n);
  }
}
std::string receive(int socket, size_t size) {
  std::string bytes(size, '\0');
  for (size_t done = 0; done < size;) {
    const ssize_t n = recv(socket, &bytes[done], size - done, 0);
    if (n <= 0) throw std::runtime_error("another rank has ended");
    done += static_cast<size_t>(n);
  }
  return bytes;
}
// With its length before it.
std::string packed(const std::string& bytes) {
  const uint64_t size = bytes.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + bytes;
}
std::string receive_packed(int socket) {
  uint64_t size = 0;
  std::memcpy(&size, receive(socket, sizeof(size)).data(), sizeof(size));
  return receive(socket, size);
}

// A socket, closed unless it is taken out.
class Socket {
 public:
  explicit Socket(int socket) : socket_(socket) {
    if (socket < 0) throw std::runtime_error("no socket to be had");
  }
  ~Socket() {
    if (socket_ >= 0) close(socket_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return socket_; }
  int take() { return std::exchange(socket_, -1); }

 private:
  int socket_;
};
int new_socket() {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

}  // namespace

Launched launched_as() {
  Launched launched;
  const char* ranks = first_of({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"});
  const char* rank = first_of({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"});
  if (ranks == nullptr || rank == nullptr) return launched;
  const char* local =
      first_of({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"});
  launched.ranks = std::atoi(ranks);
  launched.rank = std::atoi(rank);
  launched.local_rank = std::atoi(local ? local : rank);
  // Ranks that a launcher has started without a name for the job have the same parent.
  const char* job = first_of({"LADDER_JOB", "MASTER_PORT", "PMIX_NAMESPACE", "SLURM_JOB_ID"});
  launched.job = job ? job : std::to_string(getppid());
  return launched;
}

void fail(const std::string& message, int exit_code) {
  static std::mutex first;  // never unlocked: the others' lines would say the same
  first.lock();
  std::string line = message;
  for (char& c : line)
    if (c == '\n') c = ' ';
  line += '\n';
  fflush(stdout);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  _exit(exit_code);  // whatever the GPU is doing ends with the process
}

Meeting::Meeting(const std::string& job, int ranks, int rank, std::chrono::seconds patience)
    : ranks_(ranks), rank_(rank), patience_(patience) {
  begin("waiting for the other ranks");
  const Address address(job);
  const auto late = [&] {
    if (Clock::now() < deadline_) return false;
    throw std::runtime_error(
        fmt::format("{}: {} s have gone by and not all ranks are here", name(), patience_.count()));
  };
  if (rank == 0) {
    const Socket listener(new_socket());
    if (bind(listener.get(), address.get(), address.size) != 0 ||
        listen(listener.get(), ranks) != 0)
      throw std::runtime_error(
          fmt::format("rank 0 of {}: there is another rank 0 of job '{}'; "
                      "LADDER_JOB names jobs apart",
                      ranks, job));
    std::vector<std::unique_ptr<Socket>> peers(static_cast<size_t>(ranks));
    for (int others = ranks - 1; others > 0 && !late();) {
      pollfd waiting{listener.get(), POLLIN, 0};
      if (poll(&waiting, 1, 100) <= 0) continue;
      auto peer = std::make_unique<Socket>(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      int told[2] = {};
      std::memcpy(told, receive(peer->get(), sizeof(told)).data(), sizeof(told));
      if (told[0] != ranks || told[1] <= 0 || told[1] >= ranks ||
          peers[static_cast<size_t>(told[1])] != nullptr)
        throw std::runtime_error(fmt::format("rank 0 of {}: somebody says to be rank {} of {}",
                                             ranks, told[1], told[0]));
      peers[static_cast<size_t>(told[1])] = std::move(peer);
      --others;
    }
    for (const auto& peer : peers) sockets_.push_back(peer ? peer->take() : -1);
  } else {
    std::unique_ptr<Socket> hub;
    do {
      if (hub) usleep(20000);
      late();
      hub = std::make_unique<Socket>(new_socket());
    } while (connect(hub->get(), address.get(), address.size) != 0);
    const int tell[2] = {ranks, rank};
    send_all(hub->get(), std::string(reinterpret_cast<const char*>(tell), sizeof(tell)));
    sockets_ = {hub->take()};
  }
  watcher_ = std::thread([this] { look(); });
}

Meeting::~Meeting() {
  over_ = true;
  if (watcher_.joinable()) watcher_.join();
  for (const int socket : sockets_)
    if (socket >= 0) close(socket);
}

std::string Meeting::name() const {
  return fmt::format("rank {} of {}", rank_, ranks_);
}

std::vector<std::string> Meeting::exchange(const std::string& mine) {
  std::vector<std::string> all(static_cast<size_t>(ranks_));
  if (rank_ == 0) {
    all[0] = mine;
    std::string everything = packed(mine);
    for (size_t r = 1; r < all.size(); ++r)
      all[r] = receive_packed(sockets_[r]), everything += packed(all[r]);
    for (size_t r = 1; r < all.size(); ++r) send_all(sockets_[r], everything);
  } else {
    send_all(sockets_[0], packed(mine));
    for (std::string& one : all) one = receive_packed(sockets_[0]);
  }
  return all;
}

void Meeting::require_same(const std::string& what, const std::string& mine) {
  const std::vector<std::string> all = exchange(mine);
  for (size_t r = 1; r < all.size(); ++r)
    if (all[r] != all[0])
      throw std::runtime_error(fmt::format(
          "the ranks disagree on {}: rank 0 has {}, rank {} has {}", what, all[0], r, all[r]));
}

void Meeting::begin(const std::string& what) {
  const std::lock_guard lock(mutex_);
  doing_ = what;
  deadline_ = Clock::now() + patience_;
}

void Meeting::watch(std::function<std::string()> error) {
  const std::lock_guard lock(mutex_);
  error_ = std::move(error);
}

void Meeting::leave() {
  begin("waiting for the other ranks to end");
  barrier();
  over_ = true;  // from here on a rank that ends is no failure
  watcher_.join();
  barrier();
}

void Meeting::look() {
  while (!over_) {
    std::vector<pollfd> peers;
    for (const int socket : sockets_) peers.push_back({socket, POLLRDHUP, 0});
    poll(peers.data(), peers.size(), 100);
    if (over_) return;
    for (size_t i = 0; i < peers.size(); ++i)
      if (peers[i].fd >= 0 && peers[i].revents & (POLLRDHUP | POLLHUP | POLLERR))
        fail(fmt::format("{}: rank {} has ended, and so does this one", name(), i));
    const std::lock_guard lock(mutex_);
    if (error_)
      if (const std::string error = error_(); !error.empty())
        fail(fmt::format("{}: {}", name(), error));
    if (Clock::now() > deadline_)
      fail(fmt::format("{}: still at it after {} s: {}", name(), patience_.count(), doing_));
  }
}

}  // namespace ladder::multi_gpu
