//! What the reader of a format has to do.

use std::fmt;

use serde_json::Value;

use crate::emit::Emitter;

/// One dialect's rules: values in, events out by way of the emitter.
pub(crate) trait Normalizer: fmt::Debug + Send {
    /// Takes one value: a line, the data of a server-sent event, or a document (an array's items one by one).
    fn line(&mut self, emitter: &mut Emitter, value: &Value);

    /// Takes a line as it stands, where the dialect reads text; `false` where it wants values.
    fn text(&mut self, _emitter: &mut Emitter, _text: &str) -> bool {
        false
    }

    /// Nothing came for a while: what waits for the next line is told without it.
    fn rest(&mut self, _emitter: &mut Emitter) {}

    /// The source ended: what is open is closed.
    fn finish(&mut self, emitter: &mut Emitter);
}
