//! What stands where in Redis. What a script has at once has one hash tag, for Redis as a cluster.

/// When the fleet began; gone where Redis lost what it had.
pub(super) const FLEET: &str = "turnreel:{fleet}:since";
/// A set of the servers' names.
pub(super) const SERVERS: &str = "turnreel:{fleet}:servers";
/// A hash of the sessions' homes.
pub(super) const HOMES: &str = "turnreel:{fleet}:homes";
/// A sorted set of the same sessions by when their homes named them last, in seconds since 1970.
pub(super) const NAMED: &str = "turnreel:{fleet}:named";
/// A sorted set of the sessions that were removed, each with an epoch of its log, by when that was in Unix epoch milliseconds.
pub(super) const REMOVED: &str = "turnreel:{fleet}:removed";
/// A hash of what is known of the servers' tokens; no token is in it, but its SHA-256.
pub(super) const TOKENS: &str = "turnreel:{fleet}:tokens";
/// By which the servers know each other.
pub(super) const WORD: &str = "turnreel:{fleet}:word";

/// What the others are told of a server, as JSON.
pub(super) fn server(name: &str) -> String {
    format!("turnreel:{{fleet}}:server:{name}")
}
