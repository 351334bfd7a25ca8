//! What stands where in Redis. The keys of one session have one hash tag, so a script may have them all in a cluster, too.

use chat_store::SessionId;

/// A stream with an entry for each batch: `s` its session, `e` the epoch, `h` the last number, `w` the server that wrote it.
pub(crate) const NEWS: &str = "turnreel:news";

/// The mark, the stream and the ids of a session.
///
/// The mark is a hash, `epoch` and `seq`: how far the session is there. The stream has an entry `<seq>-0` for each event, with
/// the line of the log as its field `d`. The ids are a sorted set of the events' ids by their numbers.
pub(super) fn of(session: &SessionId, epoch: &str) -> [String; 3] {
    let session = session.as_str();
    [
        format!("turnreel:{{{session}}}:mark"),
        format!("turnreel:{{{session}}}:{epoch}"),
        format!("turnreel:{{{session}}}:{epoch}:ids"),
    ]
}

/// Says that what one copier wrote is still there; see `look`.
pub(super) fn canary(name: &str) -> String {
    format!("turnreel:copier:{name}")
}
